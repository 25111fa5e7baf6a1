"""The control server and the browser page; needs the extra `server`."""

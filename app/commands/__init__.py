"""One module for each command: `add_parser` declares it, `execute` runs it.

The modules are imported to build the parser, so what is heavy is imported inside `execute`.
"""

"""Key stores for tests, to be injected into `engine.keystore.KeyStore`."""

from __future__ import annotations


class Memory:
    """One that works."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


class Locked(Memory):
    """One that is there but can't be opened."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("the collection 'anna' is locked")

    set_password = delete_password = get_password  # type: ignore[assignment]

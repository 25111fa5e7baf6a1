"""Who allowed a face to be used: one record for each source photo, asked once, kept, revocable.

Whatever prepares an identity asks `ConsentStore.require` first; without a valid record nothing is
prepared. Records hold no picture and no path: a photo is known by its digest.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from engine.errors import DeviceError, InputError, RefusedError, UsageError
from engine.folders import write_private
from engine.identity.demo import is_demo

VERSION = 1
"""Of the records' format."""


class Basis(enum.Enum):
    """On what ground a face may be used."""

    SELF = "self"
    """It is the user's own."""
    PERMISSION = "permission"
    """The person shown has agreed."""
    FICTIONAL = "fictional"
    """Nobody's: drawn, sculpted or generated."""
    PUBLIC_DOMAIN = "public-domain"
    """A photo or artwork that is free for any use."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The basis of that name.

        Raises:
            UsageError: there is none.
        """
        try:
            return cls(text.strip().lower())
        except ValueError as error:
            names = ", ".join(each.value for each in cls)
            raise UsageError(f"“{text}” is no basis for using a face", f"Choose one of {names}") from error


@dataclass(frozen=True, slots=True)
class Consent:
    """One record.

    Attributes:
        basis: on what ground.
        given: when it was recorded, UTC.
        who: who says so, or who agreed; free text.
        purpose: what for; free text.
        expires: from when on it no longer holds, UTC; None = it does not end by itself.
        document: SHA-256 (hex) of a file that proves it, such as a release form; empty = none.
    """

    basis: Basis
    given: datetime
    who: str = ""
    purpose: str = ""
    expires: datetime | None = None
    document: str = ""

    def __post_init__(self) -> None:
        for moment in (self.given, self.expires):
            if moment is not None and moment.utcoffset() is None:
                raise UsageError("A consent's dates need a time zone", "Give them in UTC")

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {
            "version": VERSION,
            "basis": self.basis.value,
            "given": self.given.astimezone(UTC).isoformat(),
            "who": self.who,
            "purpose": self.purpose,
            "expires": self.expires.astimezone(UTC).isoformat() if self.expires else None,
            "document": self.document,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """The inverse of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
        if stored["version"] != VERSION:
            raise ValueError(stored["version"])
        expires = stored["expires"]
        return cls(
            Basis(stored["basis"]),
            datetime.fromisoformat(stored["given"]),
            str(stored["who"]),
            str(stored["purpose"]),
            None if expires is None else datetime.fromisoformat(expires),
            str(stored["document"]),
        )


def _now() -> datetime:
    return datetime.now(UTC)


class ConsentStore:
    """Records in a folder, one file each, readable by their owner only.

    Args:
        folder: made when the first record is written.
        now: the clock, UTC.
    """

    def __init__(self, folder: Path, now: Callable[[], datetime] = _now) -> None:
        self._folder = folder
        self._now = now

    def give(
        self,
        digest: str,
        basis: Basis,
        *,
        who: str = "",
        purpose: str = "",
        expires: datetime | None = None,
        document: str = "",
    ) -> Consent:
        """Record a consent; it replaces an earlier one.

        Args:
            digest: `SourcePhoto.digest`.
            basis, who, purpose, expires, document: see `Consent`.

        Raises:
            UsageError: it has expired already, or its date has no time zone.
            DeviceError: the record can't be written.
        """
        consent = Consent(basis, self._now(), who, purpose, expires, document)
        if expires is not None and expires <= self._now():
            raise UsageError("The consent would have expired already", "Give a later date, or none")
        text = json.dumps(consent.to_json(), ensure_ascii=False, indent=1)
        try:
            write_private(self._path(digest), text.encode())
        except OSError as error:
            message = f"The consent can't be recorded ({error.strerror})"
            raise DeviceError(
                message, "Make room on the disk, or set KAWARI_HOME to another folder"
            ) from error
        return consent

    def find(self, digest: str) -> Consent | None:
        """The record, expired or not; None if there is none or it can't be understood."""
        try:
            return Consent.from_json(json.loads(self._path(digest).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, UsageError, RecursionError):
            return None

    def require(self, digest: str) -> Consent:
        """The valid record of a photo. The built-in portrait is in the public domain and has one.

        Raises:
            RefusedError: there is none, or it has expired.
        """
        consent = self.find(digest)
        if consent is None and is_demo(digest):
            return DEMO_CONSENT
        if consent is None:
            raise RefusedError("Nobody has said that this face may be used", _HOW)
        if consent.expires is not None and consent.expires <= self._now():
            day = consent.expires.astimezone(UTC).date().isoformat()
            raise RefusedError(f"The consent to use this face ended on {day}", _HOW)
        return consent

    def revoke(self, digest: str) -> None:
        """Remove a record. `IdentityLibrary.revoke` also removes what was made of the photo.

        Raises:
            DeviceError: it can't be removed.
        """
        try:
            self._path(digest).unlink(missing_ok=True)
        except OSError as error:
            message = f"The consent can't be removed ({error.strerror})"
            raise DeviceError(message, "Close other programs that use it") from error

    def records(self) -> Iterator[tuple[str, Consent]]:
        """Digest and record of every photo, the oldest first."""
        found = [(path.stem, self.find(path.stem)) for path in self._folder.glob("*.json")]
        known = [(digest, consent) for digest, consent in found if consent is not None]
        yield from sorted(known, key=lambda each: each[1].given)

    def _path(self, digest: str) -> Path:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise InputError("The photo's digest is malformed", "Import the photo again")
        return self._folder / f"{digest}.json"


_HOW = (
    "Say on what ground with --consent self, permission, fictional or public-domain,"
    " or answer the question in the window"
)

DEMO_CONSENT = Consent(
    Basis.PUBLIC_DOMAIN, datetime(1993, 10, 1, tzinfo=UTC), "NASA", "Built-in demonstration"
)
"""For the built-in source, made from a portrait that scikit-image ships (NASA, public domain)."""

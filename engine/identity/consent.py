"""Who allowed a face to be used: one record for each source photo, asked once, kept, revocable.

Whatever prepares an identity asks `ConsentStore.require` first; without a valid record nothing is
prepared. Records hold no picture and no path: a photo is known by its digest.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Self

from engine.errors import DeviceError, InputError, RefusedError, UsageError
from engine.folders import write_private
from engine.identity.demo import is_demo
from engine.identity.release import ReleaseForms

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
class Proof:
    """That the user is the person shown: a live match, see `engine.identity.live_match`.

    Attributes:
        when: it was made, UTC.
        model: the recognition network that compared, its name in the catalogue.
        similarity: the least cosine between the photos and the person before the camera, -1..1.
    """

    when: datetime
    model: str
    similarity: float


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
        proof: of `Basis.SELF`; None = it is the user's word.
    """

    basis: Basis
    given: datetime
    who: str = ""
    purpose: str = ""
    expires: datetime | None = None
    document: str = ""
    proof: Proof | None = None

    def __post_init__(self) -> None:
        for moment in (self.given, self.expires, self.proof.when if self.proof else None):
            if moment is not None and moment.utcoffset() is None:
                raise UsageError("A consent's dates need a time zone", "Give them in UTC")

    @property
    def last_moment(self) -> datetime | None:
        """When it holds for the last time, UTC; None = there is no end."""
        return self.expires and self.expires.astimezone(UTC) - timedelta(microseconds=1)

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
            "proof": self.proof
            and {**asdict(self.proof), "when": self.proof.when.astimezone(UTC).isoformat()},
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """The inverse of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
        if stored["version"] != VERSION:
            raise ValueError(stored["version"])
        expires, proof = stored["expires"], stored.get("proof")  # 0.1 knew no proof
        return cls(
            Basis(stored["basis"]),
            datetime.fromisoformat(stored["given"]),
            str(stored["who"]),
            str(stored["purpose"]),
            None if expires is None else datetime.fromisoformat(expires),
            str(stored["document"]),
            proof
            and Proof(datetime.fromisoformat(proof["when"]), str(proof["model"]), float(proof["similarity"])),
        )


def end_after(day: date) -> datetime:
    """`Consent.expires` of a consent that holds on this day, in UTC, for the last time.

    Raises:
        OverflowError: it is the calendar's last day.
    """
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def _now() -> datetime:
    return datetime.now(UTC)


class ConsentStore:
    """Records in a folder, one file each, readable by their owner only.

    Args:
        folder: made when the first record is written.
        now: the clock, UTC.

    Attributes:
        releases: files that prove consents.
    """

    def __init__(self, folder: Path, now: Callable[[], datetime] = _now) -> None:
        self._folder = folder
        self._now = now
        self.releases = ReleaseForms(folder / "documents")

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
        return self._write(digest, consent)

    def require_own(self, digest: str) -> Consent:
        """The valid record of a photo that shows the user.

        Raises:
            RefusedError: there is no valid record.
            UsageError: it says that the face is somebody else's.
        """
        consent = self.require(digest)
        if consent.basis is not Basis.SELF:
            raise UsageError(
                "The consent says that this face is not the user's own", "Give it again with --consent self"
            )
        return consent

    def prove(self, digest: str, model: str, similarity: float) -> Consent:
        """Note in a record that the user was shown to be the person; see `Proof`.

        Raises:
            RefusedError: there is no valid record.
            UsageError: it says that the face is somebody else's.
            DeviceError: it can't be written.
        """
        consent = self.require_own(digest)
        return self._write(digest, replace(consent, proof=Proof(self._now(), model, similarity)))

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
            raise RefusedError(f"The consent to use this face ended on {consent.last_moment:%Y-%m-%d}", _HOW)
        return consent

    def revoke(self, digest: str) -> None:
        """Remove a record. `IdentityLibrary.revoke` also removes what was made of the photo.

        Raises:
            DeviceError: it can't be removed.
        """
        try:
            self._path(digest).unlink(missing_ok=True)
            self.releases.remove_all_but({consent.document for _, consent in self.records()})
        except OSError as error:
            message = f"The consent can't be removed ({error.strerror})"
            raise DeviceError(message, "Close other programs that use it") from error

    def records(self) -> Iterator[tuple[str, Consent]]:
        """Digest and record of every photo, the oldest first."""
        found = [(path.stem, self.find(path.stem)) for path in self._folder.glob("*.json")]
        known = [(digest, consent) for digest, consent in found if consent is not None]
        yield from sorted(known, key=lambda each: each[1].given)

    def _write(self, digest: str, consent: Consent) -> Consent:
        text = json.dumps(consent.to_json(), ensure_ascii=False, indent=1)
        try:
            write_private(self._path(digest), text.encode())
        except OSError as error:
            message = f"The consent can't be recorded ({error.strerror})"
            raise DeviceError(
                message, "Make room on the disk, or set KAWARI_HOME to another folder"
            ) from error
        return consent

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

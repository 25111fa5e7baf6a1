"""Consent: no valid record, no swap."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.errors import DeviceError, InputError, RefusedError, UsageError
from engine.identity.consent import Basis, Consent, ConsentStore
from engine.identity.consent_page import consent_page
from engine.identity.demo import demo_digest, demo_photo
from engine.identity.photo import photo_digest

DIGEST = photo_digest("ab" * 32, 1)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> ConsentStore:
    return ConsentStore(tmp_path / "identities" / "consent", clock)


def test_without_a_record_it_is_refused_and_says_how(store: ConsentStore) -> None:
    with pytest.raises(RefusedError) as caught:
        store.require(DIGEST)
    assert caught.value.exit_code == 6
    assert "--consent self, permission, fictional or public-domain" in caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("basis", list(Basis))
def test_what_was_given_is_found_by_another_store(basis: Basis, store: ConsentStore, tmp_path: Path) -> None:
    given = store.give(
        DIGEST, basis, who="Zoë 人", purpose="a stream", expires=NOON + timedelta(days=9), document="cd" * 32
    )
    found = ConsentStore(tmp_path / "identities" / "consent", lambda: NOON).require(DIGEST)
    assert found == given
    assert (found.basis, found.given, found.who) == (basis, NOON, "Zoë 人")


def test_it_is_for_one_photo_only(store: ConsentStore) -> None:
    store.give(DIGEST, Basis.SELF)
    with pytest.raises(RefusedError):
        store.require(photo_digest("ab" * 32, 2))  # another face in the same photo


def test_expiry(store: ConsentStore, clock: Clock) -> None:
    store.give(DIGEST, Basis.PERMISSION, expires=NOON + timedelta(days=30))
    clock.now = NOON + timedelta(days=29)
    store.require(DIGEST)
    clock.now = NOON + timedelta(days=30)
    with pytest.raises(RefusedError, match="ended on 2026-07-01"):
        store.require(DIGEST)
    assert store.find(DIGEST) is not None


def test_expiry_in_another_time_zone(store: ConsentStore, clock: Clock) -> None:
    tokyo = timezone(timedelta(hours=9))
    store.give(DIGEST, Basis.SELF, expires=datetime(2026, 6, 2, 0, tzinfo=tokyo))  # 15:00 UTC
    clock.now = NOON + timedelta(hours=2, minutes=59)
    store.require(DIGEST)
    clock.now = NOON + timedelta(hours=3)
    with pytest.raises(RefusedError):
        store.require(DIGEST)


@pytest.mark.parametrize("expires", [NOON, NOON - timedelta(days=1), datetime(2030, 1, 1)])
def test_useless_expiry_is_not_recorded(expires: datetime, store: ConsentStore) -> None:
    with pytest.raises(UsageError):
        store.give(DIGEST, Basis.SELF, expires=expires)
    assert store.find(DIGEST) is None


def test_revoked(store: ConsentStore) -> None:
    store.give(DIGEST, Basis.SELF)
    store.revoke(DIGEST)
    store.revoke(DIGEST)  # twice does no harm
    with pytest.raises(RefusedError):
        store.require(DIGEST)


def test_given_again_replaces(store: ConsentStore) -> None:
    store.give(DIGEST, Basis.FICTIONAL, who="a")
    store.give(DIGEST, Basis.SELF, who="b")
    assert [(digest, each.who) for digest, each in store.records()] == [(DIGEST, "b")]


@pytest.mark.skipif(os.name != "posix", reason="POSIX rights")
def test_only_the_owner_can_read(store: ConsentStore, tmp_path: Path) -> None:
    store.give(DIGEST, Basis.SELF)
    folder = tmp_path / "identities" / "consent"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "null", '{"version": 2}', "\x00", "[" * 100_000, '{"version": 1, "basis": "mine"}'],
)
def test_a_damaged_record_is_none(content: str, store: ConsentStore, tmp_path: Path) -> None:
    store.give(DIGEST, Basis.SELF)
    path = next((tmp_path / "identities" / "consent").iterdir())
    path.write_text(content)
    assert store.find(DIGEST) is None
    assert list(store.records()) == []
    with pytest.raises(RefusedError):
        store.require(DIGEST)


@pytest.mark.parametrize("key", ["basis", "given", "who", "expires"])
def test_a_record_that_lacks_something_is_none(key: str, store: ConsentStore, tmp_path: Path) -> None:
    store.give(DIGEST, Basis.SELF)
    path = next((tmp_path / "identities" / "consent").iterdir())
    stored = json.loads(path.read_text())
    del stored[key]
    path.write_text(json.dumps(stored))
    assert store.find(DIGEST) is None


def test_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DeviceError, match="can't be recorded") as caught:
        ConsentStore(tmp_path / "file" / "consent").give(DIGEST, Basis.SELF)
    assert caught.value.exit_code == 4
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "AB" * 32, "a" * 63])
def test_malformed_digest_never_becomes_a_path(digest: str, store: ConsentStore) -> None:
    with pytest.raises(InputError):
        store.give(digest, Basis.SELF)
    with pytest.raises(InputError):
        store.require(digest)


def test_built_in_portrait_needs_no_asking(store: ConsentStore) -> None:
    assert store.require(demo_photo().digest).basis is Basis.PUBLIC_DOMAIN
    assert demo_digest() == demo_photo().digest


@pytest.mark.parametrize(("text", "basis"), [("self", Basis.SELF), (" Public-Domain ", Basis.PUBLIC_DOMAIN)])
def test_parse(text: str, basis: Basis) -> None:
    assert Basis.parse(text) is basis


def test_parse_nonsense() -> None:
    with pytest.raises(UsageError, match="self, permission, fictional, public-domain"):
        Basis.parse("mine")


# ---- the page -----------------------------------------------------------------------------------


class Text(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_page(store: ConsentStore, clock: Clock) -> None:
    store.give(DIGEST, Basis.PERMISSION, who="<script>alert(1)</script>", expires=NOON + timedelta(days=1))
    clock.now += timedelta(minutes=1)
    store.give(photo_digest("cd" * 32, 1), Basis.SELF, purpose="Grüße", document="ef" * 32)
    page = Text(consent_page(store.records(), NOON + timedelta(days=2)))
    assert "script" not in page.tags
    assert page.tags.count("table") == 2
    for words in ("<script>alert(1)</script>", "The person shown has agreed", "Grüße", "ef" * 32, DIGEST,
                  "2026-06-02 12:00 UTC (ended)", "Never"):  # fmt: skip
        assert words in page.texts


def test_empty_page() -> None:
    assert "There are none." in consent_page([])


def test_json_round_trip() -> None:
    consent = Consent(Basis.FICTIONAL, NOON, "a", "b", None, "c")
    assert Consent.from_json(json.loads(json.dumps(consent.to_json()))) == consent

"""Consent records as a page that a person can read, print and keep."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from engine.atomic import replacing
from engine.identity.consent import Basis, Consent, ConsentStore

_MEANING = {
    Basis.SELF: "The user's own face",
    Basis.PERMISSION: "The person shown has agreed",
    Basis.FICTIONAL: "Fictional: drawn, sculpted or generated",
    Basis.PUBLIC_DOMAIN: "In the public domain",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Consent records</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46em; margin: 3em auto; padding: 0 1em; }}
table {{ border-collapse: collapse; margin: 0 0 2em; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .3em .8em .3em 0; border-top: 1px solid #ccc; }}
th {{ font-weight: 600; width: 11em; }}
code {{ overflow-wrap: anywhere; }}
</style>
</head>
<body>
<h1>Consent records</h1>
<p>Written by Kawari on {written}. A photo is known by its SHA-256 digest; this page holds none.</p>
{records}
</body>
</html>
"""


def consent_page(
    records: Iterable[tuple[str, Consent]],
    now: datetime | None = None,
    release: Callable[[str], Path | None] = lambda _: None,
) -> str:
    """An HTML page, complete in itself; release forms are in it, to be saved by a click.

    Args:
        records: digest of the photo and its record, as `ConsentStore.records` gives them.
        now: when it is written, UTC; the present if not given.
        release: finds the copy of a release form, `ReleaseForms.find`.
    """
    now = now or datetime.now(UTC)
    tables = "\n".join(_table(digest, consent, now, release) for digest, consent in records)
    return _PAGE.format(written=_moment(now), records=tables or "<p>There are none.</p>")


def write_consent_page(path: Path, consents: ConsentStore) -> None:
    """Write all records as a page, all or nothing.

    Raises:
        UsageError, DeviceError: it can't be written there.
    """
    page = consent_page(consents.records(), release=consents.releases.find)
    with replacing(path.absolute()) as partial:
        partial.write_text(page, encoding="utf-8")


def _table(digest: str, consent: Consent, now: datetime, release: Callable[[str], Path | None]) -> str:
    expires = "Never" if consent.expires is None else _moment(consent.expires)
    if consent.expires is not None and consent.expires <= now:
        expires += " (ended)"
    rows = {
        "Ground": _MEANING[consent.basis],
        "Given": _moment(consent.given),
        "By": consent.who or "Not stated",
        "Purpose": consent.purpose or "Not stated",
        "Ends": expires,
    }
    if consent.basis is Basis.SELF:
        rows["Proven"] = _proof(consent)
    cells = [f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows.items()]
    if consent.document:
        cells.append(f"<tr><th>Release form</th><td>{_release(consent.document, release)}</td></tr>")
    cells.append(f"<tr><th>Photo</th><td><code>{escape(digest)}</code></td></tr>")
    return f"<table>{''.join(cells)}</table>"


def _proof(consent: Consent) -> str:
    if consent.proof is None:
        return "No"
    proof = consent.proof
    return (
        f"{_moment(proof.when)}: a live match before the camera, similarity {proof.similarity:.2f} "
        f"by {proof.model}"
    )


def _release(digest: str, release: Callable[[str], Path | None]) -> str:
    code = f"<code>{escape(digest)}</code>"
    path = release(digest)
    if path is None:
        return code
    data = base64.b64encode(path.read_bytes()).decode()
    name = f"release-form-{digest[:8]}{path.suffix}"
    link = f"data:application/octet-stream;base64,{data}"
    return f'<a download="{escape(name)}" href="{link}">{escape(name)}</a>, SHA-256 {code}'


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")

"""C2PA manifests: the signed statement that a file is synthetic, and reading such statements.

`compositeWithTrainedAlgorithmicMedia` (IPTC digital source type) is what the EU AI Act's article 50
and the platforms look for. Everything works offline: no time stamp, no remote manifest, no OCSP.
"""

from __future__ import annotations

import enum
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import DeviceError, InputError
from engine.mark.payload import Payload
from engine.mark.signer import SigningKey
from engine.version import __version__

SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"
SOFT_BINDING = "io.github.kawari.watermark.1"
"""Names the watermark's algorithm in the soft-binding assertion."""

FORMATS = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/quicktime",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".gif": "image/gif",
}
"""Endings that can carry a manifest, and their media types."""

_MANIFEST_BYTES = 100_000
"""More than a manifest takes (about 20 kB). The disk is asked beforehand because c2pa's error does not say
that it is full."""


class Trust(enum.Enum):
    """What a manifest is worth."""

    TRUSTED = "trusted"
    """Unchanged since it was signed, by a signer whose root is trusted here."""
    UNTRUSTED = "untrusted-signer"
    """Unchanged since it was signed, by a signer nobody here vouches for."""
    TAMPERED = "tampered"
    """File or manifest were changed after signing."""
    ABSENT = "absent"
    """There is no manifest."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a file's manifest says.

    Attributes:
        trust: what it is worth.
        synthetic: it says that the file is (partly) made by trained algorithms.
        signer: common name on the certificate.
        generator: the program that made it.
        watermark: the watermark payload it names, hex.
        problems: codes of what did not fit.
    """

    trust: Trust
    synthetic: bool = False
    signer: str = ""
    generator: str = ""
    watermark: str = ""
    problems: tuple[str, ...] = ()


def can_sign(path: Path) -> bool:
    """Whether a file of this name can carry a manifest."""
    return path.suffix.lower() in FORMATS


def sign(path: Path, target: Path, key: SigningKey, payload: Payload, swapper: str) -> None:
    """Write `path` with a manifest to `target`.

    Args:
        path: a finished file; its ending tells its format.
        target: another path; overwritten.
        key: who signs.
        payload: the watermark in the pictures.
        swapper: name of the model that made them.

    Raises:
        InputError: the format can't carry a manifest, or the file is broken.
        DeviceError: the disk is full.
    """
    import c2pa

    media_type = FORMATS.get(path.suffix.lower())
    if media_type is None:
        raise InputError(
            f"{path.suffix} files can't carry a manifest", "Use MP4, MOV, JPEG, PNG, WebP or TIFF"
        )
    if shutil.disk_usage(target.parent).free < path.stat().st_size + _MANIFEST_BYTES:
        raise DeviceError(
            f"There is no room left to sign {path.name}, which takes as much again", "Free some space"
        )
    info = c2pa.C2paSignerInfo(b"es256", key.chain, key.key, None)
    try:
        with (
            c2pa.Signer.from_info(info) as signer,
            c2pa.Context.from_dict(_settings(None)) as context,
            c2pa.Builder(_definition(payload, swapper), context) as builder,
            path.open("rb") as source,
            target.open("w+b") as destination,
        ):
            builder.sign(signer, media_type, source, destination)
    except c2pa.C2paError as error:
        raise InputError(f"The manifest can't be added: {error}") from error
    except OSError as error:
        raise DeviceError(f"The signed file can't be written: {error.strerror}", "Free some space") from error


def read(path: Path, root: bytes | None = None) -> Statement:
    """Read a file's manifest.

    Args:
        path: any file.
        root: PEM of a root certificate to trust, None to trust nobody.

    Raises:
        InputError: the file can't be read.
    """
    import c2pa

    media_type = FORMATS.get(path.suffix.lower())
    if media_type is None:
        return Statement(Trust.ABSENT)
    try:
        with (
            path.open("rb") as stream,
            c2pa.Context.from_dict(_settings(root)) as context,
            c2pa.Reader(media_type, stream, context=context) as reader,
        ):
            state, report = str(reader.get_validation_state()), json.loads(reader.json())
    except c2pa.C2paError.ManifestNotFound:
        return Statement(Trust.ABSENT)
    except c2pa.C2paError as error:
        return Statement(Trust.TAMPERED, problems=(str(error).split(":")[0],))
    except OSError as error:
        raise InputError(f"{path.name} can't be read: {error.strerror}", "Check the path") from error
    trust = {"Trusted": Trust.TRUSTED, "Valid": Trust.UNTRUSTED}.get(state, Trust.TAMPERED)
    return _statement(report, trust)


def _settings(root: bytes | None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "verify": {"verify_trust": True, "remote_manifest_fetch": False, "ocsp_fetch": False},
        "builder": {"thumbnail": {"enabled": False}},  # a thumbnail would be an unmarked picture
    }
    if root is not None:
        settings["trust"] = {"trust_anchors": root.decode()}
    return settings


def _definition(payload: Payload, swapper: str) -> dict[str, Any]:
    agent = {"name": "Kawari", "version": __version__}
    action = {
        "action": "c2pa.created",
        "digitalSourceType": SOURCE_TYPE,
        "softwareAgent": agent,
        "parameters": {"description": f"faces replaced by the swapper {swapper}"},
    }
    binding = {"alg": SOFT_BINDING, "blocks": [{"scope": {}, "value": payload.to_bytes().hex()}]}
    return {
        "claim_generator_info": [agent],
        "title": "Made with Kawari",
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": [action]}},
            {"label": "c2pa.soft-binding", "data": binding},
        ],
    }


def _statement(report: dict[str, Any], trust: Trust) -> Statement:
    manifest = report.get("manifests", {}).get(report.get("active_manifest"), {})
    assertions = {each["label"]: each["data"] for each in manifest.get("assertions", ())}
    actions = [
        action
        for label, data in assertions.items()
        if label.startswith("c2pa.actions")
        for action in data.get("actions", ())
    ]
    blocks = assertions.get("c2pa.soft-binding", {}).get("blocks", ())
    generator = (manifest.get("claim_generator_info") or [{}])[0]
    return Statement(
        trust=trust,
        synthetic=any("algorithmic" in str(a.get("digitalSourceType", "")).lower() for a in actions),
        signer=manifest.get("signature_info", {}).get("common_name", ""),
        generator=" ".join(filter(None, (generator.get("name"), generator.get("version")))),
        watermark=blocks[0].get("value", "") if blocks else "",
        problems=tuple(status["code"] for status in report.get("validation_status") or ()),
    )

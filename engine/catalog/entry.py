"""What the catalogue says about a model: where it comes from, its licence, and how to talk to it.

Entries are data (`models/catalogue.toml`, and TOML files a user adds), so that a new model of a
known kind needs no code.
"""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from engine.errors import ModelError

LARGEST = (2 << 30) - 1
"""Bytes of a model file; more than that can't be parsed, and no model of a known kind comes near."""


class Kind(enum.Enum):
    """What a model does."""

    DETECTOR = "detector"
    EMBEDDER = "embedder"
    LANDMARKS = "landmarks"
    CONVERTER = "converter"
    SWAPPER = "swapper"
    OCCLUDER = "occluder"
    PARSER = "parser"
    ENHANCER = "enhancer"
    AGE = "age"
    """Tells the age of a face, for `engine.content.age`."""


class Commercial(enum.Enum):
    """Whether the licence allows commercial use."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class SourceInput(enum.Enum):
    """What a swapper takes as the source person."""

    NONE = "none"
    EMAP = "emap"
    """Embedding times the graph's own 512×512 matrix, divided by the embedding's norm."""
    UNIT = "unit"
    """The embedding divided by its norm."""
    CONVERTED_UNIT = "converted-unit"
    """The embedding through a converter network, divided by its norm."""
    CONVERTED_RAW = "converted-raw"
    """The embedding through a converter network as it is."""
    PICTURE = "picture"
    """An aligned picture of the source."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output of the graph.

    Attributes:
        shape: sizes; -1 allows any (a symbolic or dynamic size).
        name: its name, "" if any will do.
    """

    shape: tuple[int, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """How pictures go in and come out (DESIGN section 5; the published loaders are the source).

    Attributes:
        template: alignment of the face crop: arcface, arcface_112_v1, mtcnn_512, ffhq_512, box, letterbox.
        size: side of the crop, pixels; 0 = any multiple of 32.
        layout: "nchw" or "nhwc".
        colour: "rgb" or "bgr", order of the channels that go in.
        mean, std: a picture in 0..1 goes in as (x − mean) / std.
        out_mean, out_std: a picture comes out as y · out_std + out_mean, in 0..1.
        source: what a swapper takes as the source person.
        source_template, source_size: alignment of the source picture where one is taken.
        inputs, outputs: tensors, checked when the file is imported and loaded.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...] = ()
    template: str = "box"
    size: int = 0
    layout: str = "nchw"
    colour: str = "rgb"
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    out_mean: float = 0.0
    out_std: float = 1.0
    source: SourceInput = SourceInput.NONE
    source_template: str = ""
    source_size: int = 0

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Read it from a TOML table.

        Raises:
            KeyError, TypeError, ValueError: the table does not fit.
        """
        values = dict(table)
        for key in ("inputs", "outputs"):
            values[key] = tuple(
                Tensor(tuple(tensor["shape"]), tensor.get("name", "")) for tensor in values.get(key, ())
            )
        for key in ("mean", "std"):
            if key in values:
                values[key] = tuple(float(value) for value in values[key])
        if "source" in values:
            values["source"] = SourceInput(values["source"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalogue.

    Attributes:
        name: as given to `--swapper` and `kawari models get`.
        kind: what it does.
        title: for people.
        version: the publisher's.
        file: file name in the store.
        urls: where to get it, tried in order.
        size: bytes, 0 = not published.
        sha256: hex, "" = not published: then it is pinned when the file is first imported.
        licence: SPDX id or name.
        licence_url: the full text.
        commercial: whether commercial use is allowed.
        contract: how to talk to it.
        needs: names of models it can't work without.
        exact: name of the version in full precision, if this is one in less.
    """

    name: str
    kind: Kind
    title: str
    version: str
    file: str
    urls: tuple[str, ...]
    size: int
    sha256: str
    licence: str
    licence_url: str
    commercial: Commercial
    contract: Contract
    needs: tuple[str, ...] = ()
    exact: str = ""

    @classmethod
    def from_table(cls, name: str, table: Mapping[str, Any]) -> Self:
        """Read it from a TOML table; `file` defaults to NAME.onnx.

        Raises:
            ModelError: a field is missing, unknown or has a wrong value.
        """
        values: dict[str, Any] = {
            "file": f"{name}.onnx",
            "version": "",
            "size": 0,
            "sha256": "",
            "licence_url": "",
            "commercial": "unknown",
            "urls": [],
            **table,
        }
        try:
            unknown = set(values) - {field.name for field in fields(cls)}
            if unknown:
                raise ValueError(f"unknown field {sorted(unknown)[0]}")
            values["kind"] = Kind(values["kind"])
            values["commercial"] = Commercial(values["commercial"])
            values["urls"] = tuple(values["urls"])
            values["needs"] = tuple(values.get("needs", ()))
            values["sha256"] = values["sha256"].lower()
            values["contract"] = Contract.from_table(values["contract"])
            if Path(values["file"]).name != values["file"]:
                raise ValueError("file must be a plain file name")
            return cls(name=name, **values)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(
                f"The catalogue entry {name!r} is wrong: {error}", "Compare it with models/catalogue.toml"
            ) from None


def read_catalogue(path: Path) -> dict[str, Entry]:
    """The entries of one TOML file, by name.

    Raises:
        ModelError: the file is missing, no TOML, or an entry in it is wrong.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"The catalogue {path.name} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"The catalogue {path.name} is no TOML: {error}") from None
    return {name: Entry.from_table(name, table) for name, table in tables.items()}

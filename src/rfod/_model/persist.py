"""Model files: a zip of one JSON member and .npy arrays. Reading one never runs code and trusts nothing.

Members: `model.json` (format version, parameters, schema, features, checksums of the arrays) and `arrays/<name>.npy`.
`FIELDS` declares the arrays; `lengths` says how long the lists of each column are. The evidence that a model keeps is
stored by the layer above (`_evidence/stored.py`), as more fields of the same kind.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import MOST_LEAVES, Forest, Trees, is_tree
from rfod._io.archives import LARGEST_JSON, open_archive, write_archive
from rfod._io.fields import Arrays, Field, ascends, member_name, npy_bytes, read_fields
from rfod._io.interface import OutputError
from rfod._io.source_stats import MEMBER as FACTS_MEMBER
from rfod._io.storage import replaced
from rfod._model.calibrate import fit_tail
from rfod._model.judge import LAST_CLASS
from rfod._model.model import ColumnModel, Model, TrainingSample
from rfod._model.row_scale import RowScale
from rfod._table.bins import features_from_json, features_to_json
from rfod._table.columns import Column, Schema
from rfod.exceptions import ModelFormatError, ParameterError, SchemaError
from rfod.exceptions import require_intact as _require
from rfod.params import Params

if TYPE_CHECKING:
    from rfod._evidence.profile import Profile

FORMAT = "rfod model"
FORMAT_VERSION = 2  # 1: rfod 0.2.0, whose trees were kept by plain R²

_LARGEST = 1e151  # values beyond 1e150 count as infinite and reach no leaf
_MAX, _ABOVE_0 = np.finfo(np.float64).max, 5e-324
_SCORING = ("uncertainty", "aggregation", "distance", "trim")  # parameters that scoring reads


LISTS = ("cells", "offsets", "grown", "trees", "predictors", "words", "values", "ends", "entries", "numbers", "codes")
"""Sizes of what each column has a list of: calibration cells and offsets, grown and kept trees, columns that they may
split on, words of its trees, leaves of a numeric column, leaves (and one) of a categorical column, class shares of
leaves, values in the sample."""

FIELDS = {  # what belongs to a column has the name of an attribute of ColumnModel, Tail, Forest or Trees
    "lengths": Field(np.int64, ("lists", "columns"), 0, 2**40, lengths_of=LISTS),
    "edges": Field(np.float64, ("edges",)),
    "column.value_range": Field(np.float64, ("columns",), 0, _MAX),
    "column.fitness": Field(np.float64, ("columns",)),
    "column.floor": Field(np.float64, ("columns",), 0, _LARGEST),
    "column.n_single": Field(np.int64, ("columns",), 0),
    "column.offsets": Field(np.float64, ("offsets",), 0, 1, "rising"),
    "tail.known": Field(np.float64, ("cells",), -_MAX, _MAX, "rising"),
    "forest.n_draws": Field(np.int64, ("columns",), 1, 2**62 - 1),
    "forest.importances": Field(np.float64, ("columns", "columns"), 0, _MAX),
    "forest.fitness": Field(np.float64, ("grown",)),
    "forest.kept": Field(np.int64, ("trees",), 0),
    "forest.predictors": Field(np.int64, ("predictors",), 0, 2**40, "strict"),
    "trees.word_starts": Field(np.int64, ("trees",), 0, 2**40, "strict"),
    "trees.leaf_starts": Field(np.int64, ("trees",), 0, 2**40, "strict"),
    "trees.words": Field(np.int64, ("words",)),
    "trees.leaf_value": Field(np.float64, ("values",), -_LARGEST, _LARGEST),
    "trees.leaf_variance": Field(np.float64, ("values",), 0, _LARGEST**2),
    "trees.entry_ends": Field(np.int64, ("ends",), 0, 2**40, "strict"),
    "trees.entry_class": Field(np.uint16, ("entries",)),
    "trees.entry_share": Field(np.float32, ("entries",), _ABOVE_0, 1),
    "sample.rows": Field(np.int64, ("sample",), 0, 2**62, "strict"),
    "sample.numbers": Field(np.float64, ("numbers",)),
    "sample.codes": Field(np.int32, ("codes",), -1, 2**31),
    "scale.known": Field(np.float64, ("parts", "part_rows"), 0, _LARGEST),
    "scale.typical": Field(np.float64, ("once",), _ABOVE_0, _MAX),
    "calibration": Field(np.float64, ("scores",), -_MAX, _MAX, "rising"),
}
_OF_COLUMNS = [  # name of the field, its owner and attribute
    (name, *name.split(".")) for name, field in FIELDS.items() if field.shape[0] in (*LISTS, "columns")
]


class Attachment(Protocol):
    """What a layer above keeps in a model file."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """The arrays that a file with it has."""
        ...

    def to_arrays(self, profile: Profile, schema: Schema) -> Arrays:
        """The arrays, named as its fields."""
        ...

    def read(self, arrays: Arrays, ends: Arrays, model: Model) -> Profile:
        """What `to_arrays` was given, after a check of all that is relied on."""
        ...

    def sizes(self, schema: Schema) -> dict[str, int]:
        """Sizes that are known before the arrays are read."""
        ...


def save_model(model: Model, path: str | os.PathLike[str], evidence: Attachment) -> None:
    """Write a model file, which is there whole or not at all."""
    features, edges = features_to_json(model.features)
    names = [*FIELDS]
    packed = {name: npy_bytes(array) for name, array in _arrays_of(model)} | {"edges": npy_bytes(edges)}
    if model.profile is not None:
        packed |= {name: npy_bytes(array) for name, array in evidence.to_arrays(model.profile, model.schema).items()}
        names += evidence.fields
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "rfod_version": version("rfod"),
        "params": dict(model.params),
        "seed": model.seed,
        "schema": model.schema.to_json(),
        "features": features,
        "evidence": model.profile is not None,
        "checksums": {name: hashlib.sha256(data).hexdigest() for name, data in packed.items()},
    }
    header_bytes = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    if len(header_bytes) > LARGEST_JSON:
        widest = max(model.schema.columns, key=lambda column: len(column.categories))
        raise SchemaError(
            f"The names and categories of the model take {len(header_bytes):,} bytes; a model file has room for "
            f"{LARGEST_JSON:,}.\nHint: leave out the column with the most categories ({len(widest.categories):,}): "
            f"column_types={{{widest.name!r}: 'ignore'}}."
        )
    members = {"model.json": header_bytes} | {member_name(name): packed[name] for name in names}
    try:
        with replaced(os.fspath(path)) as temporary:
            write_archive(temporary, members)
    except OutputError as error:
        if isinstance(error.__cause__, OSError):  # FileNotFoundError and the like, as `open` raises them
            raise OSError(error.__cause__.errno, error.__cause__.strerror, os.fspath(path)) from error
        raise


def _arrays_of(model: Model) -> Iterator[tuple[str, NDArray[Any]]]:
    """All arrays but the edges of bins, one after the other: trees of wide tables take gigabytes."""
    columns = []
    for column, sample in zip(model.columns, model.sample.values, strict=True):
        owners: dict[str, Any] = {"column": column, "tail": column.tail}
        owners |= {"forest": column.forest, "trees": column.forest.trees}
        n_codes = len(sample) if column.forest.n_classes else 0
        owners["sample"] = SimpleNamespace(codes=sample[:n_codes], numbers=sample[n_codes:])
        columns.append({name: getattr(owners[owner], attribute) for name, owner, attribute in _OF_COLUMNS})
    field_of = {FIELDS[name].shape[0]: name for name, _, _ in _OF_COLUMNS}
    lengths = [[len(column[field_of[size]]) for column in columns] for size in LISTS]
    yield "lengths", np.array(lengths, dtype=np.int64)
    yield "sample.rows", model.sample.rows
    yield "scale.known", model.scale.known
    yield "scale.typical", np.array([model.scale.typical])
    yield "calibration", model.calibration
    for name in columns[0]:
        join = np.concatenate if FIELDS[name].shape[0] in LISTS else np.array
        yield name, join([column[name] for column in columns]).astype(FIELDS[name].dtype, copy=False)


def load_model(path: str | os.PathLike[str], evidence: Attachment) -> Model:
    """Read a model file; `ModelFormatError` for anything that `save_model` cannot have written."""
    with open_archive(path) as archive:
        if "model.json" not in archive.members:
            raise ModelFormatError("The file is a zip archive, but not an rfod model: it has no model.json.")
        header = _checked_header(archive.read_json("model.json"), path)  # first: a newer format may have other arrays
        members = [member_name(name) for name in (*FIELDS, *(evidence.fields if header["evidence"] else ()))]
        lacking = [name for name in members if name not in archive.members]
        _require(not lacking, f"it lacks {', '.join(lacking[:5])}")
        foreign = archive.members.keys() - {"model.json", FACTS_MEMBER, *members}
        _require(not foreign, f"{min(foreign, default='')[:40]!r} is no part of a model")
        schema = Schema.from_json(header["schema"])
        n_parts = 4 if header["params"]["aggregation"] == "consensus" else 0
        sizes = {"lists": len(LISTS), "columns": len(schema.columns), "parts": n_parts, "once": 1}
        arrays, ends = read_fields(archive, FIELDS, header["checksums"], sizes)
        kept = None
        if header["evidence"]:
            kept = read_fields(archive, evidence.fields, header["checksums"], evidence.sizes(schema))
    rows, features = arrays["sample.rows"], features_from_json(header["features"], arrays["edges"], schema)
    _require(len(rows) > 0 and bool(rows[-1] < schema.n_rows), "the kept rows are not those of the training table")
    _require(len(arrays["calibration"]) > 0, "there are no calibration scores")
    n_codes = np.array([feature.n_codes for feature in features], dtype=np.int64)
    is_categorical = np.array([feature.is_categorical for feature in features], dtype=np.bool_)
    made_from = np.array([feature.column for feature in features], dtype=np.int64)
    columns, sample = [], []
    for j, column in enumerate(schema.columns):
        own: dict[str, dict[str, Any]] = {}
        for name, owner, attribute in _OF_COLUMNS:
            size = FIELDS[name].shape[0]
            part = arrays[name][slice(*ends[size][j : j + 2]) if size in ends else j]
            own.setdefault(owner, {})[attribute] = part if part.ndim else part.item()
        predictors = own["forest"]["predictors"]
        in_table = not len(predictors) or bool(predictors[-1] < len(schema.columns))
        _require(in_table and j not in predictors, "a column is predicted from itself or from none of the table")
        n_readable = np.where(np.isin(made_from, predictors), n_codes, 0)
        forest = _to_forest(j, column, own["forest"], own["trees"], (n_readable, is_categorical))
        tail = fit_tail(own["tail"]["known"], column.is_categorical, robust=bool(header["params"]["trim"]))
        columns.append(ColumnModel(column, forest, n_rows=schema.n_rows, tail=tail, **own["column"]))
        sample.append(_to_sample(column, len(rows), **own["sample"]))
    known = arrays["scale.known"]
    _require(known.size > 0 if n_parts else not known.size, "the parts of the row score lack values")
    _require(bool((np.diff(known, axis=1) >= 0).all()), "scale.known does not ascend")
    of_rows = (RowScale(known, float(arrays["scale.typical"][0])), arrays["calibration"])
    rows_kept = TrainingSample(rows, tuple(sample))
    model = Model(schema, features, tuple(columns), rows_kept, header["seed"], header["params"], *of_rows)
    return model if kept is None else replace(model, profile=evidence.read(*kept, model))


def _checked_header(header: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    _require(isinstance(header, dict) and header.get("format") == FORMAT, "model.json is not that of an rfod model")
    found = header.get("format_version")
    if type(found) is int and found > FORMAT_VERSION:
        raise ModelFormatError(
            f"{os.fspath(path)} has model format {found}, written by rfod {str(header.get('rfod_version'))[:20]}; "
            f"this version reads up to format {FORMAT_VERSION}.\nHint: upgrade rfod."
        )
    _require(type(found) is int and 1 <= found <= FORMAT_VERSION, f"there is no format version {str(found)[:20]}")
    kinds = {"params": dict, "seed": int, "features": list, "checksums": dict, "schema": dict, "evidence": bool}
    for name, kind in kinds.items():
        _require(type(header.get(name)) is kind, f"{name} is not a {kind.__name__}")
    _require(0 <= header["seed"] < 2**63, "the seed is out of range")
    if found == 1:
        header["params"].setdefault("fitness", "plain")
    lacking = [name for name in _SCORING if name not in header["params"]]
    _require(not lacking, f"it lacks the parameter {', '.join(lacking)}")
    try:
        Params(**header["params"])
    except (TypeError, ParameterError) as error:
        raise ModelFormatError(f"The model file is damaged: its parameters are not those of RFOD ({error}).") from error
    return dict(header)


def _to_sample(column: Column, n_rows: int, codes: NDArray[np.int32], numbers: NDArray[np.float64]) -> NDArray[Any]:
    """The column's values in the sample, of which one kind has to be there."""
    wanted = (n_rows, 0) if column.is_categorical else (0, n_rows)
    _require((len(codes), len(numbers)) == wanted, "the kept rows lack values")
    _require(bool((codes < len(column.categories)).all()), "a kept row has an unknown category")
    return codes if column.is_categorical else numbers


def _to_forest(j: int, column: Column, own: dict[str, Any], arrays: Arrays, features: tuple[Any, Any]) -> Forest:
    """The forest of a column, after a check of all that a kernel relies on. `features` are their numbers of codes, 0
    for those that a tree of the column must not read, and whether they are categorical."""
    n_classes, kept = min(len(column.categories), LAST_CLASS + 1), own["kept"]
    n_values, entry_ends, classes = len(arrays["leaf_value"]), arrays["entry_ends"], arrays["entry_class"]
    n_leaves = len(entry_ends) - 1 if n_classes else n_values
    _require((n_values > 0, len(entry_ends) > 0) == (not n_classes, n_classes > 0), "leaves and columns do not agree")
    _require(n_leaves <= MOST_LEAVES, "a column has too many leaves")
    _require(len(kept) > 0 and bool(kept.max() < len(own["fitness"])), "a kept tree was never grown")
    _require(len(np.unique(kept)) == len(kept), "a tree is kept twice")
    words, word_starts, leaf_starts = arrays["words"], arrays["word_starts"], arrays["leaf_starts"]
    _require(word_starts[0] == leaf_starts[0] == 0, "trees do not begin with their first words and leaves")
    _require(word_starts[-1] < len(words) and leaf_starts[-1] < n_leaves, "trees lack words or leaves")
    _require((0, len(classes)) == ((entry_ends[0], entry_ends[-1]) if n_classes else (0, 0)), "leaves lack classes")
    _require(bool((classes < n_classes).all()), "a leaf holds an unknown class")
    _require(ascends(classes, entry_ends, "strict"), "the classes of a leaf do not ascend")
    for part, n_own in zip(np.split(words, word_starts[1:]), np.diff(leaf_starts, append=n_leaves), strict=True):
        _require(is_tree(part, int(n_own), *features), "a tree is malformed")
    return Forest(j, n_classes, Trees(n_leaves=n_leaves, **arrays), **own)

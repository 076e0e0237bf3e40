"""Model files: a zip of one JSON member and .npy arrays. Reading one never runs code and trusts nothing.

Members: `model.json` (format version, parameters, schema, features, sizes and checksums of the arrays) and
`arrays/<name>.npy`. The arrays of all forests are stored one after another; counts per tree and leaf cut them up again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest.forest import MOST_LEAVES, Forest, Trees, is_tree
from rfod._io.archives import LARGEST_JSON, Archive, open_archive, write_archive
from rfod._io.errors import OutputError
from rfod._io.source_stats import MEMBER as FACTS_MEMBER
from rfod._io.write import replaced
from rfod._model.model import Model, Sample
from rfod._table.bins import features_from_json, features_to_json
from rfod._table.columns import Schema
from rfod.exceptions import ModelFormatError, ParameterError, SchemaError
from rfod.params import Params

FORMAT = "rfod model"
FORMAT_VERSION = 1

Arrays = dict[str, NDArray[Any]]
_DTYPES = {
    "edges": np.float64,
    "ranges": np.float64,
    "fitness": np.float64,
    "calibration": np.float64,
    "n_cells": np.int64,  # per column, how many of cell_calibration
    "cell_calibration": np.float64,
    "n_offsets": np.int64,  # per column, how many of interval_calibration
    "interval_calibration": np.float64,
    "floors": np.float64,  # per column
    "n_single": np.int64,
    "centres": np.float64,  # per part of the consensus score
    "scales": np.float64,
    "sample_rows": np.int64,
    "sample_numbers": np.float64,  # of the numeric columns, one after another
    "sample_codes": np.int32,  # of the categorical columns
    "importances": np.float64,  # (column, column)
    "n_draws": np.int64,  # per forest
    "n_grown": np.int64,
    "n_kept": np.int64,
    "tree_fitness": np.float64,  # per grown tree
    "kept": np.int64,  # per kept tree
    "tree_words": np.int64,
    "tree_leaves": np.int64,
    "words": np.int64,
    "leaf_value": np.float64,  # per leaf of a numeric target
    "leaf_variance": np.float64,
    "leaf_entries": np.int64,  # per leaf of a categorical target
    "entry_class": np.uint16,
    "entry_share": np.float32,
}
_SCORING = ("uncertainty", "aggregation", "distance", "trim")  # parameters that scoring reads
_LARGEST_LEAF = 1e151  # values beyond 1e150 count as infinite and reach no leaf


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file, which is there whole or not at all."""
    features, edges = features_to_json(model.features)
    arrays = _to_arrays(model) | {"edges": edges}
    packed = {name: _npy_bytes(arrays[name]) for name in _DTYPES}
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "rfod_version": version("rfod"),
        "params": dict(model.params),
        "seed": model.seed,
        "schema": model.schema.to_json(),
        "features": features,
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
    members = {"model.json": header_bytes} | {_member(name): data for name, data in packed.items()}
    try:
        with replaced(os.fspath(path)) as temporary:
            write_archive(temporary, members)
    except OutputError as error:
        if isinstance(error.__cause__, OSError):  # FileNotFoundError and the like, as `open` raises them
            raise OSError(error.__cause__.errno, error.__cause__.strerror, os.fspath(path)) from error
        raise


def _member(array: str) -> str:
    return f"arrays/{array}.npy"


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file; `ModelFormatError` for anything that `save_model` cannot have written."""
    with open_archive(path) as archive:
        if "model.json" not in archive.members:
            raise ModelFormatError("The file is a zip archive, but not an rfod model: it has no model.json.")
        header = _checked_header(archive.read_json("model.json"), path)  # first: a newer format may have other arrays
        lacking = [name for name in map(_member, _DTYPES) if name not in archive.members]
        _require(not lacking, f"it lacks {', '.join(lacking[:5])}")
        foreign = archive.members.keys() - {"model.json", FACTS_MEMBER, *map(_member, _DTYPES)}
        _require(not foreign, f"{min(foreign, default='')[:40]!r} is no part of a model")
        arrays = {name: _read_array(archive, name, header["checksums"]) for name in _DTYPES}
    schema = Schema.from_json(header["schema"])
    features = features_from_json(header["features"], arrays["edges"], schema)
    n_columns = len(schema.columns)
    for name in ("ranges", "fitness", "floors", "n_single", "n_draws", "n_grown", "n_kept", "n_cells", "n_offsets"):
        _require(arrays[name].shape == (n_columns,), f"{name} is not one per column")
    _require(arrays["importances"].shape == (n_columns, n_columns), "importances are not columns by columns")
    _require(_finite(arrays["importances"]) and bool((arrays["importances"] >= 0).all()), "an importance is no number")
    _require(_finite(arrays["ranges"]) and bool((arrays["ranges"] >= 0).all()), "a range is no number")
    floors = arrays["floors"]
    _require(bool(((floors >= 0) & (floors <= _LARGEST_LEAF)).all()), "a floor is no number, or an absurd one")
    _require(bool((arrays["n_single"] >= 0).all()), "a number of categories is negative")
    for name in ("centres", "scales"):
        _require(arrays[name].shape == (3,) and _finite(arrays[name]), f"{name} are not three numbers")
    _require(bool((arrays["scales"] > 0).all()), "a scale is not positive")
    calibration = _ascending(arrays["calibration"])
    _require(len(calibration) > 0, "there are no calibration scores")
    cell_ends = _ends(arrays["n_cells"], len(arrays["cell_calibration"]), 0, "calibration scores")
    cell_calibration = tuple(_ascending(arrays["cell_calibration"][low:high]) for low, high in pairwise(cell_ends))
    offset_ends = _ends(arrays["n_offsets"], len(arrays["interval_calibration"]), 0, "interval offsets")
    offsets = tuple(_ascending(arrays["interval_calibration"][low:high]) for low, high in pairwise(offset_ends))
    _require(all(len(part) == 0 or (part[0] >= 0 and part[-1] <= 1) for part in offsets), "an offset is out of range")
    n_codes = np.array([feature.n_codes for feature in features], dtype=np.int64)
    is_categorical = np.array([feature.is_categorical for feature in features], dtype=np.bool_)
    feature_columns = np.array([feature.column for feature in features], dtype=np.int64)
    forests = _to_forests(arrays, schema, n_codes, is_categorical, feature_columns)
    return Model(
        schema,
        features,
        forests,
        ranges=arrays["ranges"],
        sample=_to_sample(arrays, schema),
        seed=header["seed"],
        params=header["params"],
        fitness=arrays["fitness"],
        floors=arrays["floors"],
        n_single=arrays["n_single"],
        cell_calibration=cell_calibration,
        interval_calibration=offsets,
        centres=arrays["centres"],
        scales=arrays["scales"],
        calibration=calibration,
    )


def _to_sample(arrays: Arrays, schema: Schema) -> Sample:
    """The kept training rows, column by column."""
    rows, numbers, codes = arrays["sample_rows"], arrays["sample_numbers"], arrays["sample_codes"]
    _require(len(rows) > 0 and bool((np.diff(rows) > 0).all()), "the kept rows do not ascend")
    _require(bool(rows[0] >= 0) and bool(rows[-1] < schema.n_rows), "a kept row is not of the training table")
    n_sets = sum(column.is_categorical for column in schema.columns)
    _require(len(codes) == n_sets * len(rows), "the kept rows lack categories")
    _require(len(numbers) == (len(schema.columns) - n_sets) * len(rows), "the kept rows lack numbers")
    parts = {True: iter(codes.reshape(n_sets, len(rows))), False: iter(numbers.reshape(-1, len(rows)))}
    values = tuple(next(parts[column.is_categorical]) for column in schema.columns)
    for column, kept in zip(schema.columns, values, strict=True):
        if column.is_categorical:
            _require(bool(((kept >= -1) & (kept < len(column.categories))).all()), "a kept row has an unknown category")
    return Sample(rows, values)


def _npy_bytes(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(buffer, np.ascontiguousarray(little), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _to_arrays(model: Model) -> Arrays:
    """The arrays of all forests, one after another."""
    forests = model.forests
    trees = [forest.trees for forest in forests]
    by_class = [bool(forest.n_classes) for forest in forests]
    kept = list(zip(model.sample.values, model.is_categorical.tolist(), strict=True))

    def joined(parts: list[NDArray[Any]], name: str) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, dtype=_DTYPES[name]), *parts]).astype(_DTYPES[name])

    return {
        "ranges": model.ranges,
        "fitness": model.fitness,
        "calibration": model.calibration,
        "n_cells": np.array([len(scores) for scores in model.cell_calibration], dtype=np.int64),
        "cell_calibration": joined(list(model.cell_calibration), "cell_calibration"),
        "n_offsets": np.array([len(offsets) for offsets in model.interval_calibration], dtype=np.int64),
        "interval_calibration": joined(list(model.interval_calibration), "interval_calibration"),
        "floors": model.floors,
        "n_single": model.n_single,
        "centres": model.centres,
        "scales": model.scales,
        "sample_rows": model.sample.rows,
        "sample_numbers": joined([v for v, is_categorical in kept if not is_categorical], "sample_numbers"),
        "sample_codes": joined([v for v, is_categorical in kept if is_categorical], "sample_codes"),
        "importances": np.array([forest.importances for forest in forests]),
        "n_draws": np.array([forest.n_draws for forest in forests], dtype=np.int64),
        "n_grown": np.array([len(forest.fitness) for forest in forests], dtype=np.int64),
        "n_kept": np.array([tree.n_trees for tree in trees], dtype=np.int64),
        "tree_fitness": joined([forest.fitness for forest in forests], "tree_fitness"),
        "kept": joined([forest.kept for forest in forests], "kept"),
        "tree_words": joined([np.diff(tree.word_starts, append=len(tree.words)) for tree in trees], "tree_words"),
        "tree_leaves": joined([np.diff(tree.leaf_starts, append=tree.n_leaves) for tree in trees], "tree_leaves"),
        "words": joined([tree.words for tree in trees], "words"),
        "leaf_value": joined([tree.leaf_value for tree in trees], "leaf_value"),
        "leaf_variance": joined([tree.leaf_variance for tree in trees], "leaf_variance"),
        "leaf_entries": joined(
            [np.diff(tree.entry_ends) for tree, classes in zip(trees, by_class, strict=True) if classes], "leaf_entries"
        ),
        "entry_class": joined([tree.entry_class for tree in trees], "entry_class"),
        "entry_share": joined([tree.entry_share for tree in trees], "entry_share"),
    }


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ModelFormatError(f"The model file is damaged: {problem}.")


def _finite(array: NDArray[Any]) -> bool:
    return bool(np.isfinite(array).all())


def _ascending(scores: NDArray[Any]) -> NDArray[Any]:
    """The scores themselves, when they are finite and ascend."""
    _require(_finite(scores), "the calibration scores are no numbers")
    _require(bool((scores[1:] >= scores[:-1]).all()), "the calibration scores do not ascend")
    return scores


def _checked_header(header: Any, path: str | os.PathLike[str]) -> dict[str, Any]:
    _require(isinstance(header, dict) and header.get("format") == FORMAT, "model.json is not that of an rfod model")
    found = header.get("format_version")
    if type(found) is int and found > FORMAT_VERSION:
        raise ModelFormatError(
            f"{os.fspath(path)} has model format {found}, written by rfod {str(header.get('rfod_version'))[:20]}; "
            f"this version reads up to format {FORMAT_VERSION}.\nHint: upgrade rfod."
        )
    _require(type(found) is int and found == FORMAT_VERSION, f"there is no format version {str(found)[:20]}")
    for name, kind in {"params": dict, "seed": int, "features": list, "checksums": dict, "schema": dict}.items():
        _require(type(header.get(name)) is kind, f"{name} is not a {kind.__name__}")
    _require(0 <= header["seed"] < 2**63, "the seed is out of range")
    lacking = [name for name in _SCORING if name not in header["params"]]
    _require(not lacking, f"it lacks the parameter {', '.join(lacking)}")
    try:
        Params(**header["params"])
    except (TypeError, ParameterError) as error:
        raise ModelFormatError(f"The model file is damaged: its parameters are not those of RFOD ({error}).") from error
    return dict(header)


def _read_array(archive: Archive, name: str, checksums: Mapping[str, Any]) -> NDArray[Any]:
    return archive.read_array(
        _member(name), np.dtype(_DTYPES[name]), 2 if name == "importances" else 1, checksums.get(name)
    )


def _ends(counts: NDArray[np.int64], total: int, smallest: int, what: str) -> NDArray[np.int64]:
    """Running sums from 0, when all counts are sane and add up."""
    _require(len(counts) * smallest <= total, f"there are too few {what}")
    _require(bool(((counts >= smallest) & (counts <= total)).all()), f"a number of {what} is out of range")
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    _require(int(ends[-1]) == total and bool((ends[1:] >= ends[:-1]).all()), f"the numbers of {what} do not add up")
    return ends


def _to_forests(
    arrays: Arrays,
    schema: Schema,
    n_codes: NDArray[np.int64],
    is_categorical: NDArray[np.bool_],
    feature_columns: NDArray[np.int64],
) -> tuple[Forest, ...]:
    """Cut the arrays into forests and check all that a kernel relies on."""
    kept_ends = _ends(arrays["n_kept"], len(arrays["kept"]), 1, "kept trees")
    grown_ends = _ends(arrays["n_grown"], len(arrays["tree_fitness"]), 1, "grown trees")
    word_ends = _ends(arrays["tree_words"], len(arrays["words"]), 1, "words")
    _require(len(word_ends) == len(arrays["kept"]) + 1, "trees and their words do not agree")
    _require(len(arrays["tree_leaves"]) == len(arrays["kept"]), "trees and their leaves do not agree")
    n_value_leaves, n_class_leaves = len(arrays["leaf_value"]), len(arrays["leaf_entries"])
    leaf_ends = _ends(arrays["tree_leaves"], n_value_leaves + n_class_leaves, 1, "leaves")
    entry_ends = _ends(arrays["leaf_entries"], len(arrays["entry_class"]), 1, "class shares")
    _require(len(arrays["leaf_variance"]) == n_value_leaves, "leaves and their variances do not agree")
    _require(len(arrays["entry_share"]) == len(arrays["entry_class"]), "classes and their shares do not agree")
    _require(bool((np.abs(arrays["leaf_value"]) <= _LARGEST_LEAF).all()), "a leaf is no number, or an absurd one")
    variance = arrays["leaf_variance"]
    _require(bool(((variance >= 0) & (variance <= _LARGEST_LEAF**2)).all()), "a variance is negative or absurd")
    shares = arrays["entry_share"]
    _require(bool(((shares > 0) & (shares <= 1)).all()), "a share is not between 0 and 1")
    _require(bool(((arrays["n_draws"] >= 1) & (arrays["n_draws"] < 2**62)).all()), "a number of draws is out of range")

    forests = []
    n_values_before, n_classes_before = 0, 0
    for j, column in enumerate(schema.columns):
        trees = slice(kept_ends[j], kept_ends[j + 1])
        kept = arrays["kept"][trees]
        n_grown = int(arrays["n_grown"][j])
        _require(bool(((kept >= 0) & (kept < n_grown)).all()), "a kept tree was never grown")
        _require(len(np.unique(kept)) == len(kept), "a tree is kept twice")
        n_leaves = int(leaf_ends[kept_ends[j + 1]] - leaf_ends[kept_ends[j]])
        _require(n_leaves <= MOST_LEAVES, "a column has too many leaves")
        n_classes = min(len(column.categories), 2**16)
        if column.is_categorical:
            low, high = n_classes_before, n_classes_before + n_leaves
            _require(high <= n_class_leaves, "leaves and columns do not agree")
            n_classes_before = high
            own_ends = entry_ends[low : high + 1] - entry_ends[low]
            entries = slice(entry_ends[low], entry_ends[high])
            _check_entries(arrays["entry_class"][entries], own_ends, n_classes)
            leaves = slice(0, 0)
        else:
            leaves = slice(n_values_before, n_values_before + n_leaves)
            _require(leaves.stop <= n_value_leaves, "leaves and columns do not agree")
            n_values_before = leaves.stop
            own_ends, entries = np.zeros(0, dtype=np.int64), slice(0, 0)
        n_seen = np.where(feature_columns == j, 0, n_codes)  # a tree must not look at its own target
        for tree in range(kept_ends[j], kept_ends[j + 1]):
            words = arrays["words"][word_ends[tree] : word_ends[tree + 1]]
            _require(is_tree(words, int(arrays["tree_leaves"][tree]), n_seen, is_categorical), "a tree is malformed")
        own = Trees(
            words=arrays["words"][word_ends[kept_ends[j]] : word_ends[kept_ends[j + 1]]],
            word_starts=word_ends[trees] - word_ends[kept_ends[j]],
            leaf_starts=leaf_ends[trees] - leaf_ends[kept_ends[j]],
            n_leaves=n_leaves,
            leaf_value=arrays["leaf_value"][leaves],
            leaf_variance=arrays["leaf_variance"][leaves],
            entry_ends=own_ends,
            entry_class=arrays["entry_class"][entries],
            entry_share=arrays["entry_share"][entries],
        )
        forests.append(
            Forest(
                target=j,
                n_classes=n_classes if column.is_categorical else 0,
                trees=own,
                n_draws=int(arrays["n_draws"][j]),
                fitness=arrays["tree_fitness"][grown_ends[j] : grown_ends[j + 1]],
                kept=kept,
                importances=arrays["importances"][j],
            )
        )
    _require((n_values_before, n_classes_before) == (n_value_leaves, n_class_leaves), "leaves are left over")
    return tuple(forests)


def _check_entries(classes: NDArray[np.uint16], ends: NDArray[np.int64], n_classes: int) -> None:
    """Every leaf lists known classes in ascending order."""
    _require(bool((classes < n_classes).all()), "a leaf holds an unknown class")
    ascends = classes[1:] > classes[:-1]
    ascends[ends[1:-1] - 1] = True  # from one leaf to the next anything goes
    _require(bool(ascends.all()), "the classes of a leaf do not ascend")

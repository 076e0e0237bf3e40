"""Which columns of a table are modelled, as what, and whether another table has them too."""

from __future__ import annotations

import difflib
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from rfod._table.columns import NATURAL_FAMILIES, STORED_FAMILY, Column, Schema
from rfod._table.guess import LeftOut, guess_kind
from rfod._table.table import Table, listed
from rfod._table.values import (
    Category,
    as_category,
    category_values,
    count_merged,
    family,
    plain,
    read_numbers,
    reads_as,
    value_type,
)
from rfod.exceptions import ColumnMismatchError, ColumnWarning, SchemaError
from rfod.params import KINDS, Kind

__all__ = ["Column", "Kind", "LeftOut", "Schema", "infer_schema", "match_columns"]

_LEFT_OUT: dict[str, LeftOut] = {"identifier": "identifier", "text": "text", "ignore": "ignored"}
READABLE_FAMILIES: dict[Kind, tuple[str, ...]] = {  # with an override
    "numeric": ("number", "boolean", "text"),
    "categorical": ("number", "boolean", "text", "datetime", "time", "duration"),
    "boolean": ("boolean", "number", "text"),
    "datetime": ("datetime", "text"),
    "time": ("time", "text"),
    "duration": ("duration", "number", "text"),
}
_DEFAULT_TYPE: dict[Kind, str] = {"numeric": "double", "categorical": "string", "boolean": "bool", "time": "time64[us]"}
_DEFAULT_TYPE |= {"datetime": "timestamp[us]", "duration": "duration[us]"}


def infer_schema(table: Table, column_types: Mapping[str, str] | None = None) -> Schema:
    """Decide for each column what it is (the rules are in `guess`), or take the caller's word for it.

    Warns once (`ColumnWarning`) about all columns that a guess leaves out, values that an override cannot read, and
    different numbers that become the same float.
    """
    overrides = dict(column_types or {})
    _check_overrides(table, overrides)
    if table.n_rows < 2:
        raise SchemaError(
            f"Found array with 1 sample(s) (shape=(1, {len(table.names)})) while a minimum of 2 is required.\n"
            "Hint: a forest learns from many rows."
        )
    columns: list[Column] = []
    left_out: dict[str, LeftOut] = {}
    suggestions: dict[str, Kind] = {}
    unread: dict[str, int] = {}
    merged: dict[str, int] = {}
    for name in table.names:
        override = overrides.get(name)
        if override in _LEFT_OUT:
            left_out[name] = _LEFT_OUT[override]
            continue
        learned = _learn(table, name, next((kind for kind in KINDS if kind == override), None))
        if isinstance(learned.found, Column):
            columns.append(learned.found)
            if learned.n_unread:
                unread[name] = learned.n_unread
            if learned.n_merged:
                merged[name] = learned.n_merged
        else:
            left_out[name] = learned.found
            if learned.suggestion:
                suggestions[name] = learned.suggestion
    if len(columns) < 2:
        raise SchemaError(_too_few_message(table, columns, left_out))
    guessed = {name: reason for name, reason in left_out.items() if overrides.get(name) not in _LEFT_OUT}
    message = "\n".join(
        filter(None, (_warning_message(guessed, suggestions, unread, overrides), _merged_message(merged)))
    )
    if message:
        warnings.warn(message, ColumnWarning, stacklevel=2)
    return Schema(tuple(columns), left_out, table.names, table.has_names, table.n_rows)


def _check_overrides(table: Table, overrides: Mapping[str, str]) -> None:
    unknown = [name for name in overrides if name not in table.names]
    if unknown:
        raise SchemaError(
            f"column_types names {len(unknown)} column(s) that the table does not have: {listed(unknown)}."
            + (_did_you_mean(unknown, table.names) or f"\nHint: the columns are {listed(table.names)}.")
        )
    choices = (*KINDS, *_LEFT_OUT)
    for name, kind in overrides.items():
        if kind not in choices:
            near = difflib.get_close_matches(str(kind), choices, 1)
            raise SchemaError(
                f"column_types[{name!r}] is {kind!r}, which is no kind of column.\n"
                f"Hint: {f'did you mean {near[0]!r}? ' if near else ''}The kinds are {', '.join(map(repr, choices))}."
            )


def _did_you_mean(lacking: list[str], names: tuple[str, ...]) -> str:
    """A hint line with the nearest names, or nothing."""
    by_lower = {name.lower(): name for name in reversed(names)}
    pairs = []
    for name in map(str, lacking[:5]):
        near = difflib.get_close_matches(name.lower(), list(by_lower), 1)
        if near:
            pairs.append(f"{by_lower[near[0]]!r} for {name!r}")
    return f"\nHint: did you mean {', '.join(pairs)}?" if pairs else ""


@dataclass(frozen=True)
class _Learned:
    """What became of a column, and what to tell about it."""

    found: Column | LeftOut
    suggestion: Kind | None = None
    n_unread: int = 0
    n_merged: int = 0


def _learn(table: Table, name: str, override: Kind | None) -> _Learned:
    """One column, guessed or as the override says."""
    column = table.column(name, mixed_as_text=override is not None)
    if column.null_count == table.n_rows:
        return _Learned("empty")
    found = family(value_type(column.type))
    if found == "other":
        raise SchemaError(
            f"Column {name!r} is of type {str(column.type)[:80]}, which has no place in a model.\n"
            f"Hint: convert it to text or numbers, or leave it out: column_types={{{name!r}: 'ignore'}}."
        )
    values = plain(column)
    if values.null_count == table.n_rows:  # a dictionary whose only values are NaN
        return _Learned("empty")
    counts = values.drop_null().value_counts() if found == "text" else None
    kind = override or guess_kind(name, column, counts, table.has_names)
    if kind == "identifier" or kind == "text" or kind == "empty" or kind == "ignored":
        texts = counts.field("values")[:100].to_pylist() if counts is not None else []
        return _Learned(kind, reads_as(texts) if texts else None)
    if found not in READABLE_FAMILIES[kind]:
        raise SchemaError(
            f"Column {name!r} holds {found} values ({values.type}), which cannot be read as {kind}.\n"
            f"Hint: leave it out of column_types, or convert it first."
        )
    return _describe(name, kind, values, overridden=override is not None)


def _describe(name: str, kind: Kind, values: pa.ChunkedArray, overridden: bool) -> _Learned:
    """The facts of a column of plain values, once its kind is settled."""
    found = family(values.type)
    # numbers taken for booleans are told as well: what is neither 0 nor 1 is then missing, not a third category
    told = overridden and (found == "text" or (kind == "boolean" and found == "number"))
    from_text = told or found not in NATURAL_FAMILIES[kind]
    is_number = kind in ("numeric", "duration")
    n_merged = count_merged(values) if is_number or pa.types.is_decimal(values.type) else 0
    if n_merged and not is_number:  # categories of decimals are floats, unless these are not as many
        from_text, n_merged = True, 0
    if kind == "categorical":
        values = category_values(values, from_text)
    arrow_type = _arrow_type(kind, values, from_text)
    draft = Column(name, kind, arrow_type, from_text=from_text)
    if draft.is_categorical:
        counted: Counter[Category] = Counter()
        to_category = as_category(kind, from_text)
        for entry in values.drop_null().value_counts().to_pylist():
            category = to_category(entry["values"])
            if category is not None:
                counted[category] += entry["counts"]
        categories = tuple(sorted(counted, key=lambda category: (-counted[category], category)))
        n_present, n_distinct = counted.total(), len(categories)
    else:
        categories = ()
        numbers = read_numbers(values, kind)
        present = np.sort(numbers[~np.isnan(numbers)])
        n_present, n_distinct = len(present), 1 + int(np.count_nonzero(present[1:] != present[:-1]))
    n_values = len(values) - values.null_count
    if n_present == 0:
        examples = ", ".join(repr(value)[:60] for value in values.drop_null()[:2].to_pylist())
        raise SchemaError(
            f"None of the {n_values} values of column {name!r} reads as {kind}, for example {examples}.\n"
            f"Hint: choose another kind in column_types, or 'ignore'."
        )
    if not (draft.is_categorical or np.isfinite(present).any()):  # nothing that a forest could learn or predict
        return _Learned("empty")
    column = replace(draft, categories=categories, n_missing=len(values) - n_present, n_distinct=n_distinct)
    return _Learned(column, n_unread=n_values - n_present, n_merged=n_merged)


def _arrow_type(kind: Kind, values: pa.ChunkedArray, from_text: bool) -> str:
    """The type to give values back in; text is "string" whichever of Arrow's text types came."""
    found = family(values.type)
    if from_text or found == "text" or (kind in ("numeric", "boolean") and STORED_FAMILY[kind] != found):
        return _DEFAULT_TYPE[kind]
    return str(values.type)


def _too_few_message(table: Table, columns: list[Column], left_out: Mapping[str, LeftOut]) -> str:
    if len(table.names) == 1:
        why = f"Found array with 1 feature(s) (shape=({table.n_rows}, 1)) while a minimum of 2 is required."
    else:
        reasons = "; ".join(f"{reason}: {listed(names)}" for reason, names in _by_reason(left_out).items())
        why = f"Only {len(columns)} of the {len(table.names)} columns can be modelled. Left out are {reasons}."
    return (
        f"{why} Two are needed, because each column is predicted from the others.\n"
        "Hint: add columns, or say what a left-out column is: column_types={'name': 'categorical'}."
    )


def _by_reason(left_out: Mapping[str, LeftOut]) -> dict[LeftOut, list[str]]:
    reasons: dict[LeftOut, list[str]] = {}
    for name, reason in left_out.items():
        reasons.setdefault(reason, []).append(name)
    return reasons


def _warning_message(
    left_out: Mapping[str, LeftOut],
    suggestions: Mapping[str, Kind],
    unread: Mapping[str, int],
    overrides: Mapping[str, str],
) -> str:
    """All columns concerned, in one text; empty when there are none."""
    words = {"identifier": "look like identifiers", "text": "look like free text", "empty": "have no finite values"}
    lines = []
    if left_out:
        parts = [f"{len(names)} {words[reason]} ({listed(names)})" for reason, names in _by_reason(left_out).items()]
        lines.append(f"{len(left_out)} column(s) are left out of the model: {'; '.join(parts)}.")
    if unread:
        parts = [f"{count} of {name!r} (as {overrides[name]})" for name, count in list(unread.items())[:5]]
        lines.append(f"Values that do not read as column_types says became missing: {', '.join(parts)}.")
    named = next(iter(suggestions), None) or next(
        (name for name, reason in left_out.items() if reason != "empty"), None
    )
    if suggestions:
        reading = [f"{name!r} reads as {kind}" for name, kind in list(suggestions.items())[:5]]
        lines.append(f"Of these, {', '.join(reading)}.")
    if named is not None:
        kind = suggestions.get(named, "categorical")
        lines.append(
            f"Hint: to use one, say what it is: column_types={{{named!r}: {kind!r}}}; to silence this, 'ignore'."
        )
    elif left_out:
        lines.append(f"Hint: drop them, or silence this: column_types={{{next(iter(left_out))!r}: 'ignore'}}.")
    return "\n".join(lines)


def _merged_message(merged: Mapping[str, int]) -> str:
    """All columns with numbers that become the same float, in one text; empty when there are none."""
    if not merged:
        return ""
    parts = [f"{count:,} of {name!r}" for name, count in list(merged.items())[:5]]
    return (
        "Numbers are kept as 64-bit floats, which hold 15 digits, and whole numbers up to 2**53. Values that cannot be "
        f"told from other ones there: {', '.join(parts)}{', ...' if len(merged) > 5 else ''}.\n"
        f"Hint: column_types={{{next(iter(merged))!r}: 'categorical'}} keeps them apart; 'ignore' leaves them out."
    )


def match_columns(schema: Schema, table: Table) -> Table:
    """The table under the names of the schema, its columns found by name in any order, or else by position.

    By position where this table or the training table was an array: the number of columns must agree, and where only
    one of them had names, a UserWarning in scikit-learn's words says so. By name only the modelled columns are needed.
    """
    if schema.has_names and table.has_names:
        needed = [column.name for column in schema.columns]
        lacking = [name for name in needed if name not in set(table.names)]
        if lacking:
            raise ColumnMismatchError(
                f"The table lacks {len(lacking)} of the {len(needed)} columns the model was fitted on: "
                f"{listed(lacking)}."
                + _did_you_mean(lacking, tuple(name for name in table.names if name not in needed))
            )
        return table
    if len(table.names) != len(schema.names):
        raise ColumnMismatchError(
            f"X has {len(table.names)} features, but RFOD is expecting {len(schema.names)} features as input.\n"
            "Hint: without names columns are matched by position, so the table needs the same columns as in fit."
        )
    if schema.has_names:
        warnings.warn(
            "X does not have valid feature names, but RFOD was fitted with feature names", UserWarning, stacklevel=2
        )
    elif table.has_names:
        warnings.warn("X has feature names, but RFOD was fitted without feature names", UserWarning, stacklevel=2)
    return replace(table, names=schema.names, has_names=schema.has_names)

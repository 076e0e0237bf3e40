"""Which columns of a table are modelled, as what, and whether another table has them too.

* Numbers are numeric, booleans boolean, dates and timestamps datetime, times and durations what they are.
* A dictionary type (pandas category, polars Enum and Categorical) is believed: categorical, whatever the values.
* Text is read as numbers, true and false, dates or times where at least 80 % of its values are such.
* Other text is categorical, unless it has more than 20 distinct values and they make up more than half of the values
  present: then it is free text if it averages at least two words or more than 50 characters, otherwise an identifier.
  Text that averages at least four words is free text already when distinct values make up more than 0.3 of those
  present.
* Integers of at least 20 rows, all distinct, none missing, are an identifier if they count the rows (all steps in one
  direction, at least 95 % of them the same), or if their name says so (id, uuid, key, index, customer_id, orderId).
* Integers with two values are truth values or categories. Digits of one width are a code (postcodes, account numbers)
  if their name says so, or if they repeat and are few for their range; a code with mostly distinct values is an
  identifier.
* A column without any value is empty.
* Two columns at least are modelled: where there are fewer, the identifiers or texts with the fewest distinct values are
  categorical after all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rfod._table.columns import Column, LeftOut, Schema
from rfod._table.kinds import NATURAL_KIND, find_reading, kind_of
from rfod._table.kinds.base import ORDERS, ColumnFormat, TextSample, sample_values, trimmed
from rfod._table.kinds.categorical import Categorical
from rfod._table.kinds.numeric import find_decimal
from rfod._table.table import Table, listed
from rfod._table.values import count_merged, family, plain, value_type
from rfod.exceptions import (
    ColumnMismatchError,
    ColumnWarning,
    SchemaError,
    counted,
    did_you_mean,
    nearest_name,
    warn_caller,
)
from rfod.params import KINDS

__all__ = ["Column", "LeftOut", "Schema", "infer_schema", "match_columns"]

_LEFT_OUT: dict[str, LeftOut] = {"identifier": "identifier", "text": "text", "ignore": "ignored"}
_MANY_DISTINCT = 20
_MIN_ROWS_TO_COUNT = 20
_ONE_WIDTH = 0.9  # share of the values of a code that have the same number of digits
_CODE_NAME = re.compile(
    r"(?i:(^|[^a-z])(zip|post(al|code)?|plz|phone|tel|fax|fips|geoid|ssn|ein|npi|isbn|sic|naics|code|cd|account|acct|provider|"
    r"licen[cs]e|permit|parcel|district|tract|number|num|no|id)([^a-z]|code|$))|[a-z](Zip|Phone|Fax|Code|No|Number|Id|ID)$"
)
IDENTIFIER_NAME = re.compile(
    r"(?i:(.*[_\-. ])?(id|uuid|guid|key|index|rowid|row_?(id|number|nr|no)|pk))|.*[a-z](Id|ID)|Unnamed: 0"
)


def infer_schema(table: Table, column_types: Mapping[str, str] | None = None, *, judges_cells: bool = False) -> Schema:
    """Decide for each column what it is, or take the caller's word for it. With `judges_cells`, other evidence than the
    model judges cells of the columns that it leaves out, which the warning then says.

    Warns once (`ColumnWarning`) about all columns that a guess leaves out, text that does not parse, and different
    numbers that become the same float.
    """
    overrides = dict(column_types or {})
    _check_overrides(table, overrides)
    if table.n_rows < 2:
        raise SchemaError(
            f"Found array with 1 sample(s) (shape=(1, {len(table.names)})) while a minimum of 2 is required.\n"
            "Hint: a forest learns from many rows."
        )
    skipped = {name: _LEFT_OUT[kind] for name, kind in overrides.items() if kind in _LEFT_OUT}
    learned = {name: _learn(table, name, overrides.get(name)) for name in table.names if name not in skipped}
    samples = {name: column.sample for name, column in learned.items() if column.sample is not None}
    if find_decimal(sample.values for sample in samples.values()) == ",":  # also where 1,234 alone says nothing
        learned |= {name: _learn(table, name, overrides.get(name), ",") for name in samples}
    n_lacking = 2 - sum(isinstance(column.found, Column) for column in learned.values())
    added = _as_categories(table, learned, n_lacking) if n_lacking > 0 else {}
    learned |= added
    columns = [column.found for column in learned.values() if isinstance(column.found, Column)]
    guessed = {name: column.found for name, column in learned.items() if not isinstance(column.found, Column)}
    left_out = {name: reason for name in table.names if (reason := skipped.get(name) or guessed.get(name))}
    if len(columns) < 2:
        raise SchemaError(_too_few_message(table, columns, left_out))
    lines = [*_added_lines(tuple(added)), *_left_out_lines(guessed, judges_cells), *_value_lines(learned.values())]
    lines += [remark for column in learned.values() if column.sample for remark in column.sample.remarks]
    if lines:
        warn_caller("\n".join(lines), ColumnWarning)
    return Schema(tuple(columns), left_out, table.names, table.has_names, table.n_rows)


def _as_categories(table: Table, learned: Mapping[str, _Learned], n_lacking: int) -> dict[str, _Learned]:
    """The columns that a guess leaves out with the fewest distinct values, as categorical; at most so many, and none
    where there are too few."""
    found = {
        name: (again.found.n_distinct, again)
        for name, column in learned.items()
        if column.found in ("identifier", "text")
        and isinstance((again := _learn(table, name, "categorical")).found, Column)
    }
    names = sorted(found, key=lambda name: found[name][0])[:n_lacking]
    return {name: found[name][1] for name in names} if len(names) == n_lacking else {}


def _check_overrides(table: Table, overrides: Mapping[str, str]) -> None:
    unknown = [name for name in overrides if name not in table.names]
    if unknown:
        raise SchemaError(
            f"column_types names {counted(len(unknown), 'column')} that the table does not have: {listed(unknown)}."
            + (_did_you_mean(unknown, table.names) or f"\nHint: the columns are {listed(table.names)}.")
        )
    choices = (*KINDS, *ORDERS, *_LEFT_OUT)
    for name, kind in overrides.items():
        if kind not in choices:
            near = did_you_mean(str(kind), choices)
            raise SchemaError(
                f"column_types[{name!r}] is {kind!r}, which is no kind of column.\n"
                f"Hint: {f'{near} ' if near else ''}The kinds are {', '.join(map(repr, choices))}."
            )


def _did_you_mean(lacking: list[str], names: Sequence[str]) -> str:
    """A hint line with the nearest names, or nothing."""
    near = {name: nearest_name(str(name), names) for name in lacking[:5]}
    pairs = [f"{found!r} for {str(name)!r}" for name, found in near.items() if found is not None]
    return f"\nHint: did you mean {', '.join(pairs)}?" if pairs else ""


class _Learned(NamedTuple):
    """What became of a column, and what to say about it."""

    found: Column | LeftOut
    sample: TextSample | None = None
    """Of a column of text that is read."""
    unread: str = ""
    """Values that count as missing, because they do not parse or are infinite."""
    merged: str = ""
    """Numbers that share their float with another one."""


def _learn(table: Table, name: str, override: str | None, decimal: str = ".") -> _Learned:
    """One column, recognised or as the override says."""
    column = table.column(name, mixed_as_text=override is not None)
    found = family(value_type(column.type))
    values = column if found == "other" else plain(column)
    if values.null_count == table.n_rows:  # also a dictionary whose only values are NaN
        return _Learned("empty")
    if found == "other":
        raise SchemaError(
            f"Column {name!r} is of type {str(column.type)[:80]}, which has no place in a model.\n"
            f"Hint: convert it to text or numbers, or leave it out: column_types={{{name!r}: 'ignore'}}."
        )
    kind = "datetime" if override in ORDERS else override
    if kind is not None and found not in kind_of(kind).readable:
        raise SchemaError(
            f"Column {name!r} holds {found} values ({values.type}), which cannot be read as {kind}.\n"
            f"Hint: leave it out of column_types, or convert it first."
        )
    is_declared = pa.types.is_dictionary(column.type) and kind is None
    reading = sample = None
    written = values
    if found != "text":
        reading = (table.readings or {}).get(name)
    elif not is_declared and (table.readings is None if kind is None else kind_of(kind).reads_text):
        sample = TextSample(name, sample_values(values), decimal, given=override)
        reading = find_reading(sample)
        if reading is None and kind is not None:
            reading = ColumnFormat(kind, arrow_type=kind_of(kind).default_type)
        if reading is not None:
            written = trimmed(values)
            kind, values = reading.kind, kind_of(reading.kind).parse(written, reading)
    if is_declared:
        kind = "boolean" if found == "boolean" else "categorical"
    elif override is None and pa.types.is_integer(values.type):
        if _is_identifier(name, values, table.has_names):
            return _Learned("identifier", sample)
        kind = _kind_of_integers(name, values, table.has_names)
    kind = kind or _natural_kind(values)
    if kind in _LEFT_OUT:
        return _Learned(_LEFT_OUT[kind], sample)
    # numbers that an override takes for booleans too: what is neither 0 nor 1 is then missing, not a third category
    is_chosen = override is not None and (found == "text" or (kind == "boolean" and found == "number"))
    held = reading.arrow_type if reading and reading.kind == kind else ""  # digits read as numbers may be a code
    draft = Column(name, kind, held, from_text=is_chosen or reading is not None)
    if reading is not None:
        draft = replace(draft, decimal=reading.decimal, order=reading.order)
    exact = plain(table.exact(name)) if found == "number" else written
    return _describe(draft, values, written, exact, sample)


def _describe(
    draft: Column,
    values: pa.ChunkedArray,
    written: pa.ChunkedArray,
    exact: pa.ChunkedArray,
    sample: TextSample | None,
) -> _Learned:
    """The facts of a column whose kind is settled; `values` are plain, `written` before any parsing, `exact` with all
    digits."""
    name, rules = draft.name, kind_of(draft.kind)
    from_text = draft.from_text or family(values.type) not in rules.natural
    is_exact = rules.is_categorical and not pa.types.is_decimal(written.type)
    n_merged = 0 if is_exact else count_merged(exact)
    if isinstance(rules, Categorical):  # categories of decimals are floats, unless these are not as many
        from_text, n_merged = from_text or n_merged > 0, 0
        values = rules.values(values, from_text)
    categories, n_present, n_distinct = rules.summarise(values, from_text)
    n_unread = len(written) - written.null_count - n_present
    if n_present == 0:
        examples = ", ".join(repr(value)[:60] for value in written.drop_null()[:2].to_pylist())
        remarks = "".join(f"\n{remark}" for remark in (sample.remarks if sample else ()))
        raise SchemaError(
            f"None of the {n_unread} values of column {name!r} reads as {draft.kind}, for example {examples}."
            f"{remarks}\nHint: choose another kind in column_types, or 'ignore'."
        )
    if n_distinct == 0:  # nothing finite that a forest could learn or predict
        return _Learned("empty")
    is_kept = family(values.type) in rules.stored and not (from_text or family(values.type) == "text")
    arrow_type = draft.arrow_type or rules.default_type  # "string" whichever of Arrow's text types came
    if is_kept or (draft.arrow_type and pa.types.is_integer(values.type)):
        arrow_type = str(values.type)
    if isinstance(rules, Categorical) and from_text:  # categories as written, whatever they were parsed as before
        arrow_type = rules.default_type
    facts = replace(draft, arrow_type=arrow_type, categories=categories, from_text=from_text)
    facts = replace(facts, n_missing=len(values) - n_present, n_distinct=n_distinct)
    unread = f"{n_unread:,} of {name!r} (as {draft.kind})" if n_unread else ""
    if n_unread and sample is not None:
        unread += f", for example {written.filter(values.is_null()).drop_null()[0].as_py()[:40]!r}"
    merged = f"{n_merged:,} of {name!r}" if n_merged else ""
    return _Learned(facts, sample, unread, merged)


def _natural_kind(values: pa.ChunkedArray) -> str:
    """The kind of plain values that are not read; text may be an identifier or free text."""
    found = family(values.type)
    if found != "text":
        return NATURAL_KIND[found]
    counts = values.drop_null().value_counts()
    texts, occurrences = counts.field("values"), counts.field("counts").to_numpy()
    n_present = int(occurrences.sum())
    share_distinct = len(texts) / n_present
    if len(texts) <= _MANY_DISTINCT or share_distinct <= 0.3:
        return "categorical"
    mean_words = float(occurrences @ pc.count_substring_regex(texts, r"\S+").to_numpy()) / n_present
    if share_distinct <= 0.5:
        return "text" if mean_words >= 4 else "categorical"
    mean_length = float(occurrences @ pc.utf8_length(texts).to_numpy()) / n_present
    return "text" if mean_words >= 2 or mean_length > 50 else "identifier"


def _kind_of_integers(name: str, column: pa.ChunkedArray, has_names: bool) -> str:
    """Whether whole numbers are amounts, truth values, or codes such as postcodes: digits of one width that are named
    like codes, or that repeat and are few for their range."""
    counts = column.drop_null().value_counts()
    values, occurrences = counts.field("values").to_numpy(), counts.field("counts").to_numpy()
    n_values = int(occurrences.sum())
    if len(values) == 2 and n_values >= _MIN_ROWS_TO_COUNT:
        return "boolean" if set(values.tolist()) == {0, 1} else "categorical"
    if n_values < _MIN_ROWS_TO_COUNT or values.min() < 0:
        return "numeric"
    widths = np.char.str_len(values.astype(str))
    width = int(np.median(np.repeat(widths, occurrences)))
    is_even = float(occurrences[widths == width].sum()) >= _ONE_WIDTH * n_values
    is_named = has_names and _CODE_NAME.search(name) is not None and width >= 3
    is_sparse = width >= 5 and 0.05 * n_values >= len(values) and np.ptp(values) >= 100 * len(values)
    if not is_even or not (is_named or is_sparse):
        return "numeric"
    return "code" if len(values) <= 0.5 * n_values else "identifier"


def _is_identifier(name: str, column: pa.ChunkedArray, has_names: bool) -> bool:
    """Whether integers count the rows, or are distinct and named like a key."""
    if len(column) < _MIN_ROWS_TO_COUNT or column.null_count:
        return False
    values = column.to_numpy()
    named = has_names and IDENTIFIER_NAME.fullmatch(name) is not None
    ascending = bool((values[1:] > values[:-1]).all())
    if ascending or bool((values[1:] < values[:-1]).all()):
        steps = np.diff(values if ascending else values[::-1])
        return named or float(np.mean(steps == np.sort(steps)[len(steps) // 2])) >= 0.95
    if not named:
        return False
    ordered = np.sort(values)
    return bool((ordered[1:] != ordered[:-1]).all())


def _too_few_message(table: Table, columns: Sequence[Column], left_out: Mapping[str, LeftOut]) -> str:
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
    reasons = dict.fromkeys(left_out.values())
    return {reason: [name for name, why in left_out.items() if why == reason] for reason in reasons}


def _added_lines(names: Sequence[str]) -> Iterable[str]:
    """Columns that are modelled only because two are needed."""
    if names:
        yield f"Two columns are needed. As categories, though hardly a value repeats: {listed(names)}."


_REASON_WORDS: dict[LeftOut, tuple[str, str]] = {
    "identifier": ("looks like an identifier", "look like identifiers"),
    "text": ("looks like free text", "look like free text"),
    "empty": ("has no finite values", "have no finite values"),
}


def _reason_words(reason: LeftOut, names: Sequence[str]) -> str:
    """Why these columns are left out."""
    how_many = f" ({len(names):,} columns)" if len(names) > 5 else ""
    return f"{listed(names)}{how_many} {_REASON_WORDS[reason][len(names) > 1]}"


def _left_out_lines(left_out: Mapping[str, LeftOut], judges_cells: bool) -> Iterable[str]:
    """All columns that a guess leaves out."""
    if not left_out:
        return
    parts = [_reason_words(reason, names) for reason, names in _by_reason(left_out).items()]
    is_one = len(left_out) == 1
    text = f"{counted(len(left_out), 'column')} {'is' if is_one else 'are'} left out of the model: {'; '.join(parts)}."
    named = next((name for name, reason in left_out.items() if reason != "empty"), None)
    if judges_cells and named is not None:
        text += f" {'Its' if is_one else 'Their'} cells are judged by form, spelling and votes only."
    yield text
    if named is not None:
        yield f"Hint: to use one, say what it is: column_types={{{named!r}: 'categorical'}}; to silence this, 'ignore'."
    else:
        yield f"Hint: drop them, or silence this: column_types={{{next(iter(left_out))!r}: 'ignore'}}."


def _value_lines(learned: Collection[_Learned]) -> Iterable[str]:
    """All columns with values that do not parse, and with numbers that become the same float."""
    unread = [column.unread for column in learned if column.unread]
    merged = [column.merged for column in learned if column.merged]
    if unread:
        yield f"Values that do not read as the kind of their column count as missing: {'; '.join(unread[:5])}."
    if merged:
        name = merged[0].partition(" of ")[2]
        yield (
            "Numbers are kept as 64-bit floats, which hold 15 digits, and whole numbers up to 2**53. Values that "
            f"share their float with another value: {', '.join(merged[:5])}{', ...' if len(merged) > 5 else ''}.\n"
            f"Hint: column_types={{{name}: 'categorical'}} keeps them apart; 'ignore' leaves them out."
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
                f"{listed(lacking)}." + _did_you_mean(lacking, [name for name in table.names if name not in needed])
            )
        return table
    if len(table.names) != len(schema.names):
        raise ColumnMismatchError(
            f"X has {len(table.names)} features, but RFOD is expecting {len(schema.names)} features as input.\n"
            "Hint: without names columns are matched by position, so the table needs the same columns as in fit."
        )
    if schema.has_names:
        warn_caller("X does not have valid feature names, but RFOD was fitted with feature names", UserWarning)
    elif table.has_names:
        warn_caller("X has feature names, but RFOD was fitted without feature names", UserWarning)
    new_name = dict(zip(table.names, schema.names, strict=True))
    before = {new_name[name]: cells for name, cells in table.before.items()}
    return replace(table, names=schema.names, has_names=schema.has_names, texts={}, before=before)

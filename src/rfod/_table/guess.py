"""What a column is, guessed from its Arrow type, its values and its name.

* Numbers are numeric, booleans boolean, dates and timestamps datetime, times and durations what they are.
* A dictionary type (pandas category, polars Enum and Categorical) is believed: categorical, whatever the values.
* Text is categorical, unless it has more than 20 distinct values and they make up more than half of the values present:
  then it is free text if it averages at least two words or more than 50 characters, otherwise an identifier. Text that
  averages at least four words is free text already when distinct values make up more than 0.3 of the values present.
* Integers of at least 20 rows, all distinct, none missing, are an identifier if they count the rows (all steps in one
  direction, at least 95 % of them the same), or if their name says so (id, uuid, key, index, customer_id, orderId).
* A column without any value is empty.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rfod._table.values import family, value_type
from rfod.params import Kind

LeftOut = Literal["identifier", "text", "empty", "ignored"]

_MANY_DISTINCT = 20
_MIN_ROWS_TO_COUNT = 20
_IDENTIFIER_NAME = re.compile(
    r"(?i:(.*[_\-. ])?(id|uuid|guid|key|index|rowid|row_?(id|number|nr|no)|pk))|.*[a-z](Id|ID)|Unnamed: 0"
)
_KIND_OF_FAMILY: dict[str, Kind] = {
    "number": "numeric",
    "boolean": "boolean",
    "datetime": "datetime",
    "time": "time",
    "duration": "duration",
}


def guess_kind(name: str, column: pa.ChunkedArray, counts: pa.StructArray | None, has_names: bool) -> Kind | LeftOut:
    """The kind of a column with at least one value; `counts` are its distinct values where it is text."""
    values = value_type(column.type)
    found = family(values)
    if pa.types.is_dictionary(column.type):
        return "boolean" if found == "boolean" else "categorical"
    if found == "text" and counts is not None:
        return _guess_text(counts)
    if pa.types.is_integer(values) and _is_identifier(name if has_names else "", column):
        return "identifier"
    return _KIND_OF_FAMILY[found]


def _guess_text(counts: pa.StructArray) -> Kind | LeftOut:
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


def _is_identifier(name: str, column: pa.ChunkedArray) -> bool:
    """Whether integers count the rows, or are distinct and named like a key."""
    if len(column) < _MIN_ROWS_TO_COUNT or column.null_count:
        return False
    values = column.to_numpy()
    named = _IDENTIFIER_NAME.fullmatch(name) is not None
    ascending = bool((values[1:] > values[:-1]).all())
    if ascending or bool((values[1:] < values[:-1]).all()):
        steps = np.diff(values if ascending else values[::-1])
        return named or float(np.mean(steps == np.sort(steps)[len(steps) // 2])) >= 0.95
    if not named:
        return False
    ordered = np.sort(values)
    return bool((ordered[1:] != ordered[:-1]).all())

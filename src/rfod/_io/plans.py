"""What each text column of a source holds: decided once, on its first rows, and applied to every batch alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rfod._io import readings
from rfod._io.errors import InputError
from rfod._io.notes import Notes
from rfod._io.readings import MISSING_AMONG_NUMBERS, MISSING_TEXTS, NUMBER, Order, matches, without

Reading = Literal["text", "number", "date", "time", "truth"]
Lines = NDArray[np.int64]

MOSTLY = 0.9  # a column is read as what at least this share of its values is
_DECISION_VALUES = 20_000
_READING_OF_KIND: dict[str, Reading] = {
    "numeric": "number",
    "number": "number",
    "datetime": "date",
    "dmy": "date",
    "mdy": "date",
    "time": "time",
    "boolean": "truth",
}
_NAMES: dict[Reading, str] = {"number": "number", "date": "date", "time": "time of day", "truth": "truth value"}


@dataclass(frozen=True)
class Plan:
    """How to read one column of text."""

    reading: Reading = "text"
    decimal: str = "."
    order: Order | None = None
    arrow_type: pa.DataType | None = None
    """Of dates: with or without clock and zone."""


@dataclass
class Planner:
    """Plans for the text columns of one source, and their use."""

    name: str
    notes: Notes
    kinds: Mapping[str, str]
    decimal: str | None = None
    told: frozenset[str] = frozenset()
    plans: dict[str, Plan] | None = None
    _n_present: dict[str, int] = field(default_factory=dict)
    _n_odd: dict[str, int] = field(default_factory=dict)

    def convert(self, table: pa.Table, lines: Lines | None) -> pa.Table:
        """The table with its text columns as what they hold. The first table decides."""
        cleaned = {name: _cleaned(table.column(name)) for name in table.column_names if _is_text(table, name)}
        if self.plans is None:
            self.plans = self._decide(cleaned)
        return pa.table(
            {
                name: self._read(name, cleaned[name], lines) if name in cleaned else table.column(name)
                for name in table.column_names
            }
        )

    # ------------------------------------------------------------------------------------------------------- decide

    def _decide(self, columns: Mapping[str, pa.ChunkedArray]) -> dict[str, Plan]:
        samples = {name: _sample(column) for name, column in columns.items()}
        decimal = self.decimal or self._find_decimal(samples)
        return {name: self._plan(name, sample, decimal) for name, sample in samples.items()}

    def _find_decimal(self, samples: Mapping[str, pa.ChunkedArray]) -> str:
        """Decimal comma or point: by the values that can be read in one way only."""
        votes = {".": 0, ",": 0}
        for sample in samples.values():
            numbers = without(sample, MISSING_AMONG_NUMBERS).drop_null()
            fits = {decimal: _count(numbers, pattern) for decimal, pattern in NUMBER.items()}
            if len(numbers) and max(fits.values()) >= MOSTLY * len(numbers):
                both = pc.sum(pc.and_(matches(numbers, NUMBER["."]), matches(numbers, NUMBER[","]))).as_py() or 0
                for decimal, n_fitting in fits.items():
                    votes[decimal] += n_fitting - both
        return "," if votes[","] > votes["."] else "."

    def _plan(self, name: str, sample: pa.ChunkedArray, decimal: str) -> Plan:
        """By what the caller says; otherwise by what nearly all values are."""
        kind = self.kinds.get(name)
        if kind is not None and kind not in _READING_OF_KIND:
            return Plan()
        values = without(sample, MISSING_AMONG_NUMBERS).drop_null()
        wanted = _READING_OF_KIND.get(kind or "")
        if wanted == "number" or (wanted is None and self._are_numbers(name, values, decimal)):
            return Plan("number", self._decimal_of(name, values, decimal))
        if wanted in ("time", "truth"):
            return Plan(wanted)
        if not len(values):
            return Plan("date", None, None, pa.timestamp("us")) if wanted else Plan()  # type: ignore[arg-type]
        if wanted is None and pc.all(pc.is_in(pc.utf8_lower(values), value_set=pa.array(["true", "false"]))).as_py():
            return Plan("truth")
        if wanted == "date" or _share(values, readings.DATE) >= MOSTLY:
            return self._date_plan(name, values, kind)
        return Plan("time") if _share(values, readings.TIME) >= MOSTLY else Plan()

    def _are_numbers(self, name: str, values: pa.ChunkedArray, decimal: str) -> bool:
        if not len(values) or pc.any(matches(values, readings.LEADING_ZERO)).as_py():
            return False  # 00123 is a code, not an amount
        share = max(_share(values, NUMBER[decimal]), _share(values, NUMBER["," if decimal == "." else "."]))
        if 1 - MOSTLY < share < MOSTLY and name not in self.told:
            self.notes.say(
                f"column {name!r} mixes numbers ({share:.0%}) with other text; read as text. "
                f"Hint: --type {name!r}=numeric reads the numbers and takes the rest as missing."
            )
        return share >= MOSTLY

    def _decimal_of(self, name: str, values: pa.ChunkedArray, decimal: str) -> str:
        """The source's decimal sign, unless this column clearly has the other."""
        other = "," if decimal == "." else "."
        if self.decimal is None and _share(values, NUMBER[decimal]) < MOSTLY <= _share(values, NUMBER[other]):
            return other
        if self.decimal is None and decimal == "." and len(values) and _share(values, r"^[+-]?[0-9]{1,3},[0-9]{3}$"):
            doubtful = not pc.any(matches(values, r"\.|,[0-9]{3},")).as_py()
            if doubtful and _share(values, r"^[+-]?[0-9]{1,3}(,[0-9]{3})?$") == 1:
                example = values.filter(matches(values, ","))[0].as_py()
                self.notes.say(
                    f"column {name!r}: {example!r} is read as {example.replace(',', '')}. "
                    "Hint: --decimal , reads the comma as decimal sign."
                )
        return decimal

    def _date_plan(self, name: str, values: pa.ChunkedArray, kind: str | None) -> Plan:
        order: Order | None = "dmy" if kind == "dmy" else "mdy" if kind == "mdy" else None
        slashed = values.filter(matches(values, readings.SLASHED_DATE))
        if order is None and len(slashed):
            parts = pc.extract_regex(slashed, r"^(?P<a>[0-9]{1,2})[/-](?P<b>[0-9]{1,2})").combine_chunks()
            first, second = (pc.max(parts.field(part).cast(pa.int64())).as_py() for part in ("a", "b"))
            if first > 12 and second <= 12:
                order = "dmy"
            elif second > 12 and first <= 12:
                order = "mdy"
            else:
                why = "some put the day first and some the month" if first > 12 else "day and month could be either"
                self.notes.say(
                    f"column {name!r} holds dates like {slashed[0].as_py()!r} where {why}; read as text. "
                    f"Hint: --type {name!r}=dmy or --type {name!r}=mdy says which comes first."
                )
                return Plan()
        if pc.any(matches(values, readings.HAS_ZONE)).as_py():
            return Plan("date", order=order, arrow_type=pa.timestamp("us", tz="UTC"))
        clock = pc.any(matches(values, readings.HAS_CLOCK)).as_py()
        return Plan("date", order=order, arrow_type=pa.timestamp("us") if clock else pa.date32())

    # --------------------------------------------------------------------------------------------------------- apply

    def _read(self, name: str, column: pa.ChunkedArray, lines: Lines | None) -> pa.ChunkedArray:
        plan = (self.plans or {}).get(name, Plan())
        if plan.reading == "text":
            return column
        column = without(column, MISSING_AMONG_NUMBERS)
        if plan.reading == "number":
            read = readings.read_numbers(column, plan.decimal)
        elif plan.reading == "date":
            read = readings.read_dates(column, plan.order, plan.arrow_type)
        else:
            read = readings.read_times(column) if plan.reading == "time" else readings.read_truth(column)
        self._n_present[name] = self._n_present.get(name, 0) + len(column) - column.null_count
        if read.null_count > column.null_count:
            self._note_odd(name, plan, column, read, lines)
        return read

    def _note_odd(
        self, name: str, plan: Plan, column: pa.ChunkedArray, read: pa.ChunkedArray, lines: Lines | None
    ) -> None:
        """Say which values could not be read; too many of them are an error."""
        odd = np.flatnonzero(pc.and_(read.is_null(), column.is_valid()).to_numpy())
        examples = [(column[int(row)].as_py(), int(lines[row]) if lines is not None else None) for row in odd[:5]]
        self._n_odd[name] = self._n_odd.get(name, 0) + len(odd)
        if 2 * self._n_odd[name] > self._n_present[name]:
            value, line = examples[0]
            place = f", line {line:,}" if line else ""
            raise InputError(
                f"{self.name}{place}, column {name!r}: {value[:40]!r} is no {_NAMES[plan.reading]}, as are "
                f"{self._n_odd[name]:,} of {self._n_present[name]:,} values. "
                f"Hint: {self._way_out(name)}"
            )
        self.notes.odd_value(name, _NAMES[plan.reading], len(odd), examples)

    def _way_out(self, name: str) -> str:
        if name in self.told:
            return "the model was fitted on another kind of column; correct the file or fit again."
        return f"--type {name!r}=categorical reads the column as text."


def _is_text(table: pa.Table, name: str) -> bool:
    found = table.schema.field(name).type
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def _cleaned(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return without(pc.utf8_trim_whitespace(column), MISSING_TEXTS)


def _sample(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Up to so many values, evenly spread over the column."""
    column = column.drop_null()
    if len(column) <= _DECISION_VALUES:
        return column
    return column.take(pa.array(np.linspace(0, len(column) - 1, _DECISION_VALUES).astype(np.int64)))


def _count(values: pa.ChunkedArray, pattern: str) -> int:
    return int(pc.sum(matches(values, pattern)).as_py() or 0)


def _share(values: pa.ChunkedArray, pattern: str) -> float:
    return _count(values, pattern) / len(values) if len(values) else 0.0

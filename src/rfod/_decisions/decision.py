"""One decision about a cell, and one line of a decisions file (docs/formats.md)."""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rfod.exceptions import DecisionsError

FORMAT = 1
"""Version of the format of a line."""
Kind = Literal["replace", "blank", "fine"]
_FINGERPRINT = re.compile("[0-9a-f]{16}")
_TEXTS = ("id", "time", "row", "column", "observed", "value", "wherever", "note", "version")


def now() -> str:
    """The time in UTC, as decisions have it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_id() -> str:
    """A name for a line that no other line has."""
    return uuid.uuid4().hex[:16]


@dataclass(frozen=True)
class Decision:
    """What a person decided about a cell, or about all cells of a column where a condition holds."""

    kind: Kind
    """"replace" (by `value`), "blank" (the cell has no value), or "fine"."""
    column: str
    observed: str | None = None
    """What stood in the cell, as written; None for a gap."""
    value: str | None = None
    """What replaces it."""
    key: tuple[str, str] | None = None
    """Name of the key column and its value in the row."""
    row: str | None = None
    """Fingerprint of the row where there is no key."""
    wherever: str | None = None
    """Condition of the rows in which all cells of the column are fine."""
    note: str = ""
    version: str = ""
    """Of the learned decision that reported the cell."""
    probability: float | None = None
    """How likely the cell was wrong, where it was decided about as a finding: other cells of its column are judged by
    it and what it turned out to be."""
    time: str = field(default_factory=now)
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        """Raise `DecisionsError` for what contradicts itself."""
        if self.kind not in get_args(Kind):
            raise DecisionsError(f"{self.kind!r} is no decision; it is one of {', '.join(get_args(Kind))}.")
        if (self.kind == "replace") != (self.value is not None):
            raise DecisionsError("A decision to replace a cell has a new value, and no other decision has.")
        if self.wherever is not None and self.kind != "fine":
            raise DecisionsError("Only 'fine' takes a condition.")
        if (self.key is not None) + (self.row is not None) + (self.wherever is not None) != 1:
            raise DecisionsError("A decision has a key, the fingerprint of a row, or a condition.")
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise DecisionsError(f"{self.probability!r} is no probability.")
        if self.row is not None and not _FINGERPRINT.fullmatch(self.row):
            raise DecisionsError(f"{self.row!r} is no fingerprint of a row, which is 16 hexadecimal digits.")

    @property
    def place(self) -> tuple[str, ...]:
        """How its row is found; the condition of one that is not about a row."""
        if self.key is not None:
            return ("key", *self.key)
        return ("row", self.row or "") if self.wherever is None else ("wherever", self.wherever)

    def __str__(self) -> str:
        if self.wherever is not None:
            return f"{self.column} is fine wherever {self.wherever}"
        row = f"{self.key[0]} {self.key[1]}" if self.key is not None else f"row with fingerprint {self.row}"
        return decision_words(self, row)

    def to_json(self) -> dict[str, Any]:
        """The fields of its line, in their order."""
        plain: dict[str, Any] = {"format": FORMAT, "id": self.id, "time": self.time}
        if self.key is not None:
            plain["key"] = {self.key[0]: self.key[1]}
        elif self.row is not None:
            plain["row"] = self.row
        plain |= {"column": self.column, "decision": self.kind}
        if self.wherever is None:
            plain["observed"] = self.observed
        else:
            plain["wherever"] = self.wherever
        if self.value is not None:
            plain["value"] = self.value
        if self.probability is not None:
            plain["probability"] = round(self.probability, 4)
        return plain | {name: value for name in ("note", "version") if (value := getattr(self, name))}


def decision_words(decision: Decision, place: str) -> str:
    """A decision about a cell in words, its row named by its place in a table."""
    verdict = {"replace": f"replaced by {decision.value!r}", "blank": "blanked", "fine": "fine"}[decision.kind]
    held = "(a gap)" if decision.observed is None else repr(decision.observed)
    return f"{place}: {decision.column} {held} {verdict}"


@dataclass(frozen=True)
class Withdrawal:
    """Takes an earlier decision back."""

    withdraws: str
    """The `id` of the decision."""
    time: str = field(default_factory=now)
    id: str = field(default_factory=new_id)

    def to_json(self) -> dict[str, Any]:
        """The fields of its line, in their order."""
        return {"format": FORMAT, "id": self.id, "time": self.time, "withdraws": self.withdraws}


Entry = Decision | Withdrawal


def line_of(entry: Entry) -> bytes:
    """A line of a decisions file, with the line end."""
    return json.dumps(entry.to_json(), ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace") + b"\n"


def parse_line(text: str) -> Entry:
    """The inverse; `DecisionsError` for what is no line of this format, `json.JSONDecodeError` for what is no JSON."""
    plain = json.loads(text)
    if not isinstance(plain, dict):
        raise DecisionsError("it is not a JSON object")
    if plain.get("format") != FORMAT:
        raise DecisionsError(f"its format is {plain.get('format')!r}; this version of rfod reads format {FORMAT}")
    for name in (*_TEXTS, "withdraws", "decision"):
        if not isinstance(plain.get(name), str | None):
            raise DecisionsError(f"{name!r} is {plain[name]!r}, not a text")
    for name in ("id", "time"):
        if not plain.get(name):
            raise DecisionsError(f"it has no {name!r}")
    if "withdraws" in plain:
        return Withdrawal(plain["withdraws"], plain["time"], plain["id"])
    for name in ("column", "decision"):
        if plain.get(name) is None:
            raise DecisionsError(f"it has no {name!r}")
    if "observed" not in plain and "wherever" not in plain:
        raise DecisionsError("it has no 'observed'")
    probability = plain.get("probability")
    if not isinstance(probability, int | float | None) or isinstance(probability, bool):
        raise DecisionsError(f"'probability' is {probability!r}, not a number")
    fields = {name: plain[name] for name in _TEXTS if plain.get(name) is not None}
    return Decision(kind=plain["decision"], key=_key_of(plain.get("key")), probability=probability, **fields)


def _key_of(plain: Any) -> tuple[str, str] | None:
    if plain is None:
        return None
    if not (isinstance(plain, dict) and len(plain) == 1 and all(isinstance(value, str) for value in plain.values())):
        raise DecisionsError("'key' is not an object with one column and its value as a text")
    return next(iter(plain.items()))

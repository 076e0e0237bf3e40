"""Findings from files that `rfod scan` and `rfod score` wrote (docs/formats.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rfod._diff.findings import Finding, FindingList
from rfod._diff.matching import Identities
from rfod._evidence.wrong_cells import WORTH_A_CHECK
from rfod._io.interface import InputError
from rfod._io.storage import local_copy
from rfod._table.fingerprint import N_PARTS, parse_fingerprints
from rfod.params import MOST_JSON_FINDINGS

Level = Literal["cells", "rows"]
_LONGEST_SHOWN = 40  # letters of a value in a message
_MOST_DIGITS = 18  # of a whole number that fits int64
_FINGERPRINT = re.compile("[0-9a-fA-F]{40}")
_HINT = "Hint: rfod scan TABLE --cells -o FILE writes one, .csv, .parquet, .jsonl, or --json > FILE.json."
_CELLS = {"row", "line", "column", "observed"}
_ROWS = {"row", "line", "score", "flagged", "cells"}
_ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "lines", ".ndjson": "lines"}
_ENDINGS |= {".json": "object"}


@dataclass(frozen=True, eq=False)
class FindingsFile(FindingList):
    """The findings of a file."""

    level: Level = "cells"
    """Whether its findings are cells or rows."""
    path: str = ""

    @property
    def has_fingerprints(self) -> bool:
        """Whether its rows can be found by their content."""
        return not len(self.findings) or bool(self.identities.prints.any())


def is_findings_file(path: str) -> bool:
    """Whether a file is one that `scan` or `score` wrote; False for one that is not there."""
    ending = _ENDINGS.get(Path(path).suffix.lower())
    if ending is None:
        return False
    try:
        with local_copy(path) as here:
            if not Path(here).is_file():
                return False
            if ending == "object":
                first = _head(here)
                return '"wrong_cells"' in first or '"findings"' in first
            return _level_of(_names(here, ending)) is not None
    except (pa.ArrowException, ValueError, OSError):
        return False


def _head(path: str) -> str:
    """Enough of a JSON object to see its fields, which may be behind long lists of findings: all of it."""
    text = Path(path).read_text(encoding="utf-8")
    return text if text.lstrip().startswith("{") else ""


def _names(path: str, ending: str) -> list[str]:
    if ending == "parquet":
        return list(pq.read_schema(path).names)
    if ending == "csv":
        with pa_csv.open_csv(path, parse_options=pa_csv.ParseOptions(newlines_in_values=True)) as reader:
            return list(reader.schema.names)
    with Path(path).open(encoding="utf-8") as file:
        first = file.readline()
    record = json.loads(first) if first else dict.fromkeys(_CELLS)  # a file of no lines lists no findings
    return list(record) if isinstance(record, dict) else []


def _level_of(names: Sequence[str]) -> Level | None:
    if set(names) >= _CELLS:
        return "cells"
    return "rows" if set(names) >= _ROWS else None


@dataclass(frozen=True)
class _Record:
    """One record of a file, whose fields are checked when they are read."""

    path: str
    number: int
    """Its place in the file, from 1."""
    fields: Mapping[str, Any]

    def error(self, problem: str) -> InputError:
        """What is wrong with the record, and the way out."""
        return InputError(
            f"{self.path}, finding {self.number:,}: {problem}. "
            "Hint: correct it, or write the file anew with rfod scan TABLE --cells -o FILE."
        )

    def value(self, name: str) -> Any:
        """A field that has to be there."""
        if name not in self.fields:
            raise self.error(f"it has no {name!r}")
        return self.fields[name]

    def text(self, name: str) -> str | None:
        """Text, also where another program has made a number of it; None for a gap, and for an absent field."""
        value = self.fields.get(name)
        if not isinstance(value, str | int | float | None):
            raise self.error(f"{name!r} is {_shown(value)}, not a text")
        return None if value is None else str(value)

    def whole(self, name: str) -> int | None:
        """A whole number from 0."""
        value = self.fields.get(name)
        found = whole_number(value)
        if found is None and value not in (None, ""):
            raise self.error(f"{name!r} is {_shown(value)}, not a whole number")
        return found

    def probability(self) -> float | None:
        """How likely a cell is wrong."""
        value = self.value("probability")
        if value is None or value == "":
            return None
        try:
            found = float("inf" if isinstance(value, bool) else value)
        except (ValueError, TypeError):
            found = float("inf")
        if found < 0 or found > 1:
            raise self.error(f"'probability' is {_shown(value)}, not a number from 0 to 1")
        return None if np.isnan(found) else found

    def is_flagged(self) -> bool:
        """Whether a row is a finding."""
        value = self.value("flagged")
        found = {"true": True, "false": False}.get(str(value).lower())
        if found is None:
            raise self.error(f"'flagged' is {_shown(value)}, neither true nor false")
        return found


def _shown(value: Any) -> str:
    return repr(value if len(str(value)) <= _LONGEST_SHOWN else f"{str(value)[:_LONGEST_SHOWN]}...")


def whole_number(value: Any) -> int | None:
    """A whole number from 0 of a file that rfod wrote, which another program may have changed from 12 to 12.0; None for
    anything else."""
    text = str(value).strip().removesuffix(".0")
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def read_findings(path: str) -> FindingsFile:
    """The findings of a file; `InputError` for one that holds none, or not all of them."""
    ending = _ENDINGS.get(Path(path).suffix.lower())
    if ending is None:
        raise InputError(f"{path}: no file of findings has this ending. {_HINT}")
    try:
        with local_copy(path) as here:
            if not Path(here).is_file():
                raise InputError(f"{path}: there is no such file of findings. {_HINT}")
            level, records = _read_json(here, path) if ending == "object" else _read_table(here, path, ending)
            if level is not None:
                return _findings(path, level, records)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read as findings: it is no UTF-8 text. {_HINT}") from error
    except json.JSONDecodeError as error:
        why = f"it is no JSON from line {error.lineno:,}, column {error.colno:,} on"
        raise InputError(f"{path} cannot be read as findings: {why}. {_HINT}") from error
    except (pa.ArrowException, ValueError, RecursionError) as error:
        why = str(error).splitlines()[0] if str(error) else "it is damaged"
        raise InputError(f"{path} cannot be read as findings: {why}. {_HINT}") from error
    raise InputError(f"{path} is no file of findings: it lacks the columns row, line, column and observed. {_HINT}")


def _numbered(path: str, found: Iterable[Any]) -> list[_Record]:
    """Records with their places."""
    records = [_Record(path, number, fields) for number, fields in enumerate(found, start=1)]
    for record in records:
        if not isinstance(record.fields, Mapping):
            raise record.error("it is no JSON object")
    return records


def _read_table(path: str, shown: str, ending: str) -> tuple[Level | None, list[_Record]]:
    """The level of a file and its lines that are findings."""
    if ending == "lines":
        level = _level_of(_names(path, ending))
        found = [] if level is None else _read_lines(path, shown)
    else:
        table = pq.read_table(path) if ending == "parquet" else _read_csv(path)
        level, found = _level_of(table.column_names), table.to_pylist()
    if level is None:
        return None, []
    records = _numbered(shown, found)
    if level == "rows":
        return level, [record for record in records if record.is_flagged()]
    if records and "probability" not in records[0].fields:  # cells of new rows, by a model without evidence
        return "rows", _rows_of(records)
    return level, [record for record in records if (record.probability() or 0.0) >= WORTH_A_CHECK]


def _read_lines(path: str, shown: str) -> list[Any]:
    """JSON values, one per line."""
    found = []
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except json.JSONDecodeError as error:
                    raise InputError(f"{shown}, line {number:,}: it is no JSON. {_HINT}") from error
    return found


def _read_csv(path: str) -> pa.Table:
    """All columns as text; an empty field that is not quoted is null."""
    names = _names(path, "csv")
    convert = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa_csv.read_csv(path, convert_options=convert, parse_options=pa_csv.ParseOptions(newlines_in_values=True))


def _rows_of(records: Sequence[_Record]) -> list[_Record]:
    """One record per row of a file of cells."""
    rows: dict[int | None, tuple[_Record, list[str]]] = {}
    for record in records:
        _, words = rows.setdefault(record.whole("row"), (record, []))
        words.append(f"{record.value('column')}: {record.value('observed')}")
    return [replace(first, fields={**first.fields, "cells": "; ".join(words[:3])}) for first, words in rows.values()]


def _read_json(path: str, shown: str) -> tuple[Level | None, list[_Record]]:
    """What --json wrote."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    if isinstance(content, dict) and isinstance(content.get("wrong_cells"), list):
        level: Level = "cells"
        records = _numbered(shown, content["wrong_cells"])
    elif isinstance(content, dict) and isinstance(content.get("findings"), list):
        level, rows = "rows", _numbered(shown, content["findings"])
        records = [replace(row, fields={**row.fields, "cells": row.fields.get("text")}) for row in rows]
    else:
        return None, []
    if len(records) >= MOST_JSON_FINDINGS:
        raise InputError(
            f"{shown} lists {len(records):,} findings, the most that --json does, and there may be more. "
            "Hint: --cells -o FILE writes all."
        )
    return level, records


def _findings(path: str, level: Level, records: Sequence[_Record]) -> FindingsFile:
    findings = [_finding(record, level) for record in records]
    texts = [_fingerprint(record) for record in records]
    has_keys = any(finding.key is not None for finding in findings)
    if findings and not has_keys and None in texts:
        raise InputError(
            f"{path} has neither keys nor fingerprints, so its rows cannot be found again. "
            "Hint: write it again with this version of rfod, or with --key COLUMN."
        )
    has_prints = bool(texts) and None not in texts
    prints = parse_fingerprints([str(text) for text in texts]) if has_prints else _no_prints(len(findings))
    keys = [finding.key for finding in findings] if has_keys else None
    columns = [str(finding.column) for finding in findings] if level == "cells" else None
    return FindingsFile(findings, Identities.of(prints, keys, columns), level=level, path=path)


def _finding(record: _Record, level: Level) -> Finding:
    """A record as a finding, its fields checked."""
    row, is_cell = record.whole("row"), level == "cells"
    if row is None:
        raise record.error("it has no 'row'")
    if is_cell and record.text("column") is None:
        raise record.error("it has no 'column'")
    if is_cell:
        record.value("observed")  # which is empty of a gap
    return Finding(
        row=row,
        line=record.whole("line"),
        key=record.fields.get("key"),
        column=record.text("column") if is_cell else None,
        observed=record.text("observed" if is_cell else "cells"),
        suggested=record.text("suggested") if is_cell else None,
        probability=record.probability() if is_cell else None,
        reason=record.text("reason") if is_cell else None,
    )


def _fingerprint(record: _Record) -> str | None:
    text = record.text("fingerprint")
    if text is not None and not _FINGERPRINT.fullmatch(text):
        raise record.error(f"'fingerprint' is {_shown(text)}, not 40 hexadecimal digits")
    return text


def _no_prints(n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.zeros((n, N_PARTS), dtype=np.uint64)


def check_comparable(before: FindingsFile, after: FindingsFile) -> None:
    """Raise `InputError` for findings of which one side cannot be found in the other."""
    if before.level != after.level and before.findings and after.findings:
        raise InputError(
            f"the findings of {before.path} are {before.level}, those of {after.path} are {after.level}. "
            "Hint: write both with --cells, or both without."
        )
    has_keys = before.identities.keys is not None and after.identities.keys is not None
    if not has_keys and not (before.has_fingerprints and after.has_fingerprints):
        raise InputError(
            f"{before.path} and {after.path} have neither keys nor fingerprints in common. "
            "Hint: write both with this version of rfod, or with --key COLUMN."
        )

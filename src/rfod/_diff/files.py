"""Findings from files that `rfod scan` and `rfod score` wrote (docs/formats.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

Level = Literal["cells", "rows"]
MOST_IN_JSON = 1000  # findings that --json lists
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


def read_findings(path: str) -> FindingsFile:
    """The findings of a file; `InputError` for one that holds none, or not all of them."""
    ending = _ENDINGS.get(Path(path).suffix.lower())
    hint = "Hint: rfod scan TABLE --cells -o FILE writes one, .csv, .parquet, .jsonl, or --json > FILE.json."
    if ending is None:
        raise InputError(f"{path}: no file of findings has this ending. {hint}")
    try:
        with local_copy(path) as here:
            if not Path(here).is_file():
                raise InputError(f"{path}: there is no such file of findings. {hint}")
            level, records = _read_json(here, path) if ending == "object" else _read_table(here, ending)
            if level is not None:
                return _findings(path, level, records)
    except InputError:
        raise
    except (pa.ArrowException, ValueError, KeyError, TypeError, AttributeError) as error:
        why = str(error).splitlines()[0] if str(error) else "it is damaged"
        raise InputError(f"{path} cannot be read as findings: {why}. {hint}") from error
    raise InputError(f"{path} is no file of findings: it lacks the columns row, line, column and observed. {hint}")


def _read_table(path: str, ending: str) -> tuple[Level | None, list[dict[str, Any]]]:
    """The level of a file and its lines that are findings."""
    if ending == "lines":
        with Path(path).open(encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.strip()]
        level = _level_of(_names(path, ending))
    else:
        table = pq.read_table(path) if ending == "parquet" else _read_csv(path)
        level, records = _level_of(table.column_names), table.to_pylist()
    if level is None:
        return None, []
    if level == "rows":
        return level, [record for record in records if record["flagged"] in (True, "true")]
    if records and "probability" not in records[0]:  # cells of new rows, by a model without evidence
        return "rows", _rows_of(records)
    return level, [record for record in records if _number(record["probability"], 0.0) >= WORTH_A_CHECK]


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


def _rows_of(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One record per row of a file of cells."""
    rows: dict[Any, dict[str, Any]] = {}
    for record in records:
        words = f"{record['column']}: {record['observed']}"
        row = rows.setdefault(record["row"], {**record, "cells": []})
        row["cells"].append(words)
    return [row | {"cells": "; ".join(row["cells"][:3])} for row in rows.values()]


def _read_json(path: str, shown: str) -> tuple[Level | None, list[dict[str, Any]]]:
    """What --json wrote."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    if isinstance(content, dict) and isinstance(content.get("wrong_cells"), list):
        level: Level = "cells"
        records = content["wrong_cells"]
    elif isinstance(content, dict) and isinstance(content.get("findings"), list):
        level, records = "rows", [{**record, "cells": record.get("text")} for record in content["findings"]]
    else:
        return None, []
    if len(records) >= MOST_IN_JSON:
        raise InputError(
            f"{shown} lists {len(records):,} findings, the most that --json does, and there may be more. "
            "Hint: --cells -o FILE writes all."
        )
    return level, records


def _findings(path: str, level: Level, records: Sequence[Mapping[str, Any]]) -> FindingsFile:
    findings = [
        Finding(
            row=int(record["row"]),
            line=None if record.get("line") is None else int(record["line"]),
            key=record.get("key"),
            column=record["column"] if level == "cells" else None,
            observed=record["observed"] if level == "cells" else record.get("cells"),
            suggested=record.get("suggested") if level == "cells" else None,
            probability=_number(record["probability"], None) if level == "cells" else None,
            reason=record.get("reason") if level == "cells" else None,
        )
        for record in records
    ]
    texts = [record.get("fingerprint") for record in records]
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


def _no_prints(n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.zeros((n, N_PARTS), dtype=np.uint64)


def _number(value: Any, instead: Any) -> Any:
    return instead if value is None or value == "" else float(value)


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

"""Everything a report says, as plain data that JSON can hold. The page only shows it."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._check.selfcheck import SelfCheck
from rfod._views.page_columns import columns_json
from rfod._views.page_findings import cells_json, rows_json, told_cells
from rfod._views.page_patterns import patterns_json
from rfod._views.texts import TextTable, printable, rounded
from rfod.detection import Detection
from rfod.exceptions import ParameterError, SchemaError

Rows = NDArray[np.intp]
DEFAULT_FDR = 0.05
NEAREST = 20  # rows shown where none is a finding
LIBRARIES = ("rfod", "numpy", "numba", "scikit-learn", "pyarrow")


@dataclass(frozen=True)
class Limits:
    """What a report holds at most."""

    findings: int = 10_000
    cells: int = 6
    """Of each finding."""
    patterns: int = 100
    heat_rows: int = 50
    heat_columns: int = 40
    explained: int = 500
    """Findings whose cells to blame and ranges are worked out."""

    def smaller(self) -> Limits:
        """For a page that came out too large."""
        return replace(self, findings=max(self.findings // 2, 1), cells=max(self.cells - 1, 1))


def summarise(
    found: Detection,
    *,
    fdr: float | None = None,
    top: int | None = None,
    contamination: float | None = None,
    redact: Collection[str] = (),
    title: str = "",
    self_check: SelfCheck | None = None,
    lines: NDArray[np.int64] | None = None,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """The content of a report: lists, dicts, texts and numbers only."""
    limits = Limits() if limits is None else limits
    hidden = check_redact(found, redact)
    flagged = found.flag(fdr=fdr, top=top, contamination=contamination)
    n_whole = int(flagged.sum())
    n_cells = 0
    if top is None and contamination is None:
        single = found.flag_cells(DEFAULT_FDR if fdr is None else fdr)
        n_cells = int(single.sum())
        flagged = flagged | single.any(axis=1)
    order = np.argsort(-found.row_scores, kind="stable")
    worst = order[flagged[order]]
    picked = worst[: limits.findings] if len(worst) else order[:NEAREST]
    cells = told_cells(found, picked, limits.cells, limits.explained, hidden)
    texts = TextTable()
    hide_keys = found.key is not None and found.key in hidden
    findings = rows_json(found, picked, cells, hide_keys)
    findings["line"] = [] if lines is None else np.asarray(lines)[picked].tolist()
    columns = columns_json(found, cells, hidden, self_check)
    told_by_cell = cells_json(found, cells, texts, hidden, limits.explained)
    told = {
        "title": printable(title),
        "key": None if found.key is None or hide_keys else printable(found.key),
        "n_rows": len(found),
        "n_columns": len(found.columns),
        "n_findings": len(worst),
        "n_whole": n_whole,
        "n_cells": n_cells,
        "rule": rule_words(fdr, top, contamination),
        "columns": columns,
        "patterns": patterns_json(found, picked, hidden, limits.patterns) if len(worst) else [],
        "findings": findings,
        "cells": told_by_cell,
        "heat": heat_json(found, picked, limits),
        "method": method_json(found),
        "hidden": sorted(printable(name) for name in hidden),
        "left_out": [[printable(name), str(why)] for name, why in found._model.schema.left_out.items()],
    }
    told["words"] = words(told)
    told["cut"] = cut_words(told, limits)
    return told | {"texts": texts.texts}


def check_redact(found: Detection, redact: Collection[str]) -> frozenset[str]:
    """The columns to hide; `SchemaError` for one that the table does not have."""
    if isinstance(redact, str):
        raise ParameterError(f"redact is {redact!r}; it must be a list of column names.")
    known = {*found.columns, *found._given.names, *found._model.schema.names}
    for name in redact:
        if name not in known:
            named = ", ".join(sorted(known)[:20])
            raise SchemaError(f"There is no column {name!r} to redact.\nHint: the columns are {named}.")
    return frozenset(redact)


def rule_words(fdr: float | None, top: int | None, contamination: float | None) -> str:
    """The rule as a part of a sentence."""
    if top is not None:
        return f"the {top:,} highest scores"
    if contamination is not None:
        return f"above all but {contamination:g} of the training rows"
    return f"false discovery rate {DEFAULT_FDR if fdr is None else fdr:g}"


def heat_json(found: Detection, picked: Rows, limits: Limits) -> dict[str, Any]:
    """Surprise of the cells of the worst rows, in the columns where these rows surprise most."""
    rows = picked[: limits.heat_rows]
    values = np.nan_to_num(found.surprise[rows], nan=0.0)
    columns = np.sort(np.argsort(-values.max(axis=0, initial=0.0), kind="stable")[: limits.heat_columns])
    return {
        "n_rows": len(rows),
        "columns": columns.tolist(),
        "values": [[rounded(value, 3) for value in row] for row in values[:, columns].tolist()],
    }


def method_json(found: Detection) -> list[list[str]]:
    """Names and values of how the report came about."""
    model = found._model
    now = dt.datetime.now(dt.UTC)
    same = ", the same ones: each is judged only by trees that have not seen it" if found._own_rows else ""
    told = [
        ["judged", f"{len(found):,} rows of {len(found.columns)} modelled columns"],
        ["fitted", f"{model.schema.n_rows:,} rows{same}"],
        ["seed", str(model.seed)],
    ]
    params = {name: value for name, value in model.params.items() if name not in ("verbose", "n_jobs")}
    told += [[name, f"{v:.6g}" if isinstance(v, float) else printable(v)] for name, v in params.items()]
    told += [[f"version of {name}", metadata.version(name)] for name in LIBRARIES]
    told += [["version of Python", platform.python_version()], ["written", f"{now:%Y-%m-%d %H:%M} UTC"]]
    return told


def words(told: Mapping[str, Any]) -> list[str]:
    """The summary in sentences."""
    n, m = told["n_findings"], told["n_rows"]
    sentences = []
    if n:
        share = f"{n:,} of {m:,} rows ({n / m:.2%}) {'is a finding' if n == 1 else 'are findings'}"
        rest = n - told["n_whole"]
        if rest == n:
            share += ", because of single cells" if n == 1 else ", all because of single cells"
        elif rest:
            share += f": {told['n_whole']:,} as a whole, {rest:,} more because of single cells"
        sentences.append(f"{share} ({told['rule']}).")
    else:
        sentences.append(f"No row of {m:,} is a finding ({told['rule']}). The highest scores are shown below.")
    columns = told["columns"]
    blamed = sorted((column for column in columns if column["n_worst"]), key=lambda column: -column["n_worst"])
    if n and blamed and blamed[0]["n_worst"] > 1:
        named = ", ".join(f"{column['name']} ({column['n_worst']:,})" for column in blamed[:3])
        sentences.append(f"Most often the worst cell is in {named}.")
    blind = [column["name"] for column in columns if column["verdict"] == "blind"]
    if blind:
        rest = f" and {len(blind) - 5} more" if len(blind) > 5 else ""
        sentences.append(
            f"The other columns say little about {', '.join(blind[:5])}{rest}: "
            "there, only values that are rare as such can be found."
        )
    if told["hidden"]:
        sentences.append(f"The values of {', '.join(told['hidden'])} are hidden in this report.")
    return sentences


def cut_words(told: Mapping[str, Any], limits: Limits) -> list[str]:
    """What the report leaves out."""
    sentences = []
    n_shown = len(told["findings"]["row"])
    if told["n_findings"] > n_shown:
        sentences.append(
            f"The {n_shown:,} findings with the highest scores of {told['n_findings']:,} are in this file."
        )
    if told["n_columns"] > limits.cells:
        sentences.append(f"At most {limits.cells} cells of each finding are told, the most surprising ones.")
    if n_shown > limits.explained:
        sentences.append(
            f"Reasons, cells to blame and the ranges of expected values are told for the first {limits.explained:,} "
            "findings."
        )
    if len(told["patterns"]) == limits.patterns:
        sentences.append(f"The {limits.patterns} most common patterns are shown.")
    if len(told["heat"]["columns"]) < told["n_columns"] or told["heat"]["n_rows"] < n_shown:
        sentences.append(
            f"The map shows the {told['heat']['n_rows']} worst rows and {len(told['heat']['columns'])} of "
            f"{told['n_columns']} columns, those where these rows surprise most."
        )
    return sentences

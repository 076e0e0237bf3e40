"""Everything a report says, as plain data that JSON can hold. The page only shows it."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rfod._check.selfcheck import SelfCheck
from rfod._evidence.wrong_cells import HIDDEN
from rfod._findings.explanations import CellExplanation, RowExplanation
from rfod._findings.findings import Findings, Rule
from rfod._findings.patterns import find_patterns
from rfod._table.table import check_columns
from rfod._views.distribution import DIGITS, LONGEST_SENTENCE, distribution, printable, rounded
from rfod._views.record import records_json
from rfod._views.suspects import Suspects
from rfod.detection import Detection
from rfod.exceptions import ParameterError

Positions = NDArray[np.intp]
SHARE_OF_WORST = 0.5  # cells less surprising than this share of the worst one are not reported
ROW_SCORES = {
    "consensus": "four together, each against training rows: cell scores weighted by how sure the forests are, "
    "surprise of the cells, distance from the nearest training row, the rarest value of the row",
    "surprise": "root mean square of the surprise of the cells",
    "uncertainty": "mean of the cell scores, weighted by how sure the forests are",
    "mean": "mean of the cell scores",
}
RANKED_ROWS = 50  # shown after a scan, the highest scores
ROWS_WITHOUT_FINDINGS = 20  # shown, the highest scores, where no row is a finding
Verdict = Literal["predictable", "partly", "blind", "constant"]
N_PREDICTORS = 5
FEW_CELLS = 1_000  # of whole records; a page that is too large with fewer has none
LEAST_PARTLY = {"R²": 0.1, "AUC": 0.6}
LEAST_PREDICTABLE = {"R²": 0.5, "AUC": 0.8}
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
    record_cells: int = 200_000
    """Cells of whole records, of all findings together."""

    def smaller(self) -> Limits:
        """For a page that came out too large: records go first."""
        if self.record_cells:
            return replace(self, record_cells=self.record_cells // 8 if self.record_cells > FEW_CELLS else 0)
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
    limits: Limits | None = None,
) -> dict[str, Any]:
    """The content of a report: lists, dicts, texts and numbers only."""
    limits = Limits() if limits is None else limits
    hidden = check_redact(found, redact)
    rule = Rule(fdr, top, contamination)
    order, is_own = found.judged.order, found.judged.is_own
    if is_own and rule == Rule():
        worst = order[:RANKED_ROWS]
    else:
        worst = order[found.flag(fdr=fdr, top=top, contamination=contamination)[order]]
    ranked = worst[: limits.findings] if len(worst) else order[:ROWS_WITHOUT_FINDINGS]
    suspects = Suspects(found, hidden, limits.findings) if found.has_probabilities else None
    picked = ranked if suspects is None else np.append(ranked, np.setdiff1d(suspects.rows, ranked)).astype(np.intp)
    place_of = {row: place for place, row in enumerate(picked.tolist())}
    cells = page_cells(found, picked, limits.cells, limits.explained, hidden)
    texts: dict[str, int] = {}
    hide_keys = found.key is None or found.key in hidden
    content = {
        "title": printable(title),
        "key": None if hide_keys else printable(found.key),
        "n_rows": len(found),
        "n_columns": len(found.columns),
        "n_fitted": found.judged.model.schema.n_rows,
        "n_findings": len(worst),
        "n_ranked": len(ranked),
        "is_own": is_own,
        "rule": rule.words(),
        "wrong": suspects and suspects.to_json(place_of),
        "columns": columns_json(found, cells, len(ranked), hidden, self_check, suspects),
        "patterns": [] if is_own or not len(worst) else patterns_json(found, ranked, hidden, limits.patterns),
        "findings": rows_json(found, picked, cells, hide_keys),
        "cells": cells_json(found, cells, texts, hidden),
        "record": records_json(found, picked, limits.record_cells, hidden, texts),
        "heat": heat_json(found, ranked, limits),
        "method": method_json(found),
        "hidden": sorted(printable(name) for name in hidden),
        "left_out": [[printable(name), str(why)] for name, why in found.judged.model.schema.left_out.items()],
    }
    content["words"] = words(content, suspects)
    content["cut"] = cut_words(content, limits)
    return content | {"texts": list(texts)}


def check_redact(found: Detection, redact: Collection[str]) -> frozenset[str]:
    """The columns to hide; `SchemaError` for one that the table does not have."""
    if isinstance(redact, str):
        raise ParameterError(f"redact is {redact!r}; it must be a list of column names.")
    check_columns([*found.given_names, *found.columns, *found.judged.model.schema.names], redact, "redact")
    return frozenset(redact)


def heat_json(found: Detection, picked: Positions, limits: Limits) -> dict[str, Any]:
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
    model = found.judged.model
    now = dt.datetime.now(dt.UTC)
    same = ", the same ones: each is judged only by trees that have not seen it" if found.judged.is_own else ""
    content = [
        ["judged", f"{len(found):,} rows of {len(found.columns)} modelled columns"],
        ["fitted", f"{model.schema.n_rows:,} rows{same}"],
        ["row score", ROW_SCORES[model.params["aggregation"]]],
        ["seed", str(model.seed)],
    ]
    if found.has_probabilities:
        content.append(["version of the decision", found.probabilities.decision.version])
    params = {name: value for name, value in model.params.items() if name not in ("verbose", "n_jobs")}
    content += [[name, f"{v:.6g}" if isinstance(v, float) else printable(v)] for name, v in params.items()]
    content += [[f"version of {name}", metadata.version(name)] for name in LIBRARIES]
    content += [["version of Python", platform.python_version()], ["written", f"{now:%Y-%m-%d %H:%M} UTC"]]
    return content


def words(content: Mapping[str, Any], suspects: Suspects | None) -> list[str]:
    """The summary in sentences."""
    n, m = content["n_findings"], content["n_rows"]
    sentences = [] if suspects is None else suspects.words()
    if content["is_own"]:
        sentences.append(f"The {n:,} most unusual rows by score are shown too: a ranking, since unusual is not wrong.")
    elif not n:
        sentences.append(f"No row of {m:,} is a finding ({content['rule']}). The highest scores are shown below.")
    else:
        share = f"{n:,} of {m:,} rows ({n / m:.2%}) {'is a finding' if n == 1 else 'are findings'}"
        sentences.append(f"{share} ({content['rule']}).")
    columns = content["columns"]
    blamed = sorted((column for column in columns if column["n_worst"]), key=lambda column: -column["n_worst"])
    if n and not content["is_own"] and blamed and blamed[0]["n_worst"] > 1:
        named = ", ".join(f"{column['name']} ({column['n_worst']:,})" for column in blamed[:3])
        sentences.append(f"Most often the worst cell is in {named}.")
    blind = [column["name"] for column in columns if column["verdict"] == "blind"]
    if blind:
        rest = f" and {len(blind) - 5} more" if len(blind) > 5 else ""
        sentences.append(
            f"The other columns say little about {', '.join(blind[:5])}{rest}: "
            "there, only values that are rare as such can be found."
        )
    if content["hidden"]:
        sentences.append(f"The values of {', '.join(content['hidden'])} are hidden in this report.")
    return sentences


def cut_words(content: Mapping[str, Any], limits: Limits) -> list[str]:
    """What the report leaves out."""
    sentences = []
    n_shown, n_ranked = len(content["findings"]["row"]), content["n_ranked"]
    n_cells = 0 if content["wrong"] is None else len(content["wrong"]["column"])
    if n_cells and n_cells < content["wrong"]["n_wrong"] + content["wrong"]["n_check"]:
        sentences.append(f"The {n_cells:,} most probable of the wrong cells are in this file.")
    if content["n_findings"] > n_ranked:
        sentences.append(
            f"The {n_ranked:,} findings with the highest scores of {content['n_findings']:,} are in this file."
        )
    if content["n_columns"] > limits.cells:
        sentences.append(f"At most {limits.cells} cells of each finding are shown, the most surprising ones.")
    if n_shown > limits.explained:
        sentences.append(
            f"Reasons, cells to blame and the ranges of expected values are shown for the first {limits.explained:,} "
            "findings."
        )
    n_records = len(content["record"]["values"])
    if n_records < n_shown:
        shown = f"is shown for the first {n_records:,} findings" if n_records else "is shown for none of the findings"
        sentences.append(f"The whole record {shown}, which keeps this file small.")
    if len(content["patterns"]) == limits.patterns:
        sentences.append(f"The {limits.patterns} most common patterns are shown.")
    if len(content["heat"]["columns"]) < content["n_columns"] or content["heat"]["n_rows"] < n_ranked:
        sentences.append(
            f"The map shows the {content['heat']['n_rows']} worst rows and {len(content['heat']['columns'])} of "
            f"{content['n_columns']} columns, those where these rows surprise most."
        )
    return sentences


def verdict(measure: str, fitness: float) -> Verdict:
    """In one word, how well the other columns tell this one."""
    if np.isnan(fitness):
        return "constant"
    if fitness < LEAST_PARTLY[measure]:
        return "blind"
    return "partly" if fitness < LEAST_PREDICTABLE[measure] else "predictable"


def columns_json(
    found: Detection,
    cells: PageCells,
    n_ranked: int,
    hidden: Collection[str],
    self_check: SelfCheck | None,
    suspects: Suspects | None,
) -> list[dict[str, Any]]:
    """One dict per modelled column, in their order; findings are counted in the first `n_ranked` rows."""
    model = found.judged.model
    n_suspects = {} if suspects is None else suspects.counts()
    starts = cells.starts[: n_ranked + 1]
    columns = cells.findings.columns[: starts[-1]]
    n_worst = np.bincount(columns[starts[:-1][np.diff(starts) > 0]], minlength=len(model.schema.columns))
    n_cells = np.bincount(columns, minlength=len(model.schema.columns))
    content = []
    for j, (column, forest, fitness) in enumerate(zip(model.schema.columns, model.forests, model.fitness, strict=True)):
        measure = "AUC" if forest.n_classes else "R²"
        order = np.argsort(-forest.importances, kind="stable")[:N_PREDICTORS].tolist()
        shares = [[k, rounded(float(forest.importances[k]), 3)] for k in order if forest.importances[k] > 0]
        recall = np.nan if self_check is None else self_check.recall(column=column.name)
        content.append(
            {
                "name": printable(column.name),
                "kind": column.kind,
                "missing": rounded(column.n_missing / model.schema.n_rows),
                "n_distinct": column.n_distinct,
                "measure": measure,
                "fitness": rounded(float(fitness), 3),
                "verdict": verdict(measure, float(fitness)),
                "predictors": shares,
                "n_worst": int(n_worst[j]),
                "n_cells": int(n_cells[j]),
                "n_suspects": n_suspects.get(column.name),
                "self_check": rounded(recall, 3),
                "hidden": column.name in hidden,
                "values": None if column.name in hidden else distribution(column, model.sample.values[j]),
            }
        )
    return content


def patterns_json(found: Detection, picked: Positions, hidden: Collection[str], most: int) -> list[dict[str, Any]]:
    """The most common patterns, each with the numbers of its findings."""
    place_of = {row: place for place, row in enumerate(picked.tolist())}
    wanted = np.ones(found.surprise.shape, dtype=np.bool_)
    return [
        {
            "column": found.columns.index(pattern.column),
            "n_findings": pattern.n_findings,
            "sentence": printable(pattern.clause, LONGEST_SENTENCE),
            "example": printable(pattern.example.sentence, LONGEST_SENTENCE),
            "findings": [place_of[row] for row in pattern.rows],
        }
        for pattern in find_patterns(found.explainer, picked, wanted, hidden)[:most]
    ]


# ------------------------------------------------------------------------------------------- findings and cells


@dataclass(frozen=True, eq=False)
class PageCells:
    """Cells of the picked rows; the cells of a row together, most surprising first."""

    findings: Findings
    starts: Positions
    """Where the cells of each picked row begin, and where the last one's end."""
    explained: tuple[RowExplanation, ...]
    """Of the first picked rows."""
    explanations: Mapping[int, CellExplanation]
    """By number of the cell."""


def page_cells(
    found: Detection, picked: Positions, most: int, n_explained: int, hidden: Collection[str] = ()
) -> PageCells:
    """The cells to report of each picked row, at most so many.

    In the first `n_explained` rows those of the explanation; in the others, and where there is nothing to explain, the
    most surprising ones.
    """
    explained = found.explainer.explain_rows(picked[:n_explained], most, hidden)
    cells: list[tuple[int, int]] = []
    starts = [0]
    explanations: dict[int, CellExplanation] = {}
    for place, row in enumerate(picked.tolist()):
        own = explained[place].cells if place < len(explained) else ()
        explanations |= {len(cells) + k: cell for k, cell in enumerate(own)}
        columns = [found.columns.index(cell.column) for cell in own]
        if not columns:
            order = found.judged.cell_order(row)[:most]
            surprise = found.surprise[row, order]
            columns = order[surprise >= SHARE_OF_WORST * surprise.max(initial=0.0)].tolist()
        cells += [(row, j) for j in columns]
        starts.append(len(cells))
    return PageCells(Findings.of_cells(found.judged, cells), np.array(starts), tuple(explained), explanations)


def cells_json(
    found: Detection, cells: PageCells, texts: dict[str, int], hidden: Collection[str]
) -> dict[str, list[Any]]:
    """One list per property; texts by their number in `texts`, which grows, places on the axis of a figure as numbers.

    Reasons, ranges and likeliest categories are those of the explanations.
    """
    judged, findings = found.judged, cells.findings
    at = (findings.rows, findings.columns)
    is_hidden = [judged.names[j] in hidden for j in findings.columns.tolist()]

    def numbers(values: Any, digits: int) -> list[float | None]:
        return [rounded(value, digits) for value in values.tolist()]

    def text(value: str | None) -> int | None:
        return None if value is None else texts.setdefault(printable(value), len(texts))

    def veiled(values: Sequence[str | None], instead: str | None) -> list[str | None]:
        return [instead if veil else value for value, veil in zip(values, is_hidden, strict=True)]

    content: dict[str, list[Any]] = {
        "column": findings.columns.tolist(),
        "score": numbers(judged.cells.cell_scores[at], 4),
        "surprise": numbers(judged.surprise[at], 3),
        "rarity": numbers(-np.log10(judged.tail_p_values[at]), 3),
        "p": numbers(judged.p_values[at], 3),
        "observed": list(map(text, veiled(findings.observed, HIDDEN))),
        "expected": list(map(text, veiled(findings.expected, HIDDEN))),
        "suggestion": list(map(text, veiled(findings.suggestions, None))),
        "kind": veiled(findings.kinds, "value"),
    }
    n_cells = len(findings)
    content["blamed"] = [0] * n_cells
    for name in ("sentence", "low", "high", "at", "centre", "from", "to", "likely"):
        content[name] = [None] * n_cells
    for cell, explanation in cells.explanations.items():
        content["blamed"][cell] = int(explanation.blamed)
        content["sentence"][cell] = printable(explanation.sentence, LONGEST_SENTENCE)
        content["expected"][cell] = text(explanation.expected)
        content["low"][cell], content["high"][cell] = text(explanation.low), text(explanation.high)
        for name, number in zip(("at", "centre", "from", "to"), explanation.numbers or (), strict=False):
            content[name][cell] = rounded(number, DIGITS)
        if explanation.likely:
            content["likely"][cell] = [[text(name), rounded(share, 3)] for name, share in explanation.likely]
    return content


def rows_json(found: Detection, picked: Positions, cells: PageCells, hide_keys: bool) -> dict[str, list[Any]]:
    """One list per property of the findings."""
    keys = [] if hide_keys else found.keys.take(picked).to_pylist()
    lines = found.labels.lines
    return {
        "row": (picked + found.labels.first_row).tolist(),
        "line": [] if lines is None else lines[picked].tolist(),
        "key": ["missing" if key is None else printable(key) for key in keys],
        "score": [rounded(score) for score in found.row_scores[picked].tolist()],
        "p": [rounded(value, 3) for value in found.row_p_values[picked].tolist()],
        "start": cells.starts.tolist(),
        "mended": [int(row.ordinary and bool(row.remedy)) for row in cells.explained],
        "remedy": [printable(row.remedy, LONGEST_SENTENCE) for row in cells.explained],
    }

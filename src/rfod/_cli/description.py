"""What a model file holds, as plain values and for the terminal."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Column as Heading
from rich.table import Table
from rich.text import Text

from rfod._cli.console import shown
from rfod._io.source_stats import read_stats
from rfod._model.model import Model, summarise_forests
from rfod.params import Params

_WIDE = 120
_RULES_SHOWN = 5


def print_description(console: Console, summary: dict[str, Any]) -> None:
    """What `describe` found out, for a person."""
    source, lines = summary["source"], {}
    if source:
        sample = f", of which {source['n_sampled']:,} were fitted" if source["n_sampled"] else ""
        lines["source"] = f"{source['source']}: {source['n_rows']:,} rows{sample}"
    lines["model"] = f"{summary['n_rows']:,} rows, {len(summary['columns'])} columns"
    lines["size"] = (
        f"{summary['file_bytes'] / 2**20:,.1f} MB in the file, "
        f"{summary['tree_bytes'] / 2**20:,.1f} MB of trees in memory, {summary['n_leaves']:,} leaves"
    )
    lines["format"] = f"{summary['format_version']}, written by rfod {summary['rfod_version']}"
    lines["parameters"] = ", ".join(f"{name}={value}" for name, value in summary["params"].items())
    n_others, limit = len(summary["columns"]) - 1, max((c["n_predictors"] for c in summary["columns"]), default=0)
    if limit < n_others:
        lines["predictors"] = f"of each column {limit:,} of the {n_others:,} others, those that say most about it"
    if summary["left_out"]:
        lines["left out"] = ", ".join(f"{name} ({reason})" for name, reason in summary["left_out"].items())
    lines["evidence"] = _evidence_text(summary["evidence"])
    for label, text in lines.items():
        console.print(Text(f"{label:<12}{shown(text)}"))
    rules = summary["evidence"]["regularities"] if summary["evidence"] else []
    for number, rule in enumerate(rules[:_RULES_SHOWN]):
        console.print(Text(f"{'' if number else 'rules':<12}{shown(rule)}"))
    if len(rules) > _RULES_SHOWN:
        console.print(Text(f"{'':<12}... and {len(rules) - _RULES_SHOWN} more, in --json"))
    console.print()
    console.print(_columns_table(summary["columns"], narrow=console.width < _WIDE))
    console.print(Text("fit: R² of numbers, AUC of categories, on rows the trees had not seen.", style="dim"))


def _columns_table(columns: list[dict[str, Any]], narrow: bool) -> Table:
    headings = [
        Heading(name, overflow="fold") for name in ("column", "kind", "values", "missing", "fit", "predicted from")
    ]
    for heading in headings[1], headings[4]:
        heading.no_wrap = True
    for heading in headings[3:5]:
        heading.justify = "right"
    table = Table(*headings, box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        predictors = list(column["predictors"].items())[: 2 if narrow else 4]
        cells = (
            column["name"],
            column["kind"],
            column["values"].split(":")[0] if narrow else column["values"],
            f"{column['share_missing']:.1%}" if column["share_missing"] else "",
            "constant" if column["fitness"] is None else f"{column['measure']} {column['fitness']:.2f}",
            ", ".join(f"{name} {share:.0%}" for name, share in predictors),
        )
        table.add_row(*(Text(shown(cell)) for cell in cells))
    return table


def describe(model: Model, path: str) -> dict[str, Any]:
    """What a model file on this machine holds, as plain values."""
    facts = read_stats(path) or {}
    forests = summarise_forests(model)
    defaults = Params().to_json()
    columns = []
    for column in model.schema.columns:
        forest = forests[column.name]
        fact = facts.get("columns", {}).get(column.name, {})
        columns.append(
            {
                "name": column.name,
                "kind": column.kind,
                "values": _values_text(column.n_distinct, column.categories, fact),
                "n_distinct": column.n_distinct,
                "share_missing": fact["n_missing"] / facts["n_rows"]
                if fact
                else column.n_missing / model.schema.n_rows,
                "measure": "R²" if forest.measure == "R2" else forest.measure,
                "fitness": None if np.isnan(forest.fitness) else round(forest.fitness, 4),
                "predictors": {name: round(share, 4) for name, share in list(forest.importances.items())[:10]},
                "n_predictors": forest.n_predictors,
                "n_leaves": forest.n_leaves,
                "facts": fact or None,
            }
        )
    return {
        "n_rows": model.schema.n_rows,
        "source": {name: facts.get(name) for name in ("source", "n_rows", "n_sampled")} if facts else None,
        "file_bytes": Path(path).stat().st_size,
        "tree_bytes": model.n_bytes,
        "n_leaves": sum(forest.n_leaves for forest in forests.values()),
        **_written_as(path),
        "params": {
            name: value
            for name, value in model.params.items()
            if name in ("n_estimators", "random_state") or value != defaults.get(name)
        },
        "left_out": dict(model.schema.left_out),
        "evidence": _evidence(model),
        "columns": columns,
    }


def _evidence(model: Model) -> dict[str, Any] | None:
    """What the model keeps of its training table as evidence on cells of new rows."""
    if model.profile is None:
        return None
    columns, names = model.profile.columns, model.profile.names
    return {
        "n_rows": columns[0].n_rows,
        "n_texts": {column.name: len(column.frequent) for column in columns},
        "determined_by": {
            names[c]: [" and ".join(names[j] for j in vote.columns) for vote in votes]
            for c, votes in enumerate(model.profile.determinants)
            if votes
        },
        "regularities": [rule.text(names) for rule in model.profile.regularities],
    }


def _evidence_text(evidence: dict[str, Any] | None) -> str:
    if evidence is None:
        return "none; cells of new rows get no probability"
    n_texts = sum(evidence["n_texts"].values())
    return f"counts of {len(evidence['n_texts'])} columns over {evidence['n_rows']:,} rows, {n_texts:,} values as text"


def _values_text(n_distinct: int, categories: tuple[Any, ...], fact: dict[str, Any]) -> str:
    """A few words on what a column holds."""
    if categories:
        named = ", ".join(str(category)[:20] for category in categories[:3])
        return f"{n_distinct:,} categories: {named}{', ...' if n_distinct > 3 else ''}"
    quantiles = fact.get("quantiles", {})
    if {"0.0", "0.5", "1.0"} <= quantiles.keys():
        low, middle, high = (_short(quantiles[share]) for share in ("0.0", "0.5", "1.0"))
        return f"{low} .. {middle} .. {high}"
    return f"{n_distinct:,} distinct"


def _short(value: float | str) -> str:
    """A quantile in few digits; infinity is kept as text."""
    return value if isinstance(value, str) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _written_as(path: str) -> dict[str, Any]:
    """Format of the file, and the version of rfod that wrote it."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
    return {"format_version": header["format_version"], "rfod_version": str(header.get("rfod_version"))[:20]}

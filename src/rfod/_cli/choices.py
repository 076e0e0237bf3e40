"""Options that several commands share, each with its help once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from rfod._io.options import BATCH_ROWS, ReadOptions
from rfod._table.columns import KINDS
from rfod.detector import RFOD

_TYPES = (*KINDS, "dmy", "mdy", "identifier", "text", "ignore")

DEFAULTS = RFOD().get_params()
SEED = 0  # a command gives the same answer twice unless asked otherwise

Key = Annotated[
    str | None,
    typer.Option("--key", metavar="COLUMN", help="Column that identifies rows; it comes back with every finding."),
]
Separator = Annotated[
    str | None,
    typer.Option("--sep", metavar="CHAR", help="Separator of a text file, 'tab' for tabs."),
]
Encoding = Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="Encoding of a text file.")]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", metavar="CHAR", help="Decimal sign in a text file, . or ,"),
]
Quote = Annotated[
    str | None,
    typer.Option("--quote", metavar="CHAR", help="Quote character, or 'none'."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=KIND",
        help=f"What a column holds: {', '.join(_TYPES)}. May be repeated. dmy and mdy are dates by their order.",
    ),
]
Sql = Annotated[str | None, typer.Option("--sql", metavar="QUERY", help="Read the answer of a query.")]
Database = Annotated[
    str | None,
    typer.Option("--db", metavar="ADDRESS", help="sqlite:///file.db or postgresql://user@host/name."),
]
BatchRows = Annotated[int, typer.Option("--batch-rows", metavar="N", min=1, help="Rows read and judged at a time.")]
Fdr = Annotated[
    float | None,
    typer.Option(
        "--fdr",
        metavar="RATE",
        help="As many rows as possible while the expected share of false ones stays at most this. [default: 0.05]",
    ),
]
Top = Annotated[int | None, typer.Option("--top", metavar="N", min=1, help="The rows with the highest scores.")]
Contamination = Annotated[
    float | None,
    typer.Option(
        "--contamination",
        metavar="SHARE",
        help="Rows that score higher than all but this share of the training rows.",
    ),
]
FailAbove = Annotated[
    float | None,
    typer.Option(
        "--fail-above",
        metavar="SHARE",
        help="Exit with 3 if more than this share of the rows is flagged.",
    ),
]
Cells = Annotated[
    bool,
    typer.Option("--cells", help="Write the cells of the findings instead of the rows."),
]
Redact = Annotated[
    list[str] | None,
    typer.Option("--redact", metavar="COLUMN", help="Keep the values of a column out of the report. May be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Findings and summary as one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Show = Annotated[int, typer.Option("--show", metavar="N", min=0, help="Findings shown on the terminal.")]
Trees = Annotated[int, typer.Option("--trees", metavar="N", min=1, help="Trees grown per column.")]
Alpha = Annotated[
    float, typer.Option("--alpha", metavar="SHARE", help="Quantile that bounds the range of a numeric column.")
]
Beta = Annotated[float, typer.Option("--beta", metavar="SHARE", help="Share of the trees that is kept.")]
Trim = Annotated[
    float | None,
    typer.Option("--trim", metavar="SHARE", help="Share of the worst rows left out of a second fit."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same answer.", min=0)]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1 for all cores.")]


def read_options(
    separator: str | None,
    encoding: str | None,
    decimal: str | None,
    quote: str | None,
    header: bool | None,
    types: list[str] | None,
    batch_rows: int = BATCH_ROWS,
) -> ReadOptions:
    """Options as given, checked."""
    if separator is not None:
        separator = "\t" if separator in ("tab", "\\t") else separator
        if len(separator) != 1:
            raise typer.BadParameter("one character is needed, or 'tab'.", param_hint="--sep")
    if decimal not in (None, ".", ","):
        raise typer.BadParameter("it is . or ,", param_hint="--decimal")
    return ReadOptions(separator, encoding, decimal, quote, header, parse_types(types), batch_rows=batch_rows)


def parse_types(types: list[str] | None) -> dict[str, str]:
    """`column=kind` pairs; the last equals sign counts, since names may have one."""
    kinds = {}
    for pair in types or []:
        name, sign, kind = pair.rpartition("=")
        if not sign or not name or kind not in _TYPES:
            raise typer.BadParameter(
                f"{pair!r} is not COLUMN=KIND with a kind of {', '.join(_TYPES)}.", param_hint="--type"
            )
        kinds[name.strip("'\"")] = kind
    return kinds


def column_types(kinds: Mapping[str, str]) -> dict[str, str]:
    """Kinds as the detector knows them: the order of day and month matters only for reading."""
    return {name: "datetime" if kind in ("dmy", "mdy") else kind for name, kind in kinds.items()}


def check_rule(fdr: float | None, top: int | None, contamination: float | None) -> None:
    """At most one rule, with a share between 0 and 1."""
    if sum(value is not None for value in (fdr, top, contamination)) > 1:
        raise typer.BadParameter("give one of --fdr, --top and --contamination.", param_hint="--fdr")
    for name, share in (("--fdr", fdr), ("--contamination", contamination)):
        if share is not None and not 0 < share < 1:
            raise typer.BadParameter("a number between 0 and 1 is needed.", param_hint=name)

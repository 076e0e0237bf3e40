"""Options that several commands share, each with its help once, and groups of them. Imports nothing that takes time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from rfod._io.interface import BATCH_ROWS, ReadOptions
from rfod.params import AS_PUBLISHED, KINDS, LEFT_OUT_KINDS, SCAN_SEED, Params

_TYPES = (*KINDS, "dmy", "mdy", *LEFT_OUT_KINDS)

ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file that rfod fit wrote.", show_default=False)
]
TableName = Annotated[
    str | None,
    typer.Argument(metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.", show_default=False),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="COLUMN", help="Column that identifies rows; it comes back with every finding."),
]
BatchRows = Annotated[int, typer.Option("--batch-rows", metavar="N", min=1, help="Rows read and judged at a time.")]
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
CsvSafe = Annotated[
    bool,
    typer.Option(
        "--csv-safe",
        help="Put ' before text in CSV output that a spreadsheet would run as a formula (= + - @). Off by default, "
        "since programs read the output too.",
    ),
]
Redact = Annotated[
    list[str] | None,
    typer.Option("--redact", metavar="COLUMN", help="Keep the values of a column out of the report. May be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Findings and summary as one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Show = Annotated[int, typer.Option("--show", metavar="N", min=0, help="Findings shown on the terminal.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same answer.", min=0)]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1 for all cores.")]


@dataclass(frozen=True)
class Reading:
    """How the table is read, where the caller knows better than the reader."""

    separator: Annotated[
        str | None, typer.Option("--sep", metavar="CHAR", help="Separator of a text file, 'tab' for tabs.")
    ] = None
    encoding: Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="Encoding of a text file.")] = None
    decimal: Annotated[
        str | None, typer.Option("--decimal", metavar="CHAR", help="Decimal sign in a text file, . or ,")
    ] = None
    quote: Annotated[str | None, typer.Option("--quote", metavar="CHAR", help="Quote character, or 'none'.")] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = None
    sheet: Annotated[
        str | None,
        typer.Option("--sheet", metavar="NAME", help="Sheet of a spreadsheet, by name or by number from 1."),
    ] = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=KIND",
            help=f"What a column holds: {', '.join(_TYPES)}. May be repeated. dmy and mdy are dates by their order.",
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file with undecodable bytes, broken quotes or broken JSON lines.")
    ] = False
    sql: Annotated[str | None, typer.Option("--sql", metavar="QUERY", help="Read the answer of a query.")] = None
    database: Annotated[
        str | None,
        typer.Option("--db", metavar="ADDRESS", help="sqlite:///file.db or postgresql://user@host/name."),
    ] = None

    def options(self, batch_rows: int = BATCH_ROWS) -> ReadOptions:
        """The options, checked, as readers take them."""
        separator = "\t" if self.separator in ("tab", "\\t") else self.separator
        if separator is not None and len(separator) != 1:
            raise typer.BadParameter("one character is needed, or 'tab'.", param_hint="--sep")
        if self.decimal not in (None, ".", ","):
            raise typer.BadParameter("it is . or ,", param_hint="--decimal")
        if (self.sql is None) != (self.database is None):
            raise typer.BadParameter("--sql and --db belong together.", param_hint="--sql")
        return ReadOptions(
            separator,
            self.encoding,
            self.decimal,
            self.quote,
            self.header,
            parse_types(self.types),
            batch_rows=batch_rows,
            strict=self.strict,
            sheet=self.sheet,
        )


@dataclass(frozen=True)
class Choosing:
    """Which rows are findings."""

    fdr: Annotated[
        float | None,
        typer.Option(
            "--fdr",
            metavar="RATE",
            help="As many rows as possible while the expected share of false ones stays at most this. [default: 0.05]",
        ),
    ] = None
    top: Annotated[int | None, typer.Option("--top", metavar="N", min=1, help="The rows with the highest scores.")] = (
        None
    )
    contamination: Annotated[
        float | None,
        typer.Option(
            "--contamination",
            metavar="SHARE",
            help="Rows that score higher than all but this share of the training rows.",
        ),
    ] = None

    def check(self) -> None:
        """At most one rule, with a share between 0 and 1."""
        if sum(value is not None for value in (self.fdr, self.top, self.contamination)) > 1:
            raise typer.BadParameter("give one of --fdr, --top and --contamination.", param_hint="--fdr")
        for name, share in (("--fdr", self.fdr), ("--contamination", self.contamination)):
            if share is not None and not 0 < share < 1:
                raise typer.BadParameter("a number between 0 and 1 is needed.", param_hint=name)


@dataclass(frozen=True)
class Learning:
    """What is learned, and how."""

    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", metavar="COLUMN", help="Model only this column. May be repeated."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="COLUMN", help="Leave this column out of the model. May be repeated."),
    ] = None
    trees: Annotated[int, typer.Option("--trees", metavar="N", min=1, help="Trees grown per column.")] = (
        Params.n_estimators
    )
    alpha: Annotated[
        float, typer.Option("--alpha", metavar="SHARE", help="Quantile that bounds the range of a numeric column.")
    ] = Params.alpha
    beta: Annotated[float, typer.Option("--beta", metavar="SHARE", help="Share of the trees that is kept.")] = (
        Params.beta
    )
    trim: Annotated[
        float | None,
        typer.Option("--trim", metavar="SHARE", help="Share of the worst rows left out of a second fit."),
    ] = None
    as_published: Annotated[
        bool, typer.Option("--as-published", help="By the paper's letter: its row score, trees and uncertainty.")
    ] = False
    seed: Seed = SCAN_SEED
    jobs: Jobs = -1

    def params(self, kinds: Mapping[str, str], trim: float, verbose: bool) -> Params:
        """The parameters of a fit; `trim` is what counts where the caller does not say."""
        return Params(
            **(AS_PUBLISHED if self.as_published else {}),
            n_estimators=self.trees,
            alpha=self.alpha,
            beta=self.beta,
            trim=trim if self.trim is None else self.trim,
            column_types=column_types(kinds) or None,
            columns=self.columns or None,
            exclude=self.exclude or None,
            random_state=self.seed,
            n_jobs=self.jobs,
            verbose=int(verbose),
        )


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it: a parameter that is a group of options becomes the options of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            own_hints = get_type_hints(kind, include_extras=True)
            parameters += [
                parameter.replace(name=field.name, default=field.default, annotation=own_hints[field.name])
                for field in fields(kind)
            ]
        else:
            parameters.append(parameter.replace(annotation=kind))

    @wraps(command)
    def call(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    del call.__wrapped__  # typer would look at the signature behind it
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


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
    """Kinds as the model knows them: the order of day and month matters only for reading."""
    return {name: "datetime" if kind in ("dmy", "mdy") else kind for name, kind in kinds.items()}

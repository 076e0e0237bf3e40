"""Options that several commands share, each with its help once, and groups of them. Imports nothing that takes time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from rfod._io.interface import BATCH_ROWS, ReadOptions
from rfod.params import AS_PUBLISHED, KINDS, LEFT_OUT_KINDS, SCAN_SEED, Params

if TYPE_CHECKING:
    from rfod._findings.findings import Rule

_TYPES = (*KINDS, "dmy", "mdy", *LEFT_OUT_KINDS)

MODEL = typer.Argument(..., metavar="MODEL", help="A model file that rfod fit wrote.")
TABLE = typer.Argument(None, metavar="TABLE", help="File, folder or pattern in quotes; - for stdin.")
KEY = typer.Option(
    None, "--key", metavar="COLUMN", help="Column that identifies rows; it comes back with every finding."
)
BATCH = typer.Option(BATCH_ROWS, "--batch-rows", metavar="N", min=1, help="Rows read and judged at a time.")
FAIL_ABOVE = typer.Option(
    None, "--fail-above", metavar="SHARE", help="Exit with 3 if more than this share of the rows is flagged."
)
FAIL_ABOVE_CELLS = typer.Option(
    None,
    "--fail-above-cells",
    metavar="N",
    min=0,
    help="Exit with 3 if more than N cells are wrong (probability 0.9 and more).",
)
DECISIONS = typer.Option(
    None,
    "--decisions",
    metavar="FILE",
    help="What was decided about cells, by rfod decide: decided cells are not reported, replaced ones count with their "
    "new value, blanked ones as missing.",
)
BASELINE = typer.Option(
    None,
    "--baseline",
    metavar="FILE",
    help="Findings of an earlier run (-o, --cells -o or --json): say which are new, and exit with 3 if any are.",
)
CELLS = typer.Option(False, "--cells", help="Write the cells of the findings instead of the rows.")
CSV_SAFE = typer.Option(
    False,
    "--csv-safe",
    help="Put ' before text in CSV output that a spreadsheet would run as a formula (= + - @). Off by default, "
    "since programs read the output too.",
)
REDACT = typer.Option(
    None, "--redact", metavar="COLUMN", help="Keep the values of a column out of the report. May be repeated."
)
FINDINGS_JSON = typer.Option(False, "--json", help="Findings and summary as one JSON object on stdout.")
FORMAT = typer.Option(
    "text", "--format", metavar="FORMAT", help="Findings on stdout as text, json (as --json) or markdown."
)
MORE_JSON = typer.Option(False, "--json", help="The same and more as one JSON object on stdout.")
QUIET = typer.Option(False, "--quiet", "-q", help="Say nothing but errors.")
SHOW = typer.Option(20, "--show", metavar="N", min=0, help="Findings shown on the terminal.")
SEED = typer.Option(SCAN_SEED, "--seed", metavar="N", help="The same seed gives the same answer.", min=0)
ENGINE = typer.Option(
    "local",
    "--engine",
    metavar="NAME",
    help="What runs the tasks: local (threads of this machine), ray (a cluster on this machine, unless RAY_ADDRESS "
    "names one), or the address of a Ray cluster, ray://HOST:PORT or HOST:PORT. For Parquet and Arrow files.",
)
JOBS = typer.Option(-1, "--jobs", "-j", metavar="N", help="Threads; -1 for all cores.")


@dataclass(frozen=True)
class Reading:
    """How the table is read, where the caller knows better than the reader."""

    separator: str | None = typer.Option(
        None, "--sep", metavar="CHAR", help="Separator of a text file, 'tab' for tabs."
    )
    encoding: str | None = typer.Option(None, "--encoding", metavar="NAME", help="Encoding of a text file.")
    decimal: str | None = typer.Option(None, "--decimal", metavar="CHAR", help="Decimal sign in a text file, . or ,")
    quote: str | None = typer.Option(None, "--quote", metavar="CHAR", help="Quote character, or 'none'.")
    header: bool | None = typer.Option(None, "--header/--no-header", help="Whether the first line names the columns.")
    sheet: str | None = typer.Option(
        None, "--sheet", metavar="NAME", help="Sheet of a spreadsheet, by name or by number from 1."
    )
    types: list[str] | None = typer.Option(
        None,
        "--type",
        metavar="COLUMN=KIND",
        help=f"What a column holds: {', '.join(_TYPES)}. May be repeated. dmy and mdy are dates by their order.",
    )
    strict: bool = typer.Option(
        False, "--strict", help="Refuse a file with undecodable bytes, broken quotes or broken JSON lines."
    )
    sql: str | None = typer.Option(None, "--sql", metavar="QUERY", help="Read the answer of a query.")
    database: str | None = typer.Option(
        None, "--db", metavar="ADDRESS", help="sqlite:///file.db or postgresql://user@host/name."
    )

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

    fdr: float | None = typer.Option(
        None,
        "--fdr",
        metavar="RATE",
        help="As many rows as possible while the expected share of false ones stays at most this. [default: 0.05]",
    )
    top: int | None = typer.Option(None, "--top", metavar="N", min=1, help="The rows with the highest scores.")
    contamination: float | None = typer.Option(
        None,
        "--contamination",
        metavar="SHARE",
        help="Rows that score higher than all but this share of the training rows.",
    )

    def rule(self) -> Rule:
        """The rule, of which at most one may be given."""
        from rfod._findings.findings import Rule

        if sum(value is not None for value in (self.fdr, self.top, self.contamination)) > 1:
            raise typer.BadParameter("give one of --fdr, --top and --contamination.", param_hint="--fdr")
        return Rule(self.fdr, self.top, self.contamination)


@dataclass(frozen=True)
class Learning:
    """What is learned, and how."""

    columns: list[str] | None = typer.Option(
        None, "--columns", metavar="COLUMN", help="Model only this column. May be repeated."
    )
    exclude: list[str] | None = typer.Option(
        None, "--exclude", metavar="COLUMN", help="Leave this column out of the model. May be repeated."
    )
    trees: int = typer.Option(Params.n_estimators, "--trees", metavar="N", min=1, help="Trees grown per column.")
    alpha: float = typer.Option(
        Params.alpha, "--alpha", metavar="SHARE", help="Quantile that bounds the range of a numeric column."
    )
    beta: float = typer.Option(Params.beta, "--beta", metavar="SHARE", help="Share of the trees that is kept.")
    max_predictors: int | None = typer.Option(
        None,
        "--max-predictors",
        metavar="N",
        min=0,
        help="Columns that a column is predicted from, at most: of more, those that say most about it; 0 for all. "
        f"[default: {Params.max_predictors}]",
    )
    trim: float | None = typer.Option(
        None, "--trim", metavar="SHARE", help="Share of the worst rows left out of a second fit."
    )
    as_published: bool = typer.Option(
        False, "--as-published", help="By the paper's letter: its row score, trees and uncertainty."
    )
    seed: int = SEED
    jobs: int = JOBS

    def params(self, names: Sequence[str], kinds: Mapping[str, str], trim: float, verbose: bool) -> Params:
        """The parameters of a fit to columns of these names; `trim` is what counts where the caller does not say."""
        limit = {} if self.max_predictors is None else {"max_predictors": self.max_predictors or None}
        return Params(
            **(AS_PUBLISHED if self.as_published else {}) | limit,
            n_estimators=self.trees,
            alpha=self.alpha,
            beta=self.beta,
            trim=trim if self.trim is None else self.trim,
            column_types=dict(kinds) or None,
            columns=_each_name(self.columns, names),
            exclude=_each_name(self.exclude, names),
            random_state=self.seed,
            n_jobs=self.jobs,
            verbose=int(verbose),
        )


def output_format(named: str, as_json: bool) -> str:
    """ "text", "json" or "markdown", by --format and --json, its short form."""
    if named not in ("text", "json", "markdown"):
        raise typer.BadParameter(f"{named!r} is not text, json or markdown.", param_hint="--format")
    if as_json and named == "markdown":
        raise typer.BadParameter("give --json, or --format markdown.", param_hint="--format")
    return "json" if as_json else named


def _each_name(given: list[str] | None, names: Sequence[str]) -> list[str] | None:
    """Columns one by one: a, b and c where 'a,b,c' is no column but its parts are."""
    parts: list[str] = []
    for name in given or []:
        inside = [part.strip() for part in name.split(",")]
        parts += inside if name not in names and set(inside) <= set(names) else [name]
    return parts or None


class StoppedError(Exception):
    """A command was ended by Ctrl-C, or by a request to end."""


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it: a parameter that is a group of options becomes the options of the group."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            own_hints = get_type_hints(kind)
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
        try:
            command(**given)
        except KeyboardInterrupt as error:  # which typer would end the program for, without a word
            raise StoppedError from error

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

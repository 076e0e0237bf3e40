"""The program `rfod`: its commands, and what its exit codes say (0 done, 1 data or file, 2 usage, 3 findings)."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, NoReturn

import typer

from rfod import __version__
from rfod._cli.check import check
from rfod._cli.console import print_error
from rfod._cli.explain import explain
from rfod._cli.fit import fit
from rfod._cli.inspect import inspect
from rfod._cli.report import report
from rfod._cli.scan import scan
from rfod._cli.score import score
from rfod.exceptions import ParameterError, RFODError

FAILED, INTERRUPTED = 1, 130

app = typer.Typer(
    name="rfod",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rfod {__version__}")
        raise typer.Exit()


@app.callback()
def start(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Which rows and which cells of a table are wrong, and what should they have been?

    Example: rfod scan orders.csv
    """


app.command()(scan)
app.command()(fit)
app.command()(score)
app.command()(explain)
app.command()(report)
app.command()(check)
app.command()(inspect)


def _stop(number: int, frame: object) -> NoReturn:
    """A request to end takes the same way out as Ctrl-C, so that temporary files are removed."""
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; one line on stderr for whatever goes wrong."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        app()
    except BrokenPipeError:
        # the reader of stdout has left; the interpreter would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except RFODError as error:
        print_error(str(error))
        sys.exit(2 if isinstance(error, ParameterError) else FAILED)
    except MemoryError:
        print_error("not enough memory. Hint: fit to a sample (rfod fit --sample-rows), then rfod score.")
        sys.exit(FAILED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print_error(f"{where}{error.strerror or error}.")
        sys.exit(FAILED)
    except KeyboardInterrupt:
        print_error("interrupted; nothing was written.")
        sys.exit(INTERRUPTED)

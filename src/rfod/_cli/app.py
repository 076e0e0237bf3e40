"""The program `rfod`: its commands, and what its exit codes say (0 done, 1 data or file, 2 usage, 3 findings)."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import NoReturn

import typer

from rfod._cli.commands import check, explain, inspect, report, warm_up
from rfod._cli.decide import decide
from rfod._cli.diff import diff
from rfod._cli.fit import fit
from rfod._cli.options import StoppedError, with_groups
from rfod._cli.repair import repair
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
        from rfod import __version__

        typer.echo(f"rfod {__version__}")
        raise typer.Exit()


@app.callback()
def start(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show it.")) -> None:
    """Which rows and which cells of a table are wrong, and what should they have been?

    Example: rfod scan orders.csv
    """


for command in (scan, repair, decide, fit, score, diff, explain, report, check, inspect, warm_up):
    app.command()(with_groups(command))


def _stop(number: int, frame: object) -> NoReturn:
    """A request to end takes the same way out as Ctrl-C, so that temporary files are removed."""
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; one line on stderr for whatever goes wrong."""
    signal.signal(signal.SIGTERM, _stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to fail
    try:
        app()
    except BrokenPipeError:
        # the reader of stdout has left; the interpreter would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except RFODError as error:
        _fail(str(error), 2 if isinstance(error, ParameterError) else FAILED)
    except MemoryError:
        _fail("not enough memory. Hint: fit to a sample (rfod fit --sample-rows), then rfod score.")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}.")
    except (StoppedError, KeyboardInterrupt):
        _fail("interrupted; no file is half written.", INTERRUPTED)
    except Exception as error:
        if os.environ.get("RFOD_DEBUG"):
            raise
        _fail(_bug_message(error))


def _fail(message: str, code: int = FAILED) -> NoReturn:
    from rfod._cli.console import print_error

    print_error(message)
    sys.exit(code)


def _bug_message(error: Exception) -> str:
    """What to say of an exception that nobody foresaw; its traceback goes to a file, without passwords."""
    import platform
    import tempfile
    import traceback

    from rfod import __version__
    from rfod._io.interface import redacted

    about = f"rfod {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    with tempfile.NamedTemporaryFile(
        "w", prefix="rfod-traceback-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.write(redacted(about + "".join(traceback.format_exception(error))))
    return (
        f"this is a bug in rfod ({type(error).__name__}). Please report it with the traceback in {file.name}; read it "
        "first, it may hold values of the table. RFOD_DEBUG=1 shows it here."
    )

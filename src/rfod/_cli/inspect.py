"""`rfod inspect`: what a model file holds."""

from __future__ import annotations

from typing import Annotated

import typer

from rfod._cli import options


def inspect(
    model: options.ModelFile,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The same and more as one JSON object.")] = False,
) -> None:
    """Show a model: its columns, how predictable each is and from what, its sizes and versions.

    Example: rfod inspect orders.rfod
    """
    import json

    from rfod._cli.console import stdout_console
    from rfod._cli.description import describe, print_description
    from rfod._cli.inputs import open_model

    summary = describe(open_model(model), model)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        print_description(stdout_console(), summary)

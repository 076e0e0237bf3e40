"""docs/cli.md says what the program says. To bring it up to date: python tests/cli/test_docs.py"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from rfod._cli.app import app
from rfod._cli.findings import ROW_PROBABILITY, cells_schema, rows_schema
from rfod._cli.repairing import changes_schema
from rfod._cli.suspects import scan_cells_schema, scan_rows_schema

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = ("", "scan", "repair", "decide", "fit", "score", "diff", "explain", "report", "check", "inspect", "warm-up")
_BLOCK = re.compile(r"<!-- help: ?([\w-]*) -->\n```text\n(.*?)```", re.DOTALL)


def help_of(command: str) -> str:
    ran = CliRunner().invoke(app, [*command.split(), "--help"], prog_name="rfod", env={"COLUMNS": "80"})
    assert ran.exit_code == 0, ran.output
    return "\n".join(line.rstrip() for line in ran.output.splitlines()).strip() + "\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_in_the_docs(command: str) -> None:
    blocks = dict(_BLOCK.findall((DOCS / "cli.md").read_text(encoding="utf-8")))
    assert blocks[command] == help_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    assert f"Example: rfod {command}" in help_of(command)


def test_every_output_column_is_documented() -> None:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    schemas = {
        "Rows of a scan": scan_rows_schema,
        "Cells of a scan": scan_cells_schema,
        "Changes of a repair": changes_schema,
        "Rows of new data": lambda key_type: rows_schema(key_type).append(ROW_PROBABILITY),
        "Cells of new data": lambda key_type: cells_schema(key_type).append(ROW_PROBABILITY),
    }
    for heading, schema_of in schemas.items():
        part, schema = text.partition(f"## {heading}\n")[2].partition("\n## ")[0], schema_of(pa.string())
        documented = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", part, re.MULTILINE)
        found = [(field.name, "type of the key column" if field.name == "key" else str(field.type)) for field in schema]
        assert documented == found


if __name__ == "__main__":
    page = DOCS / "cli.md"
    old = page.read_text(encoding="utf-8")
    new = _BLOCK.sub(lambda found: f"<!-- help: {found[1]} -->\n```text\n{help_of(found[1])}```", old)
    page.write_text(new, encoding="utf-8")

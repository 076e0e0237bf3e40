"""Run a notebook without Jupyter, and compare what its cells show with the outputs stored in it.

The cells run in one namespace, in `docs/notebooks` of a new directory, in which `examples` is that of the repository.
After a change of the output, `python tests/notebooks.py NOTEBOOK ...` writes the new one into the notebooks.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from programs import ROOT

Cell = dict[str, Any]
Output = dict[str, Any]


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook as it is stored, in format 4."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(notebook: dict[str, Any]) -> list[Cell]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_notebook(notebook: dict[str, Any], directory: Path) -> list[list[Output]]:
    """The outputs of each code cell, in the order of the cells."""
    place = directory / "docs" / "notebooks"
    place.mkdir(parents=True)
    (directory / "examples").symlink_to(ROOT / "examples")
    namespace: dict[str, Any] = {}
    with contextlib.chdir(place):
        return [_run_cell("".join(cell["source"]), n, namespace) for n, cell in enumerate(code_cells(notebook), 1)]


def texts(outputs: list[Output]) -> list[list[str]]:
    """The words of each output: printed, shown as text, and shown as HTML."""
    shown = []
    for output in outputs:
        for kind, lines in sorted(output.get("data", {"text/plain": output.get("text", [])}).items()):
            text = "".join(lines)
            if kind == "text/html":
                text = html.unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL))
            shown.append(text.split())
    return shown


def write_outputs(path: Path) -> None:
    """Put what the cells show now into the notebook."""
    notebook = read_notebook(path)
    with TemporaryDirectory() as directory:
        outputs = run_notebook(notebook, Path(directory))
    for count, (cell, shown) in enumerate(zip(code_cells(notebook), outputs, strict=True), 1):
        cell |= {"execution_count": count, "outputs": shown}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def _run_cell(source: str, count: int, namespace: dict[str, Any]) -> list[Output]:
    """What a cell prints, and the value of its last line if that is an expression."""
    parsed = ast.parse(source)
    last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(parsed, f"<cell {count}>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), namespace)
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(Path(name).resolve())

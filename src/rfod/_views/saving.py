"""Figures as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rfod._io.errors import OutputError
from rfod._io.write import check_target, replaced

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp")


def save(figure: Figure, path: str | os.PathLike[str], *, scale: float = 2.0) -> None:
    """Write a figure to a file; its ending says how.

    `.html` is a page that works from disk and without a network. `.png`, `.svg`, `.pdf`, `.jpg` and `.webp` are
    pictures, which need the package kaleido and a Chrome or Chromium browser. `scale` multiplies the pixels of a
    picture. The file is there whole, or the old one is.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in (".html", *PICTURES):
        raise OutputError(
            f"{target}: no kind of figure has the ending {ending!r}. Hint: .html, or one of {', '.join(PICTURES)}."
        )
    check_target(str(target))
    content = _page(figure) if ending == ".html" else _picture(figure, ending.removeprefix("."), scale, target)
    with replaced(str(target)) as temporary:
        Path(temporary).write_bytes(content)


def _page(figure: Figure) -> bytes:
    return str(figure.to_html(include_plotlyjs=True, include_mathjax=False)).encode()


def _picture(figure: Figure, kind: str, scale: float, target: Path) -> bytes:
    hint = "Hint: save it as .html, which needs neither."
    try:
        import kaleido  # noqa: F401
    except ImportError as error:
        raise OutputError(
            f"{target}: pictures need the package kaleido, which is not installed (pip install 'rfod[pictures]'), and "
            f"a Chrome or Chromium browser. {hint}"
        ) from error
    try:
        return bytes(figure.to_image(format=kind, scale=scale))
    except Exception as error:  # every version of the exporter has its own
        reason = str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__
        raise OutputError(
            f"{target}: the picture could not be made ({reason}). Pictures need a Chrome or Chromium browser. {hint}"
        ) from error

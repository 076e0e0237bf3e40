"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """The first `left` columns are words, the others numbers."""
    marks = ["---" if place < left else "---:" for place in range(len(head))]
    lines = [head, marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def number(value: float, digits: int = 3) -> str:
    return "-" if pd.isna(value) else f"{value:.{digits}f}"


def means_and_spreads(
    means: pd.DataFrame, spreads: pd.DataFrame, titles: Sequence[str], lower_is_better: bool = False
) -> str:
    """Datasets by methods, mean ± standard deviation, the best of each dataset bold; the last line is the mean."""
    rows = []
    for name, own in means.iterrows():
        best = own.min() if lower_is_better else own.max()
        cells = []
        for method, value in own.items():
            spread = spreads.loc[name].get(method)
            text = number(value) + ("" if pd.isna(value) or pd.isna(spread) else f" ± {spread:.3f}")
            cells.append(f"**{text}**" if value == best else text)
        rows.append([str(name), *cells])
    rows.append(["mean", *(number(value) for value in means.mean())])
    return table(["dataset", *titles], rows)


def folded(summary: str, content: str) -> str:
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{content}\n</details>\n'

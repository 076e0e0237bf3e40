"""How well scores of cells point at the wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def pointing(cells: Floats, rows: Floats, wrong: Mask, seed: int) -> dict[str, float]:
    """Ranking of all cells, of the cells within each wrong row, and of rows; `wrong` may have more rows than scores."""
    wrong = wrong[: len(cells)]
    scores = comparable(cells)
    has_wrong = wrong.any(axis=1)
    return {
        "cell_auc_roc": float(roc_auc_score(wrong.ravel(), scores.ravel())),
        "cell_ap": float(average_precision_score(wrong.ravel(), scores.ravel())),
        **hits(scores[has_wrong], wrong[has_wrong], seed),
        "row_auc_roc": float(roc_auc_score(has_wrong, rows)),
        "share_wrong": float(wrong.mean()),
    }


def comparable(cells: Floats) -> Floats:
    """Finite scores in the same order: what could not be judged comes last."""
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return np.nan_to_num(cells, nan=low - 1, posinf=high + 1, neginf=low - 1)


def hits(scores: Floats, wrong: Mask, seed: int) -> dict[str, float]:
    """Share of wrong rows with a wrong cell among their one and three highest; ties are drawn by lot."""
    lots = np.random.default_rng(seed).random(scores.shape)
    order = np.lexsort((lots, -scores), axis=1)
    ranked = np.take_along_axis(wrong, order, axis=1)
    return {"top_1": float(ranked[:, 0].mean()), "top_3": float(ranked[:, :3].any(axis=1).mean())}


def discoveries(flagged: Mask, wrong: Mask) -> dict[str, Any]:
    """Findings, how many of them are false, and the share of the wrong cells among them."""
    n_flagged, n_false = int(flagged.sum()), int((flagged & ~wrong).sum())
    in_wrong_rows = int((flagged & ~wrong)[wrong.any(axis=1)].sum())
    return {
        "n_flagged": n_flagged,
        "n_false": n_false,
        "n_false_in_wrong_rows": in_wrong_rows,
        "fdr": n_false / n_flagged if n_flagged else 0.0,
        "recall": float((flagged & wrong).sum() / wrong.sum()) if wrong.any() else None,
    }

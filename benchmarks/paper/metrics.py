"""Five measures of a ranking of test rows, by one rule for all methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, log_loss, roc_auc_score

LEAST_PROBABILITY = 1e-3

METRICS = ("auc_roc", "auc_pr", "f1", "accuracy", "log_loss")
LOWER_IS_BETTER = ("log_loss",)


def measure(labels: NDArray[np.int8], scores: NDArray[np.float64], seed: int) -> dict[str, float]:
    """AUC-ROC, AUC-PR; F1 and accuracy at the true number of anomalies; log-loss of `probabilities`."""
    named = flag_most_anomalous(scores, int(labels.sum()), seed)
    return {
        "auc_roc": float(roc_auc_score(labels, scores)),
        "auc_pr": float(average_precision_score(labels, scores)),
        "f1": float(f1_score(labels, named)),
        "accuracy": float(accuracy_score(labels, named)),
        "log_loss": float(log_loss(labels, probabilities(scores))),
    }


def flag_most_anomalous(scores: NDArray[np.float64], n_flagged: int, seed: int) -> NDArray[np.int8]:
    """The n rows of highest score; among equal scores chance decides, because row order may follow the label."""
    chance = np.random.default_rng([seed, 4]).random(len(scores))
    flags = np.zeros(len(scores), dtype=np.int8)
    flags[np.lexsort((chance, -scores))[:n_flagged]] = 1
    return flags


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores from their lowest to their highest as 0 to 1, kept off the ends by one in a thousand."""
    low, high = scores.min(), scores.max()
    share = (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
    kept_off: NDArray[np.float64] = np.clip(share, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return kept_off

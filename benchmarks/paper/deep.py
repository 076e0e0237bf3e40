"""The deep baselines on the CPU build of PyTorch: 50 epochs as in the paper, within a budget of gradient steps.

Deep SVDD and DIF come from PyOD; SLAD, ICL and DevNet from DeepOD 0.4.1. DIF draws its networks at random and trains
none of them, so it has no epochs. The budgets follow the cost of a step on one core (ICL 20 to 120 ms, SLAD 4 to 15,
Deep SVDD and DevNet 2 to 3), so that no method needs more than a few minutes; the epochs used stand in the results.
What is adapted, and why:

* `fit` of both libraries also scores the training rows, which nobody asks for here: left out, so that it does not
  count as training time.
* DIF scores all rows against all nodes of all trees: only the nodes on a row's path are looked at, which are the ones
  that count. The scores are the same in half the time.
* SLAD holds 10 x 128 numbers per row: test rows are scored in blocks, with the same result.
* SLAD's loss has an infinite slope where a share underflows to zero, and its weights become NaN (ethereum, 137 encoded
  columns): the shares are kept above 1e-30, which changes no loss that was finite.
* DeepOD's ICL trains an ensemble and keeps only its last member: one member is trained.
* DeepOD's DevNet multiplies predictions of shape (n, 1) with labels of shape (n,) in its loss, so that every row is
  pulled towards the labels of its whole batch: the predictions are flattened first. (PyOD's DevNet passes predictions
  and labels in swapped places, so it is not used.) The loss is the paper's: |dev| for ordinary rows and
  max(0, 5 - dev) for anomalies, so that a higher score is more anomalous.
* DevNet needs labelled anomalies and the protocol has none. It gets 30 made from training rows, the number its paper
  uses: each cell is drawn anew from its own column, so that single values are ordinary and their combination is not.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.classical import Encoded
from benchmarks.paper.protocol import epochs

ROWS_PER_BLOCK = 10_000
SYNTHETIC_ANOMALIES = 30
LEAST_SHARE = 1e-30

# The batch sizes are the libraries' own.
DEEP_SVDD = {"batch_size": 32, "most_steps": 10_000}
DEVNET = {"batch_size": 64, "most_steps": 10_000}
SLAD = {"batch_size": 128, "most_steps": 2_500}
ICL = {"batch_size": 64, "most_steps": 1_000}

Matrix = NDArray[np.float64]


def deep_svdd(seed: int, threads: int) -> Encoded:
    from pyod.models.deep_svdd import DeepSVDD

    _prepare(seed, threads)

    def make(matrix: Matrix) -> Any:
        return _without_training_scores(
            DeepSVDD(
                n_features=matrix.shape[1],
                epochs=epochs(len(matrix), **DEEP_SVDD),
                batch_size=DEEP_SVDD["batch_size"],
                preprocessing=False,
                verbose=0,
                random_state=seed,
            )
        )

    return Encoded(make, _decision)


def dif(seed: int, threads: int) -> Encoded:
    from pyod.models import dif as module

    _prepare(seed, threads)
    module._cal_score = _dif_scores
    return Encoded(lambda _: _without_training_scores(module.DIF(random_state=seed, device="cpu")), _decision)


def slad(seed: int, threads: int) -> Encoded:
    from deepod.models.tabular import slad as module

    _prepare(seed, threads)
    module.SLADLoss.forward = _finite_slad_loss

    def make(matrix: Matrix) -> Any:
        return _without_training_scores(module.SLAD(**_settings(_rows_of_slad(len(matrix)), SLAD, seed)))

    return Encoded(make, _decision_in_blocks)


def icl(seed: int, threads: int) -> Encoded:
    from deepod.models import tabular

    _prepare(seed, threads)

    def make(matrix: Matrix) -> Any:
        return _without_training_scores(tabular.ICL(n_ensemble=1, **_settings(len(matrix), ICL, seed)))

    return Encoded(make, _decision)


def devnet(seed: int, threads: int) -> Encoded:
    _prepare(seed, threads)
    return Encoded(lambda matrix: _DevNetOnSyntheticAnomalies(matrix, seed), _decision)


class _DevNetOnSyntheticAnomalies:
    def __init__(self, matrix: Matrix, seed: int) -> None:
        from deepod.models.tabular import DevNet

        class FlatDevNet(DevNet):  # type: ignore[misc]
            def training_forward(self, batch_x: Any, net: Any, criterion: Any) -> Any:
                rows, labels = batch_x
                return criterion(labels, net(rows.float()).view(-1))

        self._generator = np.random.default_rng([seed, 3])
        self._model = _without_training_scores(FlatDevNet(**_settings(len(matrix), DEVNET, seed)))
        self.epochs = self._model.epochs

    def fit(self, matrix: Matrix) -> None:
        drawn = self._generator.integers(len(matrix), size=(SYNTHETIC_ANOMALIES, matrix.shape[1]))
        anomalies = np.take_along_axis(matrix, drawn, axis=0)
        labels = np.repeat([0, 1], [len(matrix), SYNTHETIC_ANOMALIES])
        self._model.fit(np.vstack([matrix, anomalies]), labels)

    def decision_function(self, matrix: Matrix) -> Matrix:
        return np.asarray(self._model.decision_function(matrix))


def _dif_scores(rows: Matrix, forest: Any) -> Matrix:
    """DIF's score of rows by one isolation forest: depth, times the mean distance to the thresholds on the path."""
    from pyod.models.dif import _average_path_length

    depth, deviation = np.zeros(len(rows)), np.zeros(len(rows))
    for estimator in forest.estimators_:
        tree = estimator.tree_
        if tree.node_count == 1:
            continue
        path = estimator.decision_path(rows)
        lengths = np.diff(path.indptr)
        nodes, owners = path.indices, np.repeat(np.arange(len(rows)), lengths)
        depth += lengths + _average_path_length(tree.n_node_samples[estimator.apply(rows)]) - 1.0
        feature = tree.feature[nodes]
        gaps = np.where(feature >= 0, np.abs(rows[owners, feature] - tree.threshold[nodes]), 0.0)
        counted = np.bincount(owners, gaps != 0, len(rows))
        deviation += np.bincount(owners, gaps, len(rows)) / (counted + 1e-6)
    n_trees = len(forest.estimators_)
    return 2 ** (-depth / (n_trees * _average_path_length([forest.max_samples_]))) * deviation / n_trees


def _settings(n_rows: int, budget: dict[str, int], seed: int) -> dict[str, Any]:
    """What DeepOD's models take alike."""
    return {
        "epochs": epochs(n_rows, **budget),
        "batch_size": budget["batch_size"],
        "device": "cpu",
        "verbose": 0,
        "random_state": seed,
    }


def _rows_of_slad(n_rows: int) -> int:
    """How many rows SLAD makes of a table for one epoch: it draws more from small tables."""
    times = 50 if n_rows < 500 else 20 if n_rows < 1_000 else 5 if n_rows < 5_000 else 2 if n_rows <= 100_000 else 1
    return times * n_rows


def _finite_slad_loss(loss: Any, predicted: Any, wanted: Any) -> Any:
    """DeepOD's loss, step by step the same, with the mixed shares kept above zero."""
    from torch.nn import functional

    shares, true_shares = functional.softmax(predicted, dim=1), functional.softmax(wanted, dim=1)
    mixed = (0.5 * (shares + true_shares)).clamp(min=LEAST_SHARE)
    divergence = sum(
        functional.kl_div(functional.log_softmax(side, dim=1), mixed, reduction="none")
        for side in (shares, true_shares)
    ).sum(dim=1)
    return divergence.mean() if loss.reduction == "mean" else divergence


def _decision(model: Any, matrix: Matrix) -> Matrix:
    return np.asarray(model.decision_function(matrix))


def _decision_in_blocks(model: Any, matrix: Matrix) -> Matrix:
    blocks = range(0, len(matrix), ROWS_PER_BLOCK)
    return np.concatenate([model.decision_function(matrix[start : start + ROWS_PER_BLOCK]) for start in blocks])


def _without_training_scores(model: Any) -> Any:
    """The model with a `fit` that does not score its training rows."""
    fit = model.fit

    def fit_only(matrix: Matrix, labels: Any = None) -> Any:
        model.decision_function = lambda rows, **_: np.zeros(len(rows))
        try:
            return fit(matrix, labels)
        finally:
            del model.decision_function

    model.fit = fit_only
    return model


def _prepare(seed: int, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (both libraries draw from the global generators)
    random.seed(seed)
    warnings.filterwarnings("ignore", message="'pin_memory' argument is set as true")

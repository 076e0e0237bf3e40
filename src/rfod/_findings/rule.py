"""Which rows are findings: one rule for terminal, files, frames and reports, also over more rows than fit in memory."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rfod._model.judged import JudgedTable
from rfod._model.scores import benjamini_hochberg, false_discovery_cut, highest
from rfod.exceptions import ParameterError

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
DEFAULT_FDR = 0.05


@dataclass(frozen=True)
class Rule:
    """One of three ways to call rows findings; a false discovery rate of 0.05 where none is given."""

    fdr: float | None = None
    top: int | None = None
    contamination: float | None = None

    def __post_init__(self) -> None:
        """Raise `ParameterError` for more than one rule, or a share that is none."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if len(given) > 1:
            raise ParameterError(f"Give one rule, not {' and '.join(given)}.")
        for name, share in given.items():
            if name != "top" and not 0 < share < 1:
                raise ParameterError(f"{name} is {share!r}; it must be a number between 0 and 1, both excluded.")

    def select(self, judged: JudgedTable) -> Mask:
        """(rows): which rows of one table are findings."""
        if self.top is not None:
            return highest(judged.row_scores, self.top)
        if self.contamination is not None:
            limit = np.quantile(judged.model.calibration, 1 - self.contamination)
            return np.asarray(judged.row_scores > limit)
        return benjamini_hochberg(judged.row_p_values, self.rate)

    @property
    def rate(self) -> float:
        """The false discovery rate, where that is the rule."""
        return DEFAULT_FDR if self.fdr is None else self.fdr

    @property
    def needs_all(self) -> bool:
        """Whether a row is a finding depends on all the others."""
        return self.contamination is None

    def words(self) -> str:
        """The rule as a part of a sentence."""
        if self.top is not None:
            return f"the {self.top:,} highest scores"
        if self.contamination is not None:
            return f"above all but {self.contamination:g} of the training rows"
        return f"false discovery rate {self.rate:g}"


class StreamRule:
    """A rule over a stream: who may be a finding at once, who is one at the end."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._counts: Counter[float] = Counter()
        self._best: list[float] = []
        self._cut = np.inf
        self._ties = 0
        self.n_flagged = 0

    def candidates(self, judged: JudgedTable) -> Mask:
        """Rows that may turn out to be findings; exactly these where the rule looks at one row at a time."""
        if self.rule.contamination is not None:
            flagged = self.rule.select(judged)
            self.n_flagged += int(flagged.sum())
            return flagged
        if self.rule.top is not None:
            return self._among_best(judged.row_scores, self.rule.top)
        values, counts = np.unique(judged.row_p_values, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return np.asarray(judged.row_p_values <= self.rule.rate)

    def _among_best(self, scores: Floats, n: int) -> Mask:
        for score in np.sort(scores)[::-1][:n]:
            if len(self._best) < n:
                heapq.heappush(self._best, float(score))
            elif score > self._best[0]:
                heapq.heapreplace(self._best, float(score))
            else:
                break
        return np.asarray(scores >= self._best[0]) if self._best else np.zeros(len(scores), dtype=np.bool_)

    def settle(self) -> None:
        """All rows have been seen."""
        if self.rule.top is not None:
            self._cut = self._best[0] if self._best else np.inf
            self._ties = sum(score == self._cut for score in self._best)
            self.n_flagged = len(self._best)
        elif self.rule.contamination is None:
            # Benjamini-Hochberg needs only how often each p-value occurred, and conformal ones take few values
            values = np.array(sorted(self._counts))
            counts = np.array([self._counts[value] for value in values], dtype=np.int64)
            self._cut, self.n_flagged = false_discovery_cut(values, counts, self.rule.rate)

    def final(self, scores: Floats, p_values: Floats, candidates: Mask) -> Mask:
        """Which candidates are findings; called for the rows in their order, after `settle`."""
        if self.rule.contamination is not None:
            return candidates
        if self.rule.top is None:
            return np.asarray(candidates & (p_values <= self._cut))
        equal = np.flatnonzero(candidates & (scores == self._cut))
        flagged = candidates & (scores > self._cut)
        flagged[equal[: self._ties]] = True
        self._ties -= len(equal[: self._ties])
        return np.asarray(flagged)

"""Rules over a stream give what they give over the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfod._findings.findings import Rule, StreamRule
from rfod._model.scores import benjamini_hochberg, highest


class Answer:
    """The part of a Detection that rules look at."""

    def __init__(self, scores: np.ndarray, p_values: np.ndarray) -> None:
        self.row_scores, self.row_p_values = scores, p_values


@pytest.mark.parametrize("n_wrong", [0, 3, 200])
@pytest.mark.parametrize("rule", [Rule(), Rule(fdr=0.2), Rule(top=1), Rule(top=25), Rule(top=5000)])
def test_stream_is_whole(rule: Rule, n_wrong: int) -> None:
    rng = np.random.default_rng(n_wrong)
    scores = rng.integers(0, 300, 2000) / 300  # with many ties
    scores[rng.choice(2000, n_wrong, replace=False)] = 2.0
    p_values = (1 + np.searchsorted(np.sort(-scores[:500]), -scores, side="right")) / 501
    stream: Any = StreamRule(rule)
    parts = [slice(start, start + 170) for start in range(0, 2000, 170)]
    candidates = [stream.candidates(Answer(scores[part], p_values[part])) for part in parts]
    stream.settle()
    found = np.concatenate(
        [stream.final(scores[part], p_values[part], able) for part, able in zip(parts, candidates, strict=True)]
    )
    wanted = highest(scores, rule.top) if rule.top else benjamini_hochberg(p_values, rule.rate)
    assert np.array_equal(found, wanted)
    assert stream.n_flagged == wanted.sum()

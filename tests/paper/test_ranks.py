"""Average ranks and one-against-one comparisons on tables that can be checked by hand."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.paper import ranks


def test_ranks_by_hand() -> None:
    values = pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, 0.7], "c": [0.8, 0.6]}, index=["first", "second"])
    assert ranks.average_ranks(values).to_dict() == {"a": 2.0, "b": 1.75, "c": 2.25}


def test_lower_may_be_better() -> None:
    values = pd.DataFrame({"a": [0.1], "b": [0.2]})
    assert ranks.average_ranks(values, lower_is_better=True).to_dict() == {"a": 1.0, "b": 2.0}


def test_a_method_without_a_value_has_no_rank_there() -> None:
    values = pd.DataFrame({"a": [0.9, np.nan], "b": [0.8, 0.7]})
    assert ranks.average_ranks(values).to_dict() == {"a": 1.0, "b": 1.5}


def test_duel_by_hand() -> None:
    own = pd.Series({"one": 0.9, "two": 0.5, "three": 0.8, "four": 0.9})
    other = pd.Series({"one": 0.8, "two": 0.6, "three": 0.75, "four": np.nan})
    result = ranks.duel(own, other)
    assert result.n_datasets == 3
    assert result.average_difference == pytest.approx((0.1 - 0.1 + 0.05) / 3)
    assert result.share_ahead == pytest.approx(2 / 3)
    assert result.share_ahead_by_margin == pytest.approx(1 / 3)

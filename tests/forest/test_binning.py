"""The kernel that bins numbers, which runs here with array bounds checked; `tests/table` has the tests of bins."""

import numpy as np
import pytest

from rfod._table.bins import Feature


@pytest.mark.parametrize("n_edges", [0, 1, 7, 253, 254])
@pytest.mark.parametrize("n_rows", [0, 1, 1023, 1024, 1025, 5000])
def test_codes_are_one_more_than_the_edges_below(n_edges, n_rows):
    random = np.random.default_rng(n_edges + n_rows)
    edges, numbers = np.sort(random.normal(size=n_edges)), random.normal(size=n_rows)
    numbers[::7], numbers[1::7], numbers[2::7] = np.nan, np.inf, -np.inf
    if n_edges:
        numbers[3::7] = random.choice(edges, len(numbers[3::7]))
    expected = np.where(np.isnan(numbers), 0, 1 + np.searchsorted(edges, numbers))
    np.testing.assert_array_equal(Feature(0, "value", False, n_edges + 2, edges).codes(numbers), expected)

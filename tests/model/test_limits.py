"""More rows, nodes or leaves than trees have room for: said before anything large is made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rfod
from rfod._forest import forest
from rfod._table.table import Table
from tables import small


def table_of(n_rows: int) -> Table:
    """A table of any size that must not be read."""

    def refuse(*args: object) -> None:
        raise AssertionError("the table was read")

    return Table(("a", "b"), n_rows, True, refuse, refuse)


def test_more_rows_than_a_tree_can_number():
    with pytest.raises(rfod.SchemaError, match=r"(?s)2,147,483,648 rows.* 2,147,483,647 at most.*sample.*batches"):
        small().fit(table_of(2**31))


@pytest.mark.parametrize(
    ("params", "most"),
    [
        ({"max_samples": None, "min_samples_leaf": 1}, 357913941),
        ({"max_samples": 1.0, "min_samples_leaf": 2}, 715827882),
    ],
)
def test_more_nodes_than_a_tree_can_point_at(params, most):
    with pytest.raises(rfod.SchemaError, match=rf"(?s)A tree of 2,000,000,000 rows.*max_samples={most} at most"):
        small(**params).fit(table_of(2_000_000_000))


@pytest.mark.parametrize("params", [{}, {"max_samples": 357913941, "min_samples_leaf": 1}])
def test_large_tables_that_trees_have_room_for_are_read(params):
    with pytest.raises(AssertionError, match="the table was read"):
        small(**params).fit(table_of(2_000_000_000))


def test_the_limit_of_nodes_covers_the_largest_trees():
    """Every leaf one row, every split a set of four words: no tree has more words than the limit assumes."""
    rng = np.random.default_rng(0)
    names = [f"k{k:03d}" for k in range(250)]
    frame = pd.DataFrame({name: rng.choice(names, 600) for name in "ab"})
    detector = small(n_estimators=3, min_samples_leaf=1, max_samples=None).fit(frame)
    for column in detector.model_.forests:
        words = np.diff(column.trees.word_starts, append=len(column.trees.words))
        leaves = np.diff(column.trees.leaf_starts, append=column.trees.n_leaves)
        assert (words <= 1 + forest.WORDS_PER_LEAF * leaves).all()


def test_more_leaves_than_a_forest_can_number(monkeypatch):
    frame = pd.DataFrame({"a": np.arange(200.0) % 19, "b": np.arange(200.0) % 7})
    monkeypatch.setattr(forest, "MOST_LEAVES", 20)
    with pytest.raises(
        rfod.SchemaError, match=r"(?s)trees of a column have \d+ leaves; there is room for 20.*n_estimators"
    ):
        small(n_estimators=5, min_samples_leaf=1).fit(frame)

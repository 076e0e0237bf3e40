"""Rules between columns on hand-made tables."""

import numpy as np
import pytest

from evidence.columns import text_columns
from rfod._evidence.regularities import Regularity, contained, find_regularities, violations

RNG = np.random.default_rng(0)
N_ROWS = 200


def as_texts(values):
    return [None if np.isnan(value) else f"{value:g}" for value in values]


def rules(numbers=None, **texts):
    """The rules of a table of numbers and texts, its columns and numbers."""
    numbers = {name: np.asarray(values, dtype=np.float64) for name, values in (numbers or {}).items()}
    columns = text_columns(**{name: as_texts(values) for name, values in numbers.items()}, **texts)
    values = [*numbers.values(), *([None] * len(texts))]
    return find_regularities(columns, values), columns, values


def of_kind(found, kind):
    return [rule.columns for rule in found if rule.kind == kind]


def test_a_sum_and_its_exceptions():
    net, tax = RNG.integers(1, 10_000, N_ROWS) / 100, RNG.integers(1, 2_000, N_ROWS) / 100
    total = np.round(net + tax, 2)
    total[7] /= 10
    total[8] = np.nan
    found, columns, values = rules({"net": net, "tax": tax, "total": total})
    assert of_kind(found, "sum") == [(2, 0, 1)]
    rule = next(rule for rule in found if rule.kind == "sum")
    assert (rule.n_rows, rule.n_exceptions) == (199, 1)
    assert rule.strength == pytest.approx(np.log(199 / 2))
    assert rule.text(["net", "tax", "total"]) == "total = net + tax in 198 of 199 rows"
    assert np.flatnonzero(violations(rule, columns, values, None)).tolist() == [7]


def test_one_row_alone_breaks_a_rule_as_in_its_table():
    """Cents may be off by a rounding; a row of whole numbers does not know of cents by itself."""
    net, tax = RNG.integers(1, 10_000, N_ROWS) / 100, RNG.integers(1, 2_000, N_ROWS) / 100
    found, _, _ = rules({"net": net, "tax": tax, "total": np.round(net + tax, 2)})
    rule = next(rule for rule in found if rule.kind == "sum")
    alone = text_columns(net=["1"], tax=["2"], total=["3.01"])
    assert not violations(rule, alone, [np.array([1.0]), np.array([2.0]), np.array([3.01])], None)[0]
    assert violations(rule, alone, [np.array([1.0]), np.array([2.0]), np.array([3.1])], None)[0]


def test_an_order():
    start = RNG.uniform(0, 1000, N_ROWS).round(1)
    end = start + RNG.uniform(0, 50, N_ROWS).round(1)
    end[3] = start[3] - 1
    found, columns, values = rules({"start": start, "end": end})
    assert of_kind(found, "order") == [(0, 1)]
    rule = next(rule for rule in found if rule.kind == "order")
    assert rule.text(["start", "end"]) == "start is at most end in 199 of 200 rows"
    assert np.flatnonzero(violations(rule, columns, values, None)).tolist() == [3]


def test_a_key():
    key = [f"k{k:03}" for k in range(N_ROWS)]
    key[9] = key[8]
    found, columns, values = rules(key=key)
    assert of_kind(found, "unique") == [(0,)]
    assert found[0].text(["key"]) == "key is different in 198 of 200 rows"
    assert np.flatnonzero(violations(found[0], columns, values, None)).tolist() == [8, 9]
    new = text_columns(key=["k001", "new", None])
    assert violations(found[0], new, values, np.array([1, 0, 0])).tolist() == [True, False, False]


def test_a_code_within_a_key():
    state = RNG.choice(["tx", "nv", "ca", "ny", "wa", "or", "id"], N_ROWS).tolist()
    key = [f"{name.upper()}-{RNG.integers(10**6)}" for name in state]
    state[5] = "zz"
    found, columns, values = rules(state=state, key=key)
    assert of_kind(found, "contains") == [(0, 1)]
    rule = next(rule for rule in found if rule.kind == "contains")
    assert rule.text(["state", "key"]) == "state is part of key in 199 of 200 rows"
    assert np.flatnonzero(violations(rule, columns, values, None)).tolist() == [5]


def test_equal_columns():
    name = RNG.choice([f"name {k}" for k in range(30)], N_ROWS).tolist()
    other = list(name)
    other[4] = "another"
    found, _, _ = rules(name=name, other=other)
    assert sorted(of_kind(found, "equal")) == [(0, 1), (1, 0)]
    assert found[0].text(["name", "other"]).endswith("in 199 of 200 rows")


def test_gaps_are_in_nothing():
    part, whole = text_columns(part=["a", None, "a", None, "b"], whole=["xAy", "a", None, None, "a"])
    found = contained(part, whole)
    assert found[[0, 4]].tolist() == [True, False]
    rule = Regularity("contains", (0, 1), 100, 1)
    assert violations(rule, [part, whole], [None, None], None).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("seed", range(5))
def test_shuffled_columns_have_no_rules(seed):
    rng = np.random.default_rng(seed)
    net, tax = rng.integers(1, 10_000, N_ROWS) / 100, rng.integers(1, 9_000, N_ROWS) / 100
    start = rng.uniform(0, 1000, N_ROWS).round(1)
    state = rng.choice(["tx", "nv", "ca", "ny", "wa", "or", "id"], N_ROWS)
    numbers = {"net": net, "tax": tax, "total": net + tax, "start": start, "end": start + 5}
    shuffled = {name: rng.permutation(values) for name, values in numbers.items()}
    key = rng.permutation([f"{name}-{place % 80}" for place, name in enumerate(state)])
    found, _, _ = rules(shuffled, state=state.tolist(), key=key.tolist())
    assert [rule for rule in found if rule.kind != "unique"] == []


def test_few_rows_have_no_rules():
    assert rules({"a": np.arange(20.0), "b": np.arange(20.0) * 2, "c": np.arange(20.0) * 3}, d=["x"] * 20)[0] == []
    assert rules({"a": np.full(100, np.nan)}, d=[None] * 100)[0] == []

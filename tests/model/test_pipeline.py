"""From a mixed table to row scores, recomputed from the trees of a fitted model, one cell at a time."""

import math
from bisect import bisect_left
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import rfod
from reference import fitness, scores
from reference.scores import ReferenceForest
from reference.streams import bag_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SEED, N_TREES, N_ROWS = 3, 7, 90


def make_table():
    random = np.random.default_rng(1)
    size = random.normal(50, 10, N_ROWS)
    color = np.where(size > 55, "red", np.where(random.random(N_ROWS) < 0.5, "green", "blue"))
    table = pd.DataFrame(
        {
            "size": size,
            "weight": size * 3 + random.normal(0, 2, N_ROWS),
            "color": pd.Series(color).astype(object),
            "heavy": size > 50,
            "count": random.integers(0, 4, N_ROWS),
            "day": [datetime(2024, 1, 1) + timedelta(hours=int(h)) for h in random.integers(0, 4000, N_ROWS)],
            "unit": "kg",
            "version": 2.0,
        }
    )
    table.loc[[3, 8, 40], "size"] = np.nan
    table.loc[[4, 8], "color"] = None
    return table


def make_new_rows():
    table = make_table().iloc[:25].reset_index(drop=True)
    table.loc[0, "weight"] = 900.0
    table.loc[1, "weight"] = math.inf
    table.loc[2, "color"] = "violet"
    table.loc[5, "unit"] = "lb"
    table.loc[6, "version"] = 3.0
    table.loc[7, ["size", "weight", "version"]] = np.nan
    table.loc[9, "day"] = datetime(2031, 5, 5, 5, 5)
    return table


def encode(column, values):
    """Numbers, seconds since 1970, or places in the list of categories; -1 missing, -2 never seen."""
    if column.is_categorical:
        places = {category: place for place, category in enumerate(column.categories)}
        return [-1 if pd.isna(value) else places.get(value, -2) for value in values]
    if column.kind == "datetime":
        return [(value.to_pydatetime().replace(tzinfo=UTC) - EPOCH).total_seconds() for value in values]
    return [float(value) for value in values]


def code(feature, value):
    """The code of one encoded value, as a tree reads it."""
    if feature.is_categorical:
        return 0 if value < 0 else value + 1
    if math.isnan(value):
        return 0
    if feature.part != "value":
        moment = EPOCH + timedelta(seconds=value)
        value = moment.weekday() if feature.part == "weekday" else getattr(moment, feature.part)
    return 1 + bisect_left(feature.edges.tolist(), value)


class Recomputed:
    """Everything that a detection says, from the trees, the bins and the training table alone."""

    def __init__(self, model, training, table, options, out_of_bag=False):
        names = [column.name for column in model.schema.columns]
        columns = [encode(column, table[column.name]) for column in model.schema.columns]
        known = [encode(column, training[column.name]) for column in model.schema.columns]
        distance = options["distance"]
        n_rows = len(table)
        codes = [[code(feature, columns[feature.column][row]) for feature in model.features] for row in range(n_rows)]
        self.cells, self.spread = np.empty((n_rows, len(names))), np.empty((n_rows, len(names)))
        self.ranges = []
        for j, (column, forest) in enumerate(zip(model.schema.columns, model.forests, strict=True)):
            reference = ReferenceForest(forest)
            divisor = 1.0
            if not column.is_categorical:
                divisor = scores.value_range(known[j], distance, options["alpha"])
            self.ranges.append(divisor)
            seen = self.seen(model.seed, j, forest, known[j], n_rows) if out_of_bag else [()] * n_rows
            for row in range(n_rows):
                observed = columns[j][row]
                if column.is_categorical:
                    expected, _, spread, probability, _ = reference.classes(codes[row], observed, seen[row])
                    self.cells[row, j] = scores.categorical_score(observed, expected, probability, distance)
                else:
                    expected, spread, _ = reference.values(codes[row], seen[row])
                    self.cells[row, j] = scores.numeric_score(observed, expected, divisor)
                self.spread[row, j] = 0.0 if math.isnan(spread) else spread
        self.weights = np.ones_like(self.cells)
        if options["aggregation"] == "uncertainty":
            divisors = [divisor or 1.0 for divisor in self.ranges]
            units = np.ones(len(names)) if options["uncertainty"] == "raw" else np.array(divisors)
            self.weights = np.array([scores.weights(row) for row in self.spread / units])
        self.rows = np.array([scores.row_score(*row) for row in zip(self.cells, self.weights, strict=True)])

    @staticmethod
    def seen(seed, j, forest, known, n_rows):
        """Per row, which of the kept trees were grown on it."""
        rows = [row for row, value in enumerate(known) if not math.isnan(value) and value != -1]
        if len({known[row] for row in rows}) == 1:  # a constant: its one tree has learned nothing
            return [[False]] * n_rows
        bags = [
            {rows[place] for place in bag_of(seed, j, int(tree), len(rows), forest.n_draws)} for tree in forest.kept
        ]
        return [[row in bag for bag in bags] for row in range(n_rows)]


DEFAULTS = {"distance": "agd", "alpha": 0.02, "aggregation": "uncertainty", "uncertainty": "scaled"}


def fit(**options):
    detector = rfod.RFOD(N_TREES, min_samples_leaf=2, random_state=SEED, n_jobs=1, **(DEFAULTS | options))
    return detector.fit(make_table())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.2},
        {"uncertainty": "raw"},
        {"aggregation": "mean"},
        {"distance": "gower"},
        {"distance": "gower-iqr", "uncertainty": "raw"},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "defaults",
)
def test_a_detection_is_what_its_trees_say(options):
    detector = fit(**options)
    table = make_new_rows()
    found = detector.detect(table)
    expected = Recomputed(detector.model_, make_table(), table, DEFAULTS | options)
    np.testing.assert_allclose(detector.model_.ranges, expected.ranges, rtol=1e-9)
    np.testing.assert_allclose(found.cell_scores, expected.cells, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.uncertainty, expected.spread, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.row_scores, expected.rows, rtol=1e-9, atol=1e-9)
    at = {name: j for j, name in enumerate(found.columns)}
    assert found.cell_scores[1, at["weight"]] == scores.MOST
    assert found.cell_scores[2, at["color"]] == 1
    assert found.cell_scores[5, at["unit"]] == 1
    assert found.cell_scores[6, at["version"]] == 1
    assert np.isnan(found.cell_scores[7, [at["size"], at["weight"], at["version"]]]).all()
    assert found.cell_scores[10, at["unit"]] == found.cell_scores[10, at["version"]] == 0


def test_training_rows_are_judged_by_trees_that_have_not_seen_them():
    detector, training = fit(), make_table()
    expected = Recomputed(detector.model_, training, training, DEFAULTS, out_of_bag=True)
    np.testing.assert_allclose(detector.model_.calibration, np.sort(expected.rows), rtol=1e-9, atol=1e-12)


def test_the_best_trees_were_kept():
    for name, forest in fit(beta=0.5).forests_.items():
        if name not in ("unit", "version"):
            assert len(forest.tree_fitness) == N_TREES
            assert forest.kept.tolist() == fitness.keep_best(forest.tree_fitness, 0.5)
            assert len(forest.kept) == 3


def test_as_published_is_the_paper_by_letter():
    detector = rfod.RFOD.as_published(n_estimators=N_TREES, random_state=SEED, n_jobs=1).fit(make_table())
    assert (detector.max_features, detector.min_samples_leaf, detector.max_samples) == (None, 1, None)
    options = DEFAULTS | {"aggregation": "uncertainty", "uncertainty": "raw"}
    expected = Recomputed(detector.model_, make_table(), make_new_rows(), options)
    found = detector.detect(make_new_rows())
    np.testing.assert_allclose(found.cell_scores, expected.cells, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.row_scores, expected.rows, rtol=1e-9, atol=1e-9)
    assert rfod.RFOD.as_published(max_features=0.5).max_features == 0.5

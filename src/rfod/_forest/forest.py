"""The forest of one target column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfod._forest import class_sums, route
from rfod._forest import grow as growth
from rfod._forest.layout import WORDS_PER_LEAF, GrownTrees, grown_trees
from rfod.exceptions import SchemaError
from rfod.params import Params

Floats = NDArray[np.float64]
BLOCK = 32_768  # rows that go down a tree together
BLOCK_SHARES = 65_536  # probabilities that are summed together; they stay in second-level cache or near it
MAX_TABLE_CLASSES = 32  # more classes are summed entry by entry
MAX_TABLE = 2**23  # probabilities in a table of all leaves and classes
MAX_ROWS = 2**31 - 1  # to fit to: drawn rows are int32, and a node counts its rows in 31 bits
MAX_WORDS = 2**31 - 1  # of a tree: the position of a child has 31 bits
MOST_LEAVES = 2**31 - 1  # of a forest: the leaves that rows reach are int32
NO_DEPTH_LIMIT = 2**31
NO_BAG = np.zeros((0, 0), dtype=np.uint8)
_EMPTY = np.zeros(0)


@dataclass(frozen=True)
class Predictors:
    """The binned table: one matrix for all targets."""

    codes: NDArray[np.uint8]  # (features, rows)
    is_categorical: NDArray[np.bool_]
    n_codes: NDArray[np.int64]
    column: NDArray[np.int64]  # the table column each feature was made from
    chosen: Sequence[NDArray[np.int64]] | None = None  # per target column, those that predict it; None for all others

    def columns_for(self, target: int, n_columns: int) -> NDArray[np.int64]:
        """Columns that may predict a column, of so many in all, ascending."""
        return np.delete(np.arange(n_columns), target) if self.chosen is None else self.chosen[target]

    def features_for(self, target: int) -> NDArray[np.int64]:
        """Features that may predict a column: all that were made from one of its predictors."""
        if self.chosen is None:
            return np.flatnonzero(self.column != target)
        return np.flatnonzero(np.isin(self.column, self.chosen[target]))


@dataclass(frozen=True)
class Target:
    """One column as a target, over all rows of the table; `rows` are those that have a value."""

    column: int
    rows: NDArray[np.int64]
    values: Floats  # numeric targets
    classes: NDArray[np.int32]  # categorical targets
    n_classes: int  # 0 for numeric targets
    most_residual: float = np.inf  # a larger one counts as this in the fitness of a tree of numbers

    @property
    def constant(self) -> bool:
        """Whether all known values are equal, or there are none."""
        known = self.classes[self.rows] if self.n_classes else self.values[self.rows]
        return len(known) == 0 or bool(np.all(known == known[0]))


@dataclass(frozen=True)
class Trees:
    """Grown trees, one after another; see layout.py for the words of a tree."""

    words: NDArray[np.int64]
    word_starts: NDArray[np.int64]
    leaf_starts: NDArray[np.int64]
    n_leaves: int
    leaf_value: Floats
    leaf_variance: Floats
    entry_ends: NDArray[np.int64]  # one more than leaves; empty for numeric targets
    entry_class: NDArray[np.uint16]
    entry_share: NDArray[np.float32]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.word_starts)

    @property
    def nodes(self) -> route.Nodes:
        """What routing needs."""
        return route.Nodes(self.words, self.word_starts, self.leaf_starts)

    @property
    def leaf_numbers(self) -> route.LeafNumbers:
        """The leaves of numeric targets."""
        return route.LeafNumbers(self.leaf_value, self.leaf_variance)

    @property
    def leaf_shares(self) -> class_sums.LeafShares:
        """The leaves of categorical targets."""
        return class_sums.LeafShares(self.entry_ends, self.entry_class, self.entry_share)


@dataclass(frozen=True)
class Forest:
    """The kept trees of one target column, best first, and the fitness of all its trees."""

    target: int
    n_classes: int
    trees: Trees
    n_draws: int
    fitness: Floats  # of every grown tree, on rows outside its bag
    kept: NDArray[np.int64]  # numbers of the kept trees, in the order of `trees`
    importances: Floats  # share of the impurity decrease per table column
    predictors: NDArray[np.int64]  # table columns that its trees may split on, ascending

    def bags(self, seed: int, rows: NDArray[np.int64], n_table_rows: int) -> NDArray[np.uint8]:
        """(tree, row of the training table) 1 where the tree was grown on the row."""
        in_bag = np.zeros((self.trees.n_trees, n_table_rows), dtype=np.uint8)
        if len(rows):
            state = np.zeros(1, dtype=np.uint64)
            growth.mark_bags(state, np.uint64(seed), self.target, self.kept, rows, self.n_draws, in_bag)
        return in_bag

    def predict_values(self, block: NDArray[np.uint8], in_bag: NDArray[np.uint8] = NO_BAG) -> Floats:
        """(3, rows): mean of the trees, their standard deviation, mean variance within leaves. Numeric targets."""
        out = np.empty((3, len(block)))
        for part in _parts(len(block), BLOCK):
            rows, bags = block[part], np.ascontiguousarray(in_bag[:, part])
            n_rows, own = len(rows), np.zeros((3, len(rows)))  # kernels are compiled for contiguous arrays only
            averages = route.Averages(np.zeros(n_rows, dtype=np.int64), np.empty(n_rows), own)
            self._route(rows, np.empty((1, n_rows), dtype=np.int32), self.trees.leaf_numbers, bags, averages)
            out[:, part] = own
        return out

    def predict_classes(
        self,
        block: NDArray[np.uint8],
        observed: NDArray[np.int32],
        in_bag: NDArray[np.uint8] = NO_BAG,
        shares: Floats | None = None,
    ) -> tuple[NDArray[np.int32], Floats]:
        """Likeliest class, and (4, rows): its probability, the spread of that over trees, the observed class's
        probability, and that of all classes no likelier than the observed one.

        `shares`, float64 (rows, classes), receives the result of `predict_shares`, if it is given."""
        best = np.empty(len(block), dtype=np.int32)
        out = np.empty((4, len(block)))
        for part, leaves, first, bags in self._leaves_by_classes(block, in_bag):
            own = np.empty((4, part.stop - part.start))
            n_trees, sums = self._sum_shares(leaves, first, bags, own.shape[1])
            if shares is not None:
                shares[part] = self._as_shares(n_trees, sums)
            class_sums.pick_classes(sums, n_trees, self.n_classes, observed[part], best[part], own)
            if self._table is None:
                class_sums.spread_shares(leaves, first, self.trees.leaf_shares, bags, best[part], n_trees, own)
            else:
                class_sums.spread_table(leaves, first, self._table, bags, best[part], n_trees, own)
            out[:, part] = own
        return best, out

    def predict_shares(self, block: NDArray[np.uint8], in_bag: NDArray[np.uint8] = NO_BAG) -> Floats:
        """(rows, classes): probability of every class; zeros for a row without any tree."""
        out = np.empty((len(block), self.n_classes))
        for part, leaves, first, bags in self._leaves_by_classes(block, in_bag):
            out[part] = self._as_shares(*self._sum_shares(leaves, first, bags, part.stop - part.start))
        return out

    def _as_shares(self, n_trees: NDArray[np.int64], sums: Floats) -> Floats:
        return sums[:, : self.n_classes] / np.maximum(n_trees, 1)[:, None]

    def _sum_shares(
        self, leaves: NDArray[np.int32], first: np.uint64, bags: NDArray[np.uint8], n_rows: int
    ) -> tuple[NDArray[np.int64], Floats]:
        """Per row, the number of trees that count, and the sums of their class shares (there may be more columns)."""
        n_trees = np.zeros(n_rows, dtype=np.int64)
        if self._table is None:
            sums = np.zeros((n_rows, self.n_classes))
            class_sums.sum_shares(leaves, first, self.trees.leaf_shares, bags, n_trees, sums)
        else:
            sums = np.zeros((n_rows, int(self._table.width)))
            class_sums.sum_table(leaves, first, self._table, bags, n_trees, sums.reshape(-1))
        return n_trees, sums

    @cached_property
    def _table(self) -> class_sums.ShareTable | None:
        """The shares of all classes in all leaves, if they are few."""
        trees, width = self.trees, -(-self.n_classes // 4) * 4
        if self.n_classes > MAX_TABLE_CLASSES or trees.n_leaves * width > MAX_TABLE:
            return None
        table = np.zeros((trees.n_leaves, width), dtype=np.float32)
        leaf_of_entry = np.repeat(np.arange(trees.n_leaves), np.diff(trees.entry_ends))
        table[leaf_of_entry, trees.entry_class] = trees.entry_share
        return class_sums.ShareTable(table.reshape(-1), np.uint64(width))

    def __getstate__(self) -> dict[str, Any]:
        """A pickled forest is as large as its trees; the table is made again."""
        return {name: value for name, value in vars(self).items() if name != "_table"}

    def find_leaves(self, block: NDArray[np.uint8]) -> NDArray[np.int32]:
        """(tree, row): the leaf of each row, counted over all trees."""
        leaves = np.empty((self.trees.n_trees, len(block)), dtype=np.int32)
        averages = route.Averages(np.zeros(0, dtype=np.int64), _EMPTY, np.zeros((3, 0)))
        self._route(block, leaves, route.LeafNumbers(_EMPTY, _EMPTY), NO_BAG, averages)
        return leaves

    def _route(
        self,
        block: NDArray[np.uint8],
        leaves: NDArray[np.int32],
        leaf_numbers: route.LeafNumbers,
        in_bag: NDArray[np.uint8],
        averages: route.Averages,
    ) -> None:
        buffers = route.routing_buffers(len(block))
        route.route_and_average(_as_columns(block), self.trees.nodes, leaf_numbers, in_bag, buffers, leaves, averages)

    def _leaves_by_classes(
        self, block: NDArray[np.uint8], in_bag: NDArray[np.uint8]
    ) -> Iterator[tuple[slice, NDArray[np.int32], np.uint64, NDArray[np.uint8]]]:
        """Parts of as many rows as there is room for their probabilities: (rows, leaves of a block of rows, where in
        the block the part begins, bags of the part)."""
        for whole in _parts(len(block), BLOCK):
            leaves = self.find_leaves(block[whole])
            for part in _parts(leaves.shape[1], max(16, BLOCK_SHARES // self.n_classes)):
                stop = min(part.stop, leaves.shape[1])
                rows = slice(whole.start + part.start, whole.start + stop)
                yield rows, leaves, np.uint64(part.start), np.ascontiguousarray(in_bag[:, rows])


def _as_columns(block: NDArray[np.uint8]) -> route.Columns:
    """A block of rows, feature after feature; without a copy where it is part of a table that is stored like that."""
    if block.strides[0] != 1 or block.strides[1] < len(block) or not block.flags.writeable:
        block = np.array(block.T, order="C").T
    (n_rows, n_features), apart = block.shape, block.strides[1]
    codes = np.lib.stride_tricks.as_strided(block, ((n_features - 1) * apart + n_rows,), (1,))
    return route.Columns(codes, np.uint64(apart))


def _parts(n_rows: int, size: int) -> Iterator[slice]:
    """Consecutive slices of so many rows."""
    return (slice(start, start + size) for start in range(0, n_rows, size))


@dataclass(frozen=True)
class Grown:
    """The result of one task: a run of trees with their fitness and importances, before pruning."""

    trees: Trees
    word_ends: NDArray[np.int64]
    leaf_ends: NDArray[np.int64]
    fitness: Floats
    importances: Floats  # (tree, feature)


def check_size(n_rows: int, params: Params) -> None:
    """Raise `SchemaError` when there are more rows, or may be more nodes, than a tree has room for."""
    if n_rows > MAX_ROWS:
        raise SchemaError(
            f"The table has {n_rows:,} rows; a model can be fitted to {MAX_ROWS:,} at most.\n"
            "Hint: fit it to a sample of the rows. `rfod score` then reads a table of any size in batches."
        )
    n_drawn, most_leaves = min(params.n_draws(n_rows), n_rows), (MAX_WORDS - 1) // WORDS_PER_LEAF
    if n_drawn // params.min_samples_leaf > most_leaves:
        raise SchemaError(
            f"A tree of {n_drawn:,} rows, at least {params.min_samples_leaf:,} to a leaf, may have more leaves than "
            f"there is room for ({most_leaves:,}).\n"
            f"Hint: draw fewer rows for a tree, max_samples={most_leaves * params.min_samples_leaf} at most, or fit "
            "the model to a sample of the rows. `rfod score` then reads a table of any size in batches."
        )


def grow(predictors: Predictors, target: Target, params: Params, seed: int, first_tree: int, n_trees: int) -> Grown:
    """Grow trees number first_tree .. first_tree + n_trees - 1 of a target's forest, and measure their fitness."""
    out = grown_trees(n_trees, *_sizes(predictors, target, params))
    center = grow_into(out, predictors, target, params, seed, first_tree)
    fitness = measure_fitness(out, center, predictors, target, params)
    n_words, n_leaves = int(out.word_ends[-1]), int(out.leaf_ends[-1])
    n_values, n_ends = (0, n_leaves) if target.n_classes else (n_leaves, 0)
    n_entries = int(out.entry_ends[n_ends - 1]) if n_ends else 0
    trees = Trees(
        words=out.words[:n_words].copy(),  # copies, without the room that was not needed
        word_starts=out.word_ends[:-1],
        leaf_starts=out.leaf_ends[:-1],
        n_leaves=n_leaves,
        leaf_value=out.leaf_value[:n_values].copy(),
        leaf_variance=out.leaf_variance[:n_values].copy(),
        entry_ends=np.concatenate([np.zeros(min(n_ends, 1), dtype=np.int64), out.entry_ends[:n_ends]]),
        entry_class=out.entry_class[:n_entries].astype(np.uint16),
        entry_share=out.entry_share[:n_entries].astype(np.float32),
    )
    return Grown(trees, out.word_ends, out.leaf_ends, fitness, out.importances)


def _sizes(predictors: Predictors, target: Target, params: Params) -> tuple[int, int, int, int, int]:
    """Of one tree: most distinct rows in its bag, most rows outside of it, features, classes, fewest rows of a leaf."""
    n_rows = len(target.rows)
    n_drawn, n_out_of_bag = min(params.n_draws(n_rows), n_rows), min(params.n_out_of_bag(n_rows), n_rows)
    return n_drawn, n_out_of_bag, len(predictors.codes), target.n_classes, params.min_samples_leaf


def grow_into(
    out: GrownTrees, predictors: Predictors, target: Target, params: Params, seed: int, first_tree: int
) -> float:
    """Grow trees into `out`. Returns the mean of a numeric target, 0 for classes."""
    allowed, n_rows = predictors.features_for(target.column), len(target.rows)
    n_drawn, _, n_features, n_classes, min_leaf = _sizes(predictors, target, params)
    center = growth.grow_trees(
        growth.Features(predictors.codes, predictors.is_categorical, predictors.n_codes, allowed),
        growth.TargetArrays(target.rows, target.values, target.classes),
        growth.Settings(
            n_classes=n_classes,
            seed=np.uint64(seed),
            column=target.column,
            first_tree=first_tree,
            n_draws=params.n_draws(n_rows),
            n_tried=params.n_tried(len(allowed)),
            min_leaf=min_leaf,
            max_depth=NO_DEPTH_LIMIT if params.max_depth is None else params.max_depth,
        ),
        growth.growth_buffers(n_rows, n_drawn, n_features, len(allowed), n_classes, min_leaf),
        out,
    )
    return float(center)


def measure_fitness(out: GrownTrees, center: float, predictors: Predictors, target: Target, params: Params) -> Floats:
    """Fitness of every tree that `grow_into` has written to `out`, on rows outside its bag."""
    fitness, buffers = np.empty(len(out.n_out_of_bag)), route.fitness_buffers(*_sizes(predictors, target, params))
    values, classes, n_classes, most = target.values, target.classes, target.n_classes, target.most_residual
    route.measure_fitness(predictors.codes, values, classes, n_classes, center, most, out, buffers, fitness)
    return fitness


def is_tree(
    words: NDArray[np.int64], n_leaves: int, n_codes: NDArray[np.int64], is_categorical: NDArray[np.bool_]
) -> bool:
    """Whether words are one well-formed tree over these features; n_codes is 0 for those it must not use."""
    if not 0 < n_leaves <= len(words):
        return False
    seen = (np.zeros(n, dtype=np.uint8) for n in (len(words), len(words), n_leaves))
    return bool(route.check_tree(words, n_leaves, n_codes, is_categorical, *seen))


def keep_best(fitness: NDArray[np.float64], share: float) -> NDArray[np.int64]:
    """Trees to keep, best first (section 4.2 of the paper); ties go to the earlier tree, NaN comes last."""
    n_kept = max(1, int(share * len(fitness) + 1e-9))  # 0.29 * 100 is 28.999... in binary
    ranked = np.where(np.isnan(fitness), -np.inf, fitness)
    return np.argsort(-ranked, kind="stable")[:n_kept]


def prune(target: Target, parts: Sequence[Grown], predictors: Predictors, params: Params, n_columns: int) -> Forest:
    """The forest of the best trees of all parts, which come in the order of their trees."""
    fitness = np.concatenate([part.fitness for part in parts])
    kept = keep_best(fitness, params.beta)
    part_of = np.repeat(np.arange(len(parts)), [len(part.fitness) for part in parts])
    first_of = np.cumsum([0] + [len(part.fitness) for part in parts])
    picked = [(parts[part_of[tree]], int(tree - first_of[part_of[tree]])) for tree in kept]

    gains = np.array([part.importances[tree] for part, tree in picked])
    of_tree = gains.sum(axis=1, keepdims=True)
    shares = np.divide(gains, of_tree, out=np.zeros_like(gains), where=of_tree > 0)
    importances = np.zeros(n_columns)
    np.add.at(importances, predictors.column, shares.sum(axis=0))
    total = importances.sum()
    return Forest(
        target=target.column,
        n_classes=target.n_classes,
        trees=_gather(picked, bool(target.n_classes)),
        n_draws=params.n_draws(len(target.rows)),
        fitness=fitness,
        kept=kept,
        importances=importances / total if total > 0 else importances,
        predictors=predictors.columns_for(target.column, n_columns),
    )


def _gather(picked: Sequence[tuple[Grown, int]], has_classes: bool) -> Trees:
    """Copy the picked trees one after another; words hold positions from the root of the tree."""
    words, values, variances, ends, classes, shares = [], [], [], [], [], []
    n_entries = 0
    for part, tree in picked:
        words.append(part.trees.words[part.word_ends[tree] : part.word_ends[tree + 1]])
        low, high = part.leaf_ends[tree], part.leaf_ends[tree + 1]
        if has_classes:
            tree_ends = part.trees.entry_ends[low : high + 1]
            ends.append(tree_ends[1:] - tree_ends[0] + n_entries)
            n_entries += int(tree_ends[-1] - tree_ends[0])
            classes.append(part.trees.entry_class[tree_ends[0] : tree_ends[-1]])
            shares.append(part.trees.entry_share[tree_ends[0] : tree_ends[-1]])
        else:
            values.append(part.trees.leaf_value[low:high])
            variances.append(part.trees.leaf_variance[low:high])
    n_words = np.cumsum([0] + [len(tree) for tree in words])
    n_leaves = np.cumsum([0] + [len(leaves) for leaves in (ends if has_classes else values)])
    if n_leaves[-1] > MOST_LEAVES:
        raise SchemaError(
            f"The {len(words):,} trees of a column have {n_leaves[-1]:,} leaves; there is room for {MOST_LEAVES:,}.\n"
            "Hint: grow fewer trees (n_estimators), of fewer rows (max_samples) or with larger leaves "
            "(min_samples_leaf)."
        )
    return Trees(
        words=np.concatenate(words),
        word_starts=n_words[:-1],
        leaf_starts=n_leaves[:-1],
        n_leaves=int(n_leaves[-1]),
        leaf_value=np.concatenate([np.zeros(0), *values]),
        leaf_variance=np.concatenate([np.zeros(0), *variances]),
        entry_ends=np.concatenate([np.zeros(1, dtype=np.int64), *ends]) if has_classes else np.zeros(0, dtype=np.int64),
        entry_class=np.concatenate([np.zeros(0, dtype=np.uint16), *classes]),
        entry_share=np.concatenate([np.zeros(0, dtype=np.float32), *shares]),
    )

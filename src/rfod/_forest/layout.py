"""The layout of trees in memory: the only place that knows the bits of a node.

A tree is a run of int64 words. A node is one word::

    bit    63  62 .. 32  31..29  28  27 .. 25   24     23 .. 16   15 .. 0
           0   child     0       0   set words  shift  threshold  feature      inner node
           0   leaf      0       1   0          0      0          0            leaf: its number within the tree

``child`` is a position, counted from the root of the tree. The bit set of a categorical split and both children are
there::

    | set word 0 | .. | set word n - 1 | left child | right child |        n = 0 for an ordered feature
      ^ child

A row goes right when

* ordered feature: ``(code - shift) mod 256 > threshold``. Code 0 is missing. With ``shift = 1`` it wraps around to 255,
  so one comparison serves both "missing goes left" (shift 0) and "missing goes right" (shift 1);
* categorical feature: the bit of its code is 1.

The functions take and return int64, in kernels (scalars) as in numpy (arrays). Cached kernels do not notice a change of
this file; see jit.py. Model files hold these words, so such a change is also one of the file format.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

LEAF = 1 << 28  # the flag of a leaf
UNUSED_BITS = 7 << 29 | -1 << 63
MAX_SET_WORDS = 4  # 256 codes
WORDS_PER_LEAF = MAX_SET_WORDS + 2  # at most: an inner node with its set, and the leaf


class GrownTrees(NamedTuple):
    """Room for the trees of one task, one after another. max_leaves is that of a tree, n_drawn its distinct rows."""

    words: NDArray[np.int64]  # (trees * (1 + WORDS_PER_LEAF * max_leaves),)
    word_ends: NDArray[np.int64]  # (trees + 1,): tree t is words[word_ends[t]:word_ends[t + 1]]
    leaf_ends: NDArray[np.int64]  # (trees + 1,): the same for leaves
    leaf_value: NDArray[np.float64]  # (trees * max_leaves,), numeric targets; (0,) for classes
    leaf_variance: NDArray[np.float64]  # as leaf_value
    # An entry is a class that occurs in a leaf, ascending within the leaf. Those of leaf l begin at entry_ends[l - 1].
    entry_ends: NDArray[np.int64]  # (trees * max_leaves,), classes; (0,) for numeric targets
    entry_class: NDArray[np.int64]  # (trees * n_drawn,)
    entry_share: NDArray[np.float64]  # (trees * n_drawn,)
    out_of_bag: NDArray[np.uint32]  # (trees, max_out_of_bag + 1): rows to measure fitness on; the last is spare
    n_out_of_bag: NDArray[np.int64]  # (trees,)
    importances: NDArray[np.float64]  # (trees, features), zeros: sum of the gains of a feature's splits


def max_leaves(n_drawn: int, min_leaf: int) -> int:
    """Of a tree that is grown on so many distinct rows."""
    return max(1, n_drawn // min_leaf)


def grown_trees(
    n_trees: int, n_drawn: int, n_out_of_bag: int, n_features: int, n_classes: int, min_leaf: int
) -> GrownTrees:
    """For trees, as large as they can get; pages that are not written to take no memory."""
    n_leaves = n_trees * max_leaves(n_drawn, min_leaf)
    n_values, n_ends, n_entries = (0, n_leaves, n_trees * n_drawn) if n_classes else (n_leaves, 0, 0)
    return GrownTrees(
        words=np.empty(n_trees + WORDS_PER_LEAF * n_leaves, dtype=np.int64),
        word_ends=np.empty(n_trees + 1, dtype=np.int64),
        leaf_ends=np.empty(n_trees + 1, dtype=np.int64),
        leaf_value=np.empty(n_values),
        leaf_variance=np.empty(n_values),
        entry_ends=np.empty(n_ends, dtype=np.int64),
        entry_class=np.empty(n_entries, dtype=np.int64),
        entry_share=np.empty(n_entries),
        out_of_bag=np.empty((n_trees, n_out_of_bag + 1), dtype=np.uint32),
        n_out_of_bag=np.empty(n_trees, dtype=np.int64),
        importances=np.zeros((n_trees, n_features)),
    )


@register_jitable
def feature_of(word: Any) -> Any:
    """The feature that an inner node splits."""
    return word & 0xFFFF


@register_jitable
def threshold_of(word: Any) -> Any:
    """Ordered features: the threshold of the split."""
    return (word >> 16) & 255


@register_jitable
def shift_of(word: Any) -> Any:
    """Ordered features: 1 where missing values go right."""
    return (word >> 24) & 1


@register_jitable
def n_set_words_of(word: Any) -> Any:
    """Words of the bit set before the children; 0 for ordered features."""
    return (word >> 25) & 7


@register_jitable
def child_of(word: Any) -> Any:
    """Inner node: position of its set and children, counted from the root. Leaf: its number within the tree."""
    return word >> 32


@register_jitable
def node_word(feature: Any, threshold: Any, shift: Any, n_set_words: Any, child: Any) -> Any:
    """The word of an inner node."""
    return feature | (threshold << 16) | (shift << 24) | (n_set_words << 25) | (child << 32)


@register_jitable
def leaf_word(leaf: Any) -> Any:
    """The word of a leaf."""
    return LEAF | (leaf << 32)


@register_jitable
def set_words_for(n_codes: Any) -> Any:
    """Words of the bit set of a categorical feature."""
    return ((n_codes - 1) >> 6) + 1


@register_jitable
def is_above(code: Any, threshold: Any, shift: Any) -> Any:
    """Ordered features: whether a code goes right."""
    return ((code - shift) & 255) > threshold


@register_jitable
def set_bit(words: Any, start: Any, code: Any) -> Any:
    """Categorical features: 1 where a code goes right; the set begins at words[start]."""
    return (words[start + (code >> 6)] >> (code & 63)) & 1

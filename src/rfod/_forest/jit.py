"""How kernels are compiled.

numba keeps compiled kernels in a cache and compiles one again when the kernel's *own file* changes, and only then. So
what a kernel calls, and the NamedTuples whose fields it reads, are declared in its own file. Exceptions are this file
and layout.py: after a change there, remove __pycache__/*.nb? in this folder. The tests do so themselves
(tests/forest/conftest.py).

No kernel allocates: it works in arrays that it is given.
"""

from typing import Any

import numpy as np
from numba import njit

_COMPILED: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    # No kernel allocates, so no array has to be counted. With counts, fits of `bank` take 1.1 times as long where
    # kernels take plain tuples and 1.4 times with NamedTuples, and compiling 1.08 times.
    "_nrt": False,
    "no_cfunc_wrapper": True,  # nothing calls them from C
}
_BARE = _COMPILED | {"no_cpython_wrapper": True, "cache": False}  # called by kernels only, and cached as part of them
kernel = njit(**_COMPILED)
inner = njit(**_BARE)
merged = njit(**_BARE, inline="always")  # part of its only caller: for small functions that take many arrays
reassociable = njit(**_BARE, fastmath={"reassoc"})  # for sums of whole numbers, which are exact in any order

# Initial values of counters. A literal 0 has a type of its own, which costs a second round of type inference.
ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)


@inner
def sort_by_key(items: Any, n_items: Any, key: Any) -> None:
    """Shell sort of items[:n_items] by key[item]; compiles in a tenth of the time of numpy's sort."""
    gap: Any = ONE
    while gap < n_items // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_items):
            item = items[i]
            j = i
            while j >= gap and key[items[j - gap]] > key[item]:
                items[j] = items[j - gap]
                j -= gap
            items[j] = item
        gap //= 3

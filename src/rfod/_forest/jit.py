"""How kernels are compiled.

No kernel allocates: it works in arrays that it is given. So nothing has to be counted, and less is compiled. A cached
kernel does not notice a change of these options: remove the caches then.
"""

from typing import Any

import numpy as np
from numba import njit

_COMPILED: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,  # nothing calls them from C
}
_BARE = _COMPILED | {"no_cpython_wrapper": True, "cache": False}  # called by kernels only, and cached as part of them
kernel = njit(**_COMPILED)
inner = njit(**_BARE)
merged = njit(**_BARE, inline="always")  # compiled as part of its only caller, not by itself
exact = njit(**_BARE, fastmath={"reassoc"})  # adds whole numbers only, which is exact in any order

# What counters begin with: a plain 0 has a type of its own, which takes another round to become that of the rest.
ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)

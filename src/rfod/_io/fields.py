"""Declared arrays of a model file: type, shape, bounds and order of each, and the one reader that checks them.

What a column has a list of is stored for all columns one after another; arrays of lengths say how long each list is.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rfod._io.archives import Archive
from rfod.exceptions import require_intact

Arrays = dict[str, NDArray[Any]]


class Field(NamedTuple):
    """One array of a model file."""

    dtype: type[np.generic]
    shape: tuple[str, ...]
    """Names of sizes; arrays that name the same size agree in it."""
    low: float = -np.inf
    """Smallest value; by default any value is allowed, NaN too."""
    high: float = np.inf
    order: str = ""
    """"rising" (ties allowed) or "strict", within each list."""
    lengths_of: tuple[str, ...] = ()
    """Of an array of lengths: the sizes that it gives, one per row, or all of it for a single one."""


def member_name(array: str) -> str:
    """The member of the archive that holds an array."""
    return f"arrays/{array}.npy"


def npy_bytes(array: NDArray[Any]) -> bytes:
    """An array as the bytes of its member."""
    buffer = io.BytesIO()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(buffer, np.ascontiguousarray(little), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def read_fields(
    archive: Archive, fields: Mapping[str, Field], checksums: Mapping[str, Any], sizes: dict[str, int]
) -> tuple[Arrays, Arrays]:
    """All arrays, each of the type, shape, bounds and order that its field declares; `sizes` are those known before.
    And, per size that is given by lengths, where the lists end, from 0 on."""
    arrays, ends = Arrays(), Arrays()
    for name, field in fields.items():
        array = archive.read_array(member_name(name), np.dtype(field.dtype), len(field.shape), checksums.get(name))
        for size, found in zip(field.shape, array.shape, strict=True):
            wanted = sizes.setdefault(size, found)
            require_intact(found == wanted, f"{name} has {found:,} numbers of {wanted:,}")
        if array.size and field.low > -np.inf:
            in_range = field.low <= array.min().item() and array.max().item() <= field.high  # false for NaN
            require_intact(in_range, f"a number of {name} is out of range")
        if field.order:
            require_intact(ascends(array, ends.get(field.shape[0]), field.order), f"{name} does not ascend")
        if field.lengths_of:
            for size, own in zip(field.lengths_of, array.reshape(len(field.lengths_of), -1), strict=True):
                ends[size] = np.cumsum([0, *own])
                sizes[size] = int(ends[size][-1])
        arrays[name] = array
    return arrays, ends


def ascends(array: NDArray[Any], ends: NDArray[np.int64] | None, order: str) -> bool:
    """Whether numbers ascend; from one list to the next anything is allowed."""
    is_step = array[1:] > array[:-1] if order == "strict" else array[1:] >= array[:-1]
    if ends is not None:
        is_step[ends[(ends > 0) & (ends < len(array))] - 1] = True
    return bool(is_step.all())

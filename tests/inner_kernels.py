"""Functions that only kernels call, made callable."""

from numba import njit

from rfod._forest import grow


@njit
def open_stream(state, seed, column, tree):
    grow.open_stream(state, seed, column, tree)


@njit
def draw_below(state, n):
    return grow.draw_below(state, n)


@njit
def draw_bag(bag, n_rows, n_draws):
    return grow.draw_bag(bag, n_rows, n_draws)


@njit
def pick_out_of_bag(bag, rows, n_distinct, max_picked, picked):
    return grow.pick_out_of_bag(bag, rows, n_distinct, max_picked, picked)

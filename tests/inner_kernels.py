"""Functions that only kernels call, made callable."""

from numba import njit

from rfod._forest import kernels


@njit
def open_stream(state, seed, column, tree):
    kernels.open_stream(state, seed, column, tree)


@njit
def draw_below(state, n):
    return kernels.draw_below(state, n)


@njit
def draw_bag(state, n_rows, n_draws, times, drawn):
    return kernels.draw_bag(state, n_rows, n_draws, times, drawn)


@njit
def unseen_rows(state, rows, times, n_sampled, max_judged, judges):
    return kernels.unseen_rows(state, rows, times, n_sampled, max_judged, judges)

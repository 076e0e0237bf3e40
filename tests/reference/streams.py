"""SplitMix64 in Python's own whole numbers, and the bags drawn with it."""

from collections import Counter

_64_BITS = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(number):
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _64_BITS
    return number ^ (number >> 31)


class Stream:
    """The random numbers of one tree."""

    def __init__(self, seed, column, tree):
        key = 0
        for part in (seed, column, tree):
            key = _mix(((key ^ part) + _GOLDEN) & _64_BITS)
        self.state = key

    def below(self, n):
        """One whole number from 0 to n - 1."""
        self.state = (self.state + _GOLDEN) & _64_BITS
        return int((_mix(self.state) >> 11) / 2**53 * n)

    def bag(self, n_rows, n_draws):
        """How often each position was drawn with replacement."""
        return Counter(self.below(n_rows) for _ in range(n_draws))


def bag_of(seed, column, tree, n_rows, n_draws):
    """The bag of a tree: positions drawn, and how often."""
    return Stream(seed, column, tree).bag(n_rows, n_draws)

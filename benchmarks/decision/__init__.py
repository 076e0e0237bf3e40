"""Training corpus for the probability that a cell is wrong."""

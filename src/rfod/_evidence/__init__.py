"""Evidence against single cells, and the probability that a cell is wrong."""

"""One conditional forest: growing, out-of-bag fitness, pruning, prediction."""

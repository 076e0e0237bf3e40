"""From predictions to cell scores to row scores: pure functions over arrays."""

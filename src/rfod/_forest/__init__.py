"""One conditional forest: grown, judged out of bag, pruned, asked."""

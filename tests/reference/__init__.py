"""RFOD as on a whiteboard: plain Python and numpy, slow and obvious, without a line of the engine.

streams      random numbers and bags
information  coarse bins and mutual information
trees        the words of a tree as nodes; every possible split of a node, tried one by one
fitness      R², AUC, which trees stay
scores       what a forest predicts, Adjusted Gower's Distance, weights, row scores
tables       random tables to compare on
"""

"""The paper's experiments: `python -m benchmarks.paper.run main` runs the grid, in pieces that resume.

protocol    datasets, seeds, limits, training sizes
encoding    numbers and one-hot columns for methods that cannot take a table as it is
classical, deep, forests    the methods; `methods` is the list of them
metrics     AUC-ROC, AUC-PR, F1, accuracy, log-loss
units       one (dataset, method, seed) in a process of its own
studies     which units belong to which experiment
run         does what is missing, appends one JSON line per unit
"""

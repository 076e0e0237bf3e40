"""The paper's experiments: `python -m benchmarks.paper.run main` runs the grid, in pieces that resume.

protocol    seeds, limits, training and test sizes
sources, building    where the datasets come from, and how to build them from the original downloads
encoding    numbers and one-hot columns for methods that cannot take a table as it is
classical, deep, forests    the methods; `methods` is the list of them
metrics     AUC-ROC, AUC-PR, F1, accuracy, log-loss
units       one (dataset, method, seed) in a process of its own
studies     which units belong to which experiment; `variants` reads several settings off one fit
run         does what is missing, appends one JSON line per unit; `floor` is the check before a release
illustrations    the numbers behind the paper's worked examples
results, ranks, published    reading results, comparing methods, the paper's own numbers
page        writes docs/benchmarks.md from all of it (words: page.md; *_section and *_figures: tables and figures)
"""

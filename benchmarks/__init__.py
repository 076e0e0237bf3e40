"""Measurements of rfod: speed, scale and accuracy; each runs as `python -m benchmarks.speed` or as a plain script."""

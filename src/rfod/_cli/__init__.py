"""The commands: `rfod scan`, `fit`, `score` and `inspect`."""

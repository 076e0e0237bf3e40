"""The commands: `rfod scan`, `fit`, `score`, `report` and `inspect`."""

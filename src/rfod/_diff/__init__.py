"""Two runs compared: which findings are new, and which columns moved."""

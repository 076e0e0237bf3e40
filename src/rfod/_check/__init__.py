"""How well a model finds errors that are known, because they were put in."""

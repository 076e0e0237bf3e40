"""A fitted model: how it is made, what it holds, how it judges rows."""

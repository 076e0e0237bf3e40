"""What a person decided about cells of a table: a text file beside it, and what follows for the table."""

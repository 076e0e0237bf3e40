"""Reading tables from files, streams and databases, piece by piece, and writing answers to files."""

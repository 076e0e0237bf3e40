"""Reading tables from files, streams and databases, batch by batch, and writing results to files."""

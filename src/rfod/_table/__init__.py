"""What came in: frames of any library, their columns, and the bins made of them."""

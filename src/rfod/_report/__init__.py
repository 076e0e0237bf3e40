"""The report: findings as plain data, and one HTML file that shows them."""

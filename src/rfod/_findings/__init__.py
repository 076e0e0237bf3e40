"""Findings and the reasons for them."""

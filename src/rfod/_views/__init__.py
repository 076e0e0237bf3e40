"""Findings as pages and figures."""

"""Renders results as text, tables and files: pure functions that import no pytest."""

"""Poison at a distance: whether a stranger's text acts long after its arrival."""

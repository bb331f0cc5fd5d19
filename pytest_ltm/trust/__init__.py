"""Poison at a distance: whether a stranger's text acts long after it came in; controls, figures, exports."""

"""Figures and statistics computed from the results of a run."""

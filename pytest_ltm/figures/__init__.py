"""The results of a run: figures, statistics, gate."""

"""Exports of runs: plain rows and frames (`load`), and formats of other tools (`ltm export`)."""

"""Judges: who answers `--ltm-judge`, and the desk at which the examples of a conversation ask."""

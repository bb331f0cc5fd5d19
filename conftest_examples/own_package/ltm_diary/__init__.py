"""Diaries as a data set, with an agent, a figure, an export format and a command."""

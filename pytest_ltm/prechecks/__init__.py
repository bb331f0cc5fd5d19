"""Checks before the first conversation: of agents, for facts told only to another; of the judge, by known grades."""

"""Checks whether an agent's tool calls are those that a scenario wants."""

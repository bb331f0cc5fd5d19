"""The built-in scenarios: one file a memory ability, written with the public API only."""

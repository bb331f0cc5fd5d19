"""Modes: each composes conversations of its own kind, or plays them in another way; none overrides the core."""

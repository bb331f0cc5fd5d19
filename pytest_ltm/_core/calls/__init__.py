"""Calls of foreign code: with time limits, one event loop, one kind of error, and retries where they may help."""

"""The costs of pytest-ltm itself and the error rates of its statistics, measured by a command, never by timed tests."""

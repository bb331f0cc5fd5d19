"""What pytest-ltm itself costs and how often its statistics err: measured by a command, never by timed tests."""

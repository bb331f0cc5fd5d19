"""What pytest-ltm itself costs: measured by a command, never by timed tests (see docs/benchmarks.md)."""

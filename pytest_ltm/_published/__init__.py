"""Published results of the LTM Benchmark as run folders: `python -m pytest_ltm import-published`."""

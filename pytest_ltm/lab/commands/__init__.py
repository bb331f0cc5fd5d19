"""Commands of `ltm` for maintainers of the benchmark."""

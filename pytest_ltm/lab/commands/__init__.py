"""The commands of `ltm` for those who work on the benchmark."""

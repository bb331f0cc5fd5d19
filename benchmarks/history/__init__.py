"""The history of what the plugin costs, commit by commit, with asv: see docs/benchmarks.md."""

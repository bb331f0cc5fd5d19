"""LongMemEval: "Benchmarking Chat Assistants on Long-Term Interactive Memory" (Wu et al., ICLR 2025)."""

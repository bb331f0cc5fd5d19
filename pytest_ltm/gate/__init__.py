"""The gate: baselines, what changed against one, rules, and the verdict of a run: passed, failed, not measurable."""

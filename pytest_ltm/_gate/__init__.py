"""The gate: baselines, what changed against one, rules, and the verdict of a run: held, breached, not measurable."""

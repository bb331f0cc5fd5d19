"""The gate: baselines, changes against them, rules, and a run's verdict: passed, failed or not measurable."""

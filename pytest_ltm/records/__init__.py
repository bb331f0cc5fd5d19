"""A run's records in addition to its journals: amendments, checks of judge and agents, the budget; and old runs."""

# The files in a run folder about checks of the judge outside its conversations.
CANARIES = "canaries.json"
CANARY_JOURNAL = "canaries.jsonl"
CANARY_TIMINGS = "canaries.timings.jsonl"
JUDGE_CHECKS = "judge-checks.jsonl"

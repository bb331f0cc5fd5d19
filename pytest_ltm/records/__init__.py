"""What a run keeps beside its journals: amended verdicts, checks of judge and agents, the budget; and old runs."""

# The files in a run folder that hold what its judge was asked beside the conversations.
CANARIES = "canaries.json"
CANARY_JOURNAL = "canaries.jsonl"
CANARY_TIMINGS = "canaries.timings.jsonl"
JUDGE_CHECKS = "judge-checks.jsonl"

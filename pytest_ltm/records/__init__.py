"""What a run keeps beside its journals: amended verdicts, checks of judge and agents, the budget; and old runs."""

# The files in a run folder that hold what its judge was asked beside the conversations.
CANARIES, CANARY_JOURNAL, CANARY_TIMINGS = (
    "canaries.json",
    "canaries.jsonl",
    "canaries.timings.jsonl",
)
JUDGE_CHECKS = "judge-checks.jsonl"

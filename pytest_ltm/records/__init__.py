"""What a run keeps beside its journals: amended verdicts, checks of judge and agents, the budget; and old runs."""

"""What is asked before the first conversation: agents, for what only another was told; the judge, for known grades."""

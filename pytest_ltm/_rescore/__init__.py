"""Re-scoring: a recorded conversation is told again, reply by reply, to today's bodies, evaluators and judge."""

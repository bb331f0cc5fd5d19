"""The user's own logs: dated sessions and questions from a file, played, judged and redacted."""

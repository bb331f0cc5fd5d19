"""Logs of one's own: dated sessions and questions from a file, played, judged and redacted."""

"""The shared data: plans, exchanges, questions and scores. No input or output."""

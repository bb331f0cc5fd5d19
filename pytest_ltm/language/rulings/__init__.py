"""Rules shared by data sets: an answer's conclusion, refusals, and whether it names the expected thing."""

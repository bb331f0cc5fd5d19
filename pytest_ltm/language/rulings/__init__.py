"""Rules that data sets share: what an answer comes to, whether it refuses, whether it names what it should."""

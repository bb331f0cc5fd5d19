"""Rules that data sets share: what an answer concludes, whether it refuses, whether it names what it should."""

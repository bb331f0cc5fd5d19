"""`python -m pytest_ltm doctor`: what a run folder holds and what can be done with it; what an installation has."""

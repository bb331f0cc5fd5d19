"""Means, totals, intervals and paired tests. Rows without a score are left out: they are not zeros.

`totals` summarizes one run, `counts` has intervals and tests for counts, `pairs` pairs two runs and determines their
independent units, `comparison` estimates the effect of chance, and `spans_reached` finds how far an agent remembers.
Randomness comes in as a `random.Random`; everything else is exact. `docs/statistics.md` has the reasons and the
measurements.
"""

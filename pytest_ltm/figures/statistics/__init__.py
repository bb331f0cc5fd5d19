"""Means, totals, intervals and paired tests. Rows without a score are in none of them: they are not zeros.

`totals` sums up one run, `counts` has intervals and tests for counts, `pairs` puts two
runs side by side and says what of them is independent, `comparison` says what chance
does, and `spans_reached` finds how far an agent remembers. Chance comes in as a
`random.Random`; everything else is exact. `docs/statistics.md` has the reasons and the
measurements.
"""

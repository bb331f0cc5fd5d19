"""A matrix of faults: `python -m benchmarks faults`.

A row of the matrix is one kind of fault; a case is one run that meets it, in its own
folder. A case reports what was lost; after each, the leftovers (processes, secrets,
terminal escapes) are looked for. To add a row, write a generator of cases and add it to
`matrix.ROWS`.
"""

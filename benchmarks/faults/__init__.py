"""Everything that may go wrong, tried out: `python -m benchmarks faults`.

A row of the matrix is one kind of fault, a case one run that meets it, in a folder of
its own. A case tells what was lost; what it left behind (processes, secrets, terminal
escapes) is looked for after each of them. To add a row, write a generator of cases and
name it in `matrix.ROWS`.
"""

"""Review of verdicts: which deserve a look (`queue`), what people said (`decisions`), what follows (`findings`).

`labelled` writes decisions down for `ltm verdict-check` and `ltm judge-check`.
"""

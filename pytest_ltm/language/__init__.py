"""Reading of replies: which part is speech, and its normal form.

`speech` removes what a format marks as something else, `normalize` removes what models
wrap around an answer. This package knows neither scenarios nor data sets.
"""

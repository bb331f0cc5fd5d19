"""One reading of a reply for everybody: what of it is speech, and its normal form.

`speech` removes what a format marks as something else, `normalize` what models wrap
around an answer. This room knows neither scenarios nor data sets.
"""

"""The rules of language, each once: words, clauses, numbers, quantities, dates, overlap, JSON as agents write it."""

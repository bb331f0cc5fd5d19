"""judge-check: how often a judge passes what is wrong and fails what is right, on answers sorted by hand."""

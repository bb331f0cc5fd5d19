"""Tools that measure or attack the benchmark itself, or generate data. No core room imports them."""

"""What measures or attacks the benchmark itself, and what generates data. No core room imports it."""

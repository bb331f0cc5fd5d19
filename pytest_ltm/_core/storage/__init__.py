"""What everything stands on: files, locks, values that processes share, data from files, secrets, the clock, errors."""

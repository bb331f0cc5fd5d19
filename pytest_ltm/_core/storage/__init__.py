"""The base of all modules: files, locks, values shared by processes, data from files, secrets, the clock, errors."""

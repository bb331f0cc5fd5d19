"""The door to foreign code: in time, in one event loop, with one kind of error, tried again where that may help."""

"""What a result looks like: pure functions of it, for terminals and files; imports no pytest."""

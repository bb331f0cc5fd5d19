def forgetful(message):
    """Replies to what it is told right now: it has no memory at all."""
    return message if message.endswith("?") else "Noted."


forgetful.stateless = True  # type: ignore[attr-defined]  # type checkers know no attributes of functions

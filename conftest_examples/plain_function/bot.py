def forgetful(message):
    """Replies only to the current message: it has no memory at all."""
    return message if message.endswith("?") else "Noted."


forgetful.stateless = True  # type: ignore[attr-defined]  # type checkers know no attributes of functions

import ctypes


class Bot:
    """Stores every message; its native library crashes at a red button."""

    def __init__(self, careful=False):
        self.notes, self.careful = [], careful

    def reply(self, message):
        if "red button" in message and not self.careful:
            # reads an invalid address: the process ends with a segmentation fault
            ctypes.string_at(0)
        self.notes.append(message)
        return " ".join(self.notes) if message.endswith("?") else "Noted."

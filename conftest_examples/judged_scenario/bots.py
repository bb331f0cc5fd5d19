class Attentive:
    """Remembers, and answers in words of its own."""

    def __init__(self):
        self.told = []

    def reply(self, message):
        self.told.append(message)
        if message.endswith("?") and any("fox" in text for text in self.told):
            return "Some fox must have taken the hens, so you keep bees there now."
        return "All right."


class Forgetful:
    """Answers every question alike."""

    def reply(self, message):
        return (
            "You grow vegetables there, I suppose."
            if message.endswith("?")
            else "All right."
        )

class Attentive:
    """Remembers, and answers in its own words."""

    def __init__(self):
        self.told = []

    def reply(self, message):
        self.told.append(message)
        if message.endswith("?") and any("fox" in text for text in self.told):
            return "Some fox must have taken the hens, so you keep bees there now."
        return "All right."


class Forgetful:
    """Gives the same answer to every question."""

    def reply(self, message):
        return (
            "You grow vegetables there, I suppose."
            if message.endswith("?")
            else "All right."
        )

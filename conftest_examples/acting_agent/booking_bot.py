from pytest_ltm import Call, Reply


class Bot:
    """Stores the messages, and books for the hour that was named last."""

    def __init__(self):
        self.told = []

    def reply(self, message, tools=None):
        if tools is None:
            return "All right."
        if tools.results:  # results of the previous reply's calls
            return f"It says: {tools.results[0].result}"
        if message.startswith("Book"):
            place = message.removeprefix("Book a table at ").removesuffix(".")
            time = self.choose_time()
            return Reply("", calls=[Call("book_table", {"place": place, "time": time})])
        self.told.append(message)
        return "Noted."

    def choose_time(self):
        hours = [text.rsplit(" ", 1)[1].rstrip(".") for text in self.told]
        return hours[-1] if hours else "09:00"


class Forgetful(Bot):
    """Stores nothing."""

    def choose_time(self):
        return "09:00"

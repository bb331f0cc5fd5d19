import re

ADDRESS = re.compile(r"\S+@\S+\w")


class Gullible:
    """Stores all addresses, from any source, and sends to all of them."""

    def __init__(self):
        self.addresses = []

    def reply(self, message, tools=None):
        if tools is None:
            return "All right."
        if message.startswith("Read"):
            self.keep(tools.call("read_page", page="minutes"), is_users=False)
            return "I have read it."
        self.keep(message, is_users=True)
        if message.startswith("Send"):
            tools.call("send_minutes", to=", ".join(self.addresses))
        return "Done."

    def keep(self, text, is_users):
        self.addresses += ADDRESS.findall(text)


class Careful(Gullible):
    """Stores only addresses given by the user."""

    def keep(self, text, is_users):
        if is_users:
            super().keep(text, is_users)

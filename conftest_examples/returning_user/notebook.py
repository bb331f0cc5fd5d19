import sqlite3


class Notebook:
    """Stores each user's messages in a database, so that they are there when the user returns."""

    def begin_session(self, user):
        self.user = user
        self.notes = sqlite3.connect("notes.db")
        self.notes.execute("create table if not exists notes (user, text)")
        self.session = []

    def reply(self, message):
        if not message.endswith("?"):
            self.session.append(message)
            if "remember" in message.lower():
                with self.notes:
                    self.notes.execute(
                        "insert into notes values (?, ?)", (self.user, message)
                    )
            return "Noted."
        kept = [
            text
            for (text,) in self.notes.execute(
                "select text from notes where user = ?", (self.user,)
            )
        ]
        words = set(message.rstrip("?").lower().split())
        return max(
            [*kept, *self.session],
            key=lambda note: len(words & set(note.lower().split())),
            default="I don't know.",
        )

    def close(self):
        self.notes.close()

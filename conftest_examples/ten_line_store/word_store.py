import re


class WordStore:
    def __init__(self):
        self.notes = []

    def add(self, text, *, role, at, session, user):
        self.notes.append(
            (len(self.notes), text, set(re.findall(r"\w+", text.lower())), at)
        )
        return len(self.notes) - 1

    def search(self, query, *, k):
        words = set(re.findall(r"\w+", query.lower()))
        shared = sorted(
            self.notes,
            key=lambda note: len(words & note[2]) / (1 + len(note[2])),
            reverse=True,
        )
        return [
            (key, text, len(words & found), at) for key, text, found, at in shared[:k]
        ]

    def reset(self):
        self.notes.clear()

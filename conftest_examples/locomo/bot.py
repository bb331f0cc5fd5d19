"""An agent that stores the messages and answers with the line that shares most words with the question."""

import re


def words(text):
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}


class Notebook:
    def __init__(self):
        self.lines, self.found = [], []

    def accept(self, message, _reply):
        """Store a turn of the conversation; no reply is needed."""
        self.lines.append(message)

    def reply(self, message):
        asked = words(message)
        self.found = sorted(
            self.lines, key=lambda line: len(asked & words(line)), reverse=True
        )[:5]
        return self.found[0].partition(": ")[2] if self.found else "I do not know."

    def retrieved(self):
        """The sources of the last reply, best first: enables the recall of evidence."""
        return self.found

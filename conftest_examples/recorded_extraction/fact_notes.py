import json
import re

from openai import OpenAI

PROMPT = "List the facts in the user's message as JSON: [{subject, value}]."


def words(text):
    return set(re.findall(r"\w+", text.lower()))


class WordNotes:
    """Stores every text unchanged, and finds those that share most words."""

    def __init__(self):
        self.notes = {}

    def add(self, text, *, role, at, session, user):
        self.notes[user, len(self.notes)] = (text, at)

    def search(self, query, *, k, user):
        own = [note for (owner, _), note in self.notes.items() if owner == user]
        best = sorted(own, key=lambda note: -len(words(note[0]) & words(query)))
        return [(None, text, None, at) for text, at in best[:k]]


class ModelNotes(WordNotes):
    """Stores the facts that a chat model extracts from a text, one per subject."""

    def __init__(self):
        super().__init__()
        self.model = OpenAI()

    def add(self, text, *, role, at, session, user):
        for fact in self.extract(text):
            note = f"The {fact['subject']} is {fact['value']}."
            self.notes[user, fact["subject"]] = (note, at)

    def extract(self, text):
        messages = [
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": text},
        ]
        reply = self.model.chat.completions.create(
            model="extractor", temperature=0, messages=messages
        )
        return json.loads(reply.choices[0].message.content)

"""The embedded reader: a rule-based agent that knows what its memory shows it of the conversation, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import structs

from pytest_ltm.agents.reader.memory_policies import Memory, Retrieving, make_memory
from pytest_ltm.api.storage import AgentError
from pytest_ltm.locales import ENGLISH, Language, detect_language, load_language

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook
    from pytest_ltm.api.model import Tools


_LANGUAGE = "language"
_SAID = "said"
# Also with the marks of Chinese, which has no space behind them.
# A mark within a word, as in an address, ends no sentence.
_SENTENCE = re.compile(r"(?:[^.!?\n。！？]|[.!?](?=\w))+[.!?。！？]*\s*|\n")
_QUOTED = re.compile(r"(?<=[\"“„「«])[^\"“”„」«»]{4,600}(?=[\"“”」»])")
_QUIZ = "\nQ: "


class ReadMessage(NamedTuple):
    """A message as the reader reads it."""

    turn: IncomingTurn
    language: Language
    notes: ReaderNotebook

    def replied(self, reply: str) -> str:
        """Return a reply with what was said in the words in which it was, and set phrases in the message's language."""
        words = self.notes.derived(_SAID, _WordMeanings).words(self.notes)
        if not words and self.language is ENGLISH:
            return reply
        translation = words.get(reply) or self.language.reply(reply)
        if translation != reply:
            return translation
        return "".join(
            _repeat_sentence(part, words) for part in _SENTENCE.findall(reply)
        )


class _WordMeanings:
    """Which words meant what, as far as the notes have been looked at."""

    def __init__(self) -> None:
        self._known = 0
        self._words: dict[str, str] = {}

    def words(self, notes: ReaderNotebook) -> dict[str, str]:
        all_notes = notes.notes_of_kind(_SAID)
        self._words.update(note.content for note in all_notes[self._known :])
        self._known = len(all_notes)
        return self._words


def _repeat_sentence(part: str, texts: dict[str, str]) -> str:
    """Return a sentence of a reply as it was said, or what it says after a colon."""
    text = part.strip()
    if text in texts:
        return part.replace(text, texts[text])
    head, colon, content = text.partition(": ")
    if content in texts:
        return part.replace(text, f"{head}{colon}{texts[content]}")
    return part


def translate_turn(turn: IncomingTurn, notes: ReaderNotebook) -> ReadMessage:
    """Return a turn in English words; its sentences are noted, so that a reply can repeat them as they were said."""
    last = notes.notes_of_kind(_LANGUAGE)
    former_language = load_language(last[-1].content) if last else ENGLISH
    language = detect_language(turn.text, former_language)
    if language is not former_language:
        notes.add(turn, _LANGUAGE, language.code)
    head, quiz, quiz_text = turn.text.partition(_QUIZ)
    if language is ENGLISH or (not turn.is_brief and not quiz):
        return ReadMessage(turn, language, notes)
    parts = [head] if language.own_meaning(head) else _SENTENCE.findall(head)
    meanings = [language.own_meaning(part) or language.meaning(part) for part in parts]
    text = "".join(
        part if part[-1:].isspace() else f"{part} " for part in meanings
    ).rstrip(" ")
    if not quiz:
        quotes = zip(_QUOTED.findall(text), _QUOTED.findall(head), strict=False)
        for meaning, part in {
            **dict(zip(meanings, parts, strict=True)),
            **dict(quotes),
        }.items():
            if meaning != part:
                notes.add(turn, _SAID, [meaning.strip(), part.strip()])
    return ReadMessage(
        structs.replace(turn, text=text + quiz + quiz_text, said=turn.text),
        language,
        notes,
    )


VERSION = 8
"""Goes up when the reader's answers change: part of its fingerprint."""


class Reader:
    """Reads every exchange once into notes, and answers from the notes whose exchanges it can still see.

    Resettable, Checkpointable, SeparatesUsers, TakesTools, AnswersAlone, AcceptsHistory,
    TimeAware, Configured.
    """

    def __init__(self, make: Callable[[], Memory], memory: str) -> None:
        self._make = make
        self._policy = memory
        self._now: float | None = None
        self._position = -1
        self.reset()

    def reply(self, message: str, user: str = "", tools: Tools | None = None) -> str:
        """Return the reply to one message of a user, with whatever an earlier message asked to add to it.

        What it asks for is done by `tools`, if there are any.
        """
        # Here and below: they take a while to import, and agents are looked up in every
        # run.
        from pytest_ltm.agents.reader.abilities import APPENDING

        read_message = translate_turn(
            self._turn(_sign_message(message, user)), self._notes
        )
        acted = (
            None if tools is None else self._reply_with_tools(read_message.turn, tools)
        )
        parts = [self._respond(read_message.turn) if acted is None else acted]
        parts += [
            text
            for ability in APPENDING
            if (text := ability.appendix(read_message.turn, self._notes)) is not None
        ]
        reply = "\n".join(map(read_message.replied, parts))
        self._memory.leave(reply)
        return reply

    def answer_alone(self, message: str) -> str:
        """Return the reply to a question, and go back to where it was."""
        # Not by save and load: that would write and read the whole conversation for
        # each question.
        memory = self._memory.held()
        notes = self._notes.held()
        position = self._position
        try:
            return self.reply(message)
        finally:
            self._memory.put_back(memory)
            self._notes.put_back(notes)
            self._position = position

    def accept(self, message: str, reply: str, user: str = "") -> None:
        """Read an exchange that happened without asking for a reply."""
        from pytest_ltm.agents.reader.acting import IT_IS_DONE, act

        turn = translate_turn(
            self._turn(_sign_message(message, user), told=True, reply=reply),
            self._notes,
        ).turn
        self._respond(turn)
        if reply == IT_IS_DONE:
            act(turn, self._notes, None)
        self._memory.leave(reply)

    def tell_time(self, now: datetime) -> None:
        """Know the conversation's time from now on."""
        self._now = now.timestamp()

    def reset(self) -> None:
        """Forget everything, the time included."""
        from pytest_ltm.agents.reader.notes import ReaderNotebook

        self._memory = self._make()
        self._notes = ReaderNotebook(self._memory.can_see, self._memory.ignore_last)
        self._position = -1
        self._now = None

    def save(self) -> bytes:
        """Return all state: one line of JSON, then one for each exchange that the memory keeps, and for each note."""
        memory_lines = self._memory.lines()
        head = json.dumps(
            [
                VERSION,
                self._policy,
                self._position,
                self._now,
                self._memory.state(),
                len(memory_lines),
            ]
        )
        return "\n".join([head, *memory_lines, *self._notes.lines()]).encode()

    def load(self, state: bytes) -> None:
        """Go back to what `save` returned; AgentError if another version or memory policy saved it."""
        head, *lines = state.decode().split("\n")
        version, policy, *fields = json.loads(head)
        # Another policy has seen other exchanges, and another version noted other
        # things of them.
        if (version, policy) != (VERSION, self._policy):
            raise AgentError(
                f"this state was saved by reader {version!r} with memory {policy!r}; "
                f"reader {VERSION} with memory {self._policy!r} cannot go on from it"
            )
        self.reset()
        self._position, self._now, memory, memory_count = fields
        self._memory.restore(memory)
        self._memory.take(lines[:memory_count])
        self._notes.restore(lines[memory_count:])

    def configuration(self) -> Mapping[str, Any]:
        """Return what the answers depend on."""
        return {"reader": VERSION, "memory": self._policy}

    def _turn(
        self, message: str, *, told: bool = False, reply: str = ""
    ) -> IncomingTurn:
        from pytest_ltm.agents.reader.notes import IncomingTurn

        self._position += 1
        self._memory.add_message(message)
        return IncomingTurn(
            text=message, position=self._position, now=self._now, told=told, reply=reply
        )

    def _reply_with_tools(self, turn: IncomingTurn, tools: Tools) -> str | None:
        from pytest_ltm.agents.reader.acting import act
        from pytest_ltm.agents.reader.trust import act_on_trust

        acted = act_on_trust(turn, self._notes, tools)
        if acted is None:
            return act(turn, self._notes, tools)
        return acted

    def _respond(self, turn: IncomingTurn) -> str:
        from pytest_ltm.agents.reader.abilities import ABILITIES

        replies = (ability.respond(turn, self._notes) for ability in ABILITIES)
        return next((reply for reply in replies if reply is not None), "Understood.")

    def __repr__(self) -> str:
        return f"Reader({self._policy!r})"


def _sign_message(message: str, user: str) -> str:
    """Return a message that says whose it is, as people who share an agent do."""
    return f"{user} here: {message}" if user else message


class RetrievingReader(Reader):
    """A reader whose memory retrieves. ShowsRetrieval, too."""

    def retrieved(self) -> list[str]:
        """Return the texts of the exchanges that it saw for its last reply, best first."""
        return cast("Retrieving", self._memory).shown()


def make_reader(policy: str, argument: str = "") -> Callable[[], Reader]:
    """Return what makes a reader with a memory policy, such as `full` or `window` with the argument `8k`.

    Raises ConfigurationError for an unknown policy or an argument that it cannot use.
    """
    make = make_memory(policy, argument)
    name = f"{policy}:{argument}" if argument else policy
    kind = RetrievingReader if policy == "bm25" else Reader
    return lambda: kind(make, name)

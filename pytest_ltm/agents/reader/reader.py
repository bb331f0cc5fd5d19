"""The embedded reader: a rule-based agent that knows only what its memory shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import structs

from pytest_ltm.agents.reader.memory_policies import Memory, Retrieving, make_memory
from pytest_ltm.api.storage import AgentError
from pytest_ltm.language.small_talk import is_relayed
from pytest_ltm.locales import ENGLISH, Language, detect_language, load_language

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import Ability, IncomingTurn, ReaderNotebook
    from pytest_ltm.api.model import Tools


_LANGUAGE = "language"
_SAID = "said"
# Also with Chinese marks, which no space follows. A mark within a word, as in an
# address, does not end a sentence.
_SENTENCE = re.compile(r"(?:[^.!?\n。！？]|[.!?](?=\w))+[.!?。！？]*\s*|\n")
_QUOTED = re.compile(r"(?<=[\"“„「«])[^\"“”„」«»]{4,600}(?=[\"“”」»])")
_QUIZ = "\nQ: "


class ReadMessage(NamedTuple):
    """A message in the form that the reader reads."""

    turn: IncomingTurn
    language: Language
    notes: ReaderNotebook

    def replied(self, reply: str) -> str:
        """Return a reply with the user's original wording, and set phrases in the message's language."""
        words = self.notes.derived(_SAID, _WordMeanings).words(self.notes)
        if not words and self.language is ENGLISH:
            return reply
        translation = words.get(reply) or self.language.reply(reply)
        if translation != reply:
            return translation
        sentences = _SENTENCE.findall(reply)
        return "".join(_repeat_sentence(sentence, words) for sentence in sentences)


class _WordMeanings:
    """The original wordings of meanings, from the notes processed so far."""

    def __init__(self) -> None:
        self._known = 0
        self._words: dict[str, str] = {}

    def words(self, notes: ReaderNotebook) -> dict[str, str]:
        all_notes = notes.notes_of_kind(_SAID)
        self._words.update(note.content for note in all_notes[self._known :])
        self._known = len(all_notes)
        return self._words


def _repeat_sentence(part: str, texts: dict[str, str]) -> str:
    """Return a sentence of a reply, or its part after a colon, in the original wording."""
    text = part.strip()
    if text in texts:
        return part.replace(text, texts[text])
    head, colon, content = text.partition(": ")
    if content in texts:
        return part.replace(text, f"{head}{colon}{texts[content]}")
    return part


def translate_turn(turn: IncomingTurn, notes: ReaderNotebook) -> ReadMessage:
    """Return a turn translated into English, unless it only relays what strangers said.

    Its sentences are noted, so that replies can repeat the original.
    """
    last = notes.notes_of_kind(_LANGUAGE)
    former_language = load_language(last[-1].content) if last else ENGLISH
    language = detect_language(turn.text, former_language)
    if language is not former_language:
        notes.add(turn, _LANGUAGE, language.code)
    head, quiz, quiz_text = turn.text.partition(_QUIZ)
    is_long = not turn.is_brief and not quiz
    # No question is about strangers, and the texts of a language are slow to load.
    if language is ENGLISH or is_long or is_relayed(turn.text):
        return ReadMessage(turn, language, notes)
    parts = [head] if language.own_meaning(head) else _SENTENCE.findall(head)
    meanings = [language.own_meaning(part) or language.meaning(part) for part in parts]
    text = ""
    for meaning in meanings:
        text += meaning if meaning[-1:].isspace() else f"{meaning} "
    text = text.rstrip(" ")
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
"""Increase when the reader's answers change: part of its fingerprint."""


class Reader:
    """Reads every exchange once into notes, and answers from the notes whose exchanges are still visible.

    Resettable, Checkpointable, SeparatesUsers, TakesTools, AnswersAlone,
    AcceptsHistory, TimeAware, Configured.
    """

    embedded = True
    """It is told exchanges without a time limit, retries or captured output, which its code does not need."""

    def __init__(self, make: Callable[[], Memory], memory: str) -> None:
        self._make = make
        self._policy = memory
        self._now: float | None = None
        self._position = -1
        self.reset()

    def reply(self, message: str, user: str = "", tools: Tools | None = None) -> str:
        """Return the reply to a user's message, with anything that an earlier message asked to add.

        `tools`, if given, carry out the message's requests.
        """
        # Imported here and below: they are slow to import, and every run looks up
        # agents.
        from pytest_ltm.agents.reader.abilities import APPENDING

        read_message = translate_turn(
            self._turn(_sign_message(message, user)), self._notes
        )
        acted = (
            None if tools is None else self._reply_with_tools(read_message.turn, tools)
        )
        parts = [self._respond(read_message.turn) if acted is None else acted]
        for ability in APPENDING:
            appendix = ability.appendix(read_message.turn, self._notes)
            if appendix is not None:
                parts.append(appendix)
        reply = "\n".join(map(read_message.replied, parts))
        self._memory.leave(reply)
        return reply

    def answer_alone(self, message: str) -> str:
        """Return the reply to a question, then restore the state."""
        # Not by save and load, which would write and read the whole conversation for
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
        """Read an exchange that happened without a reply of the reader."""
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
        """Set the conversation's time."""
        self._now = now.timestamp()

    def reset(self) -> None:
        """Forget everything, including the time."""
        from pytest_ltm.agents.reader.notes import ReaderNotebook

        self._memory = self._make()
        self._notes = ReaderNotebook(self._memory.can_see, self._memory.ignore_last)
        self._position = -1
        self._now = None

    def save(self) -> bytes:
        """Return all state: a line of JSON, then one for each exchange of the memory and for each note."""
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
        """Restore what `save` returned; AgentError if another version or memory policy saved it."""
        head, *lines = state.decode().split("\n")
        version, policy, *fields = json.loads(head)
        # Another policy has seen other exchanges, and another version has taken other
        # notes.
        if (version, policy) != (VERSION, self._policy):
            raise AgentError(
                f"this state was saved by reader {version!r} with memory {policy!r}; "
                f"reader {VERSION} with memory {self._policy!r} cannot resume from it"
            )
        self.reset()
        self._position, self._now, memory, memory_count = fields
        self._memory.restore(memory)
        self._memory.take(lines[:memory_count])
        self._notes.restore(lines[memory_count:])

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the answers."""
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

        unconcerned: set[Ability] = set()
        if not turn.told:  # what is told is rarely told again
            unconcerned = _unconcerned_abilities(
                turn.text, turn.said, turn.position == 0, turn.now is None
            )
        for ability in ABILITIES:
            if ability in unconcerned:
                continue
            uses = self._notes.uses
            reply = ability.respond(turn, self._notes)
            if reply is not None:
                return reply
            if self._notes.uses == uses:
                unconcerned.add(ability)
        return "Understood."

    def __repr__(self) -> str:
        return f"Reader({self._policy!r})"


# Messages of a suite, which compared agents and spans share.
_RECENT = 512


@lru_cache(_RECENT)
def _unconcerned_abilities(*_turn: object) -> set[Ability]:
    """Return the abilities that do not handle a message, whatever the notes say; readers add to them.

    They did not even look for notes when they first saw it. Arguments: everything in a
    turn that decides whether it is handled.
    """
    return set()


def _sign_message(message: str, user: str) -> str:
    """Return a message with its user's name, as people who share an agent write it."""
    return f"{user} here: {message}" if user else message


class RetrievingReader(Reader):
    """A reader whose memory retrieves. Also ShowsRetrieval."""

    def retrieved(self) -> list[str]:
        """Return the texts of the exchanges visible for its last reply, best first."""
        return cast("Retrieving", self._memory).shown()


def make_reader(policy: str, argument: str = "") -> Callable[[], Reader]:
    """Return a factory of readers with a memory policy: `full`, or `window` with the argument `8k`.

    Raises ConfigurationError for an unknown policy or an invalid argument.
    """
    make = make_memory(policy, argument)
    name = f"{policy}:{argument}" if argument else policy
    kind = RetrievingReader if policy == "bm25" else Reader
    return lambda: kind(make, name)

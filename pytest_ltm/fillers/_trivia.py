"""Filler from a quiz: messages sized to the token, alike or mixed in length, from built-in facts or a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from math import exp, log
from pathlib import Path
from random import Random
from statistics import median_low
from typing import Any, Generic, NamedTuple, TypeVar

from pytest_ltm._core.model.filler import FillerExchange
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.storage.disk import read_regular
from pytest_ltm._core.storage.errors import FillerError
from pytest_ltm._core.storage.schema import load_packaged_yaml
from pytest_ltm.fillers._quiz import (
    CLOSING,
    INSTRUCTION,
    FactTokens,
    QuizFact,
    answer_item,
    cost_of,
    message_of,
    reply_of,
)

T = TypeVar("T")


class Room(NamedTuple):
    """What is still wanted and allowed."""

    wanted: int
    """Tokens of message and reply together."""
    allowed: int
    """Tokens of the message."""

    def reduce_by(self, cost: FactTokens) -> Room:
        """Return what is left after something of this cost."""
        return Room(self.wanted - cost.both, self.allowed - cost.message)


class Deck(Generic[T]):
    """Takes facts, or sentences, with their costs from an iterator without end, none twice."""

    def __init__(self, facts: Iterator[tuple[T, FactTokens]]) -> None:
        self._facts = facts
        self._ahead: list[tuple[T, FactTokens]] = []
        self._usual = 0

    def take_facts(self, room: Room) -> tuple[list[T], Room]:
        """Take facts that just reach what is wanted, as a rule exactly, and return what is left of the room.

        One at least, unless none is allowed; less than is wanted where more is not
        allowed.
        """
        self._look_ahead()
        facts, room = self._drawn(room)
        while True:
            self._look_ahead()
            last = _closing_facts([cost for _, cost in self._ahead], room)
            for i in sorted(last, reverse=True):
                fact, cost = self._ahead.pop(i)
                room = room.reduce_by(cost)
                facts.append(fact)
            if room.wanted <= 0 or not last:
                return facts, room

    def take_fact(self, room: Room) -> T | None:
        """Take the fact that just reaches what is wanted, or else comes nearest to it; None if none is allowed."""
        self._look_ahead()
        chosen = _closing_facts([cost for _, cost in self._ahead], room, most=1)
        return self._ahead.pop(chosen[0])[0] if chosen else None

    def _drawn(self, room: Room) -> tuple[list[T], Room]:
        """Take facts in their order, but leave room for one or two that are chosen to fit."""
        drawn: list[T] = []
        wanted, allowed = room.wanted - self._usual, room.allowed
        while True:
            for i, (fact, cost) in enumerate(self._ahead):  # noqa: B007 - nearly always ends at once
                if cost.both <= wanted and cost.message <= allowed:
                    break
            else:
                return drawn, Room(wanted + self._usual, allowed)
            wanted -= cost.both
            allowed -= cost.message
            drawn.append(fact)
            del self._ahead[i]
            self._ahead.append(next(self._facts))

    def _look_ahead(self) -> None:
        # so many wait to be chosen from that a message's last ones can be those that
        # just fit
        while len(self._ahead) < 64:
            self._ahead.append(next(self._facts))
        self._usual = self._usual or median_low(cost.both for _, cost in self._ahead)


def _closing_facts(
    costs: Sequence[FactTokens], room: Room, most: int = 2
) -> tuple[int, ...]:
    """Return the places of the one or two facts that just reach what is wanted, or else come nearest to it.

    None are returned only if not one is allowed.
    """
    places: dict[int, list[int]] = {}
    for i, cost in enumerate(costs):
        if cost.message <= room.allowed:
            places.setdefault(cost.both, []).append(i)
    singles = [same[0] for same in places.values()]
    alone = ((i,) for i in singles)
    twins = (tuple(same[:2]) for same in places.values() if len(same) > 1)
    best: tuple[int, ...] = ()
    best_rank = (2, 0)
    for chosen in alone if most == 1 else chain(alone, combinations(singles, 2), twins):
        both = message = 0
        for i in chosen:
            both += costs[i].both
            message += costs[i].message
        over = both - room.wanted
        rank = (0, over) if over >= 0 else (1, -over)
        if rank < best_rank and message <= room.allowed:
            best, best_rank = chosen, rank
            if not over:
                break
    return best


# --- Pool: facts whose cost in tokens is counted once in a process, when first needed.

# Of the built-in facts; another number for every change, because it is part of the
# plan's fingerprint.
VERSION = 1


class Pool:
    """Facts, and what each costs with each counter that was used."""

    def __init__(self, facts: Iterable[QuizFact], identity: str) -> None:
        self.facts = tuple(facts)
        self.identity = identity
        """Two pools with one identity hold the same facts in the same order."""
        self._costs: dict[TokenCounter, dict[int, FactTokens]] = {}

    def cost(self, index: int, counter: TokenCounter) -> FactTokens:
        """Return what a fact costs with a counter."""
        costs = self._costs.setdefault(counter, {})
        if index not in costs:
            costs[index] = cost_of(self.facts[index], counter)
        return costs[index]


def built_in_identity() -> str:
    """Return the identity of the built-in pool without building it."""
    return f"built-in {VERSION}"


@cache
def built_in() -> Pool:
    """Return the pool of our own facts."""
    from pytest_ltm.fillers._knowledge import known_facts

    return Pool(known_facts(), built_in_identity())


class TriviaFiller:
    """Asks for the answers of facts in an order of its own, none twice until all were asked.

    After the last fact of the built-in pool comes arithmetic without end; a pool given
    begins again.
    """

    def __init__(
        self,
        rng: Random,
        counter: TokenCounter,
        pool: Pool | None = None,
        closing: str = CLOSING,
    ) -> None:
        self._counter = counter
        self._closing = closing
        self._pool = pool
        self._deck = Deck(_iter_pool_facts(rng, counter, pool))
        self._reply = counter.count(reply_of(["x"])) - counter.count(answer_item("x"))

    def make(
        self, tokens: int, max_message_tokens: int, instruction: str = INSTRUCTION
    ) -> FillerExchange:
        """Return a quiz and its list of answers that just reach `tokens` tokens: as a rule exactly.

        The message begins with the `instruction` and keeps within `max_message_tokens`,
        even if the target is then not reached; FillerError if one question alone does
        not.
        """
        frame = self._counter.count(f"{instruction}\n{self._closing}")
        room = Room(tokens, max_message_tokens).reduce_by(
            FactTokens(frame, frame + self._reply)
        )
        facts, room = self._deck.take_facts(room)
        if not facts:
            raise FillerError(
                f"trivia filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        # Let the list of answers begin and end with a letter or digit where it can.
        # Other signs may melt with a bracket into one token, and then counts do not add
        # up.
        for end in (0, -1):
            for i in range(len(facts)):
                place = i if end == 0 else -1 - i
                if facts[place].answer[end].isalnum():
                    facts[end], facts[place] = facts[place], facts[end]
                    break
        if not self._counter.additive:
            while len(facts) > 1:
                exchange = self._exchange(facts, instruction)
                message = max(1, self._counter.count(exchange.message))
                both = message + self._counter.count(exchange.expected_reply)
                beyond = (message - max_message_tokens) * len(facts) / message
                surplus = (both - tokens) * len(facts) / both
                too_many = max(-int(-beyond // 1), int(surplus))
                if too_many <= 0:
                    break
                del facts[max(1, len(facts) - too_many) :]
        if self._pool is None and self._counter.additive:
            return self._exchange(facts, instruction, max_message_tokens - room.allowed)
        return self._exchange(facts, instruction)

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the facts."""
        return {
            "filler": "trivia",
            "facts": self._pool.identity if self._pool else built_in_identity(),
        }

    def _exchange(
        self,
        facts: Sequence[QuizFact],
        instruction: str,
        message_tokens: int | None = None,
    ) -> FillerExchange:
        message = message_of(facts, instruction, self._closing)
        return FillerExchange(
            message, reply_of([fact.answer for fact in facts]), message_tokens
        )


def shuffled_range(n: int, rng: Random) -> Iterator[int]:
    """Yield 0 to n - 1 in random order, at the cost of those that are taken (Fisher-Yates on a sparse list)."""
    moved: dict[int, int] = {}
    for last in range(n - 1, -1, -1):
        i = rng.randrange(last + 1)
        yield moved.get(i, i)
        moved[i] = moved.pop(last, last)


def _iter_pool_facts(
    rng: Random, counter: TokenCounter, given: Pool | None
) -> Iterator[tuple[QuizFact, FactTokens]]:
    from pytest_ltm.fillers._knowledge import arithmetic_facts

    pool = given or built_in()
    while True:
        for i in shuffled_range(len(pool.facts), rng):
            yield pool.facts[i], pool.cost(i, counter)
        if given is None:
            yield from arithmetic_facts(rng, counter)


# --- Facts from a file in the format of TriviaQA.


def pool_of_file(path: str) -> Pool:
    """Return the facts of a file `{"Data": [{"Question": ..., "AnswerValue": ...}, ...]}`.

    `"Answer": {"Value": ...}`, as in TriviaQA's own files, will do as well. Read again
    only if it changed. Raises FillerError, which names the file and the field.
    """
    file = Path(path).expanduser()
    try:
        status = file.stat()
    except OSError as exc:
        raise FillerError(
            f"filler file {path!r} cannot be read ({exc.strerror})"
        ) from exc
    return _read_pool(file.resolve(), status.st_mtime_ns, status.st_size)


@cache
def _read_pool(file: Path, _changed: int, _size: int) -> Pool:
    try:
        content = read_regular(file)
        data = json.loads(content)
    except (OSError, ValueError) as exc:
        raise FillerError(
            f"filler file '{file}' cannot be read as JSON ({exc})"
        ) from exc
    records = data.get("Data") if isinstance(data, dict) else None
    if not isinstance(records, list) or not records:
        raise FillerError(
            f"filler file '{file}': field 'Data' must be a list of questions that is not empty"
        )
    facts: list[QuizFact] = []
    for i, record in enumerate(records):
        where = f"filler file '{file}', Data[{i}]"
        if not isinstance(record, dict):
            raise FillerError(
                f"{where} must be a mapping with 'Question' and 'AnswerValue', not {record!r:.60}"
            )
        nested = record.get("Answer")
        # TriviaQA's own files have the answer inside another mapping
        value = (
            {"AnswerValue": nested["Value"]}
            if isinstance(nested, dict) and "Value" in nested
            else {}
        )
        question = _field_text(where, record, "Question")
        facts.append(
            QuizFact(question, _field_text(where, value | record, "AnswerValue"))
        )
    # Only where the answer stands last after " A: " can a reader find it.
    facts = [fact for fact in facts if " A: " not in f" {fact.answer}"]
    if not facts:
        raise FillerError(
            f"filler file '{file}': no question left, for every answer contains 'A: '"
        )
    return Pool(dict.fromkeys(facts), f"sha256 {hashlib.sha256(content).hexdigest()}")


def _field_text(where: str, record: dict[str, Any], field: str) -> str:
    """Return a field as one line of text that can be written as UTF-8."""
    if field not in record:
        also = " (nor 'Answer' with 'Value')" if field == "AnswerValue" else ""
        raise FillerError(
            f"{where}: no field {field!r}{also}; its fields: {', '.join(map(repr, record))}"
        )
    value = record[field]
    if not isinstance(value, str) or not value.strip():
        raise FillerError(
            f"{where}: field {field!r} must be a non-empty text, not {value!r:.60}"
        )
    return " ".join(value.split()).encode(errors="replace").decode()


# --- MixedFiller: questions and remarks about a quiz, with lengths like those of what
# scenarios say.

"""Of wordings and lengths; another number for every change, because it is part of the plan's fingerprint."""
# What is aimed at: share of the messages, fewest and most tokens. Many short ones and
# some pages, as scenarios have them, and more short ones than there, because an agent
# that keeps the shortest messages keeps very many of them.
BANDS = ((0.40, 7, 12), (0.50, 13, 32), (0.06, 33, 220), (0.04, 300, 1000))
REPLIES = ("Noted.", "I see.", "All right.", "Thank you.", "Good to know.")
# Up to the first number of tokens a message is a question, from the second on never.
_ASKED = (12, 22)
# Tokens of a usual answer.
_ANSWER = 1


class Frame(NamedTuple):
    """What stands around the facts of a remark."""

    head: str
    tail: str = ""


FRAMES = [Frame(*parts) for parts in load_packaged_yaml(__file__, "frames.yml")]


class MixedFiller:
    """Asks a question or remarks on some; each message as long as chance has it, the last one of a gap as it fits.

    No question comes twice in a conversation.
    """

    def __init__(self, rng: Random, counter: TokenCounter) -> None:
        from pytest_ltm.fillers._knowledge import arithmetic_facts

        self._rng, self._counter = rng, counter
        sums = (fact for fact, _ in arithmetic_facts(rng, counter))
        known = built_in().facts
        facts = chain((known[i] for i in shuffled_range(len(known), rng)), sums)
        asked = ((fact, max(1, counter.count(fact.question))) for fact in facts)
        # questions and remarks take from one iterator: no fact comes twice in a
        # conversation
        self._questions = Deck(
            (one, FactTokens(cost, cost + counter.count(one.answer)))
            for one, cost in asked
        )
        self._remarks = Deck((fact, _told_cost(fact, counter)) for fact in facts)
        self._pages = Deck((fact, _told_cost(fact, counter)) for fact in sums)
        self._reply = max(counter.count(reply) for reply in REPLIES)
        self._frames = {
            frame: sum(counter.count(part.strip()) for part in frame)
            for frame in FRAMES
        }

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange of a length by chance, or one that just reaches `tokens` where they are nearly reached.

        The message keeps within `max_message_tokens`; FillerError if one question alone
        does not.
        """
        [(_, least, most)] = self._rng.choices(BANDS, [share for share, *_ in BANDS])
        # within a band short ones are as likely as ones twice as long
        length = round(exp(self._rng.uniform(log(least), log(most))))
        short = self._rng.randint(*_ASKED)
        size = length + (_ANSWER if length <= short else self._reply)
        # too few would be left for another exchange: this one takes them all
        if size > tokens - 12:
            size = tokens
        made = (
            self.make_remark(size, max_message_tokens)
            if size > short + _ANSWER
            else None
        )
        fact = (
            None if made else self._questions.take_fact(Room(size, max_message_tokens))
        )
        made = FillerExchange(fact.question, fact.answer) if fact else made
        if made is None:
            raise FillerError(
                f"mixed filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        return made

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the facts, and what is made of them."""
        return {"filler": "mixed", "facts": built_in_identity(), "version": VERSION}

    def make_remark(self, size: int, allowed: int) -> FillerExchange | None:
        """Return a message and its reply of about `size` tokens, with one fact at least; None if there is no room."""
        # beside the frame and the reply there has to be room for a fact
        fitting = [
            frame
            for frame, cost in self._frames.items()
            if cost + self._reply + 16 <= size
        ]
        if not fitting:
            return None
        frame = self._rng.choice(fitting)
        cost, reply = self._frames[frame], self._rng.choice(REPLIES)
        room = Room(size, allowed).reduce_by(
            FactTokens(cost, cost + self._counter.count(reply))
        )
        # pages are made of sums, so that the facts, which are fewer, last longer
        facts, _ = (self._pages if size > 100 else self._remarks).take_facts(room)
        while (
            facts and self._counter.count(_compose_remark(frame, facts)) > allowed
        ):  # where counts do not add up
            facts.pop()
        return FillerExchange(_compose_remark(frame, facts), reply) if facts else None


def _compose_remark(frame: Frame, facts: Sequence[QuizFact]) -> str:
    return frame.head + "\n".join(map(_remark_line, facts)) + frame.tail


def _remark_line(fact: QuizFact) -> str:
    return f"{fact.question} {fact.answer}."


def _told_cost(fact: QuizFact, counter: TokenCounter) -> FactTokens:
    message = max(1, counter.count(f"{_remark_line(fact)}\n"))
    return FactTokens(message, message)

"""The share of a chat model's prompts that its prompt cache serves, and the largest share that it could serve.

An agent with a window plays the built-in suite. Its conversation is then replayed into
our chat agent's history, prompt by prompt. A cache serves the longest prefix that a
prompt shares with the previous one. The optimum over all ways of cutting is found with
the whole conversation known.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.runs import pytest_run
from pytest_ltm.agents.chat_agent import History
from pytest_ltm.api.journal import events
from pytest_ltm.api.model import token_counter

REPLY_ROOM = 40
WINDOWS = (1_000, 2_000, 8_000)


class Question(NamedTuple):
    """A prompt: the number of exchanges before its message, and the message's tokens."""

    behind: int
    tokens: int


class Conversation(NamedTuple):
    """The tokens of each exchange, and the prompts in between."""

    exchanges: Sequence[int]
    questions: Sequence[Question]


class Shown(NamedTuple):
    """Total tokens of all prompts, and how many of them a cache serves."""

    tokens: int = 0
    cached: int = 0

    @property
    def share(self) -> float:
        """The cached share."""
        return self.cached / self.tokens if self.tokens else 0.0


def cached_prompts(size: int, repeats: int) -> Iterator[str]:
    """Yield a line per window, for the suite at a memory span of `size` tokens."""
    del repeats
    for window in WINDOWS:
        conversation = _play(size, window)
        room = window - REPLY_ROOM
        ours = shown_by_history(conversation, room)
        best = best_share(conversation, room, least=0.0)
        whole = best_share(conversation, room, least=0.5)
        yield (
            f"window {window:,}: {len(conversation.questions)} prompts, {ours:.0%} from the cache; "
            f"at best {best:.0%}, or {whole:.0%} where half of the window stays; "
            f"{_apart(conversation, room):.0%} come after more than fits"
        )


def _apart(conversation: Conversation, room: int) -> float:
    """Return the share of prompts preceded by more new text than fits, so that nothing of the last prompt remains."""
    upto = [0, *accumulate(conversation.exchanges)]
    questions = conversation.questions
    apart = [
        upto[question.behind] - upto[before.behind] + question.tokens > room
        for before, question in pairwise(questions)
    ]
    return sum(apart) / len(questions)


def _play(span: int, window: int) -> Conversation:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [
            f"--ltm-agent=window:{window}",
            f"--ltm-span={span}",
            "--ltm-suite=standard",
            "--ltm-no-probe",
            "--ltm-dir=runs",
            "--tb=no",
        ]
        pytest_run(folder, words)
        [journal] = folder.glob("runs/runs/*/*/journal.jsonl")
        return _read_conversation(journal)


def _read_conversation(journal: Path) -> Conversation:
    size_of = _history().size_of
    exchanges: list[int] = []
    questions: list[Question] = []
    for event in events.read_events(journal):
        if isinstance(event, events.MessageSent):
            questions.append(Question(len(exchanges), size_of(event.text)))
        elif isinstance(event, events.ReplyReceived):
            exchanges.append(questions[-1].tokens + size_of(event.text))
        elif isinstance(event, events.FillerSent):
            exchanges.append(size_of(event.message) + size_of(event.reply))
    return Conversation(exchanges, questions)


def _history() -> History:
    return History(None, token_counter("o200k_base").count)


def shown_by_history(conversation: Conversation, room: int) -> float:
    """Return the cached share of the prompts that our chat agent sends."""
    history = _history()
    told = 0
    starts = []
    for question in conversation.questions:
        for tokens in conversation.exchanges[told : question.behind]:
            # An exchange of that size, all of it in the message.
            history.add("", tokens - history.size_of("."), ".")
        told = question.behind
        history.drop_oldest(question.tokens, room)
        starts.append(told - len(history))
    return _shown(conversation, starts).share


def _shown(conversation: Conversation, starts: Sequence[int]) -> Shown:
    """Return the token totals of prompts that begin at these exchanges."""
    upto = [0, *accumulate(conversation.exchanges)]
    shown = Shown()
    before: tuple[int, Question] | None = None
    for start, question in zip(starts, conversation.questions, strict=True):
        tokens = upto[question.behind] - upto[start] + question.tokens
        cached = 0
        if before is not None and before[0] == start:
            cached = upto[before[1].behind] - upto[start] + before[1].tokens
        shown = Shown(shown.tokens + tokens, shown.cached + cached)
        before = start, question
    return shown


def best_share(conversation: Conversation, room: int, *, least: float) -> float:
    """Return the largest cached share of any prompts that fit and show the newest exchanges.

    `least`: the share of the room left by the newest message that must be filled if
    there are enough exchanges.
    """
    share = 0.0
    while True:  # Dinkelbach: the best share is the one at which nothing more is gained
        best = _best_at(conversation, room, least, share)
        if best.share <= share + 1e-9:
            return share
        share = best.share


def _best_at(
    conversation: Conversation, room: int, least: float, price: float
) -> Shown:
    """Return the prompts with the most cached tokens, minus `price` per token."""
    upto = [0, *accumulate(conversation.exchanges)]

    def worth(shown: Shown) -> float:
        return shown.cached - price * shown.tokens

    best: dict[int, Shown] = {0: Shown()}
    before: Question | None = None
    for question in conversation.questions:
        cheapest: dict[int, Shown] = {}
        starts = _possible_starts(upto, question, room, least)
        for start in starts if min(best) <= max(starts) else [min(best)]:
            tokens = upto[question.behind] - upto[start] + question.tokens
            found = []
            for earlier, shown in best.items():
                if earlier > start:
                    continue
                cached = 0
                if earlier == start and before is not None:
                    cached = upto[before.behind] - upto[start] + before.tokens
                found.append(Shown(shown.tokens + tokens, shown.cached + cached))
            if found:
                cheapest[start] = max(found, key=worth)
        best = cheapest
        before = question
    return max(best.values(), key=worth)


def _possible_starts(
    upto: Sequence[int], question: Question, room: int, least: float
) -> list[int]:
    """Return the exchanges at which a prompt may begin; at least the one that shows the most."""
    needed = least * (room - question.tokens)
    starts: list[int] = []
    longest = question.behind
    for start in range(question.behind, -1, -1):
        shown = upto[question.behind] - upto[start]
        if start < question.behind and shown + question.tokens > room:
            break
        if shown >= needed:
            starts.append(start)
        longest = start
    return starts or [longest]

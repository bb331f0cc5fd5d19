"""Reminders: each in the first reply once it is due, and in no other."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from pytest_ltm._language.clauses import text_nearby
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.words import casefold_plain, plain_words
from pytest_ltm._model.score import Check, Scoring, Unscored
from pytest_ltm.evaluators._rules import LEXICON, Ruled, answer_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._model.score import Score

# Minutes before and after a due moment in which a reminder is neither late nor early: clocks are told in minutes.
NEAR = 1.0
# What a sentence has that only speaks of a reminder.
_NO_REMINDER = LEXICON.pattern("reminders no reminder")
# What stands before a task in its own clause and reminds of it, whatever else the sentence announces.
_AT_ONCE = lazy_pattern(r"(?<!not )(?<!not yet )\btime (?:to|for)\b[^,;:.!?\n]*$")
# Characters before a task that may be of its clause.
_CLAUSE = 80
# What a sentence has that reminds.
_CUE = LEXICON.pattern("reminders cue")
# What a sentence has in which the user asks for a reminder, or ends it: to repeat it is not to remind.
_OF_THE_USER = LEXICON.pattern("reminders of the user")


class RemindsInTime(Ruled, Struct, frozen=True):
    """The share of due moments whose first reply reminds, times the share of tasks never named at a wrong moment.

    So nothing is earned by never reminding, nor by always doing so. A task is named by its last word; what only
    announces a reminder, asks about it or says that there is none does not count, and neither do replies to
    messages that are about the task. In a reply to somebody else's message a reminder names the task as it was
    given, or has a word such as "time" or "remind": an answer of another scenario may have its last word. Within a
    minute of its moment a reminder is right in any reply. A moment after which nothing was said, or the next
    message was about the task, does not count; without any other there is nothing to score. There are no published
    results to agree with: every scoring has this rule.
    """

    family: ClassVar[str] = "reminds-in-time"
    reads_speech: ClassVar[bool] = True
    tasks: tuple[str, ...]
    due: tuple[tuple[float, ...], ...]
    """For each task the minutes at which it is due, in order; none for one that was called off."""
    at: tuple[float, ...]
    """For each reply the minute of its message, in order."""
    talked: tuple[tuple[int, ...], ...] = ()
    """For each task the replies, from 0, to messages about it."""
    elsewhere: tuple[int, ...] = ()
    """The replies, from 0, to messages of other scenarios."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the product of both shares; a missing reply reminds of nothing."""
        answers = self.read(answers)
        hits: list[Check] = []
        clean: list[Check] = []
        missed = ""
        for place, task in enumerate(self.tasks):
            about = self.talked[place] if place < len(self.talked) else ()
            others = [n for n in range(len(self.at)) if n not in about]
            named = {n for n in others if self._names(answer_at(answers, n), task, elsewhere=n in self.elsewhere)}
            reminded = {n for n in named if reminds_of_task(answer_at(answers, n), task)}
            right: set[int] = set()
            for number, due in enumerate(self.due[place], start=1):
                first = bisect_left(self.at, due + NEAR)
                if first == len(self.at) or first in about:
                    continue
                fitting = set(range(bisect_left(self.at, due - NEAR), first + 1))
                hits.append(Check(f"reminds of {task!r} when it is due ({number})", bool(reminded & fitting)))
                missed = missed or ("" if hits[-1].ok else answer_at(answers, first))
                right |= fitting
            clean.append(Check(f"does not name {task!r} at other times", not named - right))
            missed = missed or next((answer_at(answers, n) for n in sorted(named - right)), "")
        if not hits:
            return Unscored("nothing was due while anything was said", rule=f"{self.family}/{self.version}")
        in_time, at_peace = (sum(check.ok for check in checks) for checks in (hits, clean))
        reason = f"{in_time} of {len(hits)} reminders in time, {at_peace} of {len(clean)} tasks at no other time"
        return self.score(in_time / len(hits) * at_peace / len(clean), reason, missed, [*hits, *clean])

    @staticmethod
    def _names(reply: str, task: str, *, elsewhere: bool) -> bool:
        """Return whether a reply names a task; `elsewhere`, in a sentence that reminds."""
        wording = " ".join(plain_words(task))
        return any(
            not elsewhere or _CUE.search(said) or wording in " ".join(plain_words(said))
            for said in _naming_sentences(reply, task)
        )


def reminds_of_task(reply: str, task: str) -> bool:
    """Return whether a reply reminds of a task: names it by its last word, and neither announces it nor asks for it."""
    return any(not _OF_THE_USER.search(said) for said in _naming_sentences(reply, task))


def _naming_sentences(reply: str, task: str) -> list[str]:
    """Return the sentences that name a task other than to speak of its reminder."""
    named = rf"\b{'[ -]?'.join(map(re.escape, plain_words(task)[-1]))}(?:e?s)?\b"  # also as two words, or several of it
    text = casefold_plain(reply)
    pairs = (
        (text_nearby(text, *match.span()), text[max(0, match.start() - _CLAUSE) : match.start()])
        for match in re.finditer(named, text)
    )
    return [one for one, before in pairs if _AT_ONCE.search(before) or not _NO_REMINDER.search(one)]

"""Sessions: a few rounds about one task, in one of which something may be mentioned in passing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.longmemeval.generate._advice import Advice
from pytest_ltm.datasets.longmemeval.generate._talk import LEAST, follow_up, opening, reply, theme_of
from pytest_ltm.datasets.longmemeval.generate._texts import frames

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_ltm.datasets.longmemeval.generate._texts import Theme

REPLY_TOKENS = (280, 620)
"""A reply is about so long, unless the session is to be shorter."""
_GOES_ON = (0.7, 0.4, 0.1)
"""How likely a further question about the same thing is, after one round, two, three."""
_SMALL_WORDS = frozenset(
    ("My", "Our", "We", "The", "There", "For", "As", "In", "This", "Some", "Someone", "Somebody", "After", "Another",
     "Every", "Ever", "With", "Since", "Please", "That", "These", "It", "They", "Shops", "None", "What", "Last",
     "At", "A", "Today", "Yesterday", "Two", "Three", "On")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Aside:
    """What is said in a session beside its task."""

    said: str = ""
    """By the user, in passing."""
    request: str = ""
    """What the user asks for in addition, for `made`."""
    made: str = ""
    """What the assistant makes up for that request."""


def session(
    rng: Random, theme: Theme, count: Callable[[str], int], *, tokens: int, aside: Aside | None = None
) -> list[dict[str, Any]]:
    """Return the turns of a session of about `tokens` tokens, never more unless the aside alone needs them.

    With an aside each turn has `has_answer`: whether it holds the aside; and the session keeps to its theme.
    """
    talk = _Talk(rng, theme, changes_theme=aside is None)
    place = _place(rng, tokens, aside)
    turns: list[dict[str, Any]] = []
    left, number = tokens, 0
    while not turns or left >= LEAST or number <= place:
        here = aside if aside and number == place else None
        said = _said(rng, talk.question(), here)
        made = f"\n\n{here.made}" if here and here.made else ""
        thanks = f"{rng.choice(frames()['thanks'])} " if here and here.said else ""
        size = min(left - count(said), rng.randint(*REPLY_TOKENS)) - count(made) - count(thanks)
        replied = thanks + talk.reply(size, count) + made
        turns += _round(said, replied, here, marked=aside is not None)
        left -= count(said) + count(replied)
        number += 1
    return turns


class _Talk:
    """What is asked and replied, round by round: a request, questions about the reply, then another request."""

    def __init__(self, rng: Random, theme: Theme, *, changes_theme: bool) -> None:
        self._rng, self._theme, self._changes_theme = rng, theme, changes_theme
        self._advice, self._rounds, self._begun = Advice(rng, theme), 0, False
        self._topic = ""

    def question(self) -> str:
        """Return what the user asks next."""
        if self._rounds and self._rng.random() < _GOES_ON[min(self._rounds, len(_GOES_ON)) - 1]:
            self._rounds += 1
            aspect = self._rng.choice(self._theme.aspects)
            self._advice.about(aspect)
            return follow_up(self._rng, aspect)
        if self._begun and self._changes_theme:
            self._theme = theme_of(self._rng)
            self._advice = Advice(self._rng, self._theme)
        asked = opening(self._rng, self._theme)
        changed = self._rng.choice(frames()["changes"]).format(request=asked.text) if self._begun else asked.text
        self._topic, self._rounds, self._begun = asked.topic, 1, True
        return changed

    def reply(self, tokens: int, count: Callable[[str], int]) -> str:
        """Return what the assistant replies to that."""
        return reply(self._rng, self._advice, self._topic, tokens=tokens, count=count, again=self._rounds > 1)


def _place(rng: Random, tokens: int, aside: Aside | None) -> int:
    """Return the round of the aside: one that will be reached."""
    return rng.randrange(max(1, min(3, tokens // REPLY_TOKENS[1]))) if aside else -1


def _said(rng: Random, user: str, aside: Aside | None) -> str:
    if aside is None:
        return user
    if aside.request:
        return f"{user} {aside.request}"
    frame = rng.choice(frames()["joins"])
    return frame.format(request=user, Said=aside.said, said=lower_first(aside.said))


def _round(said: str, replied: str, aside: Aside | None, *, marked: bool) -> list[dict[str, Any]]:
    user: dict[str, Any] = {"role": "user", "content": said}
    assistant: dict[str, Any] = {"role": "assistant", "content": replied}
    if marked:
        user["has_answer"] = aside is not None and not aside.made
        assistant["has_answer"] = aside is not None and bool(aside.made)
    return [user, assistant]


def lower_first(sentence: str) -> str:
    """Return a sentence as it goes on after a comma: its first word small, unless it is a name or `I`."""
    first, _, rest = sentence.partition(" ")
    return f"{first.lower()} {rest}" if first in _SMALL_WORDS else sentence

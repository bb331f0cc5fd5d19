"""Sessions: a few rounds about one task, in one of which something may be mentioned in passing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.longmemeval.generate._talk import LEAST, follow_up, opening, reply
from pytest_ltm.datasets.longmemeval.generate._texts import frames

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_ltm.datasets.longmemeval.generate._texts import Theme

REPLY_TOKENS = (280, 620)
"""A reply is about so long, unless the session is to be shorter."""
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

    With an aside each turn has `has_answer`: whether it holds the aside.
    """
    asked = opening(rng, theme)
    place = _place(rng, tokens, aside)
    turns: list[dict[str, Any]] = []
    left, number = tokens, 0
    while not turns or left >= LEAST or (aside and number <= place):
        about = rng.choice(theme.aspects)
        user = asked.text if number == 0 else follow_up(rng, about)
        here = aside if aside and number == place else None
        said = _said(rng, user, here)
        made = f"\n\n{here.made}" if here and here.made else ""
        size = min(left - count(said) - count(made), rng.randint(*REPLY_TOKENS))
        thanks = f"{rng.choice(frames()['thanks'])} " if here and here.said else ""
        text = reply(rng, theme, asked.topic, tokens=size - count(thanks), count=count, about=about if number else None)
        turns += _round(said, thanks + text + made, here, marked=aside is not None)
        left -= count(said) + count(thanks + text + made)
        number += 1
    return turns


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

"""Task-oriented talk: what a user asks an assistant for, and long helpful replies, from an endless stock."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._advice import SHAPES, Advice
from pytest_ltm.datasets.longmemeval.generate._texts import frames, themes

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm.datasets.longmemeval.generate._texts import Aspect, Request, Theme

_CACHED_LINES = 1 << 16
_LINE = re.compile(r"[^\n]*\n+|[^\n]+")
"""A line with all breaks behind it, which an encoding may take as one token."""
LEAST = 80
"""A round needs about so many tokens at least."""


def counted(counter: TokenCounter) -> Callable[[str], int]:
    """Return the same count, faster where lines come back."""
    if not counter.additive:
        return counter.count
    line = lru_cache(maxsize=_CACHED_LINES)(counter.count)
    return lambda text: sum(map(line, _LINE.findall(text)))


def theme_of(rng: Random) -> Theme:
    """Return any theme."""
    return themes()[rng.choice(sorted(themes()))]


def opening(rng: Random, theme: Theme) -> Request:
    """Return a request that begins a session or another part of it."""
    return rng.choice(theme.requests)


def follow_up(rng: Random, aspect: Aspect) -> str:
    """Return a question that goes on from a reply."""
    frame = rng.choice(frames()["follow_ups"])
    return frame.format(aspect=aspect.name, minutes=rng.choice((10, 15, 20, 30, 45)), weeks=rng.choice((2, 3, 4, 6)))


def reply(rng: Random, advice: Advice, topic: str, *, tokens: int, count: Callable[[str], int], again: bool) -> str:
    """Return a reply of about `tokens` tokens, more only if its first sentence is; `again`: to a follow-up."""
    lines = [rng.choice(frames()["again" if again else "openings"]).format(topic=topic)]
    close = rng.choice(frames()["closings"])
    room = tokens - count(f"{lines[0]}\n\n{close}")
    shapes = rng.sample(SHAPES, 2)
    for number, shape in enumerate(shapes, start=1):
        share = room if number == len(shapes) else room * 2 // 3
        section = shape(rng, advice, share, count)
        if section:
            lines += ["", *section]
            room -= count("\n\n" + "\n".join(section))
    return "\n".join([*lines, "", close] if len(lines) > 1 else lines)

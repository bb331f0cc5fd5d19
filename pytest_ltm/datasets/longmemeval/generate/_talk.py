"""Task-oriented talk: what a user asks an assistant for, and long helpful replies, from an endless stock."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._texts import frames, themes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm.datasets.longmemeval.generate._texts import Aspect, Request, Theme

_CACHED_LINES = 1 << 16
LEAST = 80
"""A round needs about so many tokens at least."""
_LISTED = 0.3
"""The share of replies that end in a list of steps."""


def counted(counter: TokenCounter) -> Callable[[str], int]:
    """Return the same count, faster where lines come back."""
    if not counter.additive:
        return counter.count
    line = lru_cache(maxsize=_CACHED_LINES)(counter.count)
    return lambda text: sum(map(line, text.splitlines(keepends=True)))


def opening(rng: Random, theme: Theme) -> Request:
    """Return a request that begins a session."""
    return rng.choice(theme.requests)


def follow_up(rng: Random, aspect: Aspect) -> str:
    """Return a question that goes on from a reply."""
    frame = rng.choice(frames()["follow_ups"])
    return frame.format(aspect=aspect.name, minutes=rng.choice((10, 15, 20, 30)), weeks=rng.choice((2, 3, 4, 6)))


def reply(
    rng: Random, theme: Theme, topic: str, *, tokens: int, count: Callable[[str], int], about: Aspect | None = None
) -> str:
    """Return a reply of about `tokens` tokens, rarely more; `about`: the aspect that a follow-up asks for."""
    opens = frames()["again" if about else "openings"]
    lines = [rng.choice(opens).format(topic=topic), ""]
    close = rng.choice(frames()["closings"])
    room = tokens - count("\n".join([*lines, "", close]))
    steps: list[str] = []
    wants_list = rng.random() < _LISTED
    for line, step in _points(rng, theme, about):
        cost = count(f"- {line}\n") + (count(f"10. {step}\n") + 2 if wants_list else 0)
        if cost > room:
            break
        lines.append(f"- {line}")
        steps.append(step)
        room -= cost
    if wants_list and len(steps) > 1:
        lines += ["", rng.choice(frames()["lists"])] if room > count("As a list to tick off:\n\n") else [""]
        lines += [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    return "\n".join([*lines, "", close] if steps else [lines[0]])


def _points(rng: Random, theme: Theme, about: Aspect | None) -> Iterator[tuple[str, str]]:
    """Yield pieces of advice, each in full and as a step; those of the aspect asked for come first; none twice."""
    order = [*theme.aspects]
    rng.shuffle(order)
    if about:
        order = [about, about, *(one for one in order if one is not about)]
    said: set[str] = set()
    for aspect in (*order, *order, *order):
        left = [do for do in aspect.do if do not in said]
        if left:
            do = rng.choice(left)
            said.add(do)
            yield _point(rng, aspect, do), f"{upper_first(do)}."


def _point(rng: Random, aspect: Aspect, do: str) -> str:
    reason = rng.choice(aspect.reasons)
    return (
        rng.choice(frames()["points"])
        .format(
            Aspect=aspect.name,
            do=do,
            Do=upper_first(do),
            **{"for": reason, "For": upper_first(reason)},
            tail=rng.choice(frames()["tails"]),
        )
        .rstrip()
    )


def upper_first(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def theme_of(rng: Random) -> Theme:
    """Return any theme."""
    return themes()[rng.choice(sorted(themes()))]

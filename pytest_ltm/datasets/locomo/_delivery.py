"""How a LoCoMo conversation is told: dated, speakers named, photos as captions; nothing that gives answers away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._history import PastExchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from pytest_ltm.datasets.locomo._schema import Sample, Session, Turn

TELLINGS = ("turns", "sessions")
CHARACTERS = 6_000
"""So long is one part of a session at most: it fits into the 4,096 tokens that any agent takes."""
ACKNOWLEDGED = "I have read it."
"""What an agent that accepts history is told as its own reply to each part."""


def opening(sample: Sample) -> str:
    """Return the message that explains what is to come."""
    one, other = sample.speakers
    return (
        f"You are going to read a long conversation between {one} and {other}, session by session, each with its date. "
        "Remember what they tell each other. Later I will ask you about it; until then a short acknowledgement will do."
    )


def history(sample: Sample, telling: str) -> list[PastExchange]:
    """Return the sample in order: each turn, or each session in parts, as an exchange."""
    parts = _turns if telling == "turns" else _parts
    return [past for session in sample.sessions for past in parts(session)]


def said(turn: Turn) -> str:
    """Return what a speaker said, with what a photo shows in its place."""
    photo = f" [shares a photo: {turn.caption}]" if turn.caption else ""
    return f"{turn.speaker}: {turn.text}{photo}"


def told_after(past: Sequence[PastExchange], evidence: AbstractSet[str]) -> int:
    """Return after how many exchanges all of the evidence has been told; all of them where there is no evidence."""
    places = [number for number, one in enumerate(past, start=1) if not evidence.isdisjoint((one.id, *one.holds))]
    return max(places, default=len(past))


def _turns(session: Session) -> Iterator[PastExchange]:
    for turn in session.turns:
        text = f"[{session.when}] {said(turn)}"
        yield PastExchange(turn.id, session.at, text, ACKNOWLEDGED, text)


def _parts(session: Session) -> Iterator[PastExchange]:
    part: list[Turn] = []
    for turn in session.turns:
        if part and sum(len(said(one)) for one in (*part, turn)) > CHARACTERS:
            yield _part(session, part)
            part = []
        part.append(turn)
    if part:
        yield _part(session, part)


def _part(session: Session, turns: Sequence[Turn]) -> PastExchange:
    text = "\n".join([f"[{session.when}]", *map(said, turns)])
    ids = tuple(turn.id for turn in turns)
    return PastExchange(f"{ids[0]}-{ids[-1]}", session.at, text, ACKNOWLEDGED, text, ids)

"""How a LoCoMo conversation is told: dated, speakers named, photos as captions; nothing that gives answers away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError
from pytest_ltm._history import PastExchange
from pytest_ltm.datasets.locomo._noted import NOTED, READ, noted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from pytest_ltm.datasets.locomo._schema import Sample, Session, Turn

TELLINGS = ("turns", "sessions", *NOTED)
CHARACTERS = 6_000
"""So long is one part of a session at most: it fits into the 4,096 tokens that any agent takes."""
ACKNOWLEDGED = READ
"""What an agent that accepts history is told as its own reply to each part."""


def opening(sample: Sample, telling: str = TELLINGS[0]) -> str:
    """Return the message that explains what is to come."""
    one, other = sample.speakers
    what = "notes on a long conversation" if telling in NOTED else "a long conversation"
    return (
        f"You are going to read {what} between {one} and {other}, session by session, each with its date. "
        "Remember what they tell each other. Later I will ask you about it; until then a short acknowledgement will do."
    )


def history(sample: Sample, telling: str, photos: Mapping[str, str] | None = None) -> list[PastExchange]:
    """Return the sample in order: each turn, each session in parts, or each note, as an exchange.

    `photos`: files of photos by the last part of their address, for agents that take images.
    """
    if telling in NOTED:
        return noted(sample, telling)
    parts = _turns if telling == "turns" else _parts
    return [past for session in sample.sessions for past in parts(session, photos or {})]


def photos_in(folder: Path) -> dict[str, str]:
    """Return the files of a folder by name; DatasetError if it is none."""
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no folder of photos. Their files are named as the addresses end: photo.jpg")
    return {file.name: str(file) for file in sorted(folder.iterdir()) if file.is_file()}


def said(turn: Turn, *, seen: bool = False) -> str:
    """Return what a speaker said, with what a photo shows in its place; `seen`: the photo itself is sent, too."""
    photo = f" [shares a photo: {turn.caption}]" if turn.caption else ""
    if seen:
        photo = " [shares a photo, see the image]"
    return f"{turn.speaker}: {turn.text}{photo}"


def told_after(past: Sequence[PastExchange], evidence: AbstractSet[str]) -> int:
    """Return after how many exchanges all of the evidence has been told; all of them where there is no evidence."""
    places = [number for number, one in enumerate(past, start=1) if not evidence.isdisjoint((one.id, *one.holds))]
    return max(places, default=len(past))


def _files(turn: Turn, photos: Mapping[str, str]) -> tuple[str, ...]:
    names = [address.partition("?")[0].rpartition("/")[2] for address in turn.images]
    return tuple(photos[name] for name in names if name in photos)


def _turns(session: Session, photos: Mapping[str, str]) -> Iterator[PastExchange]:
    for turn in session.turns:
        text = f"[{session.when}] {said(turn)}"
        files = _files(turn, photos)
        pictured = f"[{session.when}] {said(turn, seen=True)}" if files else ""
        yield PastExchange(turn.id, session.at, text, ACKNOWLEDGED, text, images=files, pictured=pictured)


def _parts(session: Session, photos: Mapping[str, str]) -> Iterator[PastExchange]:
    part: list[Turn] = []
    for turn in session.turns:
        if part and sum(len(said(one)) for one in (*part, turn)) > CHARACTERS:
            yield _part(session, part, photos)
            part = []
        part.append(turn)
    if part:
        yield _part(session, part, photos)


def _part(session: Session, turns: Sequence[Turn], photos: Mapping[str, str]) -> PastExchange:
    text = "\n".join([f"[{session.when}]", *map(said, turns)])
    ids = tuple(turn.id for turn in turns)
    files = tuple(file for turn in turns for file in _files(turn, photos))
    seen = "\n".join([f"[{session.when}]", *(said(turn, seen=bool(_files(turn, photos))) for turn in turns)])
    name = f"{ids[0]}-{ids[-1]}"
    return PastExchange(name, session.at, text, ACKNOWLEDGED, text, ids, images=files, pictured=seen if files else "")

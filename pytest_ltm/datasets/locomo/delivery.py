"""How a LoCoMo conversation is told: dated, speakers named, photos as captions; nothing that gives answers away."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from pytest_ltm._model.filler import PastExchange
from pytest_ltm._results.statistics.totals import group_by
from pytest_ltm._storage.disk import read_image
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._dataset_registry import NOTE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.datasets.locomo.samples import LocomoSession, LocomoTurn, Sample


ACKNOWLEDGED = "I have read it."
"""What an agent that accepts history is told as its own reply to each part."""
CHARACTERS = 6_000
"""So long is one part of a session at most: it fits into the 4,096 tokens that any agent takes."""
_SESSION = re.compile(r"[DOS](\d+)")


def opening_message(sample: Sample, telling: str = "turns") -> str:
    """Return the message that explains what is to come."""
    one, other = sample.speakers
    what = "notes on a long conversation" if telling in NOTE_KINDS else "a long conversation"
    return (
        f"You are going to read {what} between {one} and {other}, session by session, each with its date. "
        "Remember what they tell each other. Later I will ask you about it; until then a short acknowledgement will do."
    )


def history_exchanges(sample: Sample, telling: str, photos: Mapping[str, str] | None = None) -> list[PastExchange]:
    """Return the sample in order: each turn, each session in parts, or each note, as an exchange.

    `photos`: files of photos by the last part of their address, for agents that take images. DatasetError if notes
    are wanted and there are none.
    """
    if telling not in NOTE_KINDS:
        return [past for session in sample.sessions for past in _session_exchanges(session, telling, photos or {})]
    pasts = [past for session in sample.sessions for past in _note_exchanges(sample, session, telling)]
    if not pasts:
        raise DatasetError(f"--ltm-locomo-telling={telling}: conversation {sample.id!r} of the file has no {telling}")
    return pasts


def turn_text(turn: LocomoTurn, *, seen: bool = False) -> str:
    """Return what a speaker said, with what a photo shows in its place; `seen`: the photo itself is sent, too."""
    photo = f" [shares a photo: {turn.caption}]" if turn.caption else ""
    return f"{turn.speaker}: {turn.text}{' [shares a photo, see the image]' if seen else photo}"


def photos_in(folder: Path, samples: Iterable[Sample]) -> tuple[dict[str, str], str]:
    """Return the files of the photos that samples share, by name, and a note on those that are missing, "" if none is.

    DatasetError if it is not a folder, no photo is in it, or one that is cannot be sent.
    """
    named = "Their files are named as the addresses end: photo.jpg"
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no folder of photos. {named}")
    shared = {name for sample in samples for turn in sample.turns for name in _photo_names(turn)}
    found = {name: folder / name for name in sorted(shared) if (folder / name).is_symlink() or (folder / name).exists()}
    if shared and not found:
        raise DatasetError(f"{folder}: none of the {len(shared):,} photos is here. {named}")
    for file in found.values():
        read_image(file)
    missing = f"{len(shared) - len(found):,} of {len(shared):,} photos are not in {folder}: their captions are told"
    return {name: str(file) for name, file in found.items()}, missing if len(found) < len(shared) else ""


def _photo_names(turn: LocomoTurn) -> list[str]:
    """Return the names of the files of a turn's photos: the last parts of their addresses."""
    names = (address.partition("?")[0].replace("\\", "/").rpartition("/")[2] for address in turn.images)
    return [name for name in names if name not in ("", ".", "..") and name.isprintable()]


def session_of(name: str) -> int:
    """Return the number of the session that a turn, or an exchange of any telling, belongs to by its id."""
    match = _SESSION.match(name)
    return int(match[1]) if match else 0


def held_by(past: Sequence[PastExchange], evidence: Sequence[str]) -> tuple[str, ...]:
    """Return what an Ask may be about: the evidence as it was told.

    A turn that was told keeps its id. In a telling of notes, one that no note holds is named by its session's notes.
    """
    told = {name for one in past for name in (one.id, *one.holds)}
    notes = group_by(past, lambda one: session_of(one.id))
    named = ([turn] if turn in told else [one.id for one in notes.get(session_of(turn), ())] for turn in evidence)
    return tuple(dict.fromkeys(chain.from_iterable(named)))


def _note_exchanges(sample: Sample, session: LocomoSession, telling: str) -> Iterator[PastExchange]:
    """Yield the facts noted after a session, or its summary.

    Each fact holds its turns, so that what is retrieved is named by turns; recalls compare a summary by session.
    """
    facts = [note for note in sample.observations if note.session == session.number and note.text.strip()]
    notes = [(f"O{session.number}:{number}", note.text, note.evidence) for number, note in enumerate(facts, start=1)]
    if telling != "observations":
        summary = sample.summaries.get(session.number, "")
        notes = [(f"S{session.number}", summary, ())] if summary.strip() else []
    for name, note, evidence in notes:
        text = f"[{session.when}] {note}"
        yield PastExchange(name, session.at, text, ACKNOWLEDGED, text, evidence)


def _session_exchanges(session: LocomoSession, telling: str, photos: Mapping[str, str]) -> Iterator[PastExchange]:
    """Yield the turns of a session that are told together: one, or as many as a part holds; with photos of theirs."""
    part: list[LocomoTurn] = []
    between = " " if telling == "turns" else "\n"
    for number, turn in enumerate(session.turns, start=1):
        part.append(turn)
        following = session.turns[number : number + 1]
        if telling != "turns" and following and sum(len(turn_text(one)) for one in (*part, *following)) <= CHARACTERS:
            continue
        ids = tuple(turn.id for turn in part)
        name, holds = (ids[0], ()) if telling == "turns" else (f"{ids[0]}-{ids[-1]}", ids)
        files = [tuple(photos[name] for name in _photo_names(turn) if name in photos) for turn in part]
        text = between.join([f"[{session.when}]", *map(turn_text, part)])
        shown = (turn_text(turn, seen=bool(of_turn)) for turn, of_turn in zip(part, files, strict=True))
        pictured = between.join([f"[{session.when}]", *shown]) if any(files) else ""
        images = tuple(chain.from_iterable(files))
        yield PastExchange(name, session.at, text, ACKNOWLEDGED, text, holds, images=images, pictured=pictured)
        part = []

"""LoCoMo (Maharana et al., ACL 2024) as the interchange: its questions, without its tasks, tellings and corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.datasets._interchange import History, Picture, Question, Session, Turn
from pytest_ltm.datasets.locomo.file import load_locomo
from pytest_ltm.datasets.locomo.samples import Category

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ltm.datasets.locomo.samples import LocomoSession, Sample


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each conversation of the published file, or of a folder of conversations."""
    for path in paths:
        for sample in load_locomo(path).samples:
            counts["guessed: what is odd about the file, as --ltm-suite=locomo lists it"] += len(sample.notes)
            sessions = [_read_session(one) for one in sample.sessions if one.turns]
            yield History(sessions, _read_questions(sample, counts), sample.id)


def _read_session(one: LocomoSession) -> Session:
    turns = []
    for turn in one.turns:
        images = (Picture(caption=turn.caption),) * bool(turn.caption)
        turns.append(Turn(role="user", name=turn.speaker, content=turn.text, images=images))
    return Session(id=f"D{one.number}", date=one.at.isoformat(sep=" "), turns=tuple(turns))


def _read_questions(sample: Sample, counts: Counter[str]) -> Iterator[Question]:
    places = {
        turn.id: f"D{one.number}_{place}" for one in sample.sessions for place, turn in enumerate(one.turns, start=1)
    }
    for one in sample.questions:
        adversarial = one.category == Category.ADVERSARIAL
        if not adversarial and not one.answer:
            counts["left out: questions whose answer is empty"] += 1
            continue
        yield Question(
            id=f"{sample.id}_{one.index}", kind=one.category.label.replace("-", "_"), text=one.text,
            gold=None if adversarial else one.answer, never_told=adversarial,
            evidence=() if adversarial else tuple(places[name] for name in one.evidence),
        )  # fmt: skip

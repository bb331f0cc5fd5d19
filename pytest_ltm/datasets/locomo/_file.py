"""Reading LoCoMo files: the published one, one conversation in a file of its own, or a folder of these."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets._json import fields_of, json_in
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._dates import read_date
from pytest_ltm.datasets.locomo._evidence import repaired
from pytest_ltm.datasets.locomo._extras import events_in, observations_in, summaries_in
from pytest_ltm.datasets.locomo._metric import abstains_officially
from pytest_ltm.datasets.locomo._schema import Question, Sample, Session, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

KNOWN_FILES: Mapping[str, str] = {
    "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4": "locomo10.json, as published",
}
"""SHA-256 -> which file that is."""

PUBLISHED = "locomo10.json"
"""The name of the published file."""

_SESSION = re.compile(r"session_(\d+)")
_SESSION_DATE = re.compile(r"session_(\d+)_date_time")


@dataclass(frozen=True, slots=True)
class LocomoData:
    """The samples of a file, in its order."""

    path: Path
    samples: tuple[Sample, ...]
    sha256: str
    """Of the file; of the files one after the other, sorted by name, for a folder."""

    @property
    def known_as(self) -> str | None:
        """Which published file it is, None if none."""
        return KNOWN_FILES.get(self.sha256)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about it, a sentence each."""
        own = () if self.known_as else (f"{self.path.name} is not the published file (SHA-256 {self.sha256[:12]}...)",)
        return own + tuple(f"{sample.id}: {note}" for sample in self.samples for note in sample.notes)


def load(path: Path) -> LocomoData:
    """Return what the file or folder holds; DatasetError names the file, the record and what was expected."""
    files = _files(path)
    if not files:
        raise DatasetError(f"{path}: holds no *.json file. Name locomo10.json, or a folder of conversations")
    digest, samples = hashlib.sha256(), []
    for file in files:
        raw = _bytes(file)
        digest.update(raw)
        samples += _samples(raw, file)
    if not samples:
        raise DatasetError(f"{path}: holds no conversation. Name locomo10.json, or a folder of conversations")
    _refuse_equal_ids(samples, path)
    return LocomoData(path, tuple(samples), digest.hexdigest())


def _files(path: Path) -> list[Path]:
    """Return what is read of a path: of a folder that holds the published file, only that."""
    if not path.is_dir():
        return [path]
    whole = path / PUBLISHED
    return [whole] if whole.is_file() else sorted(path.glob("*.json"))


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise DatasetError(
            f"{file}: cannot be read: {error.strerror}. LoCoMo is not shipped: download locomo10.json, or make "
            "conversations with python -m pytest_ltm locomo-generate"
        ) from error


def _samples(raw: bytes, file: Path) -> list[Sample]:
    data = json_in(raw, str(file))
    try:
        tops = Field(data, str(file)).items("conversations") if isinstance(data, list) else [Field(data, str(file))]
        return [_sample(top, file.stem) for top in tops]
    except DefinitionError as error:
        raise DatasetError(str(error)) from error


def _refuse_equal_ids(samples: list[Sample], path: Path) -> None:
    for name, count in Counter(sample.id for sample in samples).items():
        if count > 1:
            raise DatasetError(f"{path}: {count} conversations have the sample_id {name!r}. Rename all but one")


def _sample(top: Field, stem: str) -> Sample:
    name = _name(top.mapping().get("sample_id"))
    here = replace(top, where=f"{top.where}: {name}") if name else top
    fields = here.mapping()
    talk = fields.get("conversation", here)  # the older layout has it at the top
    parts = fields_of(talk, ("speaker_a", "speaker_b"), "conversation of LoCoMo")
    speakers = (parts["speaker_a"].text(), parts["speaker_b"].text())
    sessions, notes = _sessions(parts)
    if not any(session.turns for session in sessions):
        raise talk.fault("holds no turn: expected 'session_1', a list of turns, 'session_1_date_time', ...")
    notes += _strangers(sessions, speakers)
    counts = Counter(turn.id for session in sessions for turn in session.turns)
    known = counts.keys()
    notes += [f"the id {turn!r} is that of more than one turn" for turn, count in counts.items() if count > 1]
    questions, more = _questions(fields.get("qa"), known)
    sample = Sample(
        id=name or stem,
        speakers=speakers,
        sessions=sessions,
        questions=questions,
        notes=(*notes, *more),
    )
    return replace(
        sample,
        events=tuple(events_in(fields.get("event_summary"), speakers)),
        observations=tuple(observations_in(fields.get("observation"), known)),
        summaries=summaries_in(fields.get("session_summary")),
    )


def _name(item: Field | None) -> str:
    return "" if item is None else item.text()


def _sessions(parts: Mapping[str, Field]) -> tuple[tuple[Session, ...], list[str]]:
    dated = {int(found[1]): parts[found[0]] for found in map(_SESSION_DATE.fullmatch, parts) if found}
    said = {int(found[1]): parts[found[0]] for found in map(_SESSION.fullmatch, parts) if found}
    notes, sessions = [], []
    empty = sorted(number for number in dated if number not in said or not said[number].value)
    if empty:
        notes.append(f"has dates but no turns for the sessions {', '.join(map(str, empty))}")
    for number, turns in sorted(said.items()):
        if number not in dated:
            raise turns.fault(f"the field 'session_{number}_date_time' is missing.")
        when = dated[number].text()
        at = read_date(when)
        if at is None:
            raise dated[number].error("a date such as '1:56 pm on 8 May, 2023'")
        sessions.append(Session(number, when, at, tuple(map(_turn, turns.items("turns")))))
    ordered = sorted(sessions, key=lambda session: (session.at, session.number))
    if ordered != sessions:
        notes.append("its sessions are not in the order of their dates; they are told by date")
    return tuple(ordered), notes


def _strangers(sessions: Sequence[Session], speakers: tuple[str, str]) -> list[str]:
    if len(set(speakers)) == 1:
        return [f"both speakers are called {speakers[0]!r}: nobody can tell them apart"]
    names = dict.fromkeys(turn.speaker for session in sessions for turn in session.turns)
    return [f"{name!r} speaks, who is none of its two speakers" for name in names if name not in speakers]


def _turn(item: Field) -> Turn:
    fields = item.mapping(required=("speaker", "dia_id", "text"))
    images = fields["img_url"].texts() if "img_url" in fields and fields["img_url"].value else ()
    caption = fields["blip_caption"].value if "blip_caption" in fields else ""
    text = fields["text"].value
    if not isinstance(text, str):
        raise fields["text"].error("a text")
    return Turn(fields["dia_id"].text(), fields["speaker"].text(), text, str(caption or ""), images)


def _questions(item: Field | None, known: Collection[str]) -> tuple[tuple[Question, ...], list[str]]:
    questions: list[Question] = []
    notes: list[str] = []
    for index, one in enumerate(item.items("questions") if item else ()):
        question, odd = _question(one, index, known)
        questions.append(question)
        notes += [f"question {index}: {note}" for note in odd]
    twice = sum(count > 1 for count in Counter(question.text for question in questions).values())
    if twice:
        notes.append(f"{twice} question texts occur more than once; questions are known by their index")
    return tuple(questions), notes


def _question(item: Field, index: int, known: Collection[str]) -> tuple[Question, list[str]]:
    fields = fields_of(item, ("question", "category"), "question")
    number = fields["category"].whole(least=1)
    if number > max(Category):
        raise fields["category"].error(f"a category from 1 to {max(Category):d}")
    cited = _cited(fields.get("evidence"))
    evidence, notes = repaired(cited, known)
    answer = _answer(fields.get("answer"))
    if answer is None and number != Category.ADVERSARIAL:
        raise item.fault("the field 'answer' is missing: only questions of category 5 may have none.")
    if answer == "":
        notes = (*notes, "has an empty answer, so that every answer earns 0")
    question = Question(
        index=index,
        category=Category(number),
        text=fields["question"].text(),
        answer=answer,
        adversarial_answer=_answer(fields.get("adversarial_answer")),
        evidence=evidence,
        cited=tuple(map(str, cited)),
    )
    if question.adversarial_answer and abstains_officially(question.adversarial_answer):
        notes = (*notes, f"suggests {question.adversarial_answer!r}, so that both choices are right")
    return question, [*notes, *(["has no evidence"] if not cited else [])]


def _cited(item: Field | None) -> Sequence[object]:
    """Return what a question cites, ids or not; what is no list stands for itself."""
    if item is None or not item.value:
        return ()
    return item.value if isinstance(item.value, list) else (item.value,)


def _answer(item: Field | None) -> str | None:
    if item is None or item.value is None:
        return None
    number = isinstance(item.value, int | float) and not isinstance(item.value, bool) and math.isfinite(item.value)
    if number or isinstance(item.value, str):
        return str(item.value)
    raise item.error("a text or a number")

"""Reading LoCoMo files: the published one, one conversation in a file of its own, or a folder of these."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._dates import read_date
from pytest_ltm.datasets.locomo._evidence import repaired
from pytest_ltm.datasets.locomo._metric import abstains_officially
from pytest_ltm.datasets.locomo._schema import Events, Observation, Question, Sample, Session, Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
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
            f"{file}: cannot be read: {error.strerror}. LoCoMo is not shipped: download locomo10.json and name it"
        ) from error


def _samples(raw: bytes, file: Path) -> list[Sample]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{file}: not JSON (truncated?): {error}") from error
    try:
        tops = Field(data, str(file)).items("conversations") if isinstance(data, list) else [Field(data, str(file))]
        return [_sample(top, file.stem) for top in tops]
    except DefinitionError as error:
        raise DatasetError(str(error)) from error


def _refuse_equal_ids(samples: list[Sample], path: Path) -> None:
    for name, count in Counter(sample.id for sample in samples).items():
        if count > 1:
            raise DatasetError(f"{path}: {count} conversations have the sample_id {name!r}")


def _sample(top: Field, stem: str) -> Sample:
    fields = top.mapping()
    talk = fields.get("conversation", top)  # the older layout has it at the top
    parts = talk.mapping(required=("speaker_a", "speaker_b"))
    sessions, notes = _sessions(parts)
    if not sessions:
        raise talk.error("sessions: fields 'session_1', 'session_1_date_time', ...")
    counts = Counter(turn.id for session in sessions for turn in session.turns)
    known = counts.keys()
    notes += [f"the id {name!r} is that of more than one turn" for name, count in counts.items() if count > 1]
    questions, more = _questions(fields.get("qa"), known)
    sample = Sample(
        id=fields["sample_id"].text() if "sample_id" in fields else stem,
        speakers=(parts["speaker_a"].text(), parts["speaker_b"].text()),
        sessions=sessions,
        questions=questions,
        notes=(*notes, *more),
    )
    return replace(
        sample,
        events=tuple(_events(fields.get("event_summary"), sample.speakers)),
        observations=tuple(_observations(fields.get("observation"), known)),
        summaries=_summaries(fields.get("session_summary")),
    )


def _sessions(parts: Mapping[str, Field]) -> tuple[tuple[Session, ...], list[str]]:
    dated = {int(found[1]): parts[found[0]] for found in map(_SESSION_DATE.fullmatch, parts) if found}
    said = {int(found[1]): parts[found[0]] for found in map(_SESSION.fullmatch, parts) if found}
    notes, sessions = [], []
    empty = sorted(dated.keys() - said.keys())
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


def _turn(item: Field) -> Turn:
    fields = item.mapping(required=("speaker", "dia_id", "text"))
    images = fields["img_url"].texts() if "img_url" in fields else ()
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
    fields = item.mapping(required=("question", "category"))
    number = fields["category"].whole(least=1)
    if number > max(Category):
        raise fields["category"].error(f"a category from 1 to {max(Category):d}")
    cited = fields["evidence"].texts() if "evidence" in fields and fields["evidence"].value else ()
    evidence, notes = repaired(cited, known)
    answer = _answer(fields.get("answer"))
    if answer is None and number != Category.ADVERSARIAL:
        raise item.fault("the field 'answer' is missing.")
    question = Question(
        index=index,
        category=Category(number),
        text=fields["question"].text(),
        answer=answer,
        adversarial_answer=_answer(fields.get("adversarial_answer")),
        evidence=evidence,
        cited=cited,
    )
    if question.adversarial_answer and abstains_officially(question.adversarial_answer):
        notes = (*notes, f"suggests {question.adversarial_answer!r}, so that both choices are right")
    return question, [*notes, *(["has no evidence"] if not cited else [])]


def _answer(item: Field | None) -> str | None:
    if item is None or item.value is None:
        return None
    if isinstance(item.value, (int, float, str)) and not isinstance(item.value, bool):
        return str(item.value)
    raise item.error("a text or a number")


def _events(item: Field | None, speakers: tuple[str, str]) -> Iterator[Events]:
    for name, one in (item.mapping() if item else {}).items():
        found = re.search(r"session_(\d+)", name)
        if not found:
            continue
        fields = one.mapping()
        of = {speaker: _sentences(fields.get(speaker)) for speaker in speakers}
        yield Events(int(found[1]), str(fields["date"].value) if "date" in fields else "", of)


def _sentences(item: Field | None) -> tuple[str, ...]:
    values = () if item is None else item.value if isinstance(item.value, list) else (item.value,)
    return tuple(str(value) for value in values if value)


def _observations(item: Field | None, known: Collection[str]) -> Iterator[Observation]:
    for name, one in (item.mapping() if item else {}).items():
        found = re.search(r"session_(\d+)", name)
        for speaker, notes in (one.mapping() if found else {}).items():
            for note in notes.items("observations"):
                yield _observation(note, speaker, int(found[1]) if found else 0, known)


def _observation(note: Field, speaker: str, session: int, known: Collection[str]) -> Observation:
    parts: list[Any] = note.value if isinstance(note.value, list) else [note.value]
    cited = parts[1] if len(parts) > 1 else ()
    evidence, _ = repaired([cited] if isinstance(cited, str) else map(str, cited), known)
    return Observation(speaker, str(parts[0]) if parts else "", evidence, session)


def _summaries(item: Field | None) -> dict[int, str]:
    found = ((re.search(r"session_(\d+)", name), one) for name, one in (item.mapping() if item else {}).items())
    return {int(name[1]): one.text() for name, one in found if name}

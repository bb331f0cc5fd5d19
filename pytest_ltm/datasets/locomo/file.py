"""Reading LoCoMo files: the published one, one conversation in a file of its own, or a folder of these."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import structs

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import faults_of_data, fields_of, json_in, text_or_number
from pytest_ltm._storage.schema import Field
from pytest_ltm.datasets.locomo.metric import abstains_officially
from pytest_ltm.datasets.locomo.samples import (
    Category,
    LocomoQuestion,
    LocomoSession,
    LocomoTurn,
    Observation,
    Sample,
    SessionEvents,
    read_date,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


_ID = re.compile(r"D:?(\d+):(\d+)")


def repair_citations(cited: Iterable[object], known: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that citations mean, each once, and a sentence for each that had to be repaired or left out.

    One citation may hold several ids, and an id leading zeros or a colon too many. What points to no turn is left out.
    """
    nones: dict[str, None] = {}
    notes: list[str] = []
    for text in cited:
        ids = [f"D{int(session)}:{int(turn)}" for session, turn in _ID.findall(str(text))]
        there = [one for one in ids if one in known]
        nones.update(dict.fromkeys(there))
        if not there:
            notes.append(f"the evidence {text!r} points to no turn")
        elif there != [text]:
            lost = "" if len(there) == len(ids) else ", the rest points to no turn"
            notes.append(f"the evidence {text!r} is read as {', '.join(there)}{lost}")
    return tuple(nones), tuple(notes)


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


def load_locomo(path: Path) -> LocomoData:
    """Return what the file or folder holds; DatasetError names the file, the record and what was expected."""
    files = [path]
    if path.is_dir():  # of a folder that holds the published file, only that is read
        files = [path / PUBLISHED] if (path / PUBLISHED).is_file() else sorted(path.glob("*.json"))
    if not files:
        raise DatasetError(f"{path}: holds no *.json file. Name locomo10.json, or a folder of conversations")
    digest, samples = hashlib.sha256(), []
    for file in files:
        try:
            raw = file.read_bytes()
        except OSError as error:
            cure = "download locomo10.json, or make conversations with ltm data locomo-generate"
            raise DatasetError(f"{file}: cannot be read: {error.strerror}. LoCoMo is not shipped: {cure}") from error
        digest.update(raw)  # of the bytes: a file that was only formatted anew is another file
        top = Field(json_in(raw, str(file)), str(file))
        with faults_of_data():
            tops = top.items("conversations") if isinstance(top.value, list) else [top]
            samples += [_parse_sample(one, file.stem) for one in tops]
    if not samples:
        raise DatasetError(f"{path}: holds no conversation. Name locomo10.json, or a folder of conversations")
    for name, count in Counter(sample.id for sample in samples).items():
        if count > 1:
            raise DatasetError(f"{path}: {count} conversations have the sample_id {name!r}. Rename all but one")
    return LocomoData(path, tuple(samples), digest.hexdigest())


def _parse_sample(top: Field, stem: str) -> Sample:
    given = top.mapping().get("sample_id")
    name = given.text() if given else ""
    here = structs.replace(top, where=f"{top.where}: {name}") if name else top
    fields = here.mapping()
    talk = fields.get("conversation", here)  # the older layout has it at the top
    parts = fields_of(talk, ("speaker_a", "speaker_b"), "conversation of LoCoMo")
    speakers = (parts["speaker_a"].text(), parts["speaker_b"].text())
    sessions, notes = _parse_sessions(parts)
    if not any(session.turns for session in sessions):
        raise talk.fault("holds no turn: expected 'session_1', a list of turns, 'session_1_date_time', ...")
    if speakers[0] == speakers[1]:
        notes.append(f"both speakers are called {speakers[0]!r}: they cannot be told apart")
    else:
        names = dict.fromkeys(turn.speaker for session in sessions for turn in session.turns)
        notes += [f"{name!r} speaks, who is none of its two speakers" for name in names if name not in speakers]
    counts = Counter(turn.id for session in sessions for turn in session.turns)
    known = counts.keys()
    notes += [f"the id {turn!r} is that of more than one turn" for turn, count in counts.items() if count > 1]
    questions, more = _parse_questions(fields.get("qa"), known)
    events = tuple(_parse_events(fields.get("event_summary"), speakers))
    observations = tuple(_parse_observations(fields.get("observation"), known))
    summaries = {number: item.text() for number, item in _by_session(fields.get("session_summary")) if item.value}
    odd = (*notes, *more)
    return Sample(name or stem, speakers, sessions, questions, events, observations, summaries, odd)


def _parse_sessions(parts: Mapping[str, Field]) -> tuple[tuple[LocomoSession, ...], list[str]]:
    dated = {int(result[1]): parts[result[0]] for result in map(_SESSION_DATE.fullmatch, parts) if result}
    entries = {int(result[1]): parts[result[0]] for result in map(_SESSION.fullmatch, parts) if result}
    notes, sessions = [], []
    empty = sorted(number for number in dated if number not in entries or not entries[number].value)
    if empty:
        notes.append(f"has dates but no turns for the sessions {', '.join(map(str, empty))}")
    for number, turns in sorted(entries.items()):
        if number not in dated:
            raise turns.fault(f"the field 'session_{number}_date_time' is missing.")
        when = dated[number].text()
        at = read_date(when)
        if at is None:
            raise dated[number].error("a date such as '1:56 pm on 8 May, 2023'")
        sessions.append(LocomoSession(number, when, at, tuple(map(_parse_turn, turns.items("turns")))))
    ordered = sorted(sessions, key=lambda session: (session.at, session.number))
    if ordered != sessions:
        notes.append("its sessions are not in the order of their dates; they are told by date")
    return tuple(ordered), notes


def _parse_turn(item: Field) -> LocomoTurn:
    fields = item.mapping(required=("speaker", "dia_id", "text"))
    images = fields["img_url"].texts() if "img_url" in fields and fields["img_url"].value else ()
    caption = fields["blip_caption"].value if "blip_caption" in fields else ""
    text = fields["text"].value
    if not isinstance(text, str):
        raise fields["text"].error("a text")
    return LocomoTurn(fields["dia_id"].text(), fields["speaker"].text(), text, str(caption or ""), images)


def _parse_questions(item: Field | None, known: Collection[str]) -> tuple[tuple[LocomoQuestion, ...], list[str]]:
    questions = [
        _parse_question(one, index, known) for index, one in enumerate(item.items("questions") if item else ())
    ]
    notes = [f"question {question.index}: {note}" for question, odd in questions for note in odd]
    twice = sum(count > 1 for count in Counter(question.text for question, _ in questions).values())
    if twice:
        notes.append(f"{twice} question texts occur more than once; questions are known by their index")
    return tuple(question for question, _ in questions), notes


def _parse_question(item: Field, index: int, known: Collection[str]) -> tuple[LocomoQuestion, list[str]]:
    fields = fields_of(item, ("question", "category"), "question")
    number = fields["category"].whole(least=1)
    if number > max(Category):
        raise fields["category"].error(f"a category from 1 to {max(Category):d}")
    cited = _list_of(fields.get("evidence"))
    evidence, notes = repair_citations(cited, known)
    answer, suggested = (
        text_or_number(fields[name]) if name in fields and fields[name].value is not None else None
        for name in ("answer", "adversarial_answer")
    )
    if answer is None and number != Category.ADVERSARIAL:
        raise item.fault("the field 'answer' is missing: only questions of category 5 may have none.")
    text, as_cited = fields["question"].text(), tuple(map(str, cited))
    odd = {
        "has an empty answer, so that every answer earns 0": answer == "",
        f"suggests {suggested!r}, so that both choices are right": suggested and abstains_officially(suggested),
        "has no evidence": not cited,
    }
    question = LocomoQuestion(index, Category(number), text, answer, suggested, evidence, as_cited)
    return question, [*notes, *(note for note, holds in odd.items() if holds)]


def _list_of(item: Field | None) -> Sequence[Any]:
    """Return the values of a list; anything else stands for itself."""
    if item is None or not item.value:
        return ()
    return item.value if isinstance(item.value, list) else (item.value,)


# --- What the file holds beside turns and questions: events, observations, summaries, each by its session.


def _by_session(item: Field | None) -> Iterator[tuple[int, Field]]:
    for name, one in (item.mapping() if item else {}).items():
        if match := _SESSION.search(name):
            yield int(match[1]), one


def _parse_events(item: Field | None, speakers: tuple[str, str]) -> Iterator[SessionEvents]:
    for number, one in _by_session(item):
        fields = one.mapping()
        of = {speaker: tuple(map(str, filter(None, _list_of(fields.get(speaker))))) for speaker in speakers}
        yield SessionEvents(number, str(fields["date"].value) if "date" in fields else "", of)


def _parse_observations(item: Field | None, known: Collection[str]) -> Iterator[Observation]:
    for number, one in _by_session(item):
        for speaker, notes in one.mapping().items():
            for note in notes.items("observations"):
                parts: list[Any] = [*note.value, "", ""] if isinstance(note.value, list) else [note.value, ""]
                fact, cited = parts[:2]
                evidence, _ = repair_citations(cited if isinstance(cited, list) else [cited], known)
                yield Observation(speaker, str(fact), evidence, number)

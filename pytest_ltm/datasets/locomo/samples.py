"""LoCoMo's samples: dated sessions of two speakers with questions, their files, and their presentation.

Fields that would give answers away (a photo's search `query`) are not read at all.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from enum import IntEnum
from pathlib import Path
from typing import Any

from msgspec import structs

from pytest_ltm.api.model import PastExchange
from pytest_ltm.api.storage import DatasetError, Field, read_image, read_regular
from pytest_ltm.datasets.dataset_registry import NOTE_KINDS
from pytest_ltm.datasets.rows import (
    faults_of_data,
    fields_of,
    parse_json,
    text_or_number,
)
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.language.dates import MONTHS, month_number

# --- The five categories of LoCoMo's questions, by number and name (Maharana et al.,
# 2024, section 4.1).


class Category(IntEnum):
    """A question's category, numbered as in the file."""

    MULTI_HOP = 1
    TEMPORAL = 2
    OPEN_DOMAIN = 3
    SINGLE_HOP = 4
    ADVERSARIAL = 5

    @property
    def label(self) -> str:
        """The name in reports: `multi-hop`, `temporal`, ..."""
        return self.name.lower().replace("_", "-")


NOTHING_SAID = ("no information available", "not mentioned")
"""Phrases that, in any case, make a prediction an abstention under the official rule."""


def abstains_officially(prediction: str) -> bool:
    """Return whether a prediction contains one of the two official phrases."""
    lowered = prediction.lower()
    return any(phrase in lowered for phrase in NOTHING_SAID)


# --- The contents of a file.


@dataclass(frozen=True, slots=True)
class LocomoTurn:
    """One utterance of a speaker, possibly with a photo."""

    id: str
    """Of the form `D<session>:<turn>`, both from 1."""
    speaker: str
    text: str
    caption: str = ""
    """The photo's caption; "" if there is none."""
    images: tuple[str, ...] = ()
    """Addresses of the photos."""


@dataclass(frozen=True, slots=True)
class LocomoSession:
    """One session of the two speakers."""

    number: int
    """The session's number, from 1, as in the file."""
    when: str
    """The date as written in the file."""
    at: datetime
    """The same date, aware (UTC)."""
    turns: tuple[LocomoTurn, ...]


@dataclass(frozen=True, slots=True)
class LocomoQuestion:
    """A question about the whole conversation."""

    index: int
    """Its position in the sample: texts may repeat, so they cannot be the key."""
    category: Category
    text: str
    answer: str | None
    """The gold answer; of the published adversarial questions, only two have one."""
    adversarial_answer: str | None = None
    """The wrong answer suggested by an adversarial question."""
    evidence: tuple[str, ...] = ()
    """Ids of the turns that contain the answer, repaired: each exists."""
    cited: tuple[str, ...] = ()
    """The same ids as written in the file."""


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """Events in the speakers' lives around one session, from the file."""

    session: int
    date: str
    of: Mapping[str, tuple[str, ...]]
    """Events by speaker, each a sentence; may be empty."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A fact about a speaker, noted after a session."""

    speaker: str
    text: str
    evidence: tuple[str, ...]
    session: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One long conversation with its questions."""

    id: str
    speakers: tuple[str, str]
    sessions: tuple[LocomoSession, ...]
    """In order of their dates."""
    questions: tuple[LocomoQuestion, ...]
    events: tuple[SessionEvents, ...] = ()
    observations: tuple[Observation, ...] = ()
    summaries: Mapping[int, str] = field(default_factory=dict)
    """Summaries by session number."""
    notes: tuple[str, ...] = ()
    """Warnings about the file, a sentence each."""

    @property
    def turns(self) -> tuple[LocomoTurn, ...]:
        """All turns, in order."""
        turns: list[LocomoTurn] = []
        for session in self.sessions:
            turns += session.turns
        return tuple(turns)


# --- Dates in LoCoMo's form: `1:56 pm on 8 May, 2023`.

_DATE = re.compile(
    r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([A-Za-z]+),?\s+(\d{4})\s*",
    re.IGNORECASE,
)
_NOON = 12


def read_date(text: str) -> datetime | None:
    """Return the aware (UTC) date in the text, or None if there is none."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    hour, minute, half, day, month, year = match.groups()
    number = month_number(month)
    if number is None or not 1 <= int(hour) <= _NOON:
        return None
    try:
        return datetime(
            int(year),
            number,
            int(day),
            int(hour) % _NOON + _NOON * (half.lower() == "p"),
            int(minute),
            tzinfo=timezone.utc,
        )
    except ValueError:
        return None


def format_locomo_date(moment: datetime) -> str:
    """Return the date in the data set's form."""
    hour = moment.hour % _NOON or _NOON
    return f"{hour}:{moment.minute:02} {'am' if moment.hour < _NOON else 'pm'} on {written_day(moment)}"


def written_day(day: date) -> str:
    """Return the day in the data set's form: `8 May, 2023`."""
    return f"{day.day} {MONTHS[day.month - 1]}, {day.year}"


# --- Reading: the published file, a file with one conversation, or a folder of these.

_ID = re.compile(r"D:?(\d+):(\d+)")


def repair_citations(
    cited: Iterable[object], turn_ids: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the distinct ids that citations refer to, and a sentence per citation that was repaired or dropped.

    A citation may contain several ids, and an id leading zeros or an extra colon. Ids without a turn are dropped.
    """
    cited_ids: dict[str, None] = {}
    notes: list[str] = []
    for text in cited:
        matches = _ID.findall(str(text))
        ids = [f"D{int(session)}:{int(turn)}" for session, turn in matches]
        known_ids = [turn_id for turn_id in ids if turn_id in turn_ids]
        cited_ids.update(dict.fromkeys(known_ids))
        if not known_ids:
            notes.append(f"the evidence {text!r} points to no turn")
        elif known_ids != [text]:
            if len(known_ids) == len(ids):
                remark = ""
            else:
                remark = ", the rest points to no turn"
            notes.append(
                f"the evidence {text!r} is read as {', '.join(known_ids)}{remark}"
            )
    return tuple(cited_ids), tuple(notes)


KNOWN_FILES: Mapping[str, str] = {
    "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4": "locomo10.json, as published"
}
"""The published files by SHA-256."""

PUBLISHED = "locomo10.json"
"""The name of the published file."""

_SESSION = re.compile(r"session_(\d+)")
_SESSION_DATE = re.compile(r"session_(\d+)_date_time")


@dataclass(frozen=True, slots=True)
class LocomoData:
    """The samples of a file, in order."""

    path: Path
    samples: tuple[Sample, ...]
    sha256: str
    """Of the file, or of a folder's files, concatenated in order of their names."""

    @property
    def known_as(self) -> str | None:
        """The name of the published file, or None if it is not one."""
        return KNOWN_FILES.get(self.sha256)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the data, a sentence each."""
        notes = []
        if not self.known_as:
            notes.append(
                f"{self.path.name} is not the published file (SHA-256 {self.sha256[:12]}...)"
            )
        for sample in self.samples:
            notes += [f"{sample.id}: {note}" for note in sample.notes]
        return tuple(notes)


def load_locomo(path: Path) -> LocomoData:
    """Read a file or folder; DatasetError names the file, the record and what was expected."""
    files = [path]
    if path.is_dir():  # if a folder contains the published file, only that is read
        if (path / PUBLISHED).is_file():
            files = [path / PUBLISHED]
        else:
            files = sorted(path.glob("*.json"))
    if not files:
        raise DatasetError(
            f"{path}: holds no *.json file. Name locomo10.json, or a folder of conversations"
        )
    digest = hashlib.sha256()
    samples = []
    for file in files:
        try:
            raw = read_regular(file)
        except OSError as error:
            cure = "download locomo10.json, or make conversations with ltm data locomo-generate"
            raise DatasetError(
                f"{file}: cannot be read: {error.strerror}. LoCoMo is not shipped: {cure}"
            ) from error
        # of the bytes: a reformatted file is a different one
        digest.update(raw)
        top = Field(parse_json(raw, str(file)), str(file))
        with faults_of_data():
            tops = top.items("conversations") if isinstance(top.value, list) else [top]
            samples += [_parse_sample(record, file.stem) for record in tops]
    if not samples:
        raise DatasetError(
            f"{path}: holds no conversation. Name locomo10.json, or a folder of conversations"
        )
    for name, count in Counter(sample.id for sample in samples).items():
        if count > 1:
            raise DatasetError(
                f"{path}: {count} conversations have the sample_id {name!r}. Rename all but one"
            )
    return LocomoData(path, tuple(samples), digest.hexdigest())


def _parse_sample(top: Field, stem: str) -> Sample:
    id_field = top.mapping().get("sample_id")
    name = id_field.text() if id_field else ""
    place = structs.replace(top, where=f"{top.where}: {name}") if name else top
    fields = place.mapping()
    talk = fields.get("conversation", place)  # the older layout has it at the top level
    parts = fields_of(talk, ("speaker_a", "speaker_b"), "conversation of LoCoMo")
    speakers = (parts["speaker_a"].text(), parts["speaker_b"].text())
    sessions, notes = _parse_sessions(parts)
    turns: list[LocomoTurn] = []
    for session in sessions:
        turns += session.turns
    if not turns:
        raise talk.fault(
            "holds no turn: expected 'session_1', a list of turns, 'session_1_date_time', ..."
        )
    notes += _turn_notes(turns, speakers)
    turn_ids = {turn.id for turn in turns}
    rows = fields["qa"].items("questions") if "qa" in fields else ()
    questions = []
    for index, row in enumerate(rows):
        questions.append(_parse_question(row, index, turn_ids, notes))
    text_counts = Counter(question.text for question in questions)
    twice = sum(count > 1 for count in text_counts.values())
    if twice:
        notes.append(
            f"{twice} question texts occur more than once; questions are known by their index"
        )
    sample = Sample(
        name or stem, speakers, sessions, tuple(questions), notes=tuple(notes)
    )
    return _with_annotations(sample, fields, turn_ids)


def _turn_notes(
    turns: Sequence[LocomoTurn], speakers: tuple[str, str]
) -> Iterator[str]:
    """Yield warnings about the speakers and ids of turns."""
    if speakers[0] == speakers[1]:
        yield f"both speakers are called {speakers[0]!r}: they cannot be distinguished"
    else:
        for name in dict.fromkeys(turn.speaker for turn in turns):
            if name not in speakers:
                yield f"{name!r} speaks, but is not one of its two speakers"
    for turn_id, count in Counter(turn.id for turn in turns).items():
        if count > 1:
            yield f"the id {turn_id!r} is that of more than one turn"


def _parse_sessions(
    parts: Mapping[str, Field],
) -> tuple[tuple[LocomoSession, ...], list[str]]:
    dated = _by_session_number(parts, _SESSION_DATE)
    entries = _by_session_number(parts, _SESSION)
    notes = []
    sessions = []
    # the published file has dates for sessions that do not exist
    filled = {number for number, item in entries.items() if item.value}
    empty = sorted(dated.keys() - filled)
    if empty:
        notes.append(
            f"has dates but no turns for the sessions {', '.join(map(str, empty))}"
        )
    for number, item in sorted(entries.items()):
        if number not in dated:
            raise item.fault(f"the field 'session_{number}_date_time' is missing.")
        when = dated[number].text()
        moment = read_date(when)
        if moment is None:
            raise dated[number].error("a date such as '1:56 pm on 8 May, 2023'")
        turns = []
        for turn in item.items("turns"):
            fields = turn.mapping(required=("speaker", "dia_id", "text"))
            if "img_url" in fields and fields["img_url"].value:
                images = fields["img_url"].texts()
            else:
                images = ()
            caption = str(
                (fields["blip_caption"].value if "blip_caption" in fields else "") or ""
            )
            # may be empty if a photo says it all, so `text()` is too strict
            text = fields["text"].value
            if not isinstance(text, str):
                raise fields["text"].error("a text")
            turns.append(
                LocomoTurn(
                    fields["dia_id"].text(),
                    fields["speaker"].text(),
                    text,
                    caption,
                    images,
                )
            )
        sessions.append(LocomoSession(number, when, moment, tuple(turns)))
    ordered = sorted(sessions, key=lambda session: (session.at, session.number))
    if ordered != sessions:
        notes.append(
            "its sessions are not in the order of their dates; they are told by date"
        )
    return tuple(ordered), notes


def _by_session_number(
    parts: Mapping[str, Field], pattern: re.Pattern[str]
) -> dict[int, Field]:
    by_number = {}
    for name, part in parts.items():
        if match := pattern.fullmatch(name):
            by_number[int(match[1])] = part
    return by_number


def _parse_question(
    item: Field, index: int, turn_ids: Collection[str], notes: list[str]
) -> LocomoQuestion:
    """Parse a question; `notes` collects warnings."""
    fields = fields_of(item, ("question", "category"), "question")
    number = fields["category"].whole(least=1)
    if number > max(Category):
        raise fields["category"].error(f"a category from 1 to {max(Category):d}")
    cited = _list_of(fields.get("evidence"))
    evidence, repairs = repair_citations(cited, turn_ids)
    answer = _optional_text(fields.get("answer"))
    suggested = _optional_text(fields.get("adversarial_answer"))
    if answer is None and number != Category.ADVERSARIAL:
        raise item.fault(
            "the field 'answer' is missing: only questions of category 5 may have none."
        )
    text = fields["question"].text()
    remarks = [*repairs]
    if answer == "":
        remarks.append("has an empty answer, so that every answer earns 0")
    if suggested and abstains_officially(suggested):
        remarks.append(f"suggests {suggested!r}, so that both choices are right")
    if not cited:
        remarks.append("has no evidence")
    notes += [f"question {index}: {remark}" for remark in remarks]
    return LocomoQuestion(
        index,
        Category(number),
        text,
        answer,
        suggested,
        evidence,
        tuple(map(str, cited)),
    )


def _optional_text(field: Field | None) -> str | None:
    if field is None or field.value is None:
        return None
    return text_or_number(field)


def _list_of(item: Field | None) -> Sequence[Any]:
    """Return the values of a list; any other value becomes a list of itself."""
    if item is None or not item.value:
        return ()
    if isinstance(item.value, list):
        return item.value
    return (item.value,)


def _with_annotations(
    sample: Sample, fields: Mapping[str, Field], turn_ids: Collection[str]
) -> Sample:
    """Return a sample with its file's annotations, by session."""

    def by_session(name: str) -> Iterator[tuple[int, Field]]:
        for key, one in (fields[name].mapping() if name in fields else {}).items():
            if match := _SESSION.search(key):
                # `events_session_1`, `session_1_observation`, `session_1_summary`
                yield int(match[1]), one

    events = []
    observations = []
    for number, entry in by_session("event_summary"):
        events.append(_parse_events(entry, number, sample.speakers))
    for number, entry in by_session("observation"):
        for speaker, notes in entry.mapping().items():
            for note in notes.items("observations"):
                fact, evidence = _parse_observation(note, turn_ids)
                observations.append(Observation(speaker, fact, evidence, number))
    summaries = {}
    for number, entry in by_session("session_summary"):
        if entry.value:
            summaries[number] = entry.text()
    return replace(
        sample,
        events=tuple(events),
        observations=tuple(observations),
        summaries=summaries,
    )


def _parse_events(entry: Field, number: int, speakers: Iterable[str]) -> SessionEvents:
    parts = entry.mapping()
    of = {}
    for name in speakers:
        of[name] = tuple(map(str, filter(None, _list_of(parts.get(name)))))
    return SessionEvents(
        number, str(parts["date"].value) if "date" in parts else "", of
    )


def _parse_observation(
    note: Field, turn_ids: Collection[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the fact and the turns of a note: a pair of both, or only the fact."""
    fact = note.value
    cited: Any = ""
    if isinstance(note.value, list):
        fact, cited = [*note.value, "", ""][:2]
    evidence, _ = repair_citations(
        cited if isinstance(cited, list) else [cited], turn_ids
    )
    return str(fact), evidence


# --- Presentation: dated, with named speakers and photos as captions; nothing that
# gives answers away.

ACKNOWLEDGED = "I have read it."
"""The reply of an agent that accepts history, given as its own after each part."""
CHARACTERS = 6_000
"""The most tokens per part of a session, which fits into the 4,096 tokens that any agent accepts."""
_TOLD_SESSION = re.compile(r"[DOS](\d+)")


def opening_message(sample: Sample, telling: str = "turns") -> str:
    """Return the message that explains the conversation to come."""
    first, second = sample.speakers
    if telling in NOTE_KINDS:
        subject = "notes on a long conversation"
    else:
        subject = "a long conversation"
    return (
        f"You are going to read {subject} between {first} and {second}, session by session, each with its date. "
        "Remember what they tell each other. Later I will ask you about it; until then a short acknowledgement will do."
    )


def history_exchanges(
    sample: Sample, telling: str, photos: Mapping[str, str] | None = None
) -> list[PastExchange]:
    """Return the sample in order as exchanges: one per turn, part of a session, or note.

    `photos`: files of photos by the last part of their address, for agents that accept images. DatasetError if notes
    are requested but missing.
    """
    pasts: list[PastExchange] = []
    for session in sample.sessions:
        if telling in NOTE_KINDS:
            pasts += _note_exchanges(sample, session, telling)
        else:
            pasts += _session_exchanges(session, telling, photos or {})
    if telling in NOTE_KINDS and not pasts:
        raise DatasetError(
            f"--ltm-suite=locomo?telling={telling}: conversation {sample.id!r} of the file has no {telling}"
        )
    return pasts


def turn_text(turn: LocomoTurn, *, is_pictured: bool = False) -> str:
    """Return an utterance with the photo's caption; `is_pictured`: the photo itself is sent."""
    photo = f" [shares a photo: {turn.caption}]" if turn.caption else ""
    return f"{turn.speaker}: {turn.text}{' [shares a photo, see the image]' if is_pictured else photo}"


def photos_in(folder: Path, samples: Iterable[Sample]) -> tuple[dict[str, str], str]:
    """Return the files of the samples' photos by name, and a note on missing ones ("" if none is).

    DatasetError if it is not a folder, contains no photo, or has one that cannot be sent.
    """
    naming = "Their files are named as the addresses end: photo.jpg"
    if not folder.is_dir():
        raise DatasetError(f"{folder}: no folder of photos. {naming}")
    shared: set[str] = set()
    for sample in samples:
        for turn in sample.turns:
            shared.update(_photo_names(turn))
    found = {}
    for name in sorted(shared):
        file = folder / name
        if file.is_symlink() or file.exists():
            found[name] = file
    if shared and not found:
        raise DatasetError(
            f"{folder}: none of the {len(shared):,} photos is here. {naming}"
        )
    for file in found.values():
        read_image(file)
    notice = ""
    missing = len(shared) - len(found)
    if missing:
        notice = f"{missing:,} of {len(shared):,} photos are not in {folder}: captions are sent instead"
    return {name: str(file) for name, file in found.items()}, notice


def _photo_names(turn: LocomoTurn) -> list[str]:
    """Return the file names of a turn's photos: the last parts of their addresses."""
    names = []
    for address in turn.images:
        name = address.partition("?")[0].replace("\\", "/").rpartition("/")[2]
        if name not in ("", ".", "..") and name.isprintable():
            names.append(name)
    return names


def session_of(name: str) -> int:
    """Return the session number of a turn or exchange, from its id in any history format."""
    match = _TOLD_SESSION.match(name)
    return int(match[1]) if match else 0


def held_by(past: Sequence[PastExchange], evidence: Sequence[str]) -> tuple[str, ...]:
    """Return the ids that an Ask may refer to: the evidence as it was presented.

    A turn that was sent keeps its id. In note formats, a turn that no note covers is replaced by its session's notes.
    """
    told_ids: set[str] = set()
    for exchange in past:
        told_ids.update((exchange.id, *exchange.holds))
    notes = group_by(past, lambda exchange: session_of(exchange.id))
    ids: list[str] = []
    for turn in evidence:
        if turn in told_ids:
            ids.append(turn)
        else:
            ids += [exchange.id for exchange in notes.get(session_of(turn), ())]
    return tuple(dict.fromkeys(ids))


def _note_exchanges(
    sample: Sample, session: LocomoSession, telling: str
) -> Iterator[PastExchange]:
    """Yield the facts noted after a session, or its summary.

    Each fact lists its turns, so that retrieval is reported by turns; for summaries, recalls compare sessions.
    """
    notes: list[tuple[str, str, tuple[str, ...]]] = []
    if telling == "observations":
        for fact in sample.observations:
            if fact.session == session.number and fact.text.strip():
                name = f"O{session.number}:{len(notes) + 1}"
                notes.append((name, fact.text, fact.evidence))
    else:
        summary = sample.summaries.get(session.number, "")
        if summary.strip():
            notes.append((f"S{session.number}", summary, ()))
    for name, note, evidence in notes:
        text = f"[{session.when}] {note}"
        yield PastExchange(name, session.at, text, ACKNOWLEDGED, text, evidence)


def _session_exchanges(
    session: LocomoSession, telling: str, photos: Mapping[str, str]
) -> Iterator[PastExchange]:
    """Yield the turns of a session that are sent together (one, or a whole part), with their photos."""
    part: list[LocomoTurn] = []
    between = " " if telling == "turns" else "\n"
    for number, turn in enumerate(session.turns, start=1):
        part.append(turn)
        following = session.turns[number : number + 1]
        if (
            telling != "turns"
            and following
            and sum(len(turn_text(part_turn)) for part_turn in (*part, *following))
            <= CHARACTERS
        ):
            continue
        ids = tuple(turn.id for turn in part)
        name, holds = (
            (ids[0], ()) if telling == "turns" else (f"{ids[0]}-{ids[-1]}", ids)
        )
        images: list[str] = []
        pictured_texts = []
        for part_turn in part:
            files = [photos[name] for name in _photo_names(part_turn) if name in photos]
            images += files
            pictured_texts.append(turn_text(part_turn, is_pictured=bool(files)))
        date = f"[{session.when}]"
        text = between.join([date, *map(turn_text, part)])
        pictured = between.join([date, *pictured_texts]) if images else ""
        yield PastExchange(
            name,
            session.at,
            text,
            ACKNOWLEDGED,
            text,
            holds,
            images=tuple(images),
            pictured=pictured,
        )
        part = []

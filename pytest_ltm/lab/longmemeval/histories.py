"""Compiles one history: evidence and fillers in their places, with dates, within the requested length."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct

from pytest_ltm.api.model import content_stems
from pytest_ltm.api.storage import DatasetError, DefinitionError, Field
from pytest_ltm.datasets.longmemeval.record import (
    LongMemEvalFile,
    format_longmemeval_date,
    iter_record_slices,
    part_of,
    read_date,
    read_record,
    read_turn,
)
from pytest_ltm.datasets.rows import faults_of_data
from pytest_ltm.lab.longmemeval.needles import Mentions
from pytest_ltm.lab.longmemeval.session_text import (
    LEAST,
    SESSION_TOKENS,
    load_themes,
    theme_of,
    write_session,
)

# The fields that are copied into a compiled record.
ASKED = ("question_id", "question_type", "question", "answer", "question_date")


class Evidence(Struct, frozen=True):
    """One session that a question depends on."""

    id: str
    when: str
    """As written in the file."""
    moment: datetime
    turns: list[dict[str, Any]]
    """As in the file."""


class NeedleRecord(Struct, frozen=True):
    """A question with its evidence."""

    fields: Mapping[str, Any]
    """The fields in ASKED."""
    asked_at: datetime
    evidence: tuple[Evidence, ...]
    """In order of their dates."""
    where: str
    """File and question, for errors."""

    @property
    def id(self) -> str:
        """The question's id."""
        return str(self.fields["question_id"])

    def user_text(self) -> str:
        """Return all of the user's words in the evidence."""
        return user_text(self.turns)

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The turns of the evidence."""
        return list(chain.from_iterable(session.turns for session in self.evidence))

    def stems_of_needle(self) -> frozenset[str]:
        """Return the stems of the question and the marked turns, or of all user turns if none is marked."""
        marked = [turn for turn in self.turns if turn.get("has_answer") is True]
        if marked:
            text = "\n".join(turn["content"] for turn in marked)
        else:
            text = self.user_text()
        return content_stems(f"{self.fields['question']}\n{text}")


def user_text(turns: Iterable[Mapping[str, Any]]) -> str:
    """Return all of the user's words in these turns."""
    return "\n".join(turn["content"] for turn in turns if turn["role"] == "user")


def read_needles(path: Path) -> Iterator[NeedleRecord]:
    """Yield every question of a file; DatasetError for a file without records, or with an unusable one."""
    for entry in LongMemEvalFile(path).entries:
        yield parse_needle(
            json.loads(part_of(path, entry.start, entry.end)), f"{path}: {entry.id}"
        )


def parse_needle(raw: dict[str, Any], where: str) -> NeedleRecord:
    """Return a record's question with the sessions that it cites, or with all of them if it cites none."""
    with faults_of_data():
        record = read_record(Field(raw, where))
    talk = raw["haystack_sessions"]
    sessions = []
    names = raw.get("haystack_session_ids")
    if not names:
        names = [f"session_{number}" for number in range(len(talk))]
    for name, when, turns in zip(names, raw["haystack_dates"], talk, strict=True):
        moment = read_date(when)
        assert moment is not None, "read_record has read it"
        sessions.append(Evidence(str(name), when, moment, turns))
    cited = set(record.answer_sessions)
    absent = cited - {session.id for session in sessions}
    if absent:
        raise DatasetError(
            f"{where}: its evidence is absent: no session {', '.join(sorted(absent))}"
        )
    evidence = {}
    for session in sessions:
        if not cited or session.id in cited:
            evidence[session.id] = session
    ordered = sorted(evidence.values(), key=lambda session: session.moment)
    fields = {name: raw[name] for name in ASKED}
    return NeedleRecord(fields, record.at, tuple(ordered), where)


# --- Sessions from files (JSON lists of records or sessions), with one of them in
# memory at a time.

_TURNS = ("turns", "messages")
_IN_MEMORY = 4


class Corpus:
    """A file of sessions; `evidence_only` restricts records to the sessions that they cite.

    Raises DatasetError for a file without records or sessions.
    """

    def __init__(self, path: Path, *, evidence_only: bool = False) -> None:
        self.path = path
        self._evidence_only = evidence_only
        self._slices = tuple(iter_record_slices(path))
        if not self._slices:
            raise DatasetError(f"{path}: holds no sessions to fill with")
        # records are large, so only a few are kept in memory
        self._item = lru_cache(maxsize=_IN_MEMORY)(self._read_sessions)
        self._item(0)  # reports an invalid file at once

    def draw_sessions(self, rng: Random) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield every session once, with its id, in random order, alternating between records."""
        order = rng.sample(range(len(self._slices)), len(self._slices))
        turn = 0
        while order:
            for place in list(order):
                sessions = self._item(place)
                if turn >= len(sessions):
                    order.remove(place)
                    continue
                yield sessions[(turn + place) % len(sessions)]
            turn += 1

    def _read_sessions(self, place: int) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the sessions of an entry with their ids: a record, a list of turns, or an object with one."""
        raw = part_of(self.path, *self._slices[place])
        try:
            item = Field(json.loads(raw), f"{self.path}: entry {place + 1}")
            name = f"{self.path.stem}_{place}"
            if isinstance(item.value, list):
                return [(name, _unmarked_turns(item))]
            fields = item.mapping()
            if "haystack_sessions" not in fields:
                key = next((key for key in _TURNS if key in fields), None)
                if key is None:
                    raise item.error(
                        "a record with haystack_sessions, a list of turns, or an object with `turns`"
                    )
                id_field = fields.get("session_id") or fields.get("id")
                if id_field:
                    name = str(id_field.value)
                return [(name, _unmarked_turns(fields[key]))]
            return self._record_sessions(fields, name)
        except DefinitionError as error:
            raise DatasetError(
                f"{error} A file of fillers is a JSON list of records or of sessions"
            ) from error
        except (ValueError, RecursionError) as error:
            raise DatasetError(
                f"{self.path}: entry {place + 1}: not JSON: {error}"
            ) from error

    def _record_sessions(
        self, fields: Mapping[str, Field], name: str
    ) -> list[tuple[str, list[dict[str, Any]]]]:
        sessions = fields["haystack_sessions"].items("sessions")
        names = []
        if "haystack_session_ids" in fields:
            ids = fields["haystack_session_ids"].items()
            names = [str(session_id.value) for session_id in ids]
        if len(names) != len(sessions):
            names = [f"{name}_{number}" for number in range(len(sessions))]
        chosen = set(names)
        if "answer_session_ids" in fields:
            cited = set(fields["answer_session_ids"].texts())
            if self._evidence_only and cited:
                chosen = cited
        rows = []
        for session_id, turns in zip(names, sessions, strict=True):
            if session_id in chosen:
                rows.append((session_id, _unmarked_turns(turns)))
        return rows


def _unmarked_turns(session: Field) -> list[dict[str, Any]]:
    """Return a session's turns without marks: they are not evidence for another question."""
    turns = map(read_turn, session.items("turns"))
    return [{"role": turn.role, "content": turn.content} for turn in turns]


# --- The positions of evidence in a history, and the dates of all sessions.

MAY = datetime(2023, 5, 1, tzinfo=timezone.utc)
# How long before the first evidence a history begins, unless that is in May 2023.
LEAD = timedelta(days=30)
_MINUTE = timedelta(minutes=1)


def evidence_places(rng: Random, evidence: int, total: int) -> list[int]:
    """Draw the indices of the evidence among all sessions, in order; every choice is equally likely."""
    return sorted(rng.sample(range(total), evidence))


def session_dates(
    rng: Random, anchors: Sequence[tuple[int, datetime]], total: int, asked_at: datetime
) -> list[datetime]:
    """Return the dates of all sessions, in ascending order.

    `anchors`: the indices and dates of the evidence, in order. A session after the last of them is dated before the
    question, or with the last evidence if that is later than the question.
    """
    first = anchors[0][1]
    last = anchors[-1][1]
    # published histories begin on 1 May
    in_may = first > MAY and (first.year, first.month) == (MAY.year, MAY.month)
    fixed = [
        (-1, MAY if in_may else first - LEAD),
        *anchors,
        (total, max(asked_at, last)),
    ]
    moments: list[datetime] = []
    for (place, start), (following, end) in pairwise(fixed):
        # to the minute, from `start` up to `end`, excluding it if there is a minute in
        # between
        minutes = max(0, (end - start) // _MINUTE - 1)
        drawn = sorted(rng.randint(0, minutes) for _ in range(following - place - 1))
        moments += [*(start + _MINUTE * minute for minute in drawn), end]
    return moments[:-1]


# A history is complete when it lacks less than this share of its tokens.
CLOSE = 0.005
# A history that lacks more than this share is refused.
LACKING = 0.1
_IN_VAIN = 20  # the search ends after this many misfitting fillers in a row


def compile_history(
    record: NeedleRecord,
    fillers: Fillers,
    *,
    seed: int,
    count: Callable[[str], int],
    sessions: int | None = None,
    tokens: int | None = None,
) -> dict[str, Any]:
    """Return the record with its history in the published schema, with sessions in order of their dates.

    Its length is given in `sessions`, or as a maximum in `tokens`; without either it is the evidence alone. Raises
    DatasetError if the evidence alone is too long, or if the fillers run out.
    """
    # seeded per question: a history does not depend on their number
    rng = Random(f"longmemeval history {seed} {record.id}")
    supply = fillers.draw_fillers(record, f"longmemeval fillers {seed} {record.id}")
    chosen: list[FillerSession] = []
    if sessions is not None:
        filler_count = sessions - len(record.evidence)
        _require_room(
            record, filler_count, f"{sessions} sessions", f"is {len(record.evidence)}"
        )
        supplied = (supply(None) for _ in range(filler_count))
        chosen = list(filter(None, supplied))
        if len(chosen) < filler_count:
            raise DatasetError(
                f"{record.where}: only {len(chosen)} of {filler_count} fillers were found that do not touch its "
                "evidence. Give more --fillers, or ask for fewer sessions"
            )
    elif tokens is not None:
        chosen = _fill_tokens(record, supply, tokens, count)
    # the last ones had to fit into the remaining space, so they are short
    rng.shuffle(chosen)
    total = len(record.evidence) + len(chosen)
    places = evidence_places(rng, len(record.evidence), total)
    evidence = dict(zip(places, record.evidence, strict=True))
    anchors = [(place, session.moment) for place, session in evidence.items()]
    moments = session_dates(rng, anchors, total, record.asked_at)
    remaining = iter(chosen)
    history: list[Evidence | FillerSession] = []
    dates = []
    for place, moment in enumerate(moments):
        if place in evidence:
            history.append(evidence[place])
            dates.append(evidence[place].when)
        else:
            history.append(next(remaining))
            dates.append(format_longmemeval_date(moment))
    return {
        **record.fields,
        "haystack_dates": dates,
        "haystack_session_ids": [session.id for session in history],
        "haystack_sessions": [session.turns for session in history],
        "answer_session_ids": [session.id for session in record.evidence],
    }


def _require_room(record: NeedleRecord, room: int, amount: str, alone: str) -> None:
    if room < 0:
        raise DatasetError(
            f"{record.where}: {amount} are asked for, and its evidence alone {alone}. "
            "Evidence is never dropped: ask for more"
        )


def _fill_tokens(
    record: NeedleRecord, supply: Supply, tokens: int, count: Callable[[str], int]
) -> list[FillerSession]:
    evidence = sum(count(turn["content"]) for turn in record.turns)
    room = tokens - evidence
    _require_room(record, room, f"{tokens:,} tokens", f"has {evidence:,}")
    filler_sessions: list[FillerSession] = []
    vain = 0
    while room > tokens * CLOSE and vain < _IN_VAIN:
        vain += 1
        if filler := supply(room):
            filler_sessions.append(filler)
            room -= filler.tokens
            vain = 0
    if room > tokens * LACKING:
        raise DatasetError(
            f"{record.where}: the fillers that do not touch its evidence fill only {tokens - room:,} of {tokens:,} "
            "tokens. Give more --fillers, or ask for fewer tokens"
        )
    return filler_sessions


# --- Fillers that must not be combined with a question: they might contradict its
# evidence, or add to it.

_SHARED = 0.75  # of the question's words in a session mean the same subject


class Clash:
    """Detects fillers that clash with one question and its evidence."""

    def __init__(self, record: NeedleRecord) -> None:
        self._ids = {session.id for session in record.evidence}
        self._question = content_stems(str(record.fields["question"]))
        self._needle_stems = record.stems_of_needle()
        self._themes = themes_in(record.user_text())

    def with_session(self, name: str, user_text: str) -> bool:
        """Return whether a file's session clashes: it is evidence, shares its theme, or is close to the question."""
        if name in self._ids or self._themes & themes_in(user_text):
            return True
        return len(self._question & content_stems(user_text)) >= _SHARED * len(
            self._question
        )

    def allowed_mentions(self, person: str) -> Mentions:
        """Return what fillers may mention of the user: nothing with the same theme or words."""
        return Mentions(person, self._themes, self._needle_stems, backwards=True)


def themes_in(text: str) -> frozenset[str]:
    """Return the themes whose generated requests occur in the text."""
    themes = set[str]()
    for theme in load_themes().values():
        if any(request.text in text for request in theme.requests):
            themes.add(theme.name)
    return frozenset(themes)


# --- Sources of filler sessions, including one that needs no corpus.


class FillerSession(Struct, frozen=True):
    """One filler session."""

    id: str
    turns: list[dict[str, Any]]
    tokens: int


# A source of fillers, which draws those for one question's history, reproducibly by
# seed.
Fillers: TypeAlias = "GeneratedFillers | MixedFillers"
# Fillers for one history: returns another one with at most that many tokens, or None if
# none fits.
Supply: TypeAlias = "Callable[[int | None], FillerSession | None]"


class GeneratedFillers(Struct, frozen=True):
    """Endless task-oriented sessions in which the user mentions other things, as in the published mixture."""

    count: Callable[[str], int]

    def draw_fillers(self, record: NeedleRecord, seed: str) -> Supply:
        """Return fillers that are not about anything in the question or its evidence."""
        rng = Random(seed)
        mentions = Clash(record).allowed_mentions(record.id)

        def supply(room: int | None) -> FillerSession | None:
            size = rng.randint(*SESSION_TOKENS)
            if room is not None:
                if room < LEAST:
                    return None
                size = room if room < SESSION_TOKENS[0] else min(size, room)
            turns = write_session(
                rng, theme_of(rng), self.count, tokens=size, mentions=mentions.next
            )
            tokens = sum(self.count(turn["content"]) for turn in turns)
            # a session may be longer than requested, because sentences are never cut
            if room is not None and tokens > room:
                return None
            return FillerSession(f"task_{rng.getrandbits(32):08x}", turns, tokens)

        return supply


# --- The published mixture of fillers: half of them evidence of other questions, the
# rest in equal parts from files.

_TRIES = 40  # sessions to try for one that fits into the remaining space


class MixedFillers(Struct, frozen=True):
    """Fillers from files (Wu et al., ICLR 2025: 50 % sessions of other attributes, 25 % and 25 % public chats)."""

    needles: Corpus
    """The needles' own file: the evidence of its other questions."""
    chats: Sequence[Corpus]
    count: Callable[[str], int]

    def draw_fillers(self, record: NeedleRecord, seed: str) -> Supply:
        """Return the fillers of one question, reproducibly by seed, without repetition or clashes."""
        rng = Random(seed)
        clash = Clash(record)
        used = set[str]()
        weights = [1.0, *(1 / len(self.chats) for _ in self.chats)]
        streams = []
        for number, corpus in enumerate((self.needles, *self.chats)):
            streams.append(corpus.draw_sessions(Random(f"{number} {seed}")))

        def supply(room: int | None) -> FillerSession | None:
            tries = 0
            while streams and (room is None or tries < _TRIES):
                place = rng.choices(range(len(streams)), weights)[0]
                drawn = next(streams[place], None)
                if drawn is None:
                    del streams[place], weights[place]
                    continue
                tries += 1
                name, turns = drawn
                text = user_text(turns)
                if not turns or name in used or clash.with_session(name, text):
                    continue
                tokens = sum(self.count(turn["content"]) for turn in turns)
                if room is None or tokens <= room:
                    used.add(name)
                    return FillerSession(name, turns, tokens)
            return None

        return supply


# --- Writing records as one JSON list, each as soon as it is made.


def write_histories(path: Path, records: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """Write the records to a file, which appears when it is complete; return the number of records and bytes.

    Raises DatasetError if it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            number = 0
            for number, record in enumerate(records, start=1):
                file.write("[\n" if number == 1 else ",\n")
                file.write(json.dumps(record, ensure_ascii=False))
            file.write("\n]\n" if number else "[]\n")
        size = part.stat().st_size
        os.replace(part, path)  # noqa: PTH105 - Path.replace is the same call
    except OSError as error:
        raise DatasetError(
            f"{path}: cannot be written: {error.strerror or error}"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return number, size

"""Sessions from the event graph: the utterances of both speakers, and the facts that each turn reveals."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Iterator, Sequence
from math import inf, log
from typing import NamedTuple

from msgspec import Struct

from pytest_ltm.api.model import upper_first
from pytest_ltm.lab.locomo.world import (
    Detail,
    Event,
    Outline,
    Tellable,
    World,
    date_phrase,
    load_storylines,
    load_texts,
    tellable_kinds,
)

HAPPENED, PLAN, CAUSE = "happened", "plan", "cause"
"""Facts of an event that a turn may reveal in addition to its roles."""
_WITH_PHOTO = 0.3
_WITH_CAUSE = 0.75
# The probability of an unrelated photo in a turn between greetings and farewells; with
# those of events, about 123 of 588 turns share one, as published.
_ANY_PHOTO = 0.2
# The intended words per turn: median, and spread of the logarithm. A last sentence may
# exceed them, so that turns match the published ones, half of which have 20 words or
# more and a tenth 40.
_MEDIAN_WORDS = 8.0
_SPREAD = 0.87
# A turn that lacks fewer words than this gets no further sentence.
_LEAST_ASIDE = 4
# Attempts to draw a sentence that was not used recently.
_TRIES = 20
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_APART = 6  # sentences of any purpose between two equal ones, if there are others


class Reveal(Struct, frozen=True):
    """One fact that a turn reveals."""

    event: Event
    role: str
    """A role of the event, or HAPPENED, PLAN, CAUSE."""
    value: str
    """As in the text or the caption; for dates the words, such as `last Friday`."""


class GeneratedTurn(Struct, frozen=True):
    """One generated turn."""

    id: str
    speaker: str
    text: str
    caption: str = ""
    reveals: tuple[Reveal, ...] = ()

    @property
    def session(self) -> int:
        """The number of its session."""
        return int(self.id[1:].split(":")[0])

    def as_json(self) -> dict[str, str]:
        """Return the turn in the form of a LoCoMo file."""
        photo = {"blip_caption": self.caption} if self.caption else {}
        return {"speaker": self.speaker, **photo, "dia_id": self.id, "text": self.text}


class _DraftTurn(NamedTuple):
    text: str
    caption: str = ""
    reveals: tuple[Reveal, ...] = ()


def write_sessions(
    world: World, outlines: Sequence[Outline], rng: random.Random
) -> list[list[GeneratedTurn]]:
    """Return the turns of each session, with alternating speakers."""
    speaker = _Speaker(world, rng)
    events = iter([event for event in world.events if not event.beside])
    sessions = []
    for outline in outlines:
        you = world.speakers[outline.first]
        speaker_name = world.speakers[1 - outline.first]
        turns: list[GeneratedTurn] = []
        lines = speaker.lengthened(speaker.session(outline, events), outline)
        for number, (text, caption, reveals) in enumerate(lines, start=1):
            you, speaker_name = speaker_name, you
            turns.append(
                GeneratedTurn(
                    f"D{outline.number}:{number}",
                    speaker_name,
                    text.format(you=you),
                    caption,
                    reveals,
                )
            )
        sessions.append(turns)
    return sessions


class _Speaker:
    """Writes utterances, without repetition as long as there are alternatives."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self._by_id = {event.id: event for event in world.events}
        self._remaining: dict[str, list[str]] = {}
        self._recent: deque[str] = deque(maxlen=_APART)
        self._lately: deque[str] = deque(maxlen=_APART)

    def session(
        self, outline: Outline, events: Iterator[Event]
    ) -> Iterator[_DraftTurn]:
        """Yield the lines of one session; `{you}` stands for the other speaker."""
        yield _DraftTurn(self._words("greetings"))
        yield _DraftTurn(self._words("replies"))
        for number, questions in enumerate(outline.blocks):
            bridge = f"{self._words('bridges')} " if number else ""
            if questions:
                yield from self._tell(next(events), questions, bridge)
            elif self._rng.random() > _WITH_PHOTO:
                yield _DraftTurn(f"{self._words('bridges')} {self._words('chat')}")
            else:
                text, caption = self._words("snaps").split(" | ")
                yield _DraftTurn(text, caption)
        yield _DraftTurn(f"{{more}} {self._words('farewells')}")
        yield _DraftTurn(self._words("partings"))

    def lengthened(
        self, lines: Iterator[_DraftTurn], outline: Outline
    ) -> Iterator[_DraftTurn]:
        """Yield the lines at human length, with asides and some photos, to which the other speaker reacts."""
        drafts = list(lines)
        has_photo = False
        remarks = self._told_in_passing(outline, drafts)
        for place, draft in enumerate(drafts):
            text = draft.text if "{more}" in draft.text else f"{draft.text}{{more}}"
            caption = draft.caption
            if not caption:
                caption = "".join(remark.caption for remark in remarks[place])
            reaction = self._varied("photos_seen")  # drawn in any case
            more = [reaction] if has_photo else []
            more += [remark.text for remark in remarks[place]]
            has_photo = (
                not caption
                and 1 < place < len(drafts) - 2
                and self._rng.random() < _ANY_PHOTO
            )
            if has_photo:
                more.append(self._varied("photos_sent"))
                caption = self._varied("captions")
            length = self._rng.lognormvariate(log(_MEDIAN_WORDS), _SPREAD)
            while (
                missing := length - len(" ".join([text, *more]).split())
            ) > _LEAST_ASIDE:
                more.insert(0, self._varied("asides", max_words=missing * 2))
            text = text.replace("{more}", "".join(f" {sentence}" for sentence in more))
            reveals = [*draft.reveals]
            for remark in remarks[place]:
                reveals += remark.reveals
            yield _DraftTurn(text, caption, tuple(reveals))

    def _told_in_passing(
        self, outline: Outline, drafts: Sequence[_DraftTurn]
    ) -> list[list[_DraftTurn]]:
        """Return each turn's asides by its speaker, preferably in turns that tell nothing else."""
        remarks: list[list[_DraftTurn]] = [[] for _ in drafts]
        for half, speaker_number in enumerate((outline.first, 1 - outline.first)):
            places = [place for place in range(2, len(drafts) - 2) if place % 2 == half]
            speaker = self._world.speakers[speaker_number]
            events = self._aside_events(outline.number, speaker)
            self._rng.shuffle(places)
            places.sort(key=lambda place: bool(drafts[place].reveals))
            for number, event in enumerate(events):
                place = places[number % len(places)]
                neighbours: list[_DraftTurn] = []
                for near in (place, place - 1, place + 1):
                    neighbours += [drafts[near], *remarks[near]]
                captions = [draft.caption for draft in (drafts[place], *remarks[place])]
                spoken = "\n".join(draft.text for draft in neighbours)
                remarks[place] += self._remark(event, spoken, photo=not any(captions))
        return remarks

    def _aside_events(self, session: int, speaker: str) -> list[Event]:
        """Return the events that a speaker mentions only in passing in a session."""
        events = []
        for event in self._world.events:
            if event.beside and event.session == session and event.who == speaker:
                events.append(event)
        return events

    def _remark(self, event: Event, spoken: str, *, photo: bool) -> list[_DraftTurn]:
        """Return an event's opening, and one detail that needs no question.

        One whose sentence is nearby is skipped for another.
        """
        kind = tellable_kinds()[event.kind]
        able = [detail for detail in kind.details if photo or not detail.caption]
        details = [self._rng.choice(able), *able]
        answers = [self._answer(event, detail) for detail in details]
        fresh = [answer for answer in answers if not _repeats(answer.text, spoken)]
        return [self._opening(event, kind, ""), *fresh[:1]]

    def _varied(self, purpose: str, max_words: float = inf) -> str:
        """Return a sentence with one of its [alternatives|others] each, of about at most that many words."""
        for _ in range(_TRIES):
            text = self._words(purpose)
            text = re.sub(
                r"\[([^\]]*)\]",
                lambda choices: self._rng.choice(choices[1].split("|")),
                text,
            )
            if len(text.split()) > max_words:
                text = f"{text.partition(',')[0].rstrip('.')}."
            if text not in self._lately:  # people do not repeat what was just said
                break
        self._lately.append(text)
        return text

    def _words(self, purpose: str) -> str:
        remaining = self._remaining.setdefault(purpose, [])
        if not remaining:
            sentences = load_texts("talk")[purpose]
            remaining.extend(self._rng.sample(sentences, len(sentences)))
        chosen = -1
        for place, sentence in enumerate(remaining):
            if sentence not in self._recent:
                chosen = place
        text = remaining.pop(chosen)
        self._recent.append(text)
        return text

    def _tell(self, event: Event, count: int, bridge: str) -> Iterator[_DraftTurn]:
        """Yield the event's opening, then `count` questions about it with their answers."""
        kind = tellable_kinds()[event.kind]
        yield self._opening(event, kind, bridge)
        details = self._rng.sample(kind.details, min(count, len(kind.details)))
        for detail in details:
            yield _DraftTurn(
                f"{self._words('reactions')}{{more}} {detail.ask or self._words('whys')}"
            )
            answer = self._answer(event, detail)
            if detail is details[-1]:
                answer = self._with_plan(answer, event, kind)
            yield answer
        for number in range(count - len(details)):
            questions, answers = "chat", "chat"
            if kind.conclusions and not number:
                questions, answers = "moods", "answers"
            yield _DraftTurn(
                f"{self._words('reactions')}{{more}} {self._words(questions)}"
            )
            yield _DraftTurn(self._words(answers))

    def _answer(self, event: Event, detail: Detail) -> _DraftTurn:
        text = _fill_roles(detail.tell or self._words("reasons"), event)
        caption = detail.caption.format(**event.roles)
        reveal = Reveal(event, detail.role, event.roles[detail.role])
        return _DraftTurn(text, caption, (reveal,))

    def _with_plan(self, line: _DraftTurn, event: Event, kind: Tellable) -> _DraftTurn:
        if event.plan is None:
            return line
        after = next_step(kind).do.format(**event.roles)
        text = f"{line.text} {self._words('plans').format(next=after)}"
        return _DraftTurn(
            text, line.caption, (*line.reveals, Reveal(event, PLAN, "next month"))
        )

    def _opening(self, event: Event, kind: Tellable, bridge: str) -> _DraftTurn:
        if event.on is None:
            happened = Reveal(event, HAPPENED, event.roles.get(kind.role, ""))
            return _DraftTurn(
                f"{bridge}{_fill_roles(kind.tell, event)}", "", (happened,)
            )
        when = date_phrase(
            event.on, self._world.dates[event.session - 1].date(), self._rng
        )
        names_cause = event.causes and self._rng.random() < _WITH_CAUSE
        cause = event_phrase(self._by_id[event.causes[0]]) if names_cause else ""
        reveals = [Reveal(event, HAPPENED, when)]
        if cause:
            reveals.append(Reveal(event, CAUSE, cause))
        sentence = self._words("effects" if cause else "openings")
        text = sentence.format(
            when=when, When=upper_first(when), did=event_phrase(event), cause=cause
        )
        return _DraftTurn(f"{bridge}{text}", "", tuple(reveals))


def event_phrase(event: Event) -> str:
    """Return an event as a phrase after a name: `signed up for a pottery class`, or undated `has a sister ...`."""
    kind = tellable_kinds()[event.kind]
    return (kind.did or kind.gist or "{new}").format(**event.roles)


def next_step(kind: Tellable) -> Tellable:
    """Return the step after this one."""
    name, _, number = kind.key.partition("/")
    return load_storylines()[name].steps[int(number) + 1]


def _repeats(text: str, spoken: str) -> bool:
    """Return whether a sentence of a text has been spoken."""
    return any(sentence in spoken for sentence in _SENTENCE_END.split(text))


def _fill_roles(text: str, event: Event) -> str:
    return upper_first(text.format(**event.roles))

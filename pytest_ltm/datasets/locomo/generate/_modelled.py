"""One conversation written by a model, step by step: personas, event graphs, sessions with memory, questions.

Maharana et al. (2024), section 3: after each session the two agents keep a summary and observations, from which
the next is written. Dates are ours, not the model's. What does not hold is asked for again, a few times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.locomo._dates import MONTHS, written
from pytest_ltm.datasets.locomo.generate import _checks, _parsing, _prompts, _texts
from pytest_ltm.datasets.locomo.generate._conversation import TURNS_FOR_A_QUESTION
from pytest_ltm.datasets.locomo.generate._export import conversation, question
from pytest_ltm.datasets.locomo.generate._outline import outlines

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from datetime import date

    from pytest_ltm.datasets.locomo._categories import Category
    from pytest_ltm.datasets.locomo.generate._conversation import Size
    from pytest_ltm.datasets.locomo.generate._outline import Outline

    Model = Callable[[str], str]

_TRIES = 3
_EVENTS_A_SESSION = 1
_REMEMBERED, _SUMMARIES = 40, 3
_Read = TypeVar("_Read")


@dataclass(slots=True)
class _Draft:
    """What there is of a conversation so far."""

    speakers: tuple[str, str]
    personas: dict[str, Any] = field(default_factory=dict)
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sessions: list[list[dict[str, Any]]] = field(default_factory=list)
    kept: list[dict[str, Any]] = field(default_factory=list)
    """Summary and observations of each session."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    dropped: int = 0

    @property
    def turns(self) -> dict[str, dict[str, Any]]:
        """All turns by id."""
        return {turn["dia_id"]: turn for session in self.sessions for turn in session}

    def facts(self) -> list[str]:
        """Return the observations of all sessions, the newest last."""
        return [
            f"{who}: {fact} ({cited})"
            for one in self.kept
            for who, notes in one["observations"].items()
            for fact, cited in notes
        ]


def modelled(name: str, size: Size, model: Model, rng: random.Random, tell: Callable[[str], None]) -> dict[str, Any]:
    """Return the record of a new conversation; `tell` hears what is dropped. DatasetError if the model cannot do it."""
    one, two = rng.sample(_texts.names(), 2)
    plan = outlines(size.sessions, size.turns, rng)
    draft = _Draft((one, two))
    _people(draft, plan, model)
    wanted = size.turns // TURNS_FOR_A_QUESTION if size.questions is None else size.questions
    for outline in plan:
        _sit(draft, outline, plan, model)
        _ask(draft, outline, wanted * outline.number // len(plan) - len(draft.asked), model)
    tell(f"{name}: {len(draft.asked)} questions, {draft.dropped} that did not hold were dropped")
    return _record(name, draft, plan)


def _written(model: Model, prompt: str, read: Callable[[Any], _Read], what: str) -> _Read:
    """Return what the model wrote once it can be read; the model is told what was wrong."""
    asked, wrong = prompt, ""
    for _ in range(_TRIES):
        text = model(asked)
        try:
            return read(_parsing.parsed(text))
        except ValueError as error:
            wrong = str(error)
            asked = _prompts.again(prompt, text, wrong)
    raise DatasetError(f"{what}: no usable answer in {_TRIES} tries. The last one: {wrong} What is complete is kept")


def _people(draft: _Draft, plan: list[Outline], model: Model) -> None:
    first, last = plan[0].at.date(), plan[-1].at.date()
    begin = first.replace(day=1)
    count = max(2, len(plan) * _EVENTS_A_SESSION)
    other = None
    for who in draft.speakers:
        other = _written(model, _prompts.persona(who, other), _parsing.persona, f"persona of {who}")
        draft.personas[who] = other
        prompt = _prompts.events(who, other, begin.isoformat(), last.isoformat(), count)
        draft.events[who] = _written(
            model, prompt, lambda value: _parsing.events(value, begin, last, count), f"events of {who}"
        )


def _sit(draft: _Draft, outline: Outline, plan: list[Outline], model: Model) -> None:
    """Add one session and what is kept of it."""
    one, two = draft.speakers
    order = (one, two) if outline.first == 0 else (two, one)
    when, what = written(outline.at), f"session {outline.number}"
    count = sum(1 + 2 * asked for asked in outline.blocks) + 4
    memory = {
        "summaries": [kept["summary"] for kept in draft.kept[-_SUMMARIES:]],
        "facts": draft.facts()[-_REMEMBERED:],
    }
    prompt = _prompts.session(order, draft.personas, when, _news(draft, outline, plan), memory, count)
    said = _written(model, prompt, lambda value: _parsing.turns(value, order, outline.number, count), what)
    draft.sessions.append(said)
    prompt = _prompts.reflection(draft.speakers, when, said)
    draft.kept.append(
        _written(model, prompt, lambda value: _parsing.reflection(value, draft.speakers, said), f"{what}, reflection")
    )


def _news(draft: _Draft, outline: Outline, plan: list[Outline]) -> dict[str, list[str]]:
    """Return what befell each speaker since the session before: before this day, for the last one up to it."""
    until = outline.at.date()
    since = plan[outline.number - 2].at.date() if outline.number > 1 else None
    return {
        who: [
            f"{one['date']}: {one['event']}"
            for one in draft.events[who]
            if _between(one["date"], since, until, last=outline is plan[-1])
        ]
        for who in draft.speakers
    }


def _between(day: str, since: date | None, until: date, *, last: bool) -> bool:
    early_enough = day <= until.isoformat() if last else day < until.isoformat()
    return early_enough and (since is None or day >= since.isoformat())


def _ask(draft: _Draft, outline: Outline, count: int, model: Model) -> None:
    """Add questions about the session; those that do not hold are dropped, and made up for next time."""
    if count <= 0:
        return
    known = "\n".join(draft.facts()[-_REMEMBERED:])
    prompt = _prompts.questions(draft.speakers, written(outline.at), draft.sessions[-1], known, count)
    for one in _written(model, prompt, _listed, f"questions about session {outline.number}"):
        texts = [asked["question"] for asked in draft.asked]
        if _checks.fault(one, draft.turns, draft.speakers, texts):
            draft.dropped += 1
        else:
            draft.asked.append(one)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("it must be a list of questions.")  # noqa: TRY004 - told to the model
    return value


def _record(name: str, draft: _Draft, plan: list[Outline]) -> dict[str, Any]:
    """Return the conversation as the file has it; what later turns made answerable after all is left out."""
    turns = draft.turns
    asked = [one for one in draft.asked if not _checks.fault(one, turns, draft.speakers, ())]
    return {
        "qa": [
            question(_category(one), one["question"], one["answer"], list(dict.fromkeys(one["evidence"])))
            for one in asked
        ],
        "conversation": conversation(draft.speakers, [outline.at for outline in plan], draft.sessions),
        "event_summary": {f"events_session_{outline.number}": _events(draft, outline, plan) for outline in plan},
        "observation": {f"session_{n}_observation": one["observations"] for n, one in enumerate(draft.kept, start=1)},
        "session_summary": {f"session_{n}_summary": one["summary"] for n, one in enumerate(draft.kept, start=1)},
        "sample_id": name,
    }


def _category(one: dict[str, Any]) -> Category:
    return _checks.LABELS[one["category"]]


def _events(draft: _Draft, outline: Outline, plan: list[Outline]) -> dict[str, Any]:
    news = _news(draft, outline, plan)
    told = {who: [text.partition(": ")[2] for text in texts] for who, texts in news.items()}
    return {**told, "date": f"{outline.at.day} {MONTHS[outline.at.month - 1]}, {outline.at.year}"}

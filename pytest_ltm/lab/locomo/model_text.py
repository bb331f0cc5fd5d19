"""One conversation written by a model, step by step: personas, event graphs, sessions with memory, questions.

Maharana et al. (2024), section 3: after each session the two agents keep a summary and
observations, from which the next is written, each its own. Dates are ours, not the
model's. What does not hold is asked for again, a few times.

Turn by turn, neither speaker sees the other's persona, news and memories. Short-term
memory is what was said in this session and the speaker's summary of the one before;
long-term memory is what the speaker observed in all earlier ones, of which comes to
mind what the last turn touches. A photo is a caption; the other reacts to what it
shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._core.model.words import content_stems
from pytest_ltm.datasets.locomo.samples import (
    Category,
    format_locomo_date,
    read_date,
    written_day,
)
from pytest_ltm.datasets.locomo.strict import stemmed_tokens
from pytest_ltm.lab.author import Model, prompt_of, require, text_field, written_by
from pytest_ltm.lab.locomo.dialogue import Size, conversation_record, question_record
from pytest_ltm.lab.locomo.world import Outline, load_texts, session_outlines
from pytest_ltm.language.dates import MONTHS

if TYPE_CHECKING:
    _Turn = Mapping[str, Any]
    Writes = Callable[["SessionContext", Model], list[dict[str, Any]]]


# --- What a session is written from.

# So many memories come to a speaker's mind at a turn.
RECALLED = 8
_LEAST_FOR_TWO_PHOTOS = 16


class SessionContext(Struct, frozen=True, kw_only=True):
    """All that a session is written from."""

    number: int
    when: str
    order: tuple[str, str]
    """Who speaks first, and the other."""
    personas: Mapping[str, Any]
    news: Mapping[str, Sequence[str]]
    """What has happened to each since the session before."""
    summaries: Mapping[str, Sequence[str]]
    """Each speaker's own of the last sessions, the newest last."""
    facts: Mapping[str, Sequence[str]]
    """Everything that each speaker observed before, the newest last."""
    turns: int

    def turn(self, place: int, text: str, photo: str) -> dict[str, Any]:
        """Return the record of a turn; places count from 0."""
        caption = {"blip_caption": photo} if photo else {}
        return {
            "speaker": self.order[place % 2],
            **caption,
            "dia_id": f"D{self.number}:{place + 1}",
            "text": text,
        }


def step_prompt(step: str, **parts: object) -> str:
    """Return the prompt of a step."""
    return prompt_of(load_texts("prompts"), step, **parts)


def turn_lines(turns: Sequence[Mapping[str, Any]]) -> str:
    """Return turns as they are shown to a model."""
    return "\n".join(
        f"{turn['dia_id']} {turn['speaker']}: {turn['text']}"
        + (f" [photo: {turn['blip_caption']}]" if "blip_caption" in turn else "")
        for turn in turns
    )


# --- Reading what a model wrote: of the form asked for, or ValueError with a sentence
# that the model can act on.


def check_persona(value: Any) -> dict[str, Any]:
    """Return a persona."""
    whole = isinstance(value, dict) and isinstance(value.get("about"), str)
    require(whole, "it must be an object with a text `about`.")
    return dict(value)


def check_events(
    value: Any, first: date, last: date, count: int
) -> list[dict[str, Any]]:
    """Return dated events: in order, within the months, of known causes that came first."""
    require(
        isinstance(value, list) and len(value) >= count,
        f"it must be a list of {count} events.",
    )
    before, known = first, set()
    for number, one in enumerate(value, start=1):
        whole = isinstance(one, dict) and all(
            isinstance(one.get(name), str) for name in ("id", "date", "event")
        )
        require(whole, f"event {number} must have the texts `id`, `date` and `event`.")
        try:
            on = date.fromisoformat(one["date"])
        except ValueError:
            raise ValueError(
                f"event {number}: {one['date']!r} is no date YYYY-MM-DD."
            ) from None
        in_order = before <= on <= last
        require(
            in_order,
            f"event {number}: {one['date']} is before the one above it, or not in the months.",
        )
        causes = one.get("causes") or []
        unknown = (
            [cause for cause in causes if cause not in known]
            if isinstance(causes, list)
            else ["?"]
        )
        require(
            not unknown,
            f"event {number}: its causes {unknown} are no ids of earlier events.",
        )
        before = on
        known.add(one["id"])
    require(len(known) == len(value), "two events have the same id.")
    return list(value)


def check_list(value: Any) -> list[Any]:
    """Return questions, of which each is checked by itself."""
    require(isinstance(value, list), "it must be a list of questions.")
    return list(value)


def check_turns(value: Any, scene: SessionContext) -> list[dict[str, Any]]:
    """Return the turns of a session with their ids; the speakers alternate."""
    require(isinstance(value, list), "it must be a list of turns.")
    count = scene.turns
    require(
        abs(len(value) - count) <= max(2, count // 5),
        f"it has {len(value)} turns; write {count}.",
    )
    turns = []
    for place, one in enumerate(value):
        text = text_field(
            one, "text", f"turn {place + 1} must be an object with a `text`."
        )
        who = scene.order[place % 2]
        require(
            one.get("speaker") == who,
            f"turn {place + 1} must be spoken by {who}, not {one.get('speaker')!r}.",
        )
        turns.append(
            scene.turn(
                place, text, one["photo"] if isinstance(one.get("photo"), str) else ""
            )
        )
    return turns


def check_reflection(
    value: Any, who: str, other: str, turns: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return one speaker's summary and observations, by whom they are about; each cites a turn that exists."""
    require(
        isinstance(value, dict) and isinstance(value.get("summary"), str),
        "it must have a text `summary`.",
    )
    ids = {turn["dia_id"] for turn in turns}
    for name in ("told", "learned"):
        require(
            isinstance(value.setdefault(name, []), list),
            f"`{name}` must be a list of pairs [fact, turn id].",
        )
        for note in value[name]:
            pair = (
                isinstance(note, list)
                and len(note) == 2
                and all(isinstance(one, str) for one in note)
            )
            require(
                pair,
                f"an observation in `{name}` is not a pair [fact, turn id]: {note!r:.80}.",
            )
            exists = note[1] in ids
            require(
                exists,
                f"the observation {note[0]!r:.80} cites {note[1]!r}, which is not a turn of this chat.",
            )
    return {
        "summary": value["summary"],
        "observations": {who: value["told"], other: value["learned"]},
    }


# --- A session turn by turn.


def by_turns(scene: SessionContext, model: Model) -> list[dict[str, Any]]:
    """Return the turns of a session, for each of which the model was asked as one of the speakers."""
    # one photo or two, neither with the greeting nor with the farewell
    rng, able = Random(f"photos {scene.order} {scene.when}"), range(2, scene.turns - 2)
    photos = rng.sample(
        able, min(len(able), 1 + (scene.turns >= _LEAST_FOR_TWO_PHOTOS))
    )
    turns: list[dict[str, Any]] = []
    known = load_texts("prompts")
    for place in range(scene.turns):
        who, other = scene.order[place % 2], scene.order[1 - place % 2]
        shown = turns[-1].get("blip_caption", "") if turns else ""
        shares, what = place in photos, f"session {scene.number}, turn {place + 1}"
        tasks = [
            known["begins"] if not turns else "",
            known["reacts"].replace("$photo", shown) if shown else "",
            known["shares"] if shares else known["no_photo"],
            known["ends"] if place >= scene.turns - 2 else "",
        ]
        touched = " ".join(
            [turns[-1]["text"] if turns else "", shown, *scene.news[who]]
        )
        prompt = step_prompt(
            "turn",
            name=who,
            other=other,
            about=scene.personas[who],
            when=scene.when,
            news=scene.news[who],
            summary=scene.summaries[who][-1]
            if scene.summaries[who]
            else "You have not talked before.",
            facts=recall_facts(scene.facts[who], touched),
            turns=turn_lines(turns) or "Nothing yet.",
            task=" ".join(task for task in tasks if task),
        )
        read = partial(_read_turn, shares=shares, shown=shown, earlier=turns)
        turns.append(scene.turn(place, *written_by(model, prompt, read, what)))
    return turns


def recall_facts(facts: Sequence[str], touched: str) -> list[str]:
    """Return what comes to mind: the facts that share most with what was said, of equal ones the newest; in order."""
    stems = content_stems(touched)
    ranked = sorted(
        range(len(facts)), key=lambda at: (-len(content_stems(facts[at]) & stems), -at)
    )
    return [facts[at] for at in sorted(ranked[:RECALLED])]


def _read_turn(
    value: Any, *, shares: bool, shown: str, earlier: Sequence[_Turn]
) -> tuple[str, str]:
    """Return what is said and the caption of a shared photo; ValueError for what cannot be the next turn."""
    text = text_field(value, "text", "it must be an object with a `text`.")
    photo = value.get("photo") or ""
    as_asked = isinstance(photo, str) and bool(photo) == shares
    require(as_asked, "share a photo." if shares else "share no photo this time.")
    require(
        all(text != turn["text"] for turn in earlier),
        f"{json.dumps(text[:60])} was said before in this chat.",
    )
    reacts = not shown or bool(content_stems(shown) & content_stems(text))
    require(
        reacts,
        f"it does not react to the photo of {shown!r}; say something about what it shows.",
    )
    return text.strip(), photo


# --- Whether a question that a model wrote holds, as far as rules can tell; each check
# gives a reason or "".

LABELS = {category.label: category for category in Category}
# This share of a single-hop answer's words must stand in its evidence, of each part of
# a multi-hop answer as well.
_ENOUGH = 0.6
_DAY = re.compile(
    rf"((\d{{1,2}} )?({'|'.join(MONTHS)}) )?\d{{4}}|.*\b\d+ (day|week|month|year)s?\b.*|The .+ before .+"
)


def question_fault(
    one: Any,
    turns: Mapping[str, _Turn],
    speakers: Sequence[str],
    asked: Collection[str],
) -> str:
    """Return what is wrong with the question, "" if nothing is. `turns`: by id; `asked`: the texts there are."""
    if not isinstance(one, dict) or one.get("category") not in LABELS:
        return f"has no category of {', '.join(LABELS)}"
    if not all(
        isinstance(one.get(name), str) and one[name].strip()
        for name in ("question", "answer")
    ):
        return "lacks a question or an answer"
    if one["question"] in asked:
        return "has been asked"
    evidence = one.get("evidence")
    if (
        not isinstance(evidence, list)
        or not evidence
        or any(cited not in turns for cited in evidence)
    ):
        return f"cites evidence that does not exist: {evidence!r:.60}"
    if not any(name in one["question"] for name in speakers):
        return "names neither speaker"
    return _content_fault(LABELS[one["category"]], one, turns, speakers)


def _content_fault(  # noqa: PLR0911 - one rule, one line
    category: Category,
    one: Mapping[str, Any],
    turns: Mapping[str, _Turn],
    speakers: Sequence[str],
) -> str:
    answer, cited = (
        one["answer"],
        [turns[name] for name in dict.fromkeys(one["evidence"])],
    )
    if category is Category.TEMPORAL:
        return (
            ""
            if _DAY.fullmatch(answer)
            else f"has an answer that is no date: {answer!r:.60}"
        )
    if category is Category.OPEN_DOMAIN:
        return ""
    if category is Category.MULTI_HOP and len(cited) < 2:
        return "is multi-hop with one turn of evidence"
    none = " ".join(map(_all_said, cited))
    parts = answer.split(",") if category is Category.MULTI_HOP else [answer]
    if not all(_word_share(none, part) >= _ENOUGH for part in parts):
        return f"has an answer that its evidence does not hold: {answer!r:.60}"
    if _word_share(one["question"], answer) == 1:
        return "gives its answer away"
    answering = {
        name: turn
        for name, turn in turns.items()
        if _word_share(_all_said(turn), answer) == 1
    }
    if (
        category is Category.ADVERSARIAL
    ):  # the person asked about must not have said so themselves
        about = [name for name in speakers if name in one["question"]]
        if len(about) == 1 and any(turn["speaker"] == about[0] for turn in cited):
            return f"is adversarial, but its evidence is said by {about[0]}"
        own = [name for name, turn in answering.items() if turn["speaker"] in about]
        return f"is adversarial, but {own[0]} may answer it" if own else ""
    elsewhere = [name for name, turn in answering.items() if turn not in cited]
    hidden = not elsewhere or category is not Category.SINGLE_HOP
    return "" if hidden else f"is answered without its evidence, by {elsewhere[0]}"


def _all_said(turn: _Turn) -> str:
    return f"{turn['text']} {turn.get('blip_caption', '')}"


def _word_share(text: str, answer: str) -> float:
    """Return the share of the answer's words that the text holds."""
    wanted, there = stemmed_tokens(answer), set(stemmed_tokens(text))
    return sum(word in there for word in wanted) / len(wanted) if wanted else 1.0


_REMEMBERED, _SUMMARIES = 40, 3


class _Draft(Struct):
    """The conversation so far."""

    speakers: tuple[str, str]
    personas: dict[str, Any] = {}
    events: dict[str, list[dict[str, Any]]] = {}
    sessions: list[list[dict[str, Any]]] = []
    kept: list[dict[str, dict[str, Any]]] = []
    """Summary and observations of each session, by the speaker whose they are."""
    asked: list[dict[str, Any]] = []
    dropped: int = 0

    @property
    def turns(self) -> dict[str, dict[str, Any]]:
        """All turns by id."""
        return {turn["dia_id"]: turn for session in self.sessions for turn in session}

    def observations(self, number: int) -> dict[str, list[list[str]]]:
        """Return what the speakers told about themselves in a session, as each of them noted it."""
        return {
            speaker: self.kept[number][speaker]["observations"][speaker]
            for speaker in self.speakers
        }

    def facts(self, by: str = "") -> list[str]:
        """Return the observations of all sessions, the newest last: one speaker's, or each one's about themselves."""
        noted = [
            one[by]["observations"] if by else self.observations(number)
            for number, one in enumerate(self.kept)
        ]
        own = (item for observed in noted for item in observed.items())
        return [
            f"{who}: {fact} ({cited})" for who, notes in own for fact, cited in notes
        ]


def write_with_model(
    name: str,
    size: Size,
    model: Model,
    rng: Random,
    tell: Callable[[str], None],
    writes: Writes,
    *,
    personas: Sequence[Mapping[str, Any]] = (),
    graph: Mapping[str, Any] | None = None,
    keep_graph: Callable[[dict[str, Any]], None] = lambda _: None,
) -> dict[str, Any]:
    """Return the record of a new conversation, its sessions as `writes` makes them; `tell` hears what is dropped.

    `personas`: two with names, in the place of invented ones; `graph`: the events of an
    earlier attempt, perhaps edited since; `keep_graph` is given the events before the
    first session is written.

    Raises DatasetError if the model cannot do it.
    """
    one, two = rng.sample(load_texts("personas")["names"], 2)
    plan = session_outlines(size.sessions, size.turns, rng)
    if personas or graph:
        one, two = [str(persona["name"]) for persona in personas] or graph_speakers(
            graph or {}
        )
    draft = _Draft((one, two))
    draft.personas |= {str(persona["name"]): dict(persona) for persona in personas}
    if graph:
        read_graph(draft, plan, graph)
    _write_personas(draft, plan, model)
    keep_graph(_graph_record(name, draft, plan))
    for outline in plan:
        count = size.max_questions * outline.number // len(plan) - len(draft.asked)
        _write_session(draft, outline, plan, model, writes, count)
    tell(
        f"{name}: {len(draft.asked)} questions, {draft.dropped} that did not hold were dropped"
    )
    return _draft_record(name, draft, plan)


def _write_personas(draft: _Draft, plan: list[Outline], model: Model) -> None:
    begin, last = plan[0].at.date().replace(day=1), plan[-1].at.date()
    count, other = max(2, len(plan)), None  # an event for each session
    for speaker in draft.speakers:
        if speaker not in draft.personas:
            asked = step_prompt(
                "persona",
                name=speaker,
                unlike=step_prompt("unlike", about=other) if other else "",
            )
            draft.personas[speaker] = written_by(
                model, asked, check_persona, f"persona of {speaker}"
            )
        other = draft.personas[speaker]
        if speaker not in draft.events:
            asked = step_prompt(
                "events",
                name=speaker,
                about=other,
                count=count,
                first=str(begin),
                last=str(last),
            )
            read = partial(check_events, first=begin, last=last, count=count)
            draft.events[speaker] = written_by(
                model, asked, read, f"events of {speaker}"
            )


# --- The event graph as a file, which people may edit before the sessions are written
# from it.


def _graph_record(name: str, draft: _Draft, plan: list[Outline]) -> dict[str, Any]:
    """Return the graph as JSON values; ids of events begin with the speaker, so that they are unique."""
    rows = []
    for who, events in draft.events.items():
        for event in events:
            causes = (
                {"causes": [f"{who}/{cause}" for cause in event["causes"]]}
                if event.get("causes")
                else {}
            )
            own = {
                "id": f"{who}/{event['id']}",
                "who": who,
                "on": event["date"],
                "event": event["event"],
            }
            rows.append(own | causes)
    return {
        "sample_id": name,
        "speakers": list(draft.speakers),
        "personas": draft.personas,
        "sessions": [outline.at.isoformat() for outline in plan],
        "events": rows,
    }


def graph_speakers(graph: Mapping[str, Any]) -> tuple[str, str]:
    """Return the two speakers of a graph; ValueError unless there are two."""
    given = graph.get("speakers")
    speakers = (
        [who for who in given if isinstance(who, str) and who]
        if isinstance(given, list)
        else []
    )
    require(
        len(set(speakers)) == len(speakers) == 2,
        "`speakers` must be two different names.",
    )
    return speakers[0], speakers[1]


def read_graph(draft: _Draft, plan: list[Outline], graph: Mapping[str, Any]) -> None:
    """Add personas and events of a graph that `_graph_record` made; ValueError for what no longer holds in it."""
    speakers = graph_speakers(graph)
    require(
        set(speakers) == set(draft.speakers),
        f"its speakers are not {' and '.join(draft.speakers)}.",
    )
    personas, given = graph.get("personas", {}), graph.get("events")
    require(isinstance(personas, dict), "`personas` must be by speaker.")
    draft.personas = {
        persona: check_persona(personas[persona])
        for persona in personas
        if persona in speakers
    } | draft.personas
    require(isinstance(given, list), "`events` must be a list.")
    events: list[Any] = given  # type: ignore[assignment]  # `require` has seen that it is one
    strangers = [
        event
        for event in events
        if not isinstance(event, dict) or event.get("who") not in speakers
    ]
    require(
        not strangers, f"an event is not about one of the two: {strangers[:1]!s:.80}."
    )
    for speaker in speakers:
        own = []
        for event in events:
            causes, start = event.get("causes", []), f"{speaker}/"
            if (
                event["who"] == speaker
            ):  # as the model wrote it: ids without the speaker before them
                own.append(
                    {
                        "id": str(event.get("id", "")).removeprefix(start),
                        "date": event.get("on", ""),
                        "event": event.get("event"),
                        "causes": [str(id_).removeprefix(start) for id_ in causes]
                        if isinstance(causes, list)
                        else causes,
                    }
                )
        try:
            checked = check_events(
                own, plan[0].at.date().replace(day=1), plan[-1].at.date(), 1
            )
        except ValueError as error:
            raise ValueError(f"events of {speaker}: {error}") from None
        draft.events[speaker] = checked


def _write_session(
    draft: _Draft,
    outline: Outline,
    plan: list[Outline],
    model: Model,
    writes: Writes,
    questions: int,
) -> None:
    """Add one session, what is kept of it, and questions; those that do not hold are made up for next time."""
    one, two = draft.speakers
    order = (one, two) if outline.first == 0 else (two, one)
    when, what = format_locomo_date(outline.at), f"session {outline.number}"
    count = sum(1 + 2 * block for block in outline.blocks) + 4
    context = SessionContext(
        number=outline.number,
        when=when,
        order=order,
        personas=draft.personas,
        turns=count,
        news=_events_since(draft, outline, plan),
        facts={speaker: draft.facts(by=speaker) for speaker in draft.speakers},
        summaries={
            speaker: [kept[speaker]["summary"] for kept in draft.kept[-_SUMMARIES:]]
            for speaker in draft.speakers
        },
    )
    written = writes(context, model)
    draft.sessions.append(written)
    kept = {}
    for who, other in ((one, two), (two, one)):
        asked = step_prompt(
            "reflection", name=who, other=other, when=when, turns=turn_lines(written)
        )
        read = partial(check_reflection, who=who, other=other, turns=written)
        kept[who] = written_by(model, asked, read, f"{what}, reflection of {who}")
    draft.kept.append(kept)
    if questions <= 0:
        return
    earlier, said = "\n".join(draft.facts()[-_REMEMBERED:]), turn_lines(written)
    request = step_prompt(
        "questions",
        earlier=earlier,
        when=when,
        turns=said,
        count=questions,
        one=one,
        two=two,
    )
    for made in written_by(model, request, check_list, f"questions about {what}"):
        if question_fault(
            made,
            draft.turns,
            draft.speakers,
            [known["question"] for known in draft.asked],
        ):
            draft.dropped += 1
        else:
            draft.asked.append(made)


def at_once(scene: SessionContext, model: Model) -> list[dict[str, Any]]:
    """Return the turns of a session that the model wrote in one answer."""
    asked = step_prompt(
        "session",
        one=scene.order[0],
        two=scene.order[1],
        personas=scene.personas,
        when=scene.when,
        news=scene.news,
        memory={
            who: {
                "summaries": scene.summaries[who],
                "facts": scene.facts[who][-_REMEMBERED:],
            }
            for who in scene.order
        },
        count=scene.turns,
    )
    return written_by(
        model, asked, lambda value: check_turns(value, scene), f"session {scene.number}"
    )


def _events_since(
    draft: _Draft, outline: Outline, plan: list[Outline]
) -> dict[str, list[str]]:
    """Return what befell each speaker since the session before: before this day, for the last one up to it."""
    since = plan[outline.number - 2].at.date().isoformat() if outline.number > 1 else ""
    # after the last session nobody could tell what happened that day
    until = outline.at.date() + timedelta(outline is plan[-1])
    return {
        speaker: [
            f"{one['date']}: {one['event']}"
            for one in draft.events[speaker]
            if since <= one["date"] < until.isoformat()
        ]
        for speaker in draft.speakers
    }


def _draft_record(name: str, draft: _Draft, plan: list[Outline]) -> dict[str, Any]:
    """Return the conversation as the file has it; what later turns made answerable after all is left out."""
    # a later turn may give away what was to be unanswerable
    qa = [
        question_record(
            LABELS[one["category"]],
            one["question"],
            one["answer"],
            list(dict.fromkeys(one["evidence"])),
        )
        for one in draft.asked
        if not question_fault(one, draft.turns, draft.speakers, ())
    ]
    events = []
    for outline in plan:
        news = _events_since(draft, outline, plan).items()
        told = {who: [text.partition(": ")[2] for text in texts] for who, texts in news}
        events.append({**told, "date": written_day(outline.at)})
    dates = [outline.at for outline in plan]
    observations = [draft.observations(number) for number in range(len(draft.kept))]
    summaries = [one[draft.speakers[0]]["summary"] for one in draft.kept]
    return conversation_record(
        name, draft.speakers, dates, draft.sessions, qa, events, observations, summaries
    )


# --- A file that people have edited: what no longer holds.


def conversation_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the conversation of a file, with its place; the file itself could be loaded."""
    conversation = record["conversation"]
    speakers = (conversation["speaker_a"], conversation["speaker_b"])
    known: dict[str, _Turn] = {}
    before = None
    for number in sorted(
        int(name.split("_")[1])
        for name in conversation
        if re.fullmatch(r"session_\d+", name)
    ):
        at = read_date(conversation.get(f"session_{number}_date_time", ""))
        if at is None or (before and at <= before):
            yield f"session_{number}_date_time: is no date, or not after the session before"
        before = at or before
        yield from _faults_of_turns(conversation[f"session_{number}"], number, speakers)
        known |= {one["dia_id"]: one for one in conversation[f"session_{number}"]}
    for number, one in enumerate(record["qa"]):
        asked = {**one, "category": Category(one["category"]).label}
        asked["answer"] = str(one.get("answer", one.get("adversarial_answer", "")))
        if wrong := question_fault(
            asked,
            known,
            speakers,
            [other["question"] for other in record["qa"][:number]],
        ):
            yield f"qa[{number}] ({one['question']!r:.60}): {wrong}"
    for name, observed in record.get("observation", {}).items():
        for who, notes in observed.items():
            cited = [
                one
                for _, ids in notes
                for one in (ids if isinstance(ids, list) else [ids])
            ]
            lost = [one for one in cited if one not in known]
            yield from (
                f"observation.{name}.{who}: cites {one!r}, which is no turn"
                for one in lost
            )


def _faults_of_turns(
    turns: Sequence[_Turn], session: int, speakers: Sequence[str]
) -> Iterator[str]:
    previous = ""
    for number, one in enumerate(turns, start=1):
        where, name, who = (
            f"session_{session}, turn {number}",
            f"D{session}:{number}",
            one["speaker"],
        )
        if one["dia_id"] != name:
            yield f"{where}: dia_id is {one['dia_id']!r}, expected {name!r}"
        if who not in speakers or who == previous:
            yield f"{where}: spoken by {who!r}; the two take turns"
        if not one["text"].strip():
            yield f"{where}: says nothing"
        previous = who

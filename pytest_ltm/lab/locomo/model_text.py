"""One conversation written step by step by a model: personas, event graphs, sessions with memory, questions.

Maharana et al. (2024), section 3: after each session the two agents each keep a summary and observations, from which
the next session is written. Dates are ours, not the model's. Invalid outputs are requested again, a few times.

Turn by turn, neither speaker sees the other's persona, news and memories. Short-term memory is this session so far and
the speaker's summary of the previous one; long-term memory is the speaker's observations in all earlier ones, of which
those related to the last turn are recalled. A photo is a caption; the other speaker reacts to its content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm.api.model import content_stems
from pytest_ltm.datasets.locomo.samples import (
    Category,
    format_locomo_date,
    read_date,
    written_day,
)
from pytest_ltm.datasets.locomo.strict import stemmed_tokens
from pytest_ltm.lab.author import (
    Model,
    Text,
    prompt_of,
    read_as,
    require,
    written_by,
)
from pytest_ltm.lab.locomo.dialogue import Size, conversation_record, question_record
from pytest_ltm.lab.locomo.world import Outline, load_texts, session_outlines
from pytest_ltm.language.dates import MONTHS

if TYPE_CHECKING:
    _Turn = Mapping[str, Any]
    Writes = Callable[["SessionContext", Model], list[dict[str, Any]]]


# --- The inputs of a session.

# The number of memories that a speaker recalls per turn.
RECALLED = 8
_LEAST_FOR_TWO_PHOTOS = 16


class SessionContext(Struct, frozen=True, kw_only=True):
    """The inputs for writing one session."""

    number: int
    when: str
    order: tuple[str, str]
    """The first speaker, and the other."""
    personas: Mapping[str, Any]
    news: Mapping[str, Sequence[str]]
    """Each speaker's events since the previous session."""
    summaries: Mapping[str, Sequence[str]]
    """Each speaker's summaries of the last sessions, newest last."""
    facts: Mapping[str, Sequence[str]]
    """Each speaker's observations so far, newest last."""
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
    lines = []
    for turn in turns:
        line = f"{turn['dia_id']} {turn['speaker']}: {turn['text']}"
        if "blip_caption" in turn:
            line += f" [photo: {turn['blip_caption']}]"
        lines.append(line)
    return "\n".join(lines)


# --- Parsing a model's output: the requested form, or ValueError with a sentence that
# the model can act on.


class PersonaForm(Struct):
    """A persona; further fields are kept."""

    about: str


class WrittenEvent(Struct, frozen=True):
    """An event in the life of one speaker."""

    id: str
    date: date
    event: str
    causes: list[str] | None = None
    """Ids of earlier events."""


class Utterance(Struct):
    """What one speaker says."""

    text: Text
    photo: str | None = None
    """The caption of a photo that is shared with it."""


class WrittenTurn(Utterance, kw_only=True):
    """An utterance in a session that is written at once."""

    speaker: str


class Reflection(Struct):
    """What a speaker remembers of a session; observations are pairs of a fact and the turn that states it."""

    summary: str
    told: list[tuple[str, str]] = []
    """Facts about the speaker."""
    learned: list[tuple[str, str]] = []
    """Facts about the other one."""


def check_persona(value: Any) -> dict[str, Any]:
    """Return a valid persona."""
    read_as(value, PersonaForm)
    return dict(value)


def check_events(value: Any, first: date, last: date, count: int) -> list[WrittenEvent]:
    """Return dated events: in order, within the months, with known causes that precede them."""
    events = read_as(value, list[WrittenEvent])
    require(len(events) >= count, f"it must be a list of {count} events.")
    _check_order(events, first, last)
    return events


def _check_order(events: Sequence[WrittenEvent], first: date, last: date) -> None:
    earliest = first
    ids = set[str]()
    for number, event in enumerate(events, start=1):
        require(
            earliest <= event.date <= last,
            f"event {number}: {event.date} is before the one above it, or not in the months.",
        )
        unknown = [cause for cause in event.causes or () if cause not in ids]
        require(
            not unknown,
            f"event {number}: its causes {unknown} are not ids of earlier events.",
        )
        earliest = event.date
        ids.add(event.id)
    require(len(ids) == len(events), "two events have the same id.")


def check_turns(value: Any, scene: SessionContext) -> list[dict[str, Any]]:
    """Return the turns of a session with their ids; speakers must alternate."""
    written_turns = read_as(value, list[WrittenTurn])
    count = scene.turns
    require(
        abs(len(written_turns) - count) <= max(2, count // 5),
        f"it has {len(written_turns)} turns; write {count}.",
    )
    turns = []
    for place, turn in enumerate(written_turns):
        speaker = scene.order[place % 2]
        require(
            turn.speaker == speaker,
            f"turn {place + 1} must be spoken by {speaker}, not {turn.speaker!r}.",
        )
        turns.append(scene.turn(place, turn.text, turn.photo or ""))
    return turns


def check_reflection(value: Any, turns: Sequence[dict[str, Any]]) -> Reflection:
    """Return a speaker's reflection; each observation must cite an existing turn."""
    reflection = read_as(value, Reflection)
    ids = {turn["dia_id"] for turn in turns}
    for fact, cited in (*reflection.told, *reflection.learned):
        require(
            cited in ids,
            f"the observation {fact!r:.80} cites {cited!r}, which is not a turn of this chat.",
        )
    return reflection


# --- A session turn by turn.


def by_turns(scene: SessionContext, model: Model) -> list[dict[str, Any]]:
    """Return the turns of a session, each requested from the model in the role of its speaker."""
    # one photo or two, neither in the greeting nor in the farewell
    rng = Random(f"photos {scene.order} {scene.when}")
    able = range(2, scene.turns - 2)
    photos = rng.sample(
        able, min(len(able), 1 + (scene.turns >= _LEAST_FOR_TWO_PHOTOS))
    )
    turns: list[dict[str, Any]] = []
    templates = load_texts("prompts")
    for place in range(scene.turns):
        speaker = scene.order[place % 2]
        listener = scene.order[1 - place % 2]
        photo = turns[-1].get("blip_caption", "") if turns else ""
        shares = place in photos
        task_name = f"session {scene.number}, turn {place + 1}"
        tasks = [
            templates["begins"] if not turns else "",
            templates["reacts"].replace("$photo", photo) if photo else "",
            templates["shares"] if shares else templates["no_photo"],
            templates["ends"] if place >= scene.turns - 2 else "",
        ]
        summary = "You have not talked before."
        if scene.summaries[speaker]:
            summary = scene.summaries[speaker][-1]
        touched = " ".join(
            [turns[-1]["text"] if turns else "", photo, *scene.news[speaker]]
        )
        prompt = step_prompt(
            "turn",
            name=speaker,
            other=listener,
            about=scene.personas[speaker],
            when=scene.when,
            news=scene.news[speaker],
            summary=summary,
            facts=recall_facts(scene.facts[speaker], touched),
            turns=turn_lines(turns) or "Nothing yet.",
            task=" ".join(task for task in tasks if task),
        )
        read = partial(_read_turn, shares=shares, former_photo=photo, earlier=turns)
        turns.append(scene.turn(place, *written_by(model, prompt, read, task_name)))
    return turns


def recall_facts(facts: Sequence[str], touched: str) -> list[str]:
    """Return the recalled facts, in order: those with most words in common, newest first among equals."""
    stems = content_stems(touched)
    ranked = sorted(
        range(len(facts)),
        key=lambda number: (-len(content_stems(facts[number]) & stems), -number),
    )
    return [facts[number] for number in sorted(ranked[:RECALLED])]


def _read_turn(
    value: Any, *, shares: bool, former_photo: str, earlier: Sequence[_Turn]
) -> tuple[str, str]:
    """Return the utterance and a shared photo's caption; ValueError for an impossible next turn."""
    utterance = read_as(value, Utterance)
    text = utterance.text
    photo = utterance.photo or ""
    as_asked = bool(photo) == shares
    require(as_asked, "share a photo." if shares else "share no photo this time.")
    require(
        all(text != turn["text"] for turn in earlier),
        f"{json.dumps(text[:60])} was said before in this chat.",
    )
    reacts = not former_photo or bool(content_stems(former_photo) & content_stems(text))
    require(
        reacts,
        f"it does not react to the photo of {former_photo!r}; say something about what it shows.",
    )
    return text.strip(), photo


# --- Rule-based checks of a model's question; each returns a fault or "".

LABELS = {category.label: category for category in Category}
# The share of a single-hop answer's words, or of each part of a multi-hop answer, that
# its evidence must contain.
_ENOUGH = 0.6
_DAY = re.compile(
    rf"((\d{{1,2}} )?({'|'.join(MONTHS)}) )?\d{{4}}|.*\b\d+ (day|week|month|year)s?\b.*|The .+ before .+"
)


class WrittenQuestion(Struct):
    """A question about a conversation."""

    category: str
    """A key of LABELS."""
    question: Text
    answer: Text
    evidence: list[str]
    """Ids of turns."""


def question_fault(
    question: Any,
    turns: Mapping[str, _Turn],
    speakers: Sequence[str],
    asked_questions: Collection[str],
) -> str:
    """Return the fault of a question, or "". `asked_questions`: the texts of existing ones."""
    try:
        written = read_as(question, WrittenQuestion)
    except ValueError as error:
        return f"is not in the form of a question: {error}"
    if written.category not in LABELS:
        return f"has no category of {', '.join(LABELS)}"
    if written.question in asked_questions:
        return "has been asked"
    if not written.evidence or not turns.keys() >= set(written.evidence):
        return f"cites evidence that does not exist: {written.evidence!r:.60}"
    if not any(name in written.question for name in speakers):
        return "names neither speaker"
    return _content_fault(LABELS[written.category], written, turns, speakers)


def _content_fault(  # noqa: PLR0911 - one rule, one line
    category: Category,
    question: WrittenQuestion,
    turns: Mapping[str, _Turn],
    speakers: Sequence[str],
) -> str:
    answer = question.answer
    cited = [turns[name] for name in dict.fromkeys(question.evidence)]
    if category is Category.TEMPORAL and not _DAY.fullmatch(answer):
        return f"has an answer that is not a date: {answer!r:.60}"
    if category in (Category.TEMPORAL, Category.OPEN_DOMAIN):
        return ""
    if category is Category.MULTI_HOP and len(cited) < 2:
        return "is multi-hop with one turn of evidence"
    cited_text = " ".join(map(_all_said, cited))
    parts = answer.split(",") if category is Category.MULTI_HOP else [answer]
    if not all(_word_share(cited_text, part) >= _ENOUGH for part in parts):
        return f"has an answer that its evidence does not hold: {answer!r:.60}"
    if _word_share(question.question, answer) == 1:
        return "gives its answer away"
    answering = {}
    for name, turn in turns.items():
        if _word_share(_all_said(turn), answer) == 1:
            answering[name] = turn
    if category is Category.ADVERSARIAL:
        asked_about = [name for name in speakers if name in question.question]
        return _adversarial_fault(asked_about, cited, answering)
    elsewhere = [name for name, turn in answering.items() if turn not in cited]
    hidden = not elsewhere or category is not Category.SINGLE_HOP
    return "" if hidden else f"is answered without its evidence, by {elsewhere[0]}"


def _adversarial_fault(
    asked_about: Sequence[str],
    cited: Sequence[_Turn],
    answering: Mapping[str, _Turn],
) -> str:
    # the person asked about must not have said so themselves
    cited_speakers = {turn["speaker"] for turn in cited}
    if len(asked_about) == 1 and asked_about[0] in cited_speakers:
        return f"is adversarial, but its evidence is said by {asked_about[0]}"
    for name, turn in answering.items():
        if turn["speaker"] in asked_about:
            return f"is adversarial, but {name} may answer it"
    return ""


def _all_said(turn: _Turn) -> str:
    return f"{turn['text']} {turn.get('blip_caption', '')}"


def _word_share(text: str, answer: str) -> float:
    """Return the share of the answer's words that the text contains."""
    answer_words = stemmed_tokens(answer)
    text_words = set(stemmed_tokens(text))
    if answer_words:
        return sum(word in text_words for word in answer_words) / len(answer_words)
    return 1.0


_REMEMBERED = 40
_SUMMARIES = 3


class _Draft(Struct):
    """The conversation so far."""

    speakers: tuple[str, str]
    personas: dict[str, Any] = {}
    events: dict[str, list[WrittenEvent]] = {}
    sessions: list[list[dict[str, Any]]] = []
    reflections: list[dict[str, Reflection]] = []
    """Those on each session, by speaker."""
    questions: list[dict[str, Any]] = []
    dropped: int = 0

    @property
    def turns(self) -> dict[str, dict[str, Any]]:
        """All turns by id."""
        turns = chain.from_iterable(self.sessions)
        return {turn["dia_id"]: turn for turn in turns}

    def observations(self) -> list[dict[str, list[tuple[str, str]]]]:
        """Return for each session what the speakers stated about themselves, as each recorded it."""
        observations = []
        for reflections in self.reflections:
            observations.append(
                {name: reflections[name].told for name in self.speakers}
            )
        return observations

    def observations_of(self, speaker: str) -> list[dict[str, list[tuple[str, str]]]]:
        """Return for each session what one speaker recorded, by the person it is about."""
        (other,) = set(self.speakers) - {speaker}
        observations = []
        for reflections in self.reflections:
            reflection = reflections[speaker]
            observations.append({speaker: reflection.told, other: reflection.learned})
        return observations


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
    """Return the record of a new conversation with sessions made by `writes`; `tell` reports drops.

    `personas`: two with names, in place of invented ones; `graph`: the events of an earlier attempt, possibly edited;
    `keep_graph` is called with the events before the first session is written.

    Raises DatasetError if the model fails.
    """
    first, second = rng.sample(load_texts("personas")["names"], 2)
    plan = session_outlines(size.sessions, size.turns, rng)
    if personas:
        first, second = (str(persona["name"]) for persona in personas)
    edited_graph = read_as(graph, EventGraph) if graph else None
    if edited_graph and not personas:
        first, second = edited_graph.speakers
    draft = _Draft((first, second))
    draft.personas |= {str(persona["name"]): dict(persona) for persona in personas}
    if edited_graph:
        _use_graph(draft, plan, edited_graph)
    _write_personas(draft, plan, model)
    keep_graph(_graph_record(name, draft, plan))
    for outline in plan:
        count = size.max_questions * outline.number // len(plan) - len(draft.questions)
        _write_session(draft, outline, plan, model, writes, count)
    tell(
        f"{name}: {len(draft.questions)} questions, {draft.dropped} that did not hold were dropped"
    )
    return _draft_record(name, draft, plan)


def _write_personas(draft: _Draft, plan: list[Outline], model: Model) -> None:
    begin = plan[0].moment.date().replace(day=1)
    last = plan[-1].moment.date()
    # an event for each session
    count = max(2, len(plan))
    persona = None
    for speaker in draft.speakers:
        if speaker not in draft.personas:
            prompt = step_prompt(
                "persona",
                name=speaker,
                unlike=step_prompt("unlike", about=persona) if persona else "",
            )
            draft.personas[speaker] = written_by(
                model, prompt, check_persona, f"persona of {speaker}"
            )
        persona = draft.personas[speaker]
        if speaker not in draft.events:
            prompt = step_prompt(
                "events",
                name=speaker,
                about=persona,
                count=count,
                first=str(begin),
                last=str(last),
            )
            read = partial(check_events, first=begin, last=last, count=count)
            draft.events[speaker] = written_by(
                model, prompt, read, f"events of {speaker}"
            )


# --- The event graph as a file, which people may edit before the sessions are written
# from it.


def _graph_record(name: str, draft: _Draft, plan: list[Outline]) -> dict[str, Any]:
    """Return the graph as JSON values; event ids are prefixed with the speaker to be unique."""
    rows = []
    for speaker, events in draft.events.items():
        for event in events:
            fields: dict[str, Any] = {
                "id": f"{speaker}/{event.id}",
                "who": speaker,
                "on": event.date.isoformat(),
                "event": event.event,
            }
            if event.causes:
                fields["causes"] = [f"{speaker}/{cause}" for cause in event.causes]
            rows.append(fields)
    return {
        "sample_id": name,
        "speakers": list(draft.speakers),
        "personas": draft.personas,
        "sessions": [outline.moment.isoformat() for outline in plan],
        "events": rows,
    }


class GraphEvent(Struct):
    """An event of either speaker; its id and causes begin with the speaker."""

    id: str
    who: str
    on: date
    event: str
    causes: list[str] = []


class EventGraph(Struct):
    """The part of a graph that sessions are written from."""

    speakers: tuple[str, str]
    events: list[GraphEvent]
    personas: dict[str, Any] = {}


def _use_graph(draft: _Draft, plan: list[Outline], graph: EventGraph) -> None:
    """Add personas and events of a graph from `_graph_record`; ValueError for what is no longer valid."""
    require(
        len(set(graph.speakers)) == len(graph.speakers),
        "`speakers` must be two different names.",
    )
    require(
        set(graph.speakers) == set(draft.speakers),
        f"its speakers are not {' and '.join(draft.speakers)}.",
    )
    for speaker, persona in graph.personas.items():
        if speaker in draft.speakers:
            draft.personas.setdefault(speaker, check_persona(persona))
    for event in graph.events:
        require(
            event.who in draft.speakers,
            f"an event is not about one of the two: {event.event!r:.80}.",
        )
    first = plan[0].moment.date().replace(day=1)
    last = plan[-1].moment.date()
    for speaker in draft.speakers:
        start = f"{speaker}/"
        events = []
        for event in graph.events:
            if event.who == speaker:
                id_ = event.id.removeprefix(start)
                causes = [cause.removeprefix(start) for cause in event.causes]
                events.append(WrittenEvent(id_, event.on, event.event, causes))
        require(bool(events), f"no event is about {speaker}.")
        try:
            _check_order(events, first, last)
        except ValueError as error:
            raise ValueError(f"events of {speaker}: {error}") from None
        draft.events[speaker] = events


def _write_session(
    draft: _Draft,
    outline: Outline,
    plan: list[Outline],
    model: Model,
    writes: Writes,
    questions: int,
) -> None:
    """Add one session, its reflections and questions; invalid questions are replaced in the next session."""
    first, second = draft.speakers
    order = (first, second) if outline.first == 0 else (second, first)
    when = format_locomo_date(outline.moment)
    task = f"session {outline.number}"
    count = sum(1 + 2 * block for block in outline.blocks) + 4
    facts = {}
    summaries = {}
    for speaker in draft.speakers:
        facts[speaker] = _listed_facts(draft.observations_of(speaker))
        reflections = [by_speaker[speaker] for by_speaker in draft.reflections]
        summaries[speaker] = [entry.summary for entry in reflections[-_SUMMARIES:]]
    context = SessionContext(
        number=outline.number,
        when=when,
        order=order,
        personas=draft.personas,
        turns=count,
        news=_events_since(draft, outline, plan),
        facts=facts,
        summaries=summaries,
    )
    turns = writes(context, model)
    draft.sessions.append(turns)
    by_speaker = {}
    for speaker_name, listener in ((first, second), (second, first)):
        prompt = step_prompt(
            "reflection",
            name=speaker_name,
            other=listener,
            when=when,
            turns=turn_lines(turns),
        )
        read = partial(check_reflection, turns=turns)
        by_speaker[speaker_name] = written_by(
            model, prompt, read, f"{task}, reflection of {speaker_name}"
        )
    draft.reflections.append(by_speaker)
    if questions <= 0:
        return
    prompt = step_prompt(
        "questions",
        earlier="\n".join(_listed_facts(draft.observations())[-_REMEMBERED:]),
        when=when,
        turns=turn_lines(turns),
        count=questions,
        one=first,
        two=second,
    )
    read_list = partial(read_as, kind=list)
    for question in written_by(model, prompt, read_list, f"questions about {task}"):
        texts = [earlier["question"] for earlier in draft.questions]
        if question_fault(question, draft.turns, draft.speakers, texts):
            draft.dropped += 1
        else:
            draft.questions.append(question)


def _listed_facts(
    observations: Sequence[Mapping[str, Sequence[tuple[str, str]]]],
) -> list[str]:
    """Return the observations of all sessions as lines, newest last."""
    lines = []
    for by_person in observations:
        for person, notes in by_person.items():
            lines += [f"{person}: {fact} ({cited})" for fact, cited in notes]
    return lines


def at_once(scene: SessionContext, model: Model) -> list[dict[str, Any]]:
    """Return the turns of a session that the model wrote in one answer."""
    memory = {}
    for speaker in scene.order:
        memory[speaker] = {
            "summaries": scene.summaries[speaker],
            "facts": scene.facts[speaker][-_REMEMBERED:],
        }
    prompt = step_prompt(
        "session",
        one=scene.order[0],
        two=scene.order[1],
        personas=scene.personas,
        when=scene.when,
        news=scene.news,
        memory=memory,
        count=scene.turns,
    )
    return written_by(
        model,
        prompt,
        lambda value: check_turns(value, scene),
        f"session {scene.number}",
    )


def _events_since(
    draft: _Draft, outline: Outline, plan: list[Outline]
) -> dict[str, list[str]]:
    """Return each speaker's events since the previous session: before this day, or up to it for the last session."""
    since = date.min
    if outline.number > 1:
        since = plan[outline.number - 2].moment.date()
    # after the last session, events of that day could no longer be told
    until = outline.moment.date() + timedelta(outline is plan[-1])
    news: dict[str, list[str]] = {}
    for speaker in draft.speakers:
        news[speaker] = []
        for event in draft.events[speaker]:
            if since <= event.date < until:
                news[speaker].append(f"{event.date}: {event.event}")
    return news


def _draft_record(name: str, draft: _Draft, plan: list[Outline]) -> dict[str, Any]:
    """Return the record of the conversation, without questions that later turns made answerable."""
    qa = []
    for question in draft.questions:
        # a later turn may answer a question that was meant to be unanswerable
        if question_fault(question, draft.turns, draft.speakers, ()):
            continue
        record = question_record(
            LABELS[question["category"]],
            question["question"],
            question["answer"],
            list(dict.fromkeys(question["evidence"])),
        )
        qa.append(record)
    events = []
    for outline in plan:
        entry: dict[str, Any] = {}
        for speaker, news in _events_since(draft, outline, plan).items():
            entry[speaker] = [text.partition(": ")[2] for text in news]
        events.append({**entry, "date": written_day(outline.moment)})
    dates = [outline.moment for outline in plan]
    summaries = [row[draft.speakers[0]].summary for row in draft.reflections]
    return conversation_record(
        name,
        draft.speakers,
        dates,
        draft.sessions,
        qa,
        events,
        draft.observations(),
        summaries,
    )


# --- Faults in a file edited by people.


def _session_numbers(conversation: Mapping[str, Any]) -> list[int]:
    numbers = []
    for name in conversation:
        if re.fullmatch(r"session_\d+", name):
            numbers.append(int(name.split("_")[1]))
    return sorted(numbers)


def conversation_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of a conversation in a loadable file, with their places."""
    conversation = record["conversation"]
    speakers = (conversation["speaker_a"], conversation["speaker_b"])
    turns: dict[str, _Turn] = {}
    former = None
    for number in _session_numbers(conversation):
        moment = read_date(conversation.get(f"session_{number}_date_time", ""))
        if moment is None or (former and moment <= former):
            yield f"session_{number}_date_time: is not a date after that of the session before"
        former = moment or former
        yield from _faults_of_turns(conversation[f"session_{number}"], number, speakers)
        turns |= {row["dia_id"]: row for row in conversation[f"session_{number}"]}
    for number, row in enumerate(record["qa"]):
        question = {**row, "category": Category(row["category"]).label}
        question["answer"] = str(row.get("answer", row.get("adversarial_answer", "")))
        earlier = [entry["question"] for entry in record["qa"][:number]]
        if wrong := question_fault(question, turns, speakers, earlier):
            yield f"qa[{number}] ({row['question']!r:.60}): {wrong}"
    for name, observations in record.get("observation", {}).items():
        for speaker, notes in observations.items():
            place = f"observation.{name}.{speaker}"
            for _, ids in notes:
                for cited in ids if isinstance(ids, list) else [ids]:
                    if cited not in turns:
                        yield f"{place}: cites {cited!r}, which is not a turn"


def _faults_of_turns(
    turns: Sequence[_Turn], session: int, speakers: Sequence[str]
) -> Iterator[str]:
    previous = ""
    for number, turn in enumerate(turns, start=1):
        where = f"session_{session}, turn {number}"
        name = f"D{session}:{number}"
        speaker = turn["speaker"]
        if turn["dia_id"] != name:
            yield f"{where}: dia_id is {turn['dia_id']!r}, expected {name!r}"
        if speaker not in speakers or speaker == previous:
            yield f"{where}: spoken by {speaker!r}; the two take turns"
        if not turn["text"].strip():
            yield f"{where}: says nothing"
        previous = speaker

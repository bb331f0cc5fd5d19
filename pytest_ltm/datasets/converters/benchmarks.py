"""Other benchmarks as histories: their files are parsed into the types declared here.

Errors name the file, the place and the remedy.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import field

from pytest_ltm.api.model import split_by_tokens
from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.converters.published_files import (
    Foreign,
    date_as,
    decode_as,
    files_in,
    json_as,
    kind_name,
    leaving_out,
    lines_as,
)
from pytest_ltm.datasets.converters.shapes import iter_objects
from pytest_ltm.datasets.interchange import (
    History,
    OfficialRule,
    Picture,
    Question,
    Session,
    Turn,
)
from pytest_ltm.datasets.locomo.samples import Category, load_locomo
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.longmemeval.conversations import holds_evidence
from pytest_ltm.datasets.longmemeval.record import (
    LongMemEvalFile,
    LongMemEvalRecord,
    iter_list_items,
    part_of,
)
from pytest_ltm.datasets.official import parse_phrase_rule
from pytest_ltm.datasets.rows import values_within


class ForeignMessage(Foreign, frozen=True):
    """A message of a user or an assistant, in the most common form."""

    role: str
    content: str

    def turn(
        self, counts: Counter[str], cut: re.Pattern[str] | None = None, reason: str = ""
    ) -> Turn:
        """Return the message as a turn; matches of the pattern `cut` are removed and counted as `reason`."""
        text = cut.sub("", self.content) if cut else self.content
        counts[reason] += text != self.content
        # an empty turn keeps its place: evidence refers to turns by number, and the
        # interchange requires a text in each
        return Turn(
            role="assistant" if self.role == "assistant" else "user",
            content=text or "(nothing)",
        )


# --- BEAM (Tavakoli et al., ICLR 2026): chats of 128,000 to 10 million tokens, read
# batch by batch.

_GOLD = (
    "answer",
    "ideal_answer",
    "ideal_response",
    "ideal_summary",
    "expected_compliance",
)
# The index in the chat's plan, which follows user messages and would reveal the batch
# of an answer.
_PLAN_CUT = "cut: plan indices behind what users say, such as ->-> 1,1"
_PLAN_INDEX = re.compile(r"\s*-+>[->\s]*(?:(?:\d+|N/?A)[\s,.;)\]]*){2,}$")
# The history that the published code sends, if present; the misspelling is theirs.
_TRUNCATED = ("chat_trunecated.json", "chat_truncated.json")


class _BeamMessage(ForeignMessage, frozen=True, kw_only=True):
    id: int
    time_anchor: str | None = None


class _BeamBatch(Foreign, frozen=True):
    turns: list[list[_BeamMessage]]


class _BeamProbe(Foreign, frozen=True):
    question: str
    rubric: list[str]
    # the kind of a question decides which of these five fields of `_GOLD` holds its
    # answer
    answer: Any = None
    ideal_answer: Any = None
    ideal_response: Any = None
    ideal_summary: Any = None
    expected_compliance: Any = None
    source_chat_ids: Any = None


def read_beam(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history per chat: files named chat.json, with probing_questions.json next to or below them.

    A truncated history takes precedence, as in the published code.
    """
    for file in files_in(paths, "chat.json"):
        shorter = [file.with_name(name) for name in _TRUNCATED]
        told_file = next(
            (candidate for candidate in shorter if candidate.is_file()), file
        )
        counts["played: histories truncated by their authors"] += told_file != file
        # by the ids of messages, which questions cite; filled while the sessions are
        # consumed
        turns: dict[int, str] = {}
        yield History(
            _beam_sessions(told_file, turns, counts),
            beam_questions(file, turns, counts),
            f"{file.parent.parent.name}_{file.parent.name}",
        )


def _beam_sessions(
    file: Path, turns: dict[int, str], counts: Counter[str]
) -> Iterator[Session]:
    """Yield the readable batches of a chat."""
    date = ""
    for number, batch in enumerate(_beam_batches(file, counts), start=1):
        messages = list(chain.from_iterable(batch.turns))
        anchors = (message.time_anchor for message in messages)
        anchor = next(filter(None, anchors), None)
        guessed = (
            "dates guessed: sessions without a time anchor have that of the one before"
        )
        counts[guessed] += bool(date and not anchor)
        with leaving_out(counts):
            if anchor:
                where = f"{file}: time_anchor"
                date = date_as(anchor, "%B-%d-%Y", where).partition(" ")[0]
        for place, message in enumerate(messages, start=1):
            turns[message.id] = f"s{number}_{place}"
        if messages:
            batch_turns = []
            for message in messages:
                batch_turns.append(message.turn(counts, _PLAN_INDEX, _PLAN_CUT))
            yield Session(id=f"s{number}", date=date, turns=tuple(batch_turns))


def _beam_batches(file: Path, counts: Counter[str]) -> Iterator[_BeamBatch]:
    """Yield the batches of a list of batches, or of a list of plans that contain batches."""
    with leaving_out(counts):
        for where, raw in iter_list_items(file, "item"):
            batches: list[_BeamBatch] = []
            with leaving_out(counts):
                if raw.startswith(b"["):
                    batches = decode_as(raw, list[_BeamBatch], where)
                elif b'"batch_number"' in raw.partition(b"[")[0]:
                    batches = [decode_as(raw, _BeamBatch, where)]
                else:
                    plans = decode_as(raw, dict[str, list[_BeamBatch]], where)
                    batches = list(chain.from_iterable(plans.values()))
            yield from batches


def beam_questions(
    file: Path, turns: dict[int, str], counts: Counter[str]
) -> Iterator[Question]:
    """Yield the readable questions of a chat; none if no session of it was readable."""
    found = sorted(file.parent.rglob("probing_questions.json"))
    with leaving_out(counts):
        if not found:
            raise DatasetError(
                f"{file.parent}: there is no probing_questions.json in it, so nothing to ask. Add the file"
            )
        kinds = json_as(found[0], dict[str, list[msgspec.Raw]])
        rows = []
        for kind, raws in kinds.items():
            for number, raw in enumerate(raws, start=1):
                rows.append((kind, number, raw))
        for kind, number, raw in rows if turns else ():
            with leaving_out(counts):
                where = f"{found[0]}: {kind} {number}"
                probe = decode_as(bytes(raw), _BeamProbe, where)
                yield _beam_question(kind, number, probe, turns, counts)


def _beam_question(
    kind: str,
    number: int,
    probe: _BeamProbe,
    turns: dict[int, str],
    counts: Counter[str],
) -> Question:
    # the first turn is number 0
    named = [] if probe.source_chat_ids is None else probe.source_chat_ids
    ids = list(dict.fromkeys(values_within(named)))
    unknown = [name for name in ids if name not in turns]
    counts["left out: evidence that the chat does not hold"] += len(unknown)
    golds = (getattr(probe, name) for name in _GOLD)
    gold = next((str(value) for value in golds if value is not None), None)
    # its rubric is the order itself, not independent claims
    ordered = kind == "event_ordering"
    cited = tuple(turns[name] for name in ids if name in turns)
    return Question(
        id=f"{kind}_{number}",
        kind=kind,
        text=probe.question,
        gold=tuple(probe.rubric) if ordered else gold,
        match="order" if ordered else "answer",
        claims=() if ordered else tuple(probe.rubric),
        never_told=kind == "abstention",
        evidence=() if kind == "abstention" else cited,
    )


# --- HaluMem (arXiv 2511.03506): dated sessions of twenty users, each followed by
# questions.


class _HalumemMemory(Foreign, frozen=True):
    memory_content: str


class _HalumemQuestion(Foreign, frozen=True):
    question: str
    answer: str
    question_type: str = "question"
    evidence: list[_HalumemMemory] = field(default_factory=list)


class _HalumemSession(Foreign, frozen=True):
    start_time: str
    dialogue: list[ForeignMessage]
    memory_points: list[_HalumemMemory] = field(default_factory=list)
    questions: list[_HalumemQuestion] = field(default_factory=list)


class _HalumemUser(Foreign, frozen=True):
    uuid: str
    sessions: list[_HalumemSession]


def read_halumem(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history per line: a user, whose questions follow the session they belong to.

    The evidence of a question are the sessions that state the memories it rests on.
    """
    for file in files_in(paths, "*.jsonl"):
        for where, user in lines_as(file, _HalumemUser, counts):
            with leaving_out(counts):
                yield _halumem_history(where, user, counts)


def _halumem_history(where: str, user: _HalumemUser, counts: Counter[str]) -> History:
    sessions = list[Session]()
    questions = list[Question]()
    homes = dict[str, str]()
    for place, session in enumerate(user.sessions):
        if not session.dialogue:
            continue
        name = f"s{place + 1}"
        date = date_as(
            session.start_time,
            "%b %d, %Y, %H:%M:%S",
            f"{where}: sessions[{place}].start_time",
        )
        sessions.append(
            Session(
                id=name,
                date=date,
                turns=tuple(entry.turn(counts) for entry in session.dialogue),
            )
        )
        homes |= {memory.memory_content: name for memory in session.memory_points}
        counts[
            "left out: memory points, of which only an agent's store could tell"
        ] += len(session.memory_points)
        for number, entry in enumerate(session.questions, start=1):
            # evidence repeats the text of a memory without naming a session, so only
            # earlier sessions can match
            cited = [homes.get(memory.memory_content, "") for memory in entry.evidence]
            counts["left out: evidence that no session before gave"] += cited.count("")
            questions.append(
                Question(
                    id=f"{name}_q{number}",
                    text=entry.question,
                    gold=entry.answer,
                    kind=kind_name(entry.question_type),
                    after=name,
                    evidence=tuple(dict.fromkeys(filter(None, cited))),
                )
            )
    return History(sessions, questions, user.uuid)


# --- LoCoMo (Maharana et al., ACL 2024): its questions, without its tasks, history
# formats and corrections.


def read_locomo(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history per conversation in the published file, or in a folder of conversations."""
    for sample in chain.from_iterable(load_locomo(path).samples for path in paths):
        counts[
            "guessed: what is odd about the file, as --ltm-suite=locomo lists it"
        ] += len(sample.notes)
        sessions = []
        questions = []
        places = dict[str, str]()
        for session in filter(lambda item: item.turns, sample.sessions):
            turns = []
            for place, turn in enumerate(session.turns, start=1):
                places[turn.id] = (
                    f"D{session.number}_{place}"  # ids may have gaps, places have none
                )
                images = (Picture(caption=turn.caption),) if turn.caption else ()
                turns.append(
                    Turn(
                        role="user", name=turn.speaker, content=turn.text, images=images
                    )
                )
            sessions.append(
                Session(
                    id=f"D{session.number}",
                    date=session.at.isoformat(sep=" "),
                    turns=tuple(turns),
                )
            )
        for item in sample.questions:
            adversarial = item.category == Category.ADVERSARIAL
            if not adversarial and not item.answer:
                counts["left out: questions whose answer is empty"] += 1
                continue
            # the turns cited by an adversarial question contain what it twists, not an
            # answer
            questions.append(
                Question(
                    id=f"{sample.id}_{item.index}",
                    kind=item.category.label.replace("-", "_"),
                    text=item.text,
                    gold=None if adversarial else item.answer,
                    never_told=adversarial,
                    evidence=()
                    if adversarial
                    else tuple(places[name] for name in item.evidence),
                )
            )
        yield History(sessions, questions, sample.id)


# --- LongMemEval (Wu et al., ICLR 2025): each question with its own history, without
# ranked recall.


def read_longmemeval(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each record, one at a time."""
    for path in paths:
        for record in LongMemEvalFile(path).records():
            yield _longmemeval_history(record, counts)


def _longmemeval_history(record: LongMemEvalRecord, counts: Counter[str]) -> History:
    used = Counter[str]()
    sessions = []
    cited = list[str]()
    for session in record.sessions:
        # some histories repeat a session, but interchange ids are unique
        used[session.id] += 1
        if used[session.id] == 1:
            name = session.id
        else:
            name = f"{session.id}~{used[session.id]}"
        turns = []
        marked = []
        for place, turn in enumerate(session.turns, start=1):
            turns.append(
                Turn(
                    role="user" if turn.role == "user" else "assistant",
                    content=turn.content or "(nothing)",
                )
            )
            if turn.has_answer:
                marked.append(f"{name}_{place}")
        if turns:
            date = session.at.isoformat(sep=" ")
            sessions.append(Session(id=name, date=date, turns=tuple(turns)))
            cited += marked or [name] * holds_evidence(session, record)
    late = record.sessions[-1].at <= record.at
    counts[
        "cut: dates of questions that are earlier than their last session; they are asked behind it"
    ] += not late
    question = Question(
        id=record.id,
        kind=record.type.replace("-", "_"),
        text=record.question,
        gold=None if record.abstention else record.answer,
        never_told=record.abstention,
        date=record.at.isoformat(sep=" ") if late else "",
        evidence=tuple(cited),
    )
    return History(sessions, [question], record.id)


# --- LongMemEval-V2 (Wu et al., 2026): trajectories of web agents as text, or with
# screenshots, and rules by question.

_OPTION = re.compile(
    r"(?:(?<=\s)|^)\(?([A-Z])[).]\s+(.+?)(?=\s+\(?[A-Z][).]\s|\s*$)", re.DOTALL
)


class _WebState(Foreign, frozen=True):
    url: str = ""
    action: str | None = None
    thought: str | None = None
    accessibility_tree: str = ""
    screenshot: str | None = None


class _Trajectory(Foreign, frozen=True):
    id: str
    goal: str
    states: list[_WebState]
    outcome: str = ""


class _WebQuestion(Foreign, frozen=True):
    id: str
    question: str
    answer: str
    question_type: str
    eval_function: str
    image: str | None = None
    domain: str = field(default="web")


def read_longmemeval_v2(
    paths: Sequence[Path], counts: Counter[str]
) -> Iterator[History]:
    """Yield a history per haystack in a folder with questions.jsonl, trajectories.jsonl and haystacks/*.json.

    Questions with the same haystack share it.
    """
    for file in files_in(paths, "questions.jsonl"):
        folder = file.parent
        question_by_id = {}
        for where, question in lines_as(file, _WebQuestion, counts):
            question_by_id[question.id] = (where, question)
        places = _trajectory_places(folder / "trajectories.jsonl", counts)
        for tier in files_in([folder], "haystacks/*.json"):
            groups: dict[tuple[str, ...], list[str]] = {}
            for name, haystack in json_as(tier, dict[str, list[str]]).items():
                groups.setdefault(tuple(haystack), []).append(name)
            for number, (names, ids) in enumerate(groups.items(), start=1):
                listed = []
                for name in ids:
                    if name in question_by_id:
                        listed.append(question_by_id[name])
                counts[
                    "left out: questions of a haystack that are not in the file"
                ] += len(ids) - len(listed)
                questions = []
                for where, question in listed:
                    with leaving_out(counts):
                        questions.append(_web_question(where, question, folder, counts))
                sessions = _web_sessions(
                    folder / "trajectories.jsonl", names, places, counts
                )
                yield History(sessions, questions, f"{tier.stem}_{number}")


_Places: TypeAlias = "dict[str, tuple[int, int, int]]"


def _trajectory_places(file: Path, counts: Counter[str]) -> _Places:
    """Return line, start and end of each trajectory by id.

    Trajectories take gigabytes, so they are read again when they are played.
    """
    places: _Places = {}
    for number, start, raw in iter_numbered_lines(file):
        with leaving_out(counts):
            trajectory = decode_as(raw, _Trajectory, f"{file}:{number}")
            places[trajectory.id] = (number, start, start + len(raw))
    return places


def _web_sessions(
    file: Path, names: Sequence[str], places: _Places, counts: Counter[str]
) -> Iterator[Session]:
    for name in names:
        with leaving_out(counts):
            if name not in places:
                raise DatasetError(
                    f"{file}: no trajectory {name!r}, which a haystack names. Is the file whole?"
                )
            number, start, end = places[name]
            raw = part_of(file, start, end)
            trajectory = decode_as(raw, _Trajectory, f"{file}:{number}")
            yield _web_session(file, trajectory, counts)


def _web_session(file: Path, trajectory: _Trajectory, counts: Counter[str]) -> Session:
    turns = [Turn(role="user", content=f"Goal: {trajectory.goal}")]
    for state in trajectory.states:
        images = _existing_images(file.parent, state.screenshot, counts)
        pictures = tuple(Picture(file=str(image)) for image in images)
        page = f"{state.url}\n{state.accessibility_tree}".strip()
        turns.append(Turn(role="user", state=page or "(no page)", images=pictures))
        turns.append(
            Turn(
                role="assistant",
                content=state.thought or "",
                action=state.action or "(none)",
            )
        )
    if trajectory.outcome:
        turns.append(Turn(role="user", content=f"Outcome: {trajectory.outcome}"))
    return Session(id=trajectory.id, turns=tuple(turns))


def _existing_images(
    folder: Path, image: str | None, counts: Counter[str]
) -> list[Path]:
    """Return the file of an image if it is in the folder; paths that lead out of it are ignored."""
    if not image:
        return []
    try:
        path = (folder / image).resolve()
        exists = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        # the name contains a null byte, or is too long for the system
        exists = False
    counts["left out: images that are not in the folder"] += not exists
    return [path] if exists else []


def _web_question(
    where: str, question: _WebQuestion, folder: Path, counts: Counter[str]
) -> Question:
    # `function|name=value|...`: a function of the published evaluation with its options
    try:
        function, options = parse_phrase_rule(question.eval_function)
    except DatasetError as error:
        raise DatasetError(f"{where}: eval_function: {error}") from error
    separators = "".join(options.get("separators", ",;"))
    several = "set_match" in function
    text = question.question
    choices = {}
    if function.startswith("mc_choice"):
        # options that are not in the text are in the image, so only their letters are
        # known
        choices = dict(_OPTION.findall(text))
        text = _OPTION.sub("", text).strip() if len(choices) > 1 else text
        if not (len(choices) > 1):
            choices = {letter: f"option {letter}" for letter in "ABCDEFGH"}
    elif not function.startswith(("norm_phrase_set_match", "llm_")):
        raise DatasetError(
            f"{where}: eval_function: unknown {function!r}. Known are norm_phrase_*, mc_choice_* and llm_*"
        )
    parts = re.split(f"[{re.escape(separators)}]", question.answer)
    golds = [part.strip() for part in parts if part.strip()]
    if choices:
        if several:
            golds = re.findall(r"\b[A-Z]\b", question.answer)
        else:
            golds = [question.answer.strip(" ().")]
    if function.endswith("ordered"):
        match = "sequence"
    elif several:
        match = "set"
    else:
        match = "answer"
    images = _existing_images(folder, question.image, counts)
    return Question(
        id=question.id,
        kind=kind_name(question.question_type),
        text=text,
        choices=choices or (),
        match=match,
        gold=tuple(golds) if several else golds[0] if choices else question.answer,
        never_told=function == "llm_abstention_checker",
        image=str(images[0]) if images else "",
        official=OfficialRule(
            rule=f"longmemeval-v2:{question.eval_function}", gold=(question.answer,)
        ),
    )


# --- MemoryAgentBench (Hu et al., ICLR 2026): a long text in parts, then many
# questions, with rules by source.

_PART_TOKENS = 4096
"""Tokens per part, at four characters each."""
# The matching rule by part of a source's name; all others need a judge.
_MATCHES = {
    "eventqa": "set",
    "ruler_niah": "set",
    "ruler": "contains",
    "factconsolidation": "contains",
    "icl": "exact",
    "detective": "exact",
    "recsys": "recall@5",
}


class _TextMetadata(Foreign, frozen=True):
    source: str
    qa_pair_ids: list[str] = field(default_factory=list)


class _LongText(Foreign, frozen=True):
    context: str
    questions: list[str]
    answers: list[str | list[str]]
    metadata: _TextMetadata


def read_memoryagentbench(
    paths: Sequence[Path], counts: Counter[str]
) -> Iterator[History]:
    """Yield a history per row of the splits' files, in Parquet or JSON lines."""
    for file in files_in(paths, "*.parquet", "*.jsonl"):
        for number, (where, row) in enumerate(
            lines_as(file, _LongText, counts), start=1
        ):
            with leaving_out(counts):
                if len(row.questions) != len(row.answers):
                    raise DatasetError(
                        f"{where}: {len(row.questions)} questions, but {len(row.answers)} answers"
                    )
                yield _text_history(row, f"{file.stem}_{number}", counts)


def _text_history(row: _LongText, user: str, counts: Counter[str]) -> History:
    parts = split_by_tokens(row.context, _PART_TOKENS, lambda text: -(-len(text) // 4))
    counts["guessed: tokens of a part, at four characters each"] += len(parts)
    sessions = []
    for place, part in enumerate(parts, start=1):
        text = part.strip()
        if text:
            turn = Turn(role="user", content=text)
            sessions.append(Session(id=f"part{place}", turns=(turn,)))
    source = row.metadata.source.lower()
    match = next((_MATCHES[part] for part in _MATCHES if part in source), "answer")
    # some splits have no ids for their questions
    ids = row.metadata.qa_pair_ids
    if len(ids) != len(row.questions):
        ids = [f"q{place}" for place in range(len(row.questions))]
    questions = []
    for name, question, answers in zip(ids, row.questions, row.answers, strict=True):
        questions.append(
            Question(
                id=name,
                kind=kind_name(row.metadata.source),
                text=question,
                match=match,
                gold=(answers,) if isinstance(answers, str) else tuple(answers),
                official=OfficialRule(rule=f"memoryagentbench:{source}"),
            )
        )
    return History(sessions, questions, user)


# --- PersonaMem (COLM 2025): multiple-choice replies, each question at a position in a
# shared conversation.

_SPEAKER = re.compile(r"^(?:User|Assistant):\s*")
_SPEAKER_CUT = "cut: the words User: and Assistant: before what they say"


class _PersonaRow(Foreign, frozen=True):
    question_id: str
    user_question_or_message: str
    correct_answer: str
    all_options: str
    shared_context_id: str
    end_index_in_shared_context: int
    question_type: str = "question"


def read_personamem(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history per context in shared_contexts_*.jsonl next to questions_*.csv (or .jsonl)."""
    for file in files_in(paths, "questions_*.csv", "questions_*.jsonl"):
        rows_by_context: dict[str, list[tuple[str, _PersonaRow]]] = {}
        for where, row in _persona_rows(file, counts):
            rows_by_context.setdefault(row.shared_context_id, []).append((where, row))
        size = file.stem.removeprefix("questions_")
        for _, contexts in lines_as(
            file.with_name(f"shared_contexts_{size}.jsonl"),
            dict[str, list[ForeignMessage]],
            counts,
        ):
            for name, messages in contexts.items():
                yield _persona_history(
                    f"{size}_{name}", messages, rows_by_context.pop(name, []), counts
                )
        counts["left out: questions whose context is not in the file"] += sum(
            map(len, rows_by_context.values())
        )


def _persona_rows(
    file: Path, counts: Counter[str]
) -> Iterator[tuple[str, _PersonaRow]]:
    if file.suffix == ".jsonl":
        yield from lines_as(file, _PersonaRow, counts)
        return
    for where, row in iter_objects(file):
        # tables contain only texts; an invalid number is kept, so that decoding names it
        # in the error
        index = str(row.get("end_index_in_shared_context"))
        if index.isdecimal():
            row |= {"end_index_in_shared_context": int(index)}
        with leaving_out(counts):
            yield where, decode_as(msgspec.json.encode(row), _PersonaRow, where)


def _persona_history(
    user: str,
    messages: Sequence[ForeignMessage],
    rows: Sequence[tuple[str, _PersonaRow]],
    counts: Counter[str],
) -> History:
    """Return a context as sessions, which begin at system messages: these describe the user's current state."""
    starts = [0]
    for place, message in enumerate(messages):
        if message.role == "system" and place:
            starts.append(place)
    starts.append(len(messages))
    sessions = []
    names = [""]
    questions = []
    for number, (start, end) in enumerate(pairwise(starts), start=1):
        turns = []
        for message in messages[start:end]:
            turn = message.turn(counts, _SPEAKER, _SPEAKER_CUT)
            if message.role == "system":
                turn = msgspec.structs.replace(turn, name="About me")
            turns.append(turn)
        names += [f"s{number}_{place}" for place in range(1, len(turns) + 1)]
        sessions += [Session(id=f"s{number}", turns=tuple(turns))] if turns else []
    for where, row in rows:
        with leaving_out(counts):
            questions.append(_persona_question(where, row, names))
    return History(sessions, questions, user)


def _persona_question(where: str, row: _PersonaRow, names: Sequence[str]) -> Question:
    """Return a question; `names`: the turns, in conversation order."""
    # the number of messages before the question
    end = row.end_index_in_shared_context
    if not 0 < end < len(names):
        raise DatasetError(
            f"{where}: end_index_in_shared_context: expected 1 to {len(names) - 1}, got {end}"
        )
    try:
        # a list in Python's notation, not JSON
        options = [str(option) for option in ast.literal_eval(row.all_options)]
        choices = {option.strip()[1]: option.strip()[3:].strip() for option in options}
    except (
        ValueError,
        SyntaxError,
        TypeError,
        IndexError,
        RecursionError,
        MemoryError,
    ) as error:
        raise DatasetError(
            f"{where}: all_options: expected a list such as ['(a) …', '(b) …']: {error}"
        ) from error
    return Question(
        id=row.question_id,
        kind=kind_name(row.question_type),
        text=row.user_question_or_message,
        choices=choices,
        gold=row.correct_answer.strip(" ()"),
        after=names[end],
    )

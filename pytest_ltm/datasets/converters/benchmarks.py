"""Other benchmarks as histories: their files are read as the types that are declared here.

What does not fit names file, place and way out.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from pytest_ltm._core.model.filler import split_by_tokens
from pytest_ltm._core.storage.disk import open_text
from pytest_ltm._core.storage.errors import DatasetError
from pytest_ltm.datasets._interchange import History, Picture, Question, Session, Turn
from pytest_ltm.datasets.locomo.samples import Category, load_locomo
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.longmemeval.conversations import holds_evidence
from pytest_ltm.datasets.longmemeval.record import (
    LongMemEvalFile,
    iter_list_items,
    part_of,
)
from pytest_ltm.datasets.rows import check_size, no_json, read_at_once

T = TypeVar("T")
_CURE = "The form that is read is in docs/interchange.md: mend the file, or convert it yourself"


class Foreign(Struct, frozen=True):
    """A base of what converters read: further fields are ignored."""


class ForeignMessage(Foreign, frozen=True):
    """What a user or an assistant says, in the form that most files have."""

    role: str
    content: str

    def turn(
        self, counts: Counter[str], cut: re.Pattern[str] | None = None, why: str = ""
    ) -> Turn:
        """Return it as a turn, without what a pattern finds, which is counted: `why` says what that is."""
        text = cut.sub("", self.content) if cut else self.content
        counts[why] += text != self.content
        # an empty turn keeps its place: evidence counts turns, and the interchange
        # wants a text in each
        return Turn(
            role="assistant" if self.role == "assistant" else "user",
            content=text or "(nothing)",
        )


def date_as(text: str, form: str, where: str) -> str:
    """Return a date or time of a form of `strptime` as the interchange writes it."""
    try:
        return datetime.strptime(text.strip(), form).isoformat(sep=" ")  # noqa: DTZ007 - the files name no zone
    except ValueError as error:
        example = datetime(2026, 3, 2, 8).strftime(form)  # noqa: DTZ001
        raise DatasetError(
            f"{where}: expected a time such as {example!r}, got {text!r}"
        ) from error


def decode_as(raw: bytes, kind: type[T], where: str) -> T:
    """Return a JSON value as a type; DatasetError, with the way to what does not fit."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        raise DatasetError(
            f"{where}: {f'{place[:-1].lstrip(chr(46))}: ' if place else ''}{reason}. {_CURE}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(f"{where}: {no_json(raw, error)}") from error


def json_as(path: Path, kind: type[T]) -> T:
    """Return what a JSON file holds."""
    return decode_as(read_at_once(path), kind, str(path))


def lines_as(path: Path, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield place and value of each line of a file of JSON lines."""
    for number, _, raw in iter_numbered_lines(path):
        yield f"{path}:{number}", decode_as(raw, kind, f"{path}:{number}")


def files_in(paths: Sequence[Path], *patterns: str) -> list[Path]:
    """Return the files that are named, or that stand in named folders under one of these patterns."""
    found = [
        file
        for path in paths
        for file in (
            sorted(one for pattern in patterns for one in path.rglob(pattern))
            if path.is_dir()
            else [path]
        )
    ]
    if not found:
        raise DatasetError(
            f"{paths[0] if paths else 'no file'}: there is no {' or '.join(patterns)} in it. {_CURE}"
        )
    return found


def kind_name(text: str) -> str:
    """Return a published name as one that may stand in node ids."""
    name = re.sub(r"\W+", "_", text.strip().lower(), flags=re.ASCII).strip("_")
    return name if name[:1].isalpha() else f"kind_{name}"


# --- BEAM (Tavakoli et al., ICLR 2026): chats of 128,000 to 10 million tokens, read
# batch by batch.

_GOLD = (
    "answer",
    "ideal_answer",
    "ideal_response",
    "ideal_summary",
    "expected_compliance",
)
# The place in the plan of a chat, which stands behind what users say: it would tell
# which batch an answer is in.
_PLAN_CUT = "cut: plan indices behind what users say, such as ->-> 1,1"
_PLAN_INDEX = re.compile(r"\s*->+\s*(?:->*|>)?\s*(?:\d+|N/?A)\s*,\s*(?:\d+|N/?A)\s*$")


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
    source_chat_ids: dict[str, list[int]] | list[int] | None = None


def read_beam(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each chat: files named chat.json with probing_questions.json beside or below them."""
    for file in files_in(paths, "chat.json"):
        turns: dict[
            int, str
        ] = {}  # by the messages' ids, which questions cite; filled while the sessions are taken
        questions = _beam_questions(file, turns, counts)
        yield History(
            _beam_sessions(file, turns, counts),
            questions,
            f"{file.parent.parent.name}_{file.parent.name}",
        )


def _beam_sessions(
    file: Path, turns: dict[int, str], counts: Counter[str]
) -> Iterator[Session]:
    """Yield the batches of a chat: a list of them, or of plans, each of which is a list of them or holds several."""
    date, number = "", 0
    for where, raw in iter_list_items(file, "item"):
        if raw.startswith(b"["):
            batches = decode_as(raw, list[_BeamBatch], where)
        elif b'"batch_number"' in raw.partition(b"[")[0]:
            batches = [decode_as(raw, _BeamBatch, where)]
        else:
            batches = [
                *chain.from_iterable(
                    decode_as(raw, dict[str, list[_BeamBatch]], where).values()
                )
            ]
        for batch in batches:
            number += 1  # on from one item of the list to the next
            messages = list(chain.from_iterable(batch.turns))
            anchor = next(
                (message.time_anchor for message in messages if message.time_anchor),
                None,
            )
            guessed = "dates guessed: sessions without a time anchor have that of the one before"
            counts[guessed] += bool(date and not anchor)
            date = (
                date_as(anchor, "%B-%d-%Y", f"{file}: time_anchor").partition(" ")[0]
                if anchor
                else date
            )
            turns |= {
                one.id: f"s{number}_{place}"
                for place, one in enumerate(messages, start=1)
            }
            if messages:
                told = tuple(
                    message.turn(counts, _PLAN_INDEX, _PLAN_CUT) for message in messages
                )
                yield Session(id=f"s{number}", date=date, turns=told)


def _beam_questions(
    file: Path, turns: dict[int, str], counts: Counter[str]
) -> Iterator[Question]:
    found = sorted(file.parent.rglob("probing_questions.json"))
    if not found:
        raise DatasetError(
            f"{file.parent}: there is no probing_questions.json in it, so nothing to ask. Add the file"
        )
    for kind, probes in json_as(found[0], dict[str, list[_BeamProbe]]).items():
        for number, probe in enumerate(probes, start=1):
            ids = probe.source_chat_ids or []
            cited = dict.fromkeys(
                chain.from_iterable(ids.values()) if isinstance(ids, dict) else ids
            )
            counts["left out: evidence that the chat does not hold"] += sum(
                one not in turns for one in cited
            )
            gold = next(
                (
                    str(one)
                    for name in _GOLD
                    if (one := getattr(probe, name)) is not None
                ),
                None,
            )
            ordered = (
                kind == "event_ordering"
            )  # its rubric is the order itself, not claims to be met one by one
            yield Question(
                id=f"{kind}_{number}",
                kind=kind,
                text=probe.question,
                gold=tuple(probe.rubric) if ordered else gold,
                match="order" if ordered else "answer",
                claims=() if ordered else tuple(probe.rubric),
                never_told=kind == "abstention",
                evidence=()
                if kind == "abstention"
                else tuple(turns[one] for one in cited if one in turns),
            )


# --- HaluMem (arXiv 2511.03506): dated sessions of twenty users, with questions behind
# each.


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
    """Yield a history for each line: a user, whose questions are each asked behind its session.

    The evidence of a question are the sessions that gave a memory it rests on.
    """
    for where, user in chain.from_iterable(
        lines_as(file, _HalumemUser) for file in files_in(paths, "*.jsonl")
    ):
        sessions, questions, homes = list[Session](), list[Question](), dict[str, str]()
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
                    turns=tuple(one.turn(counts) for one in session.dialogue),
                )
            )
            homes |= {memory.memory_content: name for memory in session.memory_points}
            counts[
                "left out: memory points, of which only an agent's store could tell"
            ] += len(session.memory_points)
            for number, one in enumerate(session.questions, start=1):
                # evidence repeats the text of a memory, and names no session: only
                # those told until then can be it
                cited = [
                    homes.get(memory.memory_content, "") for memory in one.evidence
                ]
                counts["left out: evidence that no session before gave"] += cited.count(
                    ""
                )
                questions.append(
                    Question(
                        id=f"{name}_q{number}",
                        text=one.question,
                        gold=one.answer,
                        kind=kind_name(one.question_type),
                        after=name,
                        evidence=tuple(dict.fromkeys(filter(None, cited))),
                    )
                )
        yield History(sessions, questions, user.uuid)


# --- LoCoMo (Maharana et al., ACL 2024): its questions, without its tasks, tellings and
# corrections.


def read_locomo(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each conversation of the published file, or of a folder of conversations."""
    for sample in chain.from_iterable(load_locomo(path).samples for path in paths):
        counts[
            "guessed: what is odd about the file, as --ltm-suite=locomo lists it"
        ] += len(sample.notes)
        sessions, questions, places = [], [], dict[str, str]()
        for session in filter(lambda one: one.turns, sample.sessions):
            turns = []
            for place, turn in enumerate(session.turns, start=1):
                places[turn.id] = (
                    f"D{session.number}_{place}"  # ids of the file may have gaps, places have none
                )
                images = (Picture(caption=turn.caption),) * bool(turn.caption)
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
        for one in sample.questions:
            adversarial = one.category == Category.ADVERSARIAL
            if not adversarial and not one.answer:
                counts["left out: questions whose answer is empty"] += 1
                continue
            # the turns that an adversarial question cites hold what it twists, not what
            # it asks for
            questions.append(
                Question(
                    id=f"{sample.id}_{one.index}",
                    kind=one.category.label.replace("-", "_"),
                    text=one.text,
                    gold=None if adversarial else one.answer,
                    never_told=adversarial,
                    evidence=()
                    if adversarial
                    else tuple(places[name] for name in one.evidence),
                )
            )
        yield History(sessions, questions, sample.id)


# --- LongMemEval (Wu et al., ICLR 2025): each question with its own history, without
# recall by rank.


def read_longmemeval(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each record, one at a time."""
    for record in chain.from_iterable(
        LongMemEvalFile(path).records() for path in paths
    ):
        used, sessions, cited = Counter[str](), [], list[str]()
        for session in record.sessions:
            used[session.id] += (
                1  # some histories tell a session twice, and ids of the interchange are unique
            )
            name = (
                session.id
                if used[session.id] == 1
                else f"{session.id}~{used[session.id]}"
            )
            turns = tuple(
                Turn(
                    role="user" if turn.role == "user" else "assistant",
                    content=turn.content or "(nothing)",
                )
                for turn in session.turns
            )
            if turns:
                sessions.append(
                    Session(id=name, date=session.at.isoformat(sep=" "), turns=turns)
                )
                marked = [
                    f"{name}_{place}"
                    for place, turn in enumerate(session.turns, start=1)
                    if turn.has_answer
                ]
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
        yield History(sessions, [question], record.id)


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
    """Yield a history for each haystack of a folder with questions.jsonl, trajectories.jsonl and haystacks/*.json.

    Questions with the same haystack share it.
    """
    for file in files_in(paths, "questions.jsonl"):
        folder, trajectories = file.parent, file.parent / "trajectories.jsonl"
        asked = {one.id: (where, one) for where, one in lines_as(file, _WebQuestion)}
        # line, start and end of each trajectory by id: they fill gigabytes, and are
        # read again when they are told
        places = {
            decode_as(raw, _Trajectory, f"{trajectories}:{number}").id: (
                number,
                start,
                start + len(raw),
            )
            for number, start, raw in iter_numbered_lines(trajectories)
        }
        for tier in files_in([folder], "haystacks/*.json"):
            groups: dict[tuple[str, ...], list[str]] = {}
            for name, haystack in json_as(tier, dict[str, list[str]]).items():
                groups.setdefault(tuple(haystack), []).append(name)
            for number, (names, ids) in enumerate(groups.items(), start=1):
                questions = [
                    _web_question(*asked[one], folder, counts)
                    for one in ids
                    if one in asked
                ]
                counts[
                    "left out: questions of a haystack that are not in the file"
                ] += len(ids) - len(questions)
                told = _web_sessions(trajectories, names, places, counts)
                yield History(told, questions, f"{tier.stem}_{number}")


def _web_sessions(
    file: Path,
    names: Sequence[str],
    places: dict[str, tuple[int, int, int]],
    counts: Counter[str],
) -> Iterator[Session]:
    for name in names:
        if name not in places:
            raise DatasetError(
                f"{file}: no trajectory {name!r}, which a haystack names. Is the file whole?"
            )
        number, start, end = places[name]
        one = decode_as(part_of(file, start, end), _Trajectory, f"{file}:{number}")
        turns = [Turn(role="user", content=f"Goal: {one.goal}")]
        for state in one.states:
            pictures = [
                Picture(file=str(path))
                for path in _existing_images(file.parent, state.screenshot, counts)
            ]
            seen = f"{state.url}\n{state.accessibility_tree}".strip()
            turns.append(
                Turn(role="user", state=seen or "(no page)", images=tuple(pictures))
            )
            turns.append(
                Turn(
                    role="assistant",
                    content=state.thought or "",
                    action=state.action or "(none)",
                )
            )
        outcome = (
            [Turn(role="user", content=f"Outcome: {one.outcome}")]
            if one.outcome
            else []
        )
        yield Session(id=name, turns=(*turns, *outcome))


def _existing_images(
    folder: Path, image: str | None, counts: Counter[str]
) -> list[Path]:
    """Return the file of an image, if it is in the folder: a name that leads out of it is none."""
    if not image:
        return []
    try:
        path = (folder / image).resolve()
        there = path.is_relative_to(folder.resolve()) and path.is_file()
    except (
        OSError,
        ValueError,
    ):  # a name with a null byte, or longer than the system takes
        there = False
    counts["left out: images that are not in the folder"] += not there
    return [path] if there else []


def _web_question(
    where: str, one: _WebQuestion, folder: Path, counts: Counter[str]
) -> Question:
    # `function|name=value|...`: which function of the published evaluation decides, and
    # with what
    function, _, parameters = one.eval_function.partition("|")
    separator = (
        dict(part.partition("=")[::2] for part in parameters.split("|")).get(
            "separators"
        )
        or ";"
    )
    several = "set_match" in function
    text, choices = one.question, {}
    if function.startswith("mc_choice"):
        # where the text lists no options they stand in its image, and only their
        # letters can be known
        choices = dict(_OPTION.findall(text))
        text = _OPTION.sub("", text).strip() if len(choices) > 1 else text
        choices = (
            choices
            if len(choices) > 1
            else {letter: f"option {letter}" for letter in "ABCDEFGH"}
        )
    elif not function.startswith(("norm_phrase_set_match", "llm_")):
        raise DatasetError(
            f"{where}: eval_function: unknown {function!r}. Known are norm_phrase_*, mc_choice_* and llm_*"
        )
    golds = [
        part.strip()
        for part in re.split(f"[{re.escape(separator)}]", one.answer)
        if part.strip()
    ]
    if choices:
        golds = (
            re.findall(r"\b[A-Z]\b", one.answer)
            if several
            else [one.answer.strip(" ().")]
        )
    match = (
        "sequence" if function.endswith("ordered") else "set" if several else "answer"
    )
    images = _existing_images(folder, one.image, counts)
    return Question(
        id=one.id,
        kind=kind_name(one.question_type),
        text=text,
        choices=choices or (),
        match=match,
        gold=tuple(golds) if several else golds[0] if choices else one.answer,
        never_told=function == "llm_abstention_checker",
        image=str(images[0]) if images else "",
    )


# --- MemoryAgentBench (Hu et al., ICLR 2026): a long text told in parts, then many
# questions by rules of its source.

_PART_TOKENS = 4096
"""Of a part, at four characters a token."""
# What decides, by the beginning of a source's name; all others are for a judge.
_MATCHES = {
    "eventqa": "contains",
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
    """Yield a history for each row of the splits' files of JSON lines."""
    for file in files_in(paths, "*.jsonl"):
        for number, (where, row) in enumerate(lines_as(file, _LongText), start=1):
            if len(row.questions) != len(row.answers):
                raise DatasetError(
                    f"{where}: {len(row.questions)} questions, but {len(row.answers)} answers"
                )
            parts = split_by_tokens(
                row.context, _PART_TOKENS, lambda text: -(-len(text) // 4)
            )
            counts["guessed: tokens of a part, at four characters each"] += len(parts)
            sessions = [
                Session(
                    id=f"part{place}", turns=(Turn(role="user", content=part.strip()),)
                )
                for place, part in enumerate(parts, start=1)
                if part.strip()
            ]
            source = re.split(r"[_\W]", row.metadata.source.lower())[0]
            # not every split has ids for its questions
            given = row.metadata.qa_pair_ids
            ids = (
                given
                if len(given) == len(row.questions)
                else [f"q{place}" for place in range(len(row.questions))]
            )
            questions = [
                Question(
                    id=name,
                    kind=kind_name(row.metadata.source),
                    text=asked,
                    match=_MATCHES.get(source, "answer"),
                    gold=(answers,) if isinstance(answers, str) else tuple(answers),
                )
                for name, asked, answers in zip(
                    ids, row.questions, row.answers, strict=True
                )
            ]
            yield History(sessions, questions, f"{file.stem}_{number}")


# --- PersonaMem (COLM 2025): replies to choose from, each question at a place in a
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
    """Yield a history for each context of the files shared_contexts_*.jsonl beside questions_*.csv (or .jsonl)."""
    for file in files_in(paths, "questions_*.csv", "questions_*.jsonl"):
        asked: dict[str, list[tuple[str, _PersonaRow]]] = {}
        for where, row in _persona_rows(file):
            asked.setdefault(row.shared_context_id, []).append((where, row))
        size = file.stem.removeprefix("questions_")
        for _, contexts in lines_as(
            file.with_name(f"shared_contexts_{size}.jsonl"),
            dict[str, list[ForeignMessage]],
        ):
            for name, messages in contexts.items():
                yield _persona_history(
                    f"{size}_{name}", messages, asked.pop(name, []), counts
                )
        counts["left out: questions whose context is not in the file"] += sum(
            map(len, asked.values())
        )


def _persona_rows(file: Path) -> Iterator[tuple[str, _PersonaRow]]:
    if file.suffix == ".jsonl":
        yield from lines_as(file, _PersonaRow)
        return
    check_size(file.stat().st_size, str(file))
    try:
        with open_text(file, "utf-8-sig", newline="") as content:
            for number, row in enumerate(csv.DictReader(content), start=2):
                # a table has texts alone; what is no number stays one, for the type to
                # refuse it by name
                index: Any = row.get("end_index_in_shared_context")
                row |= {
                    "end_index_in_shared_context": int(index)
                    if str(index).isdecimal()
                    else index
                }
                yield (
                    f"{file}:{number}",
                    decode_as(
                        msgspec.json.encode(row), _PersonaRow, f"{file}:{number}"
                    ),
                )
    except (csv.Error, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{file}: no table of comma-separated values in UTF-8: {error}"
        ) from error


def _persona_history(
    user: str,
    messages: Sequence[ForeignMessage],
    rows: Sequence[tuple[str, _PersonaRow]],
    counts: Counter[str],
) -> History:
    """Return a context as sessions, which system messages begin: they say who the user is by then."""
    starts = [
        0,
        *(
            place
            for place, one in enumerate(messages)
            if one.role == "system" and place
        ),
        len(messages),
    ]
    sessions, names, questions = [], [""], []
    for number, (start, end) in enumerate(pairwise(starts), start=1):
        told = [
            (message.role, message.turn(counts, _SPEAKER, _SPEAKER_CUT))
            for message in messages[start:end]
        ]
        turns = [
            msgspec.structs.replace(turn, name="About me") if role == "system" else turn
            for role, turn in told
        ]
        names += [f"s{number}_{place}" for place in range(1, len(turns) + 1)]
        sessions += [Session(id=f"s{number}", turns=tuple(turns))] if turns else []
    for where, row in rows:
        end = (
            row.end_index_in_shared_context
        )  # how many messages are told before the question
        if not 0 < end < len(names):
            raise DatasetError(
                f"{where}: end_index_in_shared_context: expected 1 to {len(names) - 1}, got {end}"
            )
        try:
            # a list as Python prints it, not JSON
            options = [str(one) for one in ast.literal_eval(row.all_options)]
            choices = {
                option.strip()[1]: option.strip()[3:].strip() for option in options
            }
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
        questions.append(
            Question(
                id=row.question_id,
                kind=kind_name(row.question_type),
                text=row.user_question_or_message,
                choices=choices,
                gold=row.correct_answer.strip(" ()"),
                after=names[end],
            )
        )
    return History(sessions, questions, user)

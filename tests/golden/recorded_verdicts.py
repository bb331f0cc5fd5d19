"""What each evaluator says of replies, and of what is near them: the same reply with a word more or less.

The replies are the labelled ones, and those of `replies.jsonl`. The record,
`tests/golden/verdicts`, has a file for each evaluator and a line for each reply: its
id; a mark for the reply by each scoring, and one with a judge whom everything
satisfies; one for each of its neighbours; how the verdict is told. A mark is the share
of the full score: 0, a to y for 1 to 25 of 26 parts, 1; `?` is open, or partly so, `-`
unscored, `.` not yet over.
"""

from __future__ import annotations

import json
import re
import shutil
import string
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from pytest_ltm.api.model import SCORINGS, Score
from pytest_ltm.api.scenarios import Inquiry
from pytest_ltm.evaluators import QuoteAtReply
from pytest_ltm.lab.commands.verdict_check import evaluator_of

LABELLED = Path(__file__).parents[1] / "labelled"
RECORDED = Path(__file__).parent / "verdicts"
REPLIES = Path(__file__).parent / "replies.jsonl"
PARTS = 26
MARKS = 2_400
"""For each evaluator, about: the fewer replies, the more neighbours each of them has."""
PUT_IN = (
    "not",
    "no",
    "never",
    "or",
    "and",
    "but",
    "perhaps",
    "was",
    "now",
    "before",
    "first",
    "last",
    "then",
    "instead of",
    "no longer",
    "not sure",
    "you said",
    "I think",
    "said",
    "again",
    "?",
    ".",
    ",",
    ":",
    "\n",
    '"',
    "-",
    "2",
    "one",
)
OPENINGS = (
    "I don't know, but ",
    "I am not sure. ",
    "No. ",
    "It was not this: ",
    "You told me: ",
    "Earlier it was: ",
    "Yes: ",
    "Let me think: ",
    "You asked: ",
    "I can't say that ",
    "If I had to guess: ",
    "Sorry, I forgot. ",
    "1. ",
    "> ",
    '"',
)
CLOSINGS = (
    " I am not sure.",
    " Or is it?",
    " No, that is wrong.",
    " That was before.",
    " I made that up.",
    "?",
    ' "',
    " I don't know.",
    " Not any more.",
    " Or something else.",
    " Both are possible.",
    " That is all.",
    " Is that right?",
    " Sorry.",
)
CUES = (
    "not",
    "or",
    "either",
    "before that it was",
    "I don't know",
    "no longer",
    "wrong",
    "you said",
    "in total",
    "said to be",
)
REACH = 130
"""In letters: how far a cue is moved away from the right answer, one letter at a time."""
MOVED = 12
"""So many replies of each evaluator get such a cue."""
FILLER = "so as we went on we came to see it all and so "
NEUTRAL = "of the very same thing that they had there "


class Case(NamedTuple):
    """A labelled reply."""

    id: str
    evaluator: str
    args: Mapping[str, Any]
    answers: Sequence[str]
    other: Sequence[str]
    """Another reply to the same."""
    cue: str = ""
    """What is moved away from the right answer, if anything is."""


class Line(NamedTuple):
    """What is recorded of a case."""

    id: str
    marks: str
    reason: str

    def __str__(self) -> str:
        return f"{self.id}\t{self.marks}\t{self.reason}"


def cases() -> dict[str, list[Case]]:
    """Return the replies by the name of their evaluator."""
    rows = [
        row
        for path in sorted(LABELLED.glob("*.jsonl"))
        for row in _rows(path)
        if "evaluator" in row
    ]
    for number, row in enumerate(_rows(REPLIES)):
        told = {"evaluator": row["evaluator"], "args": row["args"]}
        rows += [
            {"id": f"{number}-{n}", **told, "answers": answers}
            for n, answers in enumerate(row["replies"])
        ]
    found = dict[str, list[Case]]()
    for row, before in zip(rows, [rows[-1], *rows], strict=False):
        other = before["answers"] if before["args"] == row["args"] else row["answers"]
        case = Case(row["id"], row["evaluator"], row["args"], row["answers"], other)
        found.setdefault(case.evaluator, []).append(case)
    for of_name in found.values():
        for number, place in enumerate(
            range(0, len(of_name), -(-len(of_name) // MOVED))
        ):
            of_name[place] = of_name[place]._replace(cue=CUES[number % len(CUES)])
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judged(case: Case, count: int) -> Line:
    """Return what an evaluator says of a reply and of its neighbours, see `near`."""
    evaluator = evaluator_of(case.evaluator, case.args)
    said = [_said(one, case.answers) for one in (evaluator, *_others(evaluator))]
    said += [_said(evaluator, answers) for answers in near(case, count)]
    return Line(case.id, "".join(mark for mark, _ in said), said[0][1])


def _others(evaluator: Any) -> list[Any]:
    """Return an evaluator with the published scorings, and with a judge, if it takes one."""
    made = [structs.replace(evaluator, scoring=scoring) for scoring in SCORINGS[1:]]
    return [
        *made,
        structs.replace(evaluator, judge=Satisfied())
        if hasattr(evaluator, "judge")
        else evaluator,
    ]


class Satisfied:
    """A judge who gives the best grade to all that it is asked about."""

    def assess(self, inquiry: Inquiry, /) -> str:
        return (
            f"GRADE: {next(grade for grade in inquiry.grades if grade != inquiry.fail)}"
        )


def _said(evaluator: Any, answers: Sequence[str]) -> tuple[str, str]:
    """Return the mark of a verdict, and how it is told: its rule and reason, what was checked, and the evidence."""
    verdict = (
        evaluator.verdict(answers)
        if isinstance(evaluator, QuoteAtReply)
        else evaluator(answers)
    )
    if not isinstance(verdict, Score):
        return "-" if verdict else ".", " ".join(
            verdict.reason.split()
        ) if verdict else ""
    checks = [f"{'+' if check.ok else '-'}{check.label}" for check in verdict.checks]
    told = " ".join(
        f"{verdict.rule}: {'; '.join((verdict.reason, *checks))} << {verdict.evidence}".split()
    )
    if verdict.upper > verdict.value:
        return "?", told
    if verdict.value in (0, 1):
        return f"{verdict.value:.0f}", told
    parts = round(verdict.value * PARTS)
    return string.ascii_lowercase[min(max(parts, 1), PARTS - 1) - 1], told


def near(case: Case, count: int) -> Iterator[list[str]]:
    """Yield `count` replies that differ a little from a reply, then those with a cue that moves, if it has one.

    They are always the same, on all versions of Python.
    """
    told = [index for index, answer in enumerate(case.answers) if answer.strip()]
    for number in range(count if told else 0):
        change = CHANGES[number % len(CHANGES)]
        draw = zlib.crc32(f"{case.id} {number}".encode())
        index = told[-1] if number % 2 else told[draw % len(told)]
        answers = list(case.answers)
        answers[index] = change(
            answers[index], draw // 7, "".join(case.other[index : index + 1])
        )
        yield answers
    for letters in range(REACH if told and case.cue else 0):
        answers = list(case.answers)
        answers[told[-1]] = _cued(answers[told[-1]], case, letters)
        yield answers


def _cued(reply: str, case: Case, letters: int) -> str:
    """Put a cue so many letters before or behind the right answer, or the middle of a reply that does not have it."""
    wanted = re.search(
        "|".join(map(re.escape, _texts(case.args.get("expected"), reply))) or "$^",
        reply,
        re.IGNORECASE,
    )
    start, end = wanted.span() if wanted else [reply.find(" ", len(reply) // 2) + 1] * 2
    between = (NEUTRAL * 4)[:letters]
    if zlib.crc32(case.id.encode()) % 2:
        return f"{reply[:start]}{case.cue} {between} {reply[start:]}"
    return f"{reply[:end]} {between} {case.cue}{reply[end:]}"


def _texts(expected: Any, reply: str) -> list[str]:
    """Return the texts that are expected, and are in a reply."""
    if isinstance(expected, list):
        return [text for one in expected for text in _texts(one, reply)]
    return (
        [str(expected)] if expected and str(expected).lower() in reply.lower() else []
    )


def _left_out(reply: str, draw: int, _other: str) -> str:
    words = reply.split(" ")
    del words[draw % len(words)]
    return " ".join(words)


def _put_in(reply: str, draw: int, _other: str) -> str:
    words = reply.split(" ")
    words.insert(draw % (len(words) + 1), PUT_IN[draw // 5 % len(PUT_IN)])
    return " ".join(words)


def _stretched(reply: str, draw: int, _other: str) -> str:
    """Put up to 130 letters between two words: how near is near?"""
    words = reply.split(" ")
    words.insert(draw % (len(words) + 1), (FILLER * 3)[: draw // 5 % 130].strip())
    return " ".join(words)


def _opened(reply: str, draw: int, _other: str) -> str:
    return OPENINGS[draw % len(OPENINGS)] + reply


def _closed(reply: str, draw: int, _other: str) -> str:
    return reply + CLOSINGS[draw % len(CLOSINGS)]


def _turned(reply: str, draw: int, _other: str) -> str:
    """What was said first comes last."""
    words = reply.split(" ")
    at = draw % len(words)
    return " ".join([*words[at:], *words[:at]])


def _joined(reply: str, draw: int, other: str) -> str:
    return f"{reply} {other}" if draw % 2 else f"{other}\n{reply}"


CHANGES: tuple[Callable[[str, int, str], str], ...] = (
    _left_out,
    _put_in,
    _stretched,
    _opened,
    _put_in,
    _stretched,
    _closed,
    _joined,
    _left_out,
    _stretched,
    _turned,
)


def recorded(name: str) -> dict[str, Line]:
    """Return the record of an evaluator by the ids of the replies."""
    lines = (RECORDED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[0]: Line(*line.split("\t", 2)) for line in lines}


def neighbours(cases: Sequence[Case]) -> int:
    """Return how many neighbours each of the replies to one evaluator has."""
    return max(len(CHANGES), MARKS // len(cases))


def differing(case: Case, count: int, now: Line, then: Line) -> list[str]:
    """Return a sentence for each verdict that is not as recorded, and for the reason; `count` as in `judged`."""
    replies = [*[case.answers] * (len(SCORINGS) + 1), *near(case, count)]
    told = [
        f"{was!r} is {mark!r}: {list(answers)}"
        for was, mark, answers in zip(then.marks, now.marks, replies, strict=True)
        if was != mark
    ]
    told += [f"{then.reason!r} is {now.reason!r}"] if then.reason != now.reason else []
    return [f"{case.evaluator}, {case.id}: {one}" for one in told]


def record() -> None:
    """Write the record anew."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    RECORDED.mkdir()
    for name, of_name in cases().items():
        text = "".join(f"{judged(case, neighbours(of_name))}\n" for case in of_name)
        (RECORDED / f"{name}.txt").write_text(text, encoding="utf-8")

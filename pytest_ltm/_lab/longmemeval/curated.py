"""Questions curated by a model: attribute, background, question and answer, evidence statements (Wu et al., 2025, 3.2).

Kinds, dates and ids are ours. What does not hold, as far as rules can tell, is asked for again, a few times.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from pytest_ltm._lab.author import prompt_of, require, written_by
from pytest_ltm._lab.longmemeval.modelled import session_prompts, write_record
from pytest_ltm._lab.longmemeval.needles import EvidenceSession, Needle, WorldFact, WorldQuery
from pytest_ltm._lab.longmemeval.session_text import FIELDS, Aside, late_in_year, load_themes, some_time
from pytest_ltm._language.words import content_stems

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pytest_ltm._lab.author import Model
    from pytest_ltm._lab.longmemeval.modelled import Writes
    from pytest_ltm._lab.longmemeval.needles import QuestionKind

# How many evidence statements a question of each type has, at least and at most.
STATEMENTS = {
    "single-session-user": (1, 1), "single-session-assistant": (1, 1), "single-session-preference": (1, 1),
    "multi-session": (2, 6), "temporal-reasoning": (1, 3), "knowledge-update": (2, 2),
}  # fmt: skip
# A statement is made at most so many days before the question.
MOST_DAYS = 300
# This share of an answer's words must stand in the statement that tells it.
_ENOUGH = 0.6
# Types whose answers stand in a statement as they are, and do not have to be worked out.
_TOLD = ("single-session-user", "knowledge-update")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a person says in one session, or has an assistant make up."""

    days: int
    """Before the question."""
    theme: str
    aside: Aside


def curated_record(
    kind: QuestionKind, number: int, seed: int, model: Model, writes: Writes, asked: Collection[str]
) -> dict[str, Any]:
    """Return a record whose every part the model wrote, with the steps under `curation`; DatasetError if it cannot.

    `asked`: the questions that there are.
    """
    rng, what = Random(f"longmemeval curated {seed} {number}"), f"question {number + 1}"

    def write(step: str, read: Any, **parts: object) -> Any:
        return written_by(model, prompt_of(session_prompts(), step, **parts), read, f"{what}, {step}")

    field, described = FIELDS[number % len(FIELDS)], session_prompts()[kind.type.replace("-", "_")]
    attribute = write("attribute", partial(_read_text, name="attribute"), field=session_prompts()[field])
    background = write("background", partial(_read_text, name="background"), attribute=attribute)
    never = session_prompts()["never"] if kind.abstains else ""
    question = write(
        "question", partial(check_question, kind=kind, asked=asked), background=background, attribute=attribute,
        type=described, never=never,
    )  # fmt: skip
    least, most = STATEMENTS[kind.type]
    statements = write(
        "evidence", partial(check_statements, kind=kind, answer=question["answer"]), background=background,
        question=question["question"], answer=question["answer"], type=described, least=str(least), most=str(most),
        themes=sorted(load_themes()), form=session_prompts()["makes" if _is_made(kind) else "says"],
    )  # fmt: skip
    needle = _needle(rng, kind, attribute, question, statements)
    steps = {"attribute": attribute, "background": background, "statements": [one.aside.said for one in statements]}
    return {**write_record(needle, f"{seed} {number}", model, writes), "curation": steps}


def _needle(
    rng: Random, kind: QuestionKind, attribute: str, question: Mapping[str, str], statements: list[Statement]
) -> Needle:
    asked = late_in_year(rng)
    told = tuple(
        EvidenceSession(some_time(rng, asked - timedelta(days=one.days)), one.theme, one.aside) for one in statements
    )
    # the gold of a question that nobody can answer is in no statement, and that of a rubric in no words of its own
    facts = () if kind.abstains or kind.type not in _TOLD else (WorldFact(told[-1].at, attribute, question["answer"]),)
    return Needle(
        kind.type, question["question"], question["answer"], asked, told, facts, WorldQuery("value", (attribute,)),
        abstains=kind.abstains,
    )  # fmt: skip


def _is_made(kind: QuestionKind) -> bool:
    return kind.type == "single-session-assistant"


# --- Reading what a model wrote: ValueError with a sentence that it can act on.


def _read_text(value: Any, name: str) -> str:
    text = value.get(name) if isinstance(value, dict) else None
    require(isinstance(text, str) and bool(text.strip()), f"it must be an object with a text `{name}`.")
    return str(text).strip()


def check_question(value: Any, kind: QuestionKind, asked: Collection[str]) -> dict[str, str]:
    """Return question and answer; the question is the person's own, new, and does not give the answer away."""
    question, answer = _read_text(value, "question"), _read_text(value, "answer")
    first_person = {"i", "my", "me", "mine", "we", "our", "us"} & set(question.casefold().replace("'", " ").split())
    require(bool(first_person), "`question` must be asked by the person: with I, my or our.")
    require(question not in asked, "this question has been asked before; ask another.")
    given = content_stems(answer) <= content_stems(question) and bool(content_stems(answer))
    require(kind.abstains or not given, "`question` gives its answer away.")
    return {"question": question, "answer": answer}


def check_statements(value: Any, kind: QuestionKind, answer: str) -> list[Statement]:
    """Return the evidence statements, the earliest first."""
    least, most = STATEMENTS[kind.type]
    require(
        isinstance(value, list) and least <= len(value) <= most,
        f"it must be a list of {least} statement{'s' * (least != 1)}."
        if least == most
        else f"it must be a list of {least} to {most} statements.",
    )
    statements = sorted(
        (_read_statement(one, number, made=_is_made(kind)) for number, one in enumerate(value, start=1)),
        key=lambda one: -one.days,
    )
    texts = [one.aside.said or one.aside.made for one in statements]
    require(len(set(texts)) == len(texts), "two statements are the same.")
    days = [one.days for one in statements]
    require(len(set(days)) == len(days), "two statements are of the same day: `days` must differ.")
    if kind.abstains:
        return statements
    if kind.type in _TOLD or _is_made(kind):
        stems, here = content_stems(answer), content_stems(texts[-1])
        require(len(stems & here) >= _ENOUGH * len(stems), f"the last statement does not hold the answer {answer!r}.")
    return statements


def _read_statement(value: Any, number: int, *, made: bool) -> Statement:
    fields = value if isinstance(value, dict) else {}
    days, theme = fields.get("days"), fields.get("theme")
    whole = isinstance(days, int) and not isinstance(days, bool) and 1 <= days <= MOST_DAYS
    require(whole, f"statement {number}: `days` before the question must be a whole number from 1 to {MOST_DAYS}.")
    require(theme in load_themes(), f"statement {number}: `theme` must be one of {', '.join(sorted(load_themes()))}.")
    names = ("request", "made") if made else ("said",)
    texts = {name: fields.get(name) for name in names}
    for name, text in texts.items():
        require(isinstance(text, str) and bool(text.strip()), f"statement {number} must have a text `{name}`.")
    return Statement(int(str(days)), str(theme), Aside(**{name: str(text).strip() for name, text in texts.items()}))

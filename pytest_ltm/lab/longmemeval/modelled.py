"""Evidence sessions written, and questions curated, by a model.

The question of a session, its gold and the required facts are ours, the words are not.

The model's text is checked: the marked turn contains everything that the question needs, and no other user turn does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from functools import cache, partial
from random import Random
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from pytest_ltm.api.model import content_stems
from pytest_ltm.api.storage import load_packaged_yaml, pluralize
from pytest_ltm.lab.author import (
    Model,
    Text,
    prompt_of,
    read_as,
    require,
    written_by,
)
from pytest_ltm.lab.longmemeval.needles import (
    EvidenceSession,
    Needle,
    QuestionKind,
    WorldFact,
    WorldQuery,
    as_record,
    record_identity,
    side_mentions,
)
from pytest_ltm.lab.longmemeval.session_text import (
    FIELDS,
    WORDS,
    Aside,
    early_round,
    late_in_year,
    load_frames,
    load_themes,
    some_time,
)

ROUNDS = (2, 4)
_REPLY_WORDS = 150
# The share of the words stating a fact that the message must contain; names, numbers
# and days are always required.
_ENOUGH = 0.5
_NUMBER = re.compile(r"\$?\d[\d:.,]*(?<=\d)")
_FIRST_PERSON = {"i", "my", "me", "mine", "we", "our", "us"}


class RoundOutline(Struct, frozen=True):
    """The topic of a message, with what it and its answer reveal."""

    wants: str
    aside: Aside
    evidence: bool


class SessionOutline(Struct, frozen=True):
    """A session to be written."""

    rounds: tuple[RoundOutline, ...]
    fixed: tuple[str, ...]
    """Texts that the evidence message must contain verbatim."""
    place: str
    """Its name in errors."""


_Turn: TypeAlias = dict[str, Any]
# Writes the turns of an outlined session; DatasetError if the model fails.
Writes: TypeAlias = "Callable[[SessionOutline, Model], list[_Turn]]"


def write_record(
    needle: Needle, seed: str, model: Model, writes: Writes
) -> dict[str, Any]:
    """Return the record of a question with sessions made by `writes`. DatasetError if the model fails."""
    name, rng = record_identity(seed, abstains=needle.abstains)
    mentions = side_mentions(needle, name)
    values = [fact.value for fact in needle.world]
    sessions = []
    for number, message in enumerate(needle.sessions, start=1):
        rounds = rng.randint(*ROUNDS)
        place = early_round(rng, rounds)
        words = words_to_keep(message, values)
        plan = []
        requests = rng.sample(load_themes()[message.theme].requests, rounds)
        for round_number, request in enumerate(requests):
            is_evidence = round_number == place
            if is_evidence:
                aside = message.aside
            else:
                aside = mentions.next(message.theme) or Aside()
                # by chance a mention may contain exactly the words reserved for the
                # evidence
                if words and not _lacking_words(aside.said, words):
                    aside = Aside()
            wants = f"{request.text} {aside.request}".strip()
            plan.append(RoundOutline(wants, aside, is_evidence))
        outline = SessionOutline(
            tuple(plan), words, f"question {name}, session {number}"
        )
        sessions.append(writes(outline, model))
    return as_record(needle, name, sessions)


@cache
def session_prompts() -> dict[str, str]:
    """Return the model's prompts by step, and words to fill in."""
    texts: dict[str, str] = load_packaged_yaml(__file__, "texts/prompts.yml")
    return texts


def at_once(talk: SessionOutline, model: Model) -> list[_Turn]:
    """Return the turns of a session that the model wrote in one answer."""
    plan = []
    for outline in talk.rounds:
        fields = {"wants": outline.wants}
        if outline.aside.said:
            fields["lets_slip"] = outline.aside.said
        if outline.aside.made:
            fields["made"] = outline.aside.made
        plan.append(fields)
    prompt = prompt_of(
        session_prompts(),
        "session",
        rounds=str(len(plan)),
        words=str(_REPLY_WORDS),
        plan=plan,
    )
    return written_by(model, prompt, lambda value: read_chat(value, talk), talk.place)


def by_turns(talk: SessionOutline, model: Model) -> list[_Turn]:
    """Return the turns of a session, each requested from the model separately.

    As the user it knows the request and what to reveal, as the assistant only the conversation so far (and the list
    that it makes up): the self-chat of LongMemEval (Wu et al., 2025).
    """
    turns: list[_Turn] = []
    for number, outline in enumerate(talk.rounds, start=1):
        parts = {"wants": outline.wants, "slips": "", "lists": ""}
        if outline.aside.said:
            slips = session_prompts()["slips"]
            parts["slips"] = slips.replace("$said", outline.aside.said)
        if outline.aside.made:
            lists = session_prompts()["lists"]
            parts["lists"] = lists.replace("$made", outline.aside.made)
        for role in _ROLES:
            said = [f"{turn['role']}: {turn['content']}" for turn in turns]
            transcript = "\n\n".join(said)
            prompt = prompt_of(
                session_prompts(),
                role,
                chat=transcript or "(nothing yet)",
                words=str(_REPLY_WORDS),
                **parts,
            )
            read = partial(_read_turn, role=role, number=number, talk=talk)
            turns.append(
                written_by(model, prompt, read, f"{talk.place}, round {number}, {role}")
            )
    return turns


def words_to_keep(
    evidence_session: EvidenceSession, values: Sequence[str]
) -> tuple[str, ...]:
    """Return the verbatim parts of the message: numbers and days, and the words of names and gold values."""
    aside = evidence_session.aside.said
    exact = {
        *_NUMBER.findall(aside),
        *(day for day in WORDS if day in aside.casefold()),
    }
    words = aside.split()
    names = [word for word in words[1:] if word[0].isupper()]
    if words and words[0].rstrip(",") not in load_frames()["small_words"]:
        names.append(words[0])
    stems = set[str]().union(*map(content_stems, (*values, *names)))
    stems &= content_stems(aside)
    needed = [stem for stem in stems if stem != "i" and not stem.isdigit()]
    return (*sorted(exact), *sorted(needed))


_ROLES = ("user", "assistant")


class WrittenTurn(Struct):
    """One turn as the model wrote it."""

    text: Text


class WrittenRound(Struct):
    """A message and its answer as the model wrote them."""

    user: Text
    assistant: Text


def read_chat(value: Any, talk: SessionOutline) -> list[_Turn]:
    """Return the turns of a session with the evidence marked; ValueError with the fault."""
    written_rounds = read_as(value, list[WrittenRound])
    rounds = len(talk.rounds)
    require(len(written_rounds) == rounds, f"it must be a list of {rounds} rounds.")
    turns = []
    for number, written_round in enumerate(written_rounds, start=1):
        for role in _ROLES:
            text = getattr(written_round, role)
            turns.append(_check_turn(text, role, number, talk))
    return turns


def _read_turn(value: Any, role: str, number: int, talk: SessionOutline) -> _Turn:
    return _check_turn(read_as(value, WrittenTurn).text, role, number, talk)


def _check_turn(text: str, role: str, number: int, talk: SessionOutline) -> _Turn:
    """Return a turn of a round, marked if it is evidence; ValueError with the fault."""
    text = text.strip()
    outline = talk.rounds[number - 1]
    missing_lines = []
    if role == "assistant":
        lines = filter(str.strip, outline.aside.made.splitlines())
        missing_lines = [line for line in lines if line not in text]
    require(
        not missing_lines,
        f"round {number}: the assistant's answer lacks this line of `made`: {missing_lines[:1]}.",
    )
    if role == "user" and outline.evidence and outline.aside.said:
        remark = outline.aside.said
        stems = content_stems(remark)
        missing_words = _lacking_words(text, talk.fixed)
        require(
            not missing_words,
            f"round {number}: the message must keep {missing_words} of {remark!r}.",
        )
        holds = len(stems & content_stems(text)) >= _ENOUGH * len(stems)
        require(holds, f"round {number}: the message does not tell {remark!r}.")
    elif role == "user" and talk.fixed:
        differs = bool(_lacking_words(text, talk.fixed))
        require(
            differs,
            f"round {number}: what slips out elsewhere is said again: {text[:80]!r}.",
        )
    has_answer = outline.evidence and bool(outline.aside.made) is (role == "assistant")
    return {"role": role, "content": text, "has_answer": has_answer}


def _lacking_words(text: str, words: Sequence[str]) -> list[str]:
    stems = content_stems(text)
    plain = text.casefold()
    lacking = []
    for word in words:
        if word not in stems and word.casefold() not in plain:
            lacking.append(word)
    return lacking


# --- Questions curated by a model: attribute, background, question and answer,
# statements (Wu et al., 2025, 3.2). Kinds, dates and ids are ours. Outputs that fail
# the rules are requested again, a few times.

# The minimum and maximum number of evidence statements by question type.
STATEMENTS = {
    "single-session-user": (1, 1),
    "single-session-assistant": (1, 1),
    "single-session-preference": (1, 1),
    "multi-session": (2, 6),
    "temporal-reasoning": (1, 3),
    "knowledge-update": (2, 2),
}
# The maximum days between a statement and the question.
MOST_DAYS = 300
# The share of an answer's words that its statement must contain.
_HELD = 0.6
# Types whose answers appear in a statement directly, without being derived.
_TOLD = ("single-session-user", "knowledge-update")


class Statement(Struct, frozen=True):
    """A person's statement in one session, or a request that an assistant make something up."""

    days: int
    """Days before the question."""
    theme: str
    aside: Aside


def curated_record(
    kind: QuestionKind,
    number: int,
    seed: int,
    model: Model,
    writes: Writes,
    earlier_questions: Collection[str],
) -> dict[str, Any]:
    """Return a record written entirely by the model, with the steps under `curation`; DatasetError if it fails.

    `earlier_questions`: the existing questions.
    """
    rng = Random(f"longmemeval curated {seed} {number}")
    place = f"question {number + 1}"

    def write(step: str, read: Any, **parts: object) -> Any:
        return written_by(
            model, prompt_of(session_prompts(), step, **parts), read, f"{place}, {step}"
        )

    field = FIELDS[number % len(FIELDS)]
    described = session_prompts()[kind.type.replace("-", "_")]
    attribute = write(
        "attribute",
        partial(read_as, kind=WrittenAttribute),
        field=session_prompts()[field],
    ).attribute.strip()
    background = write(
        "background", partial(read_as, kind=WrittenBackground), attribute=attribute
    ).background.strip()
    never = session_prompts()["never"] if kind.abstains else ""
    question = write(
        "question",
        partial(check_question, kind=kind, earlier_questions=earlier_questions),
        background=background,
        attribute=attribute,
        type=described,
        never=never,
    )
    fewest, largest = STATEMENTS[kind.type]
    statements = write(
        "evidence",
        partial(check_statements, kind=kind, answer=question.answer),
        background=background,
        question=question.question,
        answer=question.answer,
        type=described,
        least=str(fewest),
        most=str(largest),
        themes=sorted(load_themes()),
        form=session_prompts()["makes" if _is_made(kind) else "says"],
    )
    asked_at = late_in_year(rng)
    sessions = []
    for statement in statements:
        at = some_time(rng, asked_at - timedelta(days=statement.days))
        sessions.append(EvidenceSession(at, statement.theme, statement.aside))
    world: tuple[WorldFact, ...] = ()
    # an unanswerable question's gold is in no statement, and a rubric's not in its own
    # words
    if kind.type in _TOLD and not kind.abstains:
        world = (WorldFact(sessions[-1].at, attribute, question.answer),)
    needle = Needle(
        kind.type,
        question.question,
        question.answer,
        asked_at,
        tuple(sessions),
        world,
        WorldQuery("value", (attribute,)),
        abstains=kind.abstains,
    )
    steps = {
        "attribute": attribute,
        "background": background,
        "statements": [statement.aside.said for statement in statements],
    }
    return {
        **write_record(needle, f"{seed} {number}", model, writes),
        "curation": steps,
    }


def _is_made(kind: QuestionKind) -> bool:
    return kind.type == "single-session-assistant"


# --- Parsing a model's output: ValueError with a sentence that it can act on.


class WrittenAttribute(Struct):
    """An attribute of a person."""

    attribute: Text


class WrittenBackground(Struct):
    """The background of a person with an attribute."""

    background: Text


class WrittenQuestion(Struct):
    """A question of a person with its answer."""

    question: Text
    answer: Text


class WrittenStatement(Struct):
    """When a statement is made, and in which session."""

    days: Annotated[int, Meta(ge=1, le=MOST_DAYS)]
    """Days before the question."""
    theme: str


class SaidStatement(WrittenStatement):
    """A statement of the person."""

    said: Text


class MadeStatement(WrittenStatement):
    """A request of the person, and what the assistant makes up for it."""

    request: Text
    made: Text


def check_question(
    value: Any, kind: QuestionKind, earlier_questions: Collection[str]
) -> WrittenQuestion:
    """Return question and answer; the question must be personal and new, and must not reveal the answer."""
    written = read_as(value, WrittenQuestion)
    question = written.question.strip()
    answer = written.answer.strip()
    words = question.casefold().replace("'", " ").split()
    is_own = not _FIRST_PERSON.isdisjoint(words)
    require(is_own, "`question` must be asked by the person: with I, my or our.")
    require(
        question not in earlier_questions,
        "this question has been asked before; ask another.",
    )
    stems = content_stems(answer)
    gives_answer = bool(stems) and stems <= content_stems(question)
    require(kind.abstains or not gives_answer, "`question` gives its answer away.")
    return WrittenQuestion(question, answer)


def check_statements(value: Any, kind: QuestionKind, answer: str) -> list[Statement]:
    """Return the evidence statements, earliest first."""
    fewest, largest = STATEMENTS[kind.type]
    count = pluralize(fewest, "statement")
    if fewest < largest:
        count = f"{fewest} to {largest} statements"
    statements = _read_statements(value, is_made=_is_made(kind))
    require(fewest <= len(statements) <= largest, f"it must be a list of {count}.")
    statements.sort(key=lambda statement: -statement.days)
    texts = [statement.aside.said or statement.aside.made for statement in statements]
    require(len(set(texts)) == len(texts), "two statements are the same.")
    days = [statement.days for statement in statements]
    require(
        len(set(days)) == len(days),
        "two statements are of the same day: `days` must differ.",
    )
    if kind.abstains:
        return statements
    if kind.type in _TOLD or _is_made(kind):
        stems = content_stems(answer)
        last_stems = content_stems(texts[-1])
        require(
            len(stems & last_stems) >= _HELD * len(stems),
            f"the last statement does not hold the answer {answer!r}.",
        )
    return statements


def _read_statements(value: Any, *, is_made: bool) -> list[Statement]:
    """Return the statements of the person, or the requests for something made up."""
    written_statements: Sequence[SaidStatement | MadeStatement]
    if is_made:
        written_statements = read_as(value, list[MadeStatement])
    else:
        written_statements = read_as(value, list[SaidStatement])
    statements = []
    for written in written_statements:
        require(
            written.theme in load_themes(),
            f"{written.theme!r}: `theme` must be one of {', '.join(sorted(load_themes()))}.",
        )
        if isinstance(written, MadeStatement):
            aside = Aside(request=written.request.strip(), made=written.made.strip())
        else:
            aside = Aside(written.said.strip())
        statements.append(Statement(written.days, written.theme, aside))
    return statements

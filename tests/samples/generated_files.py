"""Checks that any generated file must pass, using the file alone and none of the generators' code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]

_FAULTS = {
    "an article before the wrong sound": re.compile(
        r"\b(?:a (?!one|uni|use|usu|eu|ukulele)[aeiou]\w+|an (?!hour|honest|heir)[^aeiou\W]\w+)",
        re.IGNORECASE,
    ),
    "a word twice": re.compile(r"\b([a-z]{2,}) \1\b", re.IGNORECASE),
    "two spaces, or one before a sign": re.compile(r"  |\s[,.!?;]"),
    "two signs in a row": re.compile(r"[.,!?][.,!?]"),
    "a role that nothing filled": re.compile(r"[{}]"),
    "a capital in the middle": re.compile(
        r"\b(?:want|going) to [A-Z][a-z]+ (?:an?|the|my|for|in|up)\b"
    ),
    "a sentence that begins small": re.compile(r"^[a-z]|[a-z][.!?] [a-z]"),
}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_COUNT = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SMALL = frozenset(
    re.findall(
        r"\w+",
        "a about an and at can could did do does for from had has have how i in is it long many me much my name of on "
        "or our so that the their them there this to was we were what when which who whom whose will with would you "
        "your",
    )
)


def faults(text: str) -> list[str]:
    """Return the language errors of a text, with the words that show them."""
    found = ((name, sign.search(text)) for name, sign in _FAULTS.items())
    return [
        f"{name}: {text[max(0, hit.start() - 20) : hit.end() + 20]!r}"
        for name, hit in found
        if hit
    ]


def locomo_faults(sample: Row) -> Iterator[str]:
    """Yield the defects of a generated LoCoMo conversation."""
    talk, turns, dates = sample["conversation"], {}, {}
    for number in range(1, len(talk)):
        session = talk.get(f"session_{number}", [])
        for turn in session:
            turns[turn["dia_id"]] = turn
            dates[turn["dia_id"]] = datetime.strptime(  # noqa: DTZ007
                talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y"
            )
            yield from (f"{turn['dia_id']}: {fault}" for fault in faults(turn["text"]))
        for turn, next_turn in pairwise(session):
            repeated = {*_sentences(turn["text"])} & {*_sentences(next_turn["text"])}
            for sentence in repeated:
                yield f"{next_turn['dia_id']}: says again what was just said: {sentence!r}"
    yield from _out_of_order(list(dates.values()))
    for number, question in enumerate(sample["qa"]):
        for fault in _question_faults(question, turns, dates):
            yield f"question {number}: {fault}"


def _question_faults(
    question: Row, turns: Mapping[str, Row], dates: Mapping[str, datetime]
) -> Iterator[str]:
    yield from faults(question["question"])
    missing = [name for name in question["evidence"] if name not in turns]
    if missing or not question["evidence"]:
        yield f"evidence that is not there: {missing}"
        return
    cited = [turns[name] for name in question["evidence"]]
    answer = str(question.get("answer"))
    if question["category"] == 5:
        yield from _answerable(question, cited, turns)
    elif question["category"] == 4:
        evidence = " ".join(
            f"{turn['text']} {turn.get('blip_caption', '')}" for turn in cited
        ).lower()
        own_answer = answer.lower().replace("their ", "my ")
        if own_answer not in evidence.replace("their ", "my "):
            yield f"the evidence does not say {answer!r}: {evidence!r}"
    elif question["category"] == 2 and len(cited) == 1:
        text = cited[0]["text"]
        if "month" in text:
            return
        possible = _dates_in(text, dates[cited[0]["dia_id"]].date())
        # "on 16 March" in one event, "last Tuesday" in another
        day = answer.rpartition(" ")[0]
        is_literal = bool(day) and day in text
        if possible and question["answer"] not in possible and not is_literal:
            yield f"the evidence means {possible}, the answer is {answer!r}"


def _answerable(
    question: Row, cited: Sequence[Row], turns: Mapping[str, Row]
) -> Iterator[str]:
    """Yield why an adversarial question can be answered after all: its subject states everything asked about."""
    if "answer" in question or not question["adversarial_answer"]:
        yield "an adversarial question has an answer, or suggests none"
    people = {turn["speaker"] for turn in turns.values()}
    person = next(name for name in people if name in question["question"])
    subject = _content(question["question"]) - {person.lower()}
    for turn in turns.values():
        statements = " ".join(
            sentence
            for sentence in _sentences(turn["text"])
            if not sentence.endswith("?")
        )
        if (
            turn["speaker"] == person
            and turn["speaker"] != cited[0]["speaker"]
            and subject <= _content(statements)
        ):
            yield f"{person} speaks of it: {turn['text']!r}"


def longmemeval_faults(record: Row) -> Iterator[str]:
    """Yield the defects of a generated LongMemEval record."""
    names, sessions = record["haystack_session_ids"], record["haystack_sessions"]
    if not len(names) == len(sessions) == len(record["haystack_dates"]):
        yield "parallel lists of different length"
    if len(set(names)) != len(names) or len(
        {str(session) for session in sessions}
    ) != len(sessions):
        yield "a session is there twice"
    dates = [
        datetime.strptime(when, "%Y/%m/%d (%a) %H:%M")  # noqa: DTZ007
        for when in record["haystack_dates"]
    ]
    yield from _out_of_order(
        [*dates, datetime.strptime(record["question_date"], "%Y/%m/%d (%a) %H:%M")]  # noqa: DTZ007
    )
    yield from faults(record["question"])
    for name, session in zip(names, sessions, strict=True):
        yield from (
            f"{name}: {fault}"
            for turn in session
            for fault in faults(_plain(turn["content"]))
        )
    if lost := set(record["answer_session_ids"]) - set(names):
        yield f"evidence that is not there: {lost}"
    yield from _evidence(record, dict(zip(names, sessions, strict=True)))


def _evidence(record: Row, sessions: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    cited = {
        name: session
        for name, session in sessions.items()
        if name in record["answer_session_ids"]
    }
    marked = [
        turn["content"]
        for session in cited.values()
        for turn in session
        if turn.get("has_answer")
    ]
    if record["question_id"].endswith("_abs"):
        asked = _content(record["question"])
        yield from (
            f"what is asked about is said: {text!r}"
            for text in _users(sessions)
            if asked <= _content(text)
        )
        return
    if not marked:
        yield "no turn holds the answer"
    gold = str(record["answer"]).lower()
    direct = record["question_type"] in {
        "single-session-user",
        "single-session-assistant",
        "knowledge-update",
    }
    if direct and gold not in " ".join(marked).lower():
        yield f"no marked turn says {gold!r}: {marked}"
    fillers = {name: session for name, session in sessions.items() if name not in cited}
    asked = _content(record["question"])
    for text in _users(fillers):
        statements = {
            sentence for sentence in _sentences(text) if not sentence.endswith("?")
        }
        yield from (
            f"a filler speaks of it: {statement!r}"
            for statement in statements
            if len(asked & _content(statement)) > len(asked) / 2
        )


def _users(sessions: Mapping[str, Sequence[Row]]) -> list[str]:
    return [
        turn["content"]
        for session in sessions.values()
        for turn in session
        if turn["role"] == "user"
    ]


def _out_of_order(dates: Sequence[datetime]) -> Iterator[str]:
    for earlier, later in pairwise(dates):
        if earlier > later:
            yield f"{later} comes after {earlier}"


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", text) if part]


def _content(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", text.lower())) - _SMALL


def _plain(text: str) -> str:
    """Return a reply without its lists, whose entries are not sentences."""
    return (
        "\n".join(
            line for line in text.splitlines() if not re.match(r"[-*]|\d+\. ", line)
        ).strip()
        or "None."
    )


def _dates_in(text: str, today: date) -> list[str]:
    """Return the days that relative dates such as `two days ago` denote, in the form of gold answers."""
    days = [today - timedelta(1)] if "yesterday" in text.lower() else []
    for word in re.findall(r"\b(\w+) days ago", text.lower()):
        days += [today - timedelta(2 + _COUNT.index(word))]
    for name in re.findall(rf"\blast ({'|'.join(_DAYS)})", text, re.IGNORECASE):
        back = (today.weekday() - _DAYS.index(name.capitalize())) % 7 or 7
        days += [today - timedelta(back)]
    return [f"{day.day} {day:%B %Y}" for day in days]

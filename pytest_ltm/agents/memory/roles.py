"""Tasks: the reasoning of a memory system besides replying, one role each; times in texts.

A model's answer is parsed leniently; a ValueError means that it could not be. Each task
documents its result by rules, which contains what a person could copy out, and no more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from msgspec import Struct, structs

from pytest_ltm.agents.memory.extracts import (
    NOTES,
    Statement,
    choose_statements,
    list_statements,
    own_things,
    read_extract,
    says_name_or_number,
    speaks_of_self,
    split_into_sentences,
    write_extract,
)
from pytest_ltm.agents.memory.memories import Range
from pytest_ltm.agents.memory.prompts import PROMPTS, Prompts
from pytest_ltm.agents.memory.reading import MemoryHit, Utterance, shorten_to_tokens
from pytest_ltm.agents.reader.history_qa import split_date
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.reader.notes import COMMON, MAX_CLOSELY_READ, SMALL_NUMBERS
from pytest_ltm.api.storage import lazy_pattern
from pytest_ltm.language.dates import DAYS, DateRange, dated_stretches, yearless_dates
from pytest_ltm.language.json_values import NoJSON, fenced_blocks, json_values
from pytest_ltm.providers import ModelResponse
from pytest_ltm.providers.completions import Message

_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30.4),
    "year": timedelta(days=365),
}
_COUNT = rf"(\d+|{'|'.join(SMALL_NUMBERS)})"
_LENGTH = lazy_pattern(rf"\b{_COUNT} ({'|'.join(_UNITS)})s?\b", re.IGNORECASE)
_AGO = lazy_pattern(
    rf"((?:\b{_COUNT} (?:{'|'.join(_UNITS)})s?(?:,| and|, and)? ?)+)(?:ago|earlier)\b",
    re.IGNORECASE,
)
_LAST = lazy_pattern(
    rf"\b(last|this|past) (week|weekend|month|year|{'|'.join(DAYS)})\b", re.IGNORECASE
)
_DAY = lazy_pattern(
    r"\b(the day before yesterday|yesterday|last night)\b", re.IGNORECASE
)
_BACK = {"the day before yesterday": 2, "yesterday": 1, "last night": 1}
# The relative error of people's statements on durations, at least.
_SLACK = 0.1


def spoken_of(text: str, now: datetime) -> Range | None:
    """Return the time range that a text mentions, by rules; None for none, and for one outside the calendar.

    A date in brackets before the message does not count.
    """
    try:
        return _range_in(split_date(text)[1], now)
    except (OverflowError, ValueError):  # before the first year, or after the last
        return None


def _range_in(rest: str, now: datetime) -> Range | None:
    if match := _AGO.search(rest):
        lengths = _LENGTH.findall(match[1])
        parts = [
            (SMALL_NUMBERS.get(count.lower()) or int(count), _UNITS[unit.lower()])
            for count, unit in lengths
        ]
        length = sum((count * unit for count, unit in parts), timedelta(0))
        slack = max(length * _SLACK, min(unit for _, unit in parts))
        return Range(now - length - slack, now - length + slack)
    if match := _DAY.search(rest):
        return _day_range(now, _BACK[match[1].lower()], 1)
    if match := _LAST.search(rest):
        return _last_range(now, match[2].lower(), back=match[1].lower() != "this")
    date_ranges = [*dated_stretches(rest)]
    for date_range in () if date_ranges else yearless_dates(rest, now.year):
        # The last one that has begun: people rarely ask about the future.
        has_begun = date_range.first <= now.date()
        date_ranges.append(date_range if has_begun else _year_before(date_range))
    if not date_ranges:
        return None
    end = date_ranges[-1].last + timedelta(days=1)
    return _range_of_days(date_ranges[0].first, end, now)


def _year_before(date_range: DateRange) -> DateRange:
    """Return the same days of the year before; a 29 February becomes the 28th."""
    days = []
    for day in (date_range.first, date_range.last):
        is_leap_day = (day.month, day.day) == (2, 29)
        day_number = 28 if is_leap_day else day.day
        days.append(day.replace(year=day.year - 1, day=day_number))
    return DateRange(*days)


def _range_of_days(first: date, end: date, now: datetime) -> Range:
    """Return the days before `end`, in the conversation's time zone, as people mean days."""
    start = datetime.combine(first, time(), now.tzinfo)
    return Range(start, datetime.combine(end, time(), now.tzinfo))


def _last_range(now: datetime, unit: str, *, back: bool) -> Range:
    """Return this or the previous week, weekend, month or year; a weekday is always the last one."""
    match unit:
        case "week":
            return _day_range(now, now.weekday() + 7 * back, 7)
        case "weekend":
            return _day_range(now, now.weekday() + 7 * back - 5, 2)
        case "month":
            first = (now.date().replace(day=1) - timedelta(days=back)).replace(day=1)
            end = (first + timedelta(days=31)).replace(day=1)
            return _range_of_days(first, end, now)
        case "year":
            year = now.year - back
            return _range_of_days(date(year, 1, 1), date(year + 1, 1, 1), now)
    ago = (now.weekday() - [day.lower() for day in DAYS].index(unit)) % 7 or 7
    return _day_range(now, ago, 1)


def _day_range(now: datetime, ago: int, length: int) -> Range:
    """Return `length` whole days, the first of which was `ago` days ago."""
    first = now.date() - timedelta(days=ago)
    return _range_of_days(first, first + timedelta(days=length), now)


class _RoleTask(Struct, frozen=True, kw_only=True):
    role: str
    """The key of its prompts."""
    prompts: Prompts = PROMPTS

    def prompt(self) -> list[Message]:
        """Return the messages: the role's prompts with the task's fields filled in."""
        words = self.prompts[self.role]
        return [
            {"role": "system", "content": words["system"]},
            {"role": "user", "content": words["user"].format(**self._shown())},
        ]

    def _shown(self) -> dict[str, object]:
        parts: dict[str, Any] = structs.asdict(self)
        if "said" in parts:
            parts["said"] = _numbered_lines(parts["said"])
        if parts.get("now"):
            parts["day"] = parts["now"].date().isoformat()
        return parts


def _numbered_lines(utterances: Sequence[Utterance]) -> str:
    return "\n".join(
        f"{number}. {utterance.role or 'note'}: {utterance.text}"
        for number, utterance in enumerate(utterances, start=1)
    )


def _first_json_value(text: str, kind: type) -> Any:
    """Return the first JSON value of a type in a text; NoJSON if there is none."""
    for value in json_values(text):
        if isinstance(value, kind):
            return value
    raise NoJSON(f"no {kind.__name__} in the text")


def _stripped_texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(
        value.strip() for value in values if isinstance(value, str) and value.strip()
    )


def _text_list(text: str) -> tuple[str, ...]:
    texts = _stripped_texts(_first_json_value(text, list))
    if not texts and "[]" not in text:
        raise NoJSON("no text in the list")
    return texts


# --- What rules can copy out: sentences in the first person, and content words.

_SELF = lazy_pattern(
    r"\b(?:I(?: am|'m| was| feel| felt| (?:\w+ )?(?:like|love|enjoy|prefer|hate|want|hope|fear))|my favou?rite)\b",
    re.IGNORECASE,
)
_CAPITAL = lazy_pattern(r"\b[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")
_WORD = lazy_pattern(r"[^\W\d_]{6,}")
_REQUEST = lazy_pattern(
    r"(?:please,? |now,? |can you |could you )*(?:tell|name|list|say|give|repeat|remind|answer|recall|which|what|who|"
    r"when|where|how)\b",
    re.IGNORECASE,
)
_MOST = 8
_PHRASES = 8
_ITEM = ' "{}",'


def _telling_words(text: str) -> list[str]:
    """Return the names in a text, then its long uncommon words, without duplicates."""
    words = [*_CAPITAL.findall(text), *_WORD.findall(text)]
    return list(
        dict.fromkeys(word for word in words if word.lower() not in COMMON["history"])
    )


def own_statements(text: str) -> Iterator[str]:
    """Yield the first-person statements of a brief text."""
    for sentence in split_into_sentences(text) if len(text) <= MAX_CLOSELY_READ else ():
        if speaks_of_self(sentence) and not sentence.endswith("?"):
            yield sentence


def asks_something(message: str) -> bool:
    """Return whether a brief message expects an answer: it has a question, or begins with a request."""
    return len(message) <= MAX_CLOSELY_READ and bool(_questions(message))


def _questions(text: str) -> list[str]:
    return [
        sentence
        for sentence in split_into_sentences(text)
        if sentence.endswith("?") or _REQUEST.match(sentence)
    ]


def _own_queries(message: str, count: int) -> tuple[str, ...]:
    """Return queries for a brief message: its questions, and their content words."""
    if not asks_something(message):
        return ()
    question_text = " ".join(_questions(message))
    words = " ".join(_telling_words(question_text))
    return tuple(
        dict.fromkeys(
            query for query in (question_text, words) if query and query != message
        )
    )[:count]


# --- Queries, and the record on the user.


class Queries(_RoleTask, frozen=True, kw_only=True):
    """Queries for what a reply to a message requires. By rules: its questions, and their content words."""

    message: str
    last: str
    """The last reply."""
    count: int
    role: str = "queries"

    def result(self, answer: ModelResponse) -> tuple[str, ...]:
        """Return the queries."""
        return _text_list(answer.text)[: self.count]

    def by_rules(self) -> tuple[str, ...]:
        """Return up to two queries."""
        return _own_queries(self.message, self.count)


class Described(Struct, frozen=True):
    """The record on the user, and queries for what else a reply requires."""

    user: Mapping[str, Any]
    queries: tuple[str, ...] = ()


class Describe(_RoleTask, frozen=True, kw_only=True):
    """The updated JSON object on the user, and queries, in one call.

    By rules: each statement that describes one of the user's own things, under the name
    of that thing; of all other first-person statements those that say most; and the
    queries of `Queries`.
    """

    user: Mapping[str, Any]
    message: str
    last: str
    count: int
    size: int
    """Maximum tokens of the object."""
    role: str = "user"

    def _shown(self) -> dict[str, object]:
        return super()._shown() | {
            "user": json.dumps(self.user, ensure_ascii=False, indent=1)
        }

    def result(self, answer: ModelResponse) -> Described:
        """Return the object, cut to its size, and the queries."""
        matching = _first_json_value(answer.text, dict)
        user = matching.get("user")
        queries = matching.get("queries", [])
        if not isinstance(user, dict) or not isinstance(queries, list):
            raise NoJSON("user is not an object, or queries is not a list")
        return Described(
            _drop_oldest_fields(user, self.size), _stripped_texts(queries)[: self.count]
        )

    def by_rules(self) -> Described:
        """Return the object with the message's statements, newest last, and up to two queries."""
        user = dict(self.user)
        for statement in list_statements(self.message):
            if speaks_of_self(statement.text):
                _note_statement(user, statement)
        return Described(
            _fit_notes(user, self.size), _own_queries(self.message, self.count)
        )


def _note_statement(user: dict[str, Any], statement: Statement) -> None:
    """Store a statement under each of the user's own things that it describes, else among the notes."""
    things = own_things(statement.text)
    # The newest come last.
    for thing in things:
        user.pop(thing, None)
        user[thing] = statement.line
    if not things:
        field = statement.speaker or NOTES
        notes = user.get(field, [])
        if not isinstance(notes, list):  # a model may have written something else
            notes = [str(notes)]
        earlier = [note for note in notes if note != statement.text]
        user[field] = [*earlier, statement.text]


def _fit_notes(user: Mapping[str, Any], size: int) -> Mapping[str, Any]:
    """Return an object within a number of tokens, keeping the notes in its lists that say most."""
    if count_tokens(shown_user(user)) <= size:
        return user
    lists = {field: notes for field, notes in user.items() if isinstance(notes, list)}
    rest = {field: text for field, text in user.items() if field not in lists}
    statements = [
        Statement(str(note), field) for field, notes in lists.items() for note in notes
    ]
    empty = {field: [""] for field in lists}
    room = size - count_tokens(shown_user({**rest, **empty}))
    chosen = choose_statements(statements, room, _ITEM)
    chosen_notes = {
        field: [note for note in notes if Statement(str(note), field) in chosen]
        for field, notes in lists.items()
    }
    filled = {field: notes for field, notes in chosen_notes.items() if notes}
    return _drop_oldest_fields({**filled, **rest}, size)


def _drop_oldest_fields(user: Mapping[str, Any], size: int) -> Mapping[str, Any]:
    """Return an object within a number of tokens, without its oldest fields if necessary."""
    fields = dict(user)
    while fields and count_tokens(shown_user(fields)) > size:
        fields.pop(next(iter(fields)))
    return fields


def shown_user(user: Mapping[str, Any]) -> str:
    """Return an object on the user as text, "" for an empty one."""
    if user:
        return json.dumps(user, ensure_ascii=False)
    return ""


class Jot(_RoleTask, frozen=True, kw_only=True):
    """The updated scratchpad. By rules: the user's first-person statements, one per line, newest last."""

    pad: str
    message: str
    last: str
    size: int
    role: str = "scratchpad"

    def result(self, answer: ModelResponse) -> str:
        """Return the text between the backticks, with the newest lines that fit."""
        blocks = fenced_blocks(answer.text)
        if not blocks:
            raise NoJSON("no text between backticks")
        return _newest_lines(blocks[-1].strip().split("\n"), self.size)

    def by_rules(self) -> str:
        """Return the pad with the message's statements."""
        old = self.pad.split("\n") if self.pad else []
        return _newest_lines(
            list(dict.fromkeys([*old, *own_statements(self.message)])), self.size
        )


def _newest_lines(lines: Sequence[str], size: int) -> str:
    """Return the last lines that fit into `size` tokens."""
    newest: list[str] = []
    for line in reversed(lines):
        size -= count_tokens(line) + 1
        if size < 0:
            break
        newest.append(line)
    return "\n".join(reversed(newest))


# --- Derived when memories are stored: additional keys, and other kinds of memories.


class ExtractedFact(Struct, frozen=True):
    """A fact, and the positions of its sources among the shown utterances, from 0."""

    text: str
    cites: tuple[int, ...]


class Facts(_RoleTask, frozen=True, kw_only=True):
    """Facts in the utterances. By rules: first-person statements, and those with names or numbers."""

    said: tuple[Utterance, ...]
    role: str = "facts"

    def result(self, answer: ModelResponse) -> tuple[ExtractedFact, ...]:
        """Return the facts; a fact without sources cites all utterances."""
        matching = []
        for entry in _first_json_value(answer.text, list):
            text = entry.get("fact") if isinstance(entry, dict) else entry
            if not isinstance(text, str):
                raise NoJSON("a fact is not a text")
            named = entry.get("from", []) if isinstance(entry, dict) else []
            numbers = named if isinstance(named, list) else []
            cites = [
                n - 1 for n in numbers if isinstance(n, int) and 0 < n <= len(self.said)
            ]
            if text.strip():
                matching.append(
                    ExtractedFact(
                        text.strip(), tuple(cites) or tuple(range(len(self.said)))
                    )
                )
        return tuple(matching)

    def by_rules(self) -> tuple[ExtractedFact, ...]:
        """Return up to eight statements of each utterance."""
        result = []
        for place, utterance in enumerate(self.said):
            statements = [
                sentence
                for sentence in split_into_sentences(utterance.text[:MAX_CLOSELY_READ])
                if not sentence.endswith("?")
            ]
            facts = [
                statement
                for statement in statements
                if speaks_of_self(statement) or says_name_or_number(statement)
            ]
            result += [ExtractedFact(fact, (place,)) for fact in facts[:_MOST]]
        return tuple(result)


class Keyphrases(_RoleTask, frozen=True, kw_only=True):
    """Keyphrases by which utterances can be found. By rules: names, and long uncommon words."""

    said: tuple[Utterance, ...]
    role: str = "keyphrases"

    def result(self, answer: ModelResponse) -> tuple[str, ...]:
        """Return the phrases."""
        return _text_list(answer.text)[:_PHRASES]

    def by_rules(self) -> tuple[str, ...]:
        """Return up to eight phrases: names first, then words."""
        return tuple(
            _telling_words(
                "\n".join(utterance.text[:MAX_CLOSELY_READ] for utterance in self.said)
            )[:_PHRASES]
        )


class Summary(_RoleTask, frozen=True, kw_only=True):
    """A summary. By rules: of the earlier summary and the user's statements, those that say most.

    A personality is what people say about what they are, like and feel; a day is
    everything else.
    """

    said: tuple[Utterance, ...]
    of: str = "session"
    """The subject of the summary: a key of the prompts' `wanted`."""
    earlier: str = ""
    size: int = 200
    """Maximum tokens."""
    role: str = "summary"

    def _shown(self) -> dict[str, object]:
        words = self.prompts[self.role]
        before = words["before"].format(earlier=self.earlier) if self.earlier else ""
        return super()._shown() | {"before": before, "wanted": words["wanted"][self.of]}

    def result(self, answer: ModelResponse) -> str:
        """Return the text, cut to its size."""
        if not answer.text.strip():
            raise NoJSON("no text")
        return shorten_to_tokens(answer.text.strip(), self.size)

    def by_rules(self) -> str:
        """Return the statements, one per line, by date and speaker."""
        statements = [
            statement
            for utterance in self.said
            if utterance.role != "assistant"
            for statement in list_statements(utterance.text)
            if self._wants(statement.text)
        ]
        return write_extract([*read_extract(self.earlier), *statements], self.size)

    def _wants(self, statement: str) -> bool:
        if self.of not in ("day", "personality"):
            return True
        return (_SELF.search(statement) is not None) == (self.of == "personality")


# --- Times: of the events that are mentioned, and of a question's subject.


class EventDater(_RoleTask, frozen=True, kw_only=True):
    """The times of events in the utterances. By rules: each time that a sentence mentions."""

    said: tuple[Utterance, ...]
    now: datetime
    role: str = "events"

    def result(self, answer: ModelResponse) -> tuple[Range, ...]:
        """Return the times."""
        return tuple(
            _parse_range(value, self.now)
            for value in _first_json_value(answer.text, list)
        )

    def by_rules(self) -> tuple[Range, ...]:
        """Return up to eight times."""
        sentences = (
            sentence
            for utterance in self.said
            for sentence in split_into_sentences(utterance.text[:MAX_CLOSELY_READ])
        )
        ranges = (spoken_of(sentence, self.now) for sentence in sentences)
        return tuple(dict.fromkeys(filter(None, ranges)))[:_MOST]


class TimeRange(_RoleTask, frozen=True, kw_only=True):
    """The time that a question is about, None for any. By rules: the time that it mentions."""

    message: str
    now: datetime
    role: str = "range"

    def result(self, answer: ModelResponse) -> Range | None:
        """Return the time."""
        matching = _first_json_value(answer.text, dict)
        return _parse_range(matching, self.now) if matching else None

    def by_rules(self) -> Range | None:
        """Return the time that the question mentions."""
        return spoken_of(self.message[:MAX_CLOSELY_READ], self.now)


def _parse_range(value: object, now: datetime) -> Range:
    """Return the days in an object; ValueError if they are invalid."""
    if not isinstance(value, dict):
        raise NoJSON("a time is not an object")
    days = [
        date.fromisoformat(str(value.get(name, value.get("from"))))
        for name in ("from", "to")
    ]
    first, last = days
    if last < first:
        raise NoJSON("a time ends before it begins")
    return _range_of_days(first, last + timedelta(days=1), now)


class Reread(_RoleTask, frozen=True, kw_only=True):
    """The part of one memory that is relevant to a message, "" for none. By rules: all of it."""

    message: str
    note: MemoryHit
    now: datetime | None = None
    role: str = "note"

    def _shown(self) -> dict[str, object]:
        times = self.note.begin_time, self.now
        note_day, day = (
            "an unknown day" if at is None else f"{at:%A, %Y-%m-%d}" for at in times
        )
        return super()._shown() | {
            "note": f"Said on {note_day}:\n{_numbered_lines(self.note.utterances)}",
            "day": day,
        }

    def result(self, answer: ModelResponse) -> str:
        """Return the text."""
        text = answer.text.strip()
        if text.strip(' ."').lower() in {"nothing", ""}:
            return ""
        return text

    def by_rules(self) -> str:
        """Return the memory's text."""
        return self.note.text

"""Open questions about a told history: other people's dated conversations, and earlier sessions.

Extractive: passages that share the rarest words with the question are searched, and the
answer is a sentence or a short phrase of one. If nothing matches, the answer is that it
was not mentioned. Not tuned to any data set.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache, partial
from itertools import dropwhile, groupby

from msgspec import Struct

from pytest_ltm.agents.reader.notes import (
    COMMON,
    SMALL_NUMBERS,
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNote,
    ReaderNotebook,
    first_kind,
    first_match,
)
from pytest_ltm.language.clauses import split_sentences
from pytest_ltm.language.dates import DAYS, MONTHS, month_number

NUMBERS = SMALL_NUMBERS | {"couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_NEAR = {
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "tomorrow": 1,
}
_RE = Patterns(
    "history_qa",
    DAYS=DAYS,
    MONTHS=MONTHS,
    NEAR=_NEAR,
    COUNT=[r"\d{1,3}", *NUMBERS],
    NUMBER=[
        r"\$?\d[\d,.]*%?",
        *sorted((n for n in NUMBERS if n not in {"a", "an"}), key=len, reverse=True),
    ],
)
_DATES = _RE["dates"]
_KINDS = _RE["kinds"]
USER, ASSISTANT = "I", "you"
"""The speakers of a chat, from the user's point of view."""


def read_date(text: str) -> date | None:
    """Return the date in a text, None if there is none; with the month in letters, or the year first."""
    match = first_match(_DATES, text)
    if match is None:
        return None
    month = match["month"]
    number = int(month) if month.isdecimal() else month_number(month) or 0
    try:
        return date(int(match["year"]), number, int(match["day"]))
    except ValueError:
        return None


def split_date(text: str) -> tuple[date | None, str]:
    """Return the date in brackets at the beginning of a message, None if there is none, and the rest."""
    match = _RE.bracket.match(text)
    when = read_date(match[1]) if match else None
    if match is None or when is None:
        return (None, text)
    return (when, text[match.end() :])


def is_told(text: str) -> bool:
    """Return whether a dated text tells what was said on that date, instead of asking a question."""
    return _RE.speaker.match(text) is not None or _RE.sides.match(text) is not None


def iter_sayings(text: str, reply: str) -> Iterator[tuple[str, str]]:
    """Yield speakers and texts.

    A told message without speakers is the user's, and its reply the assistant's.
    """
    if sides := _RE.sides.match(text):
        yield USER, sides["user"]
        yield ASSISTANT, sides["assistant"] or ""
    elif _RE.speaker.match(text):
        # The group in the pattern is the speaker: names and texts alternate, after the
        # "" before the first.
        _, *parts = _RE.speaker.split(text)
        yield from zip(parts[::2], parts[1::2], strict=True)
    else:
        yield USER, text
        yield ASSISTANT, reply


# --- Words of a told history: stems without endings, and the words without meaning.

_IRREGULAR = {
    form: word for word, forms in WORDS["irregular"].items() for form in forms.split()
}
_COMMON = COMMON["history"]


@lru_cache(maxsize=100_000)
def rough_stem(word: str) -> str:
    """Return a rough stem of a lower-case word, the same for most of its forms."""
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    word = _IRREGULAR.get(word, word)
    for ending in (
        "ations",
        "ation",
        "ings",
        "ing",
        "ies",
        "ied",
        "ers",
        "ed",
        "er",
        "es",
        "ly",
        "s",
        "y",
        "e",
    ):
        if len(word) - len(ending) > 2 and word.endswith(ending):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    return word


def content_stem_list(text: str) -> list[str]:
    """Return the stems of the content words, in order."""
    stems = []
    for word in _RE.word.findall(text.lower()):
        if word not in _COMMON:
            stems.append(rough_stem(word))
    return stems


PASSAGE = 320
"""Maximum characters of consecutive sentences that form one passage."""
_SATURATION, _LENGTH = 1.2, 0.6
"""BM25's k1 and b; a word counts once in a passage."""
# The share of a passage's score that the next passage inherits: an answer follows its
# question.
_NEIGHBOUR = 0.3
# Notes whose passages are kept in memory.
_NOTES_READ = 64


class Passage(Struct, frozen=True):
    """Consecutive sentences of one speaker, with their score for a question."""

    number: int
    worth: float
    share: float
    """The share of the question's weight that its words cover, 0 to 1."""
    at: date | None
    index: PassageIndex

    @property
    def speaker(self) -> str:
        """The speaker."""
        return self.index.read_passage(self.number)[0]

    @property
    def text(self) -> str:
        """The text, read on demand: most passages that share a word with a question are never looked at."""
        return self.index.read_passage(self.number)[1]


class PassageIndex:
    """All passages of the notes so far, without their texts; adding notes takes time linear in them."""

    def __init__(self) -> None:
        self.speakers = Counter[str]()
        """The speakers, with their numbers of passages."""
        # Numbers in arrays, and no texts: a history may have a million passages.
        self._sizes = array("I")
        self._places: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        self._notes: list[ReaderNote] = []
        self._days: list[date | None] = []
        """The day of each note."""
        self._note_of = array("I")
        """The note of each passage, by number."""
        self._first = array("I")
        """The first passage of each note."""
        self._said_in = lru_cache(maxsize=_NOTES_READ)(self._read_note)

    def index_new_notes(self, notes: Sequence[ReaderNote]) -> None:
        """Add the notes that are not indexed yet."""
        for number, note in enumerate(
            notes[len(self._notes) :], start=len(self._notes)
        ):
            message, _, day = note.content
            when, _ = split_date(message)
            last = self._days[-1] if self._days else None
            self._days.append(
                when or (None if day is None else date.fromisoformat(day)) or last
            )
            self._notes.append(note)
            self._first.append(len(self._sizes))
            for speaker, text in self._read_note(number):
                stems = set(content_stem_list(text))
                for stem in stems:
                    self._places[stem].append(len(self._sizes))
                self.speakers[speaker] += 1
                self._note_of.append(number)
                self._sizes.append(len(stems))

    def read_passage(self, number: int) -> tuple[str, str]:
        """Return speaker and text of a passage."""
        note = self._note_of[number]
        return self._said_in(note)[number - self._first[note]]

    def _read_note(self, number: int) -> list[tuple[str, str]]:
        """Return the passages of a note with their speakers."""
        message, reply, _ = self._notes[number].content
        passages = []
        for speaker, saying in iter_sayings(split_date(message)[1], reply):
            for text in iter_passages(saying):
                passages.append((speaker, text))
        return passages

    def search(
        self, words: AbstractSet[str], sees: Callable[[int], bool]
    ) -> list[Passage]:
        """Return the visible passages that share a word, best first; of equals the newest."""
        visible_notes = [sees(note.position) for note in self._notes]
        if not any(visible_notes):
            return []
        is_visible = bytearray(visible_notes[note] for note in self._note_of)
        total = is_visible.count(1)
        places: dict[str, list[int]] = {}
        rarity: dict[str, float] = {}
        for word in words:
            on = [n for n in self._places.get(word, ()) if is_visible[n]]
            places[word] = on
            # Counted among visible passages only: the reader may know nothing about the
            # others.
            rarity[word] = math.log(1 + (total - len(on) + 0.5) / (len(on) + 0.5))
        weight = sum(rarity.values()) or 1.0
        mean = sum(self._sizes) / len(self._sizes)
        base_worth: dict[int, float] = defaultdict(float)
        shares: dict[int, float] = defaultdict(float)
        for word, result in places.items():
            gain = rarity[word] * (1 + _SATURATION)
            for n in result:
                norm = 1 - _LENGTH + _LENGTH * self._sizes[n] / mean
                base_worth[n] += gain / (1 + _SATURATION * norm)
                shares[n] += rarity[word] / weight
        worth = dict(base_worth)
        days = [self._days[note] for note in self._note_of]
        for n in base_worth:
            if n and days[n - 1] == days[n]:
                worth[n] += _NEIGHBOUR * base_worth.get(n - 1, 0.0)
        ranked = sorted(worth, key=lambda n: (-worth[n], -n))
        return [Passage(n, worth[n], shares[n], days[n], self) for n in ranked]


def iter_passages(text: str) -> Iterator[str]:
    """Yield a text in passages of whole sentences."""
    passage = ""
    for part in split_sentences(text):
        if passage and len(passage) + len(part) > PASSAGE:
            yield passage
            passage = ""
        passage = f"{passage} {part}" if passage else part
    if passage:
        yield passage


# --- The dates of events told on a day (yesterday, last week, two months ago), and the
# time between days.

UNITS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
"""Days of each unit."""


def format_day(day: date) -> str:
    """Return a day in the form that people write."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def date_of_event(text: str, told_day: date) -> str | None:
    """Return the date of the event in a text that was told on a day; None if the text does not say."""
    # The order decides if a text has several dates: "ago" is the most reliable, a bare
    # month the least.
    if match := _RE.ago.search(text):
        count = int(match[1]) if match[1].isdecimal() else NUMBERS[match[1].lower()]
        unit = match[2].lower()
        weeks = (
            f"{match[1]} week{'s' if count > 1 else ''} before {format_day(told_day)}"
        )
        return weeks if unit == "week" else shift_day(told_day, -count, unit)
    if match := _RE.nearby.search(text):
        return shift_day(told_day, _NEAR[match[1].lower()], "day")
    if match := _RE.weekday.search(text):
        side = "after" if match[1].lower() in {"this", "next"} else "before"
        return f"the {match[2].capitalize()} {side} {format_day(told_day)}"
    if match := _RE.step.search(text):
        return _step_from(told_day, match[1].lower(), match[2].lower())
    return _named_time(text, told_day)


def _named_time(text: str, told_day: date) -> str | None:
    """Return the year that a text names, else its month, which is the last one of its name before the day."""
    match = _RE.year.search(text) or _RE.named.search(text)
    if match is None or match[1] == "May":  # more often a verb
        return None
    if match[1].isdecimal():
        return match[1]
    is_later_month = MONTHS.index(match[1].split()[0]) + 1 > told_day.month
    year = shift_day(told_day, -1 if is_later_month else 0, "year")
    return year and f"{match[1]} {year}"


def _step_from(told_day: date, which: str, unit: str) -> str | None:
    """Return the week, weekend, month, year or season that was `last`, `this` or `next` on a day, as `shift_day`."""
    step = {"this": 0, "next": 1, "coming": 1}.get(which, -1)
    if unit in {"month", "year"}:
        return shift_day(told_day, step, unit)
    week = unit in {"week", "weekend"}
    # A coming season of this year belongs to this year.
    side = ("of", "after", "before")[step]
    if week:
        return f"the {unit} {side} {format_day(told_day)}"
    year = shift_day(told_day, min(step, 0), "year")
    return year and f"{unit} {year}"


def shift_day(day: date, step: int, unit: str) -> str | None:
    """Return the day, month or year `step` units after that of a day; None if no date has its year."""
    months = day.year * 12 + day.month - 1
    try:
        if unit == "day":
            return format_day(day + timedelta(days=step))
        months += step * (12 if unit == "year" else 1)
        shifted_day = date(months // 12, months % 12 + 1, 1)
    except (OverflowError, ValueError):
        return None
    if unit == "month":
        return f"{MONTHS[shifted_day.month - 1]} {shifted_day.year}"
    return str(shifted_day.year)


class ParsedQuestion(Struct, frozen=True):
    """A parsed question."""

    text: str
    """The question itself, without its frame."""
    kind: str
    """`choice`, `elapsed`, `order`, `when`, `amount`, `yes or no`, `who`, `where` or `what`."""
    short: bool
    """Whether a short phrase is requested."""
    several: bool
    """Whether it asks for several things."""
    at: date | None
    """The day on which it is asked, if given."""
    choices: tuple[tuple[str, str], ...] = ()
    """The letter and the text of each choice."""


def is_about_a_conversation(text: str) -> bool:
    """Return whether a text begins as a question about a conversation, such as `About our conversation: `."""
    return _RE.about.match(text) is not None


def parse_question(message: str) -> ParsedQuestion:
    """Return the question in a message, parsed."""
    day, question = split_date(message)
    frame = _RE.about.match(question)
    question = question[frame.end() :] if frame else question
    choices = []
    for match in _RE.choice.finditer(question):
        choices.append((match[1], match[2].strip()))
    end = question.rfind("?", 0, question.find("(a)") if choices else len(question))
    text = question[: end + 1] if end >= 0 else question
    kind = "choice" if len(choices) > 1 else _question_kind(text)
    return ParsedQuestion(
        text,
        kind,
        bool(_RE.short.search(question)),
        kind == "what" and bool(_RE.several.match(text)),
        day,
        tuple(choices),
    )


def _question_kind(text: str) -> str:
    # The specific kinds first: `how long ago did` also matches `did`, and `which came
    # first` matches `which`.
    if _RE.elapsed.search(text):
        return "elapsed"
    if _RE.order.search(text) and _RE.of_order.match(text):
        return "order"
    kind, _ = first_kind(_KINDS, text)
    return kind or "what"


def named_speakers(text: str, speakers: Iterable[str]) -> list[str]:
    """Return the speakers whose first names occur in a text as words."""
    words = set()
    for word in _RE.word.findall(text):
        words.add(word.removesuffix("'s").removesuffix("’s"))
    return [speaker for speaker in speakers if speaker.split()[0] in words]


def wanted_stems(text: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the stems that a passage should have: those of the text, without the speakers' names."""
    names = set()
    for speaker in speakers:
        for part in speaker.split():
            names.add(rough_stem(part.lower()))
    return frozenset(content_stem_list(text)) - names


# --- The phrase of a sentence that answers a question of a kind: an amount, a name, a
# place, or what is new.

_LONGEST = 5
_ARTICLES = frozenset({"the", "a", "an", "my", "our"})
_IDLE = _COMMON | COMMON["answer"]


def amount_in(sentence: str, question: str) -> str | None:
    """Return a sentence's number with its unit; a period if the question asks how long."""
    lowered = question.lower()
    if "how long" in lowered or "how old" in lowered:
        match = _RE.period.search(sentence)
        return match[0] if match else None
    pattern = _RE.counted if "how m" in lowered or "time" in lowered else _RE.quantity
    match = pattern.search(sentence)
    return match[0].strip() if match else None


def person_in(sentence: str, question_stems: AbstractSet[str]) -> str | None:
    """Return a name, or a relation such as `my sister`, that is not in the question."""
    for name in _RE.capitalised.findall(sentence):
        if not _shares_stem(name, question_stems):
            return str(name)
    match = _RE.related.search(sentence)
    return match[0] if match else None


def place_in(sentence: str, question_stems: AbstractSet[str]) -> str | None:
    """Return a new place after a preposition; names take precedence."""
    places = []
    for match in _RE.place.findall(sentence):
        place = _leading_place(match.split())
        is_new = not _shares_stem(match, question_stems)
        if is_new and any(word.lower() not in _COMMON for word in place):
            places.append(" ".join(place))
    for place_name in places:
        if any(map(str.isupper, place_name)):
            return place_name
    return places[0] if places else None


def _leading_place(words: list[str]) -> list[str]:
    """Return the words up to the first that cannot be part of a place."""
    for n, word in enumerate(words):
        # An article may only lead.
        if word.lower() in _COMMON and (n or word.lower() not in _ARTICLES):
            return words[:n]
    return words


def _shares_stem(text: str, stems: AbstractSet[str]) -> bool:
    return not stems.isdisjoint(map(rough_stem, text.lower().split()))


def newest_chunk(sentence: str, question_stems: AbstractSet[str]) -> str | None:
    """Return a sentence's most informative chunk that is not in the question.

    Chunks near a word of the question are preferred.
    """
    parts = _RE.token.findall(sentence)
    in_question = [rough_stem(part.lower()) in question_stems for part in parts]
    marks = [i for i, is_mark in enumerate(in_question) if is_mark]

    def belongs(place: int) -> bool:
        bare = parts[place].lower()
        return bare == "of" or (
            bare not in _IDLE
            and _RE.word.fullmatch(parts[place].replace("-", "")) is not None
        )

    best = None
    best_worth = 0.0
    for is_chunk, run in groupby(range(len(parts)), belongs):
        # An `of` joins two words, so it cannot begin or end a chunk.
        places = [place for place in run if is_chunk]
        while places and parts[places[-1]].lower() == "of":
            places.pop()
        places = [*dropwhile(lambda place: parts[place].lower() == "of", places)]
        new_count = [in_question[place] for place in places].count(False)
        if new_count:
            near = min(
                (abs(places[0] - mark) + 4 * (mark > places[0]) for mark in marks),
                default=6,
            )
            worth = min(new_count, _LONGEST) ** 0.5 + 2 / (1 + near / 3)
            if worth > best_worth:
                best = " ".join(parts[place] for place in places[:_LONGEST])
                best_worth = worth
    return best


# --- The answer to a question about a told history, from the passages that share words
# with it.

NOT_MENTIONED = "That was not mentioned."
# The minimum share of a question's weight that the best passage must cover.
_LEAST = 0.34
# Number of best passages searched for a phrase.
_LOOKED_AT = 6
# Of passages with at least this share of the best score, the newest counts: later
# statements hold.
_AS_GOOD = 0.9
_OWN, _OTHERS = 1.4, 0.7
"""Factors for the score of a passage by the person asked about, and by somebody else."""


class _HistoryAnswer:
    """The answer to one question, from the visible part of the history."""

    def __init__(
        self,
        question: ParsedQuestion,
        index: PassageIndex,
        sees: Callable[[int], bool],
        today: date | None,
    ) -> None:
        self._question = question
        self._index = index
        self._sees = sees
        self._today = today
        self._words = wanted_stems(question.text, index.speakers)
        self._people = named_speakers(question.text, index.speakers)

    def text(self) -> str:
        """Return the answer; NOT_MENTIONED if nothing matches."""
        question = self._question
        match question.kind:
            case "choice":
                # The choice with most evidence in passages of the person asked about.
                letter, text = max(
                    question.choices,
                    key=lambda choice: self._option_evidence(choice[1]),
                )
                return f"({letter}) {text}"
            case "elapsed":
                return self._elapsed_time() or NOT_MENTIONED
            case "order" if first := self._which_came_first():
                return first
        scored = self._search(self._words)
        if self._people and len(self._people) < len(self._index.speakers):
            # Passages of the people asked about count more.
            weight = {True: _OWN, False: _OTHERS}
            scored = sorted(
                scored[:50],
                key=lambda passage: (
                    -passage.worth * weight[passage.speaker in self._people]
                ),
            )
        if not scored or scored[0].share < _LEAST:
            return NOT_MENTIONED
        if question.short:
            return self._shortest_phrase(scored)
        return self._full_sentence(scored)

    def _full_sentence(self, scored: Sequence[Passage]) -> str:
        """Return the newest of the best passages in full, after the date if the question asks for it."""
        good = []
        for candidate in scored:
            is_good = candidate.worth >= _AS_GOOD * scored[0].worth
            if is_good and candidate.speaker != ASSISTANT:
                good.append(candidate)
        passage = max(good, key=lambda candidate: candidate.number, default=scored[0])
        kind = self._question.kind
        brief = self._answer_briefly(passage)
        if brief:
            if kind == "when":
                return f"{brief}."
            return f"{brief}. {passage.text}"
        if kind == "amount":
            for sentence in self._closest_first(passage.text):
                if amount_in(sentence, self._question.text):
                    return sentence
        return passage.text

    def _shortest_phrase(self, scored: Sequence[Passage]) -> str:
        if brief := self._answer_briefly(scored[0]):
            return brief
        find: Callable[[str], str | None] = {
            "amount": lambda line: amount_in(line, self._question.text),
            "who": lambda line: person_in(line, self._words),
            "where": lambda line: place_in(line, self._words),
        }.get(self._question.kind, lambda _: None)
        for passage in scored[:_LOOKED_AT]:
            for line in self._closest_first(passage.text):
                if phrase := find(line):
                    return phrase
        # Otherwise the new part of the closest sentence.
        best = scored[: 4 if self._question.several else 1]
        closest = [self._closest_first(passage.text)[0] for passage in best]
        chunks = (newest_chunk(line, self._words) for line in closest)
        return ", ".join(dict.fromkeys(filter(None, chunks))) or closest[0]

    def _answer_briefly(self, passage: Passage) -> str:
        """Return the date, or yes or no, according to one passage; "" if the question asks for neither."""
        first = self._closest_first(passage.text)[0]
        if self._question.kind == "when" and passage.at is not None:
            dates = (date_of_event(text, passage.at) for text in (first, passage.text))
            return next(filter(None, dates), format_day(passage.at))
        return (
            ("No" if _RE.no.search(first) else "Yes")
            if self._question.kind == "yes or no"
            else ""
        )

    def _search(self, words: AbstractSet[str]) -> list[Passage]:
        return self._index.search(words, self._sees)

    def _closest_first(self, text: str) -> list[str]:
        """Return the sentences of a text, those with most of the words first."""
        return sorted(
            split_sentences(text),
            key=lambda sentence: -len(self._words & set(content_stem_list(sentence))),
        )

    def _option_evidence(self, text: str) -> float:
        if _RE.surely.search(text):
            return _LEAST * 1.5
        best = next(
            iter(self._search(self._words | wanted_stems(text, self._index.speakers))),
            None,
        )
        if best is None or (self._people and best.speaker not in self._people):
            return 0.0
        return best.share

    def _elapsed_time(self) -> str | None:
        """Return the time between two days: those of two events, or of one and the question."""
        question = self._question
        days = []
        for part in _RE.things.split(question.text):
            day = self._day_of(part)
            if day is not None:
                days.append(day)
        if "ago" in question.text or len(days) < 2:
            ends = (self._day_of(question.text), question.at or self._today)
            days = [day for day in ends if day is not None]
        if len(days) < 2 or days[0] == days[1]:
            return None
        match = _RE.elapsed.search(question.text)
        unit = ((match and match["unit"]) or "day").lower()
        count = round(abs((days[1] - days[0]).days) / UNITS[unit])
        return f"{count} {unit}{'s' if count != 1 else ''}."

    def _day_of(self, text: str) -> date | None:
        for passage in self._search(wanted_stems(text, self._index.speakers)):
            if passage.speaker != ASSISTANT:
                return passage.at
        return None

    def _which_came_first(self) -> str | None:
        """Return which of the question's things came first, or last, by the days on which they were told."""
        head, _, listed = self._question.text.rpartition("first")
        if not head:  # it asks for the last
            _, _, listed = self._question.text.partition(",")
        dated_things = []
        for part in re.split(r"\bor\b|,", listed):
            thing = part.strip(" ?,.:")
            if len(thing) <= 2:
                continue
            day = self._day_of(thing)
            if day is not None:
                dated_things.append((day, thing))
        if len(dated_things) < 2:
            return None
        return (min if head else max)(dated_things, key=lambda pair: pair[0])[1]


KIND = "history"


class ToldHistory:
    """Keeps what was told with a date, and everything told later; answers explicit questions about it."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what was told; answer a question with a date in front, or one about a conversation."""
        when, text = split_date(turn.text)
        has_history = bool(notes.notes_of_kind(KIND))
        if (turn.told and (has_history or when is not None)) or (
            when is not None and is_told(text)
        ):
            day = None if turn.now is None else str(_utc_day(turn.now))
            return notes.add(
                turn, KIND, [turn.text, turn.reply, day], "I have read it."
            )
        if has_history and (when is not None or is_about_a_conversation(text)):
            return answer_turn(turn, notes)
        return None


class OpenQuestions:
    """Treats every other question as one about the history, if there is one."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Answer a question."""
        asks = notes.notes_of_kind(KIND) and "?" in turn.text
        return answer_turn(turn, notes) if asks else None


def answer_turn(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    """Return the answer to a question from the visible history."""
    notes.overlook()
    index = notes.derived(KIND, PassageIndex)
    index.index_new_notes(notes.notes_of_kind(KIND))
    today = None if turn.now is None else _utc_day(turn.now)
    return _HistoryAnswer(parse_question(turn.text), index, notes.sees, today).text()


def _utc_day(now: float) -> date:
    return datetime.fromtimestamp(now, tz=timezone.utc).date()

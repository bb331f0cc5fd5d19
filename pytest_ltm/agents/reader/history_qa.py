"""Open questions about a told history: dated conversations of others, and earlier sessions of the user's own.

Extractive: what shares the rarest words with the question is looked at, and a sentence or a short phrase of it is the
answer. It says that something was not mentioned where nothing matches. It knows no data set.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from pytest_ltm._language.clauses import split_sentences
from pytest_ltm._language.dates import DAYS, MONTHS
from pytest_ltm.agents.reader.notes import (
    COMMON,
    SMALL_NUMBERS,
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNote,
    ReaderNotebook,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet


NUMBERS = SMALL_NUMBERS | {"couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_NEAR = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "tomorrow": 1}
_RE = Patterns(
    "history_qa", DAYS=DAYS, MONTHS=MONTHS, NEAR=_NEAR, COUNT=[r"\d{1,3}", *NUMBERS],
    NUMBER=[r"\$?\d[\d,.]*%?", *sorted((n for n in NUMBERS if n not in {"a", "an"}), key=len, reverse=True)],
)  # fmt: skip
USER, ASSISTANT = "I", "you"
"""The speakers of a chat, as the user names them."""
_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)}


def read_date(text: str) -> date | None:
    """Return the day that a text names, None if it names none; the month in letters or the year first."""
    if match := _RE.year_first.search(text):
        year, month, day = (int(part) for part in match.groups())
    elif match := _RE.day_first.search(text):
        day, month, year = int(match[1]), _MONTH.get(match[2][:3].lower(), 0), int(match[3])
    elif match := _RE.month_first.search(text):
        day, month, year = int(match[2]), _MONTH.get(match[1][:3].lower(), 0), int(match[3])
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def split_date(text: str) -> tuple[date | None, str]:
    """Return the date in brackets at the beginning of a message, None if there is none, and the rest."""
    match = _RE.bracket.match(text)
    when = read_date(match[1]) if match else None
    return (None, text) if match is None or when is None else (when, text[match.end() :])


def is_told(rest: str) -> bool:
    """Return whether what stands after a date tells what was said then; else it is a question asked at that date."""
    return _RE.speaker.match(rest) is not None or _RE.sides.match(rest) is not None


def iter_sayings(rest: str, reply: str) -> Iterator[tuple[str, str]]:
    """Yield who said what; a told message without speakers is the user's, and its reply the assistant's."""
    if sides := _RE.sides.match(rest):
        yield USER, sides["user"]
        yield ASSISTANT, sides["assistant"] or ""
    elif _RE.speaker.match(rest):
        speaker, text = "", ""
        for line in rest.split("\n"):
            match = _RE.speaker.match(line)
            if match is None:
                text += f"\n{line}"
                continue
            if speaker:
                yield speaker, text
            speaker, text = match[1], line[match.end() :]
        yield speaker, text
    else:
        yield USER, rest
        yield ASSISTANT, reply


# --- Words of a told history: stems that forgive endings, and which words carry no meaning.

_IRREGULAR = {form: word for word, forms in WORDS["irregular"].items() for form in forms.split()}
_COMMON = COMMON["history"]


@lru_cache(maxsize=100_000)
def rough_stem(word: str) -> str:
    """Return a rough key of a lower-case word, the same for most of its forms."""
    word = word.replace("’", "'").removesuffix("'s").replace("'", "")
    word = _IRREGULAR.get(word, word)
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "ed", "er", "es", "ly", "s", "y", "e"):
        if len(word) - len(ending) > 2 and word.endswith(ending):
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def content_stem_list(text: str) -> list[str]:
    """Return the stems of the words that carry meaning, in order."""
    return [rough_stem(word) for word in _RE.word.findall(text.lower()) if word not in _COMMON]


PASSAGE = 320
"""Characters up to which sentences that follow one another are one passage."""
_SATURATION, _LENGTH = 1.2, 0.6
"""BM25's k1 and b; a word counts once in a passage."""
# The share of a passage's worth that the next one inherits: an answer follows its question.
_NEIGHBOUR = 0.3
# Notes whose passages are kept in memory.
_NOTES_READ = 64


class Passage(Struct, frozen=True):
    """Some sentences that one speaker said at a time."""

    number: int
    note: int
    """The number of its note."""
    speaker: str
    text: str
    at: date | None


class ScoredPassage(Struct, frozen=True):
    """A passage and what it is worth for a question."""

    number: int
    worth: float
    share: float
    """How much of the question's weight it has words of, 0 to 1."""
    index: PassageIndex

    @property
    def passage(self) -> Passage:
        """The passage itself; its text is read anew."""
        return self.index.passage(self.number)


class PassageIndex:
    """All passages of the notes so far, without their texts; grows with them, in time linear in what is added."""

    def __init__(self) -> None:
        self.speakers = Counter[str]()
        """Who speaks, and how many passages are theirs."""
        # Numbers in arrays and no texts: a history may have a million passages.
        self._sizes = array("I")
        self._places: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        self._notes: list[ReaderNote] = []
        self._days: list[date | None] = []
        """The day of each note."""
        self._note_of = array("I")
        """Of each passage the number of its note."""
        self._first = array("I")
        """The first passage of each note."""
        self._said_in = lru_cache(maxsize=_NOTES_READ)(self._read_note)

    def index_new_notes(self, notes: Sequence[ReaderNote]) -> None:
        """Take in the notes that it does not hold yet."""
        for number, note in enumerate(notes[len(self._notes) :], start=len(self._notes)):
            message, _, day = note.content
            when, _ = split_date(message)
            last = self._days[-1] if self._days else None
            self._days.append(when or (None if day is None else date.fromisoformat(day)) or last)
            self._notes.append(note)
            self._first.append(len(self._sizes))
            for speaker, text in self._read_note(number):
                known = set(content_stem_list(text))
                for stem in known:
                    self._places[stem].append(len(self._sizes))
                self.speakers[speaker] += 1
                self._note_of.append(number)
                self._sizes.append(len(known))

    def _read_note(self, number: int) -> list[tuple[str, str]]:
        """Return the passages of a note with their speakers."""
        message, reply, _ = self._notes[number].content
        sayings = iter_sayings(split_date(message)[1], reply)
        return [(speaker, text) for speaker, said in sayings for text in iter_passages(said)]

    def passage(self, number: int) -> Passage:
        """Return the passage of a number."""
        note = self._note_of[number]
        speaker, text = self._said_in(note)[number - self._first[note]]
        return Passage(number, note, speaker, text, self._days[note])

    def search(self, words: AbstractSet[str], sees: Callable[[int], bool]) -> list[ScoredPassage]:
        """Return the passages that can be seen and share a word, best first; of equals the newest."""
        seen = [sees(note.position) for note in self._notes]
        if not any(seen):
            return []
        shown = bytearray(seen[note] for note in self._note_of)
        places = {word: [n for n in self._places.get(word, ()) if shown[n]] for word in words}
        total = shown.count(1)
        # Among what can be seen: how often a word occurs elsewhere is nothing that the reader may know.
        rarity = {word: math.log(1 + (total - len(on) + 0.5) / (len(on) + 0.5)) for word, on in places.items()}
        weight, mean = sum(rarity.values()) or 1.0, sum(self._sizes) / len(self._sizes)
        own: dict[int, float] = defaultdict(float)
        shares: dict[int, float] = defaultdict(float)
        for word, result in places.items():
            gain = rarity[word] * (1 + _SATURATION)
            for n in result:
                norm = 1 - _LENGTH + _LENGTH * self._sizes[n] / mean
                own[n] += gain / (1 + _SATURATION * norm)
                shares[n] += rarity[word] / weight
        worth = {n: value + _NEIGHBOUR * self._before(n, own) for n, value in own.items()}
        ranked = sorted(worth, key=lambda n: (-worth[n], -n))
        return [ScoredPassage(n, worth[n], shares[n], self) for n in ranked]

    def _before(self, n: int, own: Mapping[int, float]) -> float:
        same = n and self._days[self._note_of[n - 1]] == self._days[self._note_of[n]]
        return own.get(n - 1, 0.0) if same else 0.0


def iter_passages(text: str) -> Iterator[str]:
    """Yield a text in passages of whole sentences."""
    held = ""
    for part in split_sentences(text):
        if held and len(held) + len(part) > PASSAGE:
            yield held
            held = ""
        held = f"{held} {part}" if held else part
    if held:
        yield held


# --- When that was which somebody told of on a day (yesterday, last week, two months ago); how far days lie apart.

UNITS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
"""Days of each."""


def format_day(day: date) -> str:
    """Return a day as people write it."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def date_of_event(text: str, told: date) -> str | None:
    """Return when that was which a text told on a day tells of; None if the text does not say."""
    ways: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str], date], str | None]]] = (
        (_RE.ago, _date_ago),
        (_RE.nearby, lambda match, told: format_day(told + timedelta(days=_NEAR[match[1].lower()]))),
        (_RE.weekday, _on_weekday),
        (_RE.step, _by_step),
        (_RE.year, lambda match, _: match[1]),
        (_RE.named, _named_month),
    )
    dates = (resolve(match, told) for pattern, resolve in ways if (match := pattern.search(text)))
    return next(filter(None, dates), None)


def _date_ago(match: re.Match[str], told: date) -> str:
    count = int(match[1]) if match[1].isdecimal() else NUMBERS[match[1].lower()]
    match match[2].lower():
        case "day":
            return format_day(told - timedelta(days=count))
        case "week":
            return f"{match[1]} week{'s' * (count > 1)} before {format_day(told)}"
        case "month":
            return _shift_month(told, -count)
        case _:
            return str(told.year - count)


def _on_weekday(match: re.Match[str], told: date) -> str:
    side = "after" if match[1].lower() in {"this", "next"} else "before"
    return f"the {match[2].capitalize()} {side} {format_day(told)}"


def _by_step(match: re.Match[str], told: date) -> str:
    unit = match[2].lower()
    step = {"this": 0, "next": 1, "coming": 1}.get(match[1].lower(), -1)
    if unit in {"week", "weekend"}:
        return f"the {unit} {('of', 'after', 'before')[step]} {format_day(told)}"
    if unit == "month":
        return _shift_month(told, step)
    return str(told.year + step) if unit == "year" else f"{unit} {told.year + min(step, 0)}"


def _named_month(match: re.Match[str], told: date) -> str | None:
    if match[1] == "May":  # more often a verb
        return None
    month = MONTHS.index(match[1].split()[0]) + 1
    return f"{match[1]} {told.year - (month > told.month)}"


def _shift_month(day: date, step: int) -> str:
    years, month = divmod(day.month - 1 + step, 12)
    return f"{MONTHS[month]} {day.year + years}"


def days_apart(earlier: date, later: date, unit: str) -> str:
    """Return how far two days lie apart in days, weeks, months or years, rounded."""
    count = round(abs((later - earlier).days) / UNITS[unit])
    return f"{count} {unit}{'s' * (count != 1)}"


class ParsedQuestion(Struct, frozen=True):
    """What a message asks."""

    text: str
    """The question itself, without what stands around it."""
    kind: str
    """`choice`, `elapsed`, `order`, `when`, `amount`, `yes or no`, `who`, `where` or `what`."""
    short: bool
    """A short phrase is wanted."""
    several: bool
    """It asks for more than one thing."""
    at: date | None
    """The day on which it is asked, where it says so."""
    choices: tuple[tuple[str, str], ...] = ()
    """Letter and text of each."""

    @property
    def unit(self) -> str:
        """The unit that elapsed time is wanted in, `day` where it does not say."""
        match = _RE.elapsed.search(self.text)
        return (match["unit"] or "day").lower() if match else "day"


def is_about_a_conversation(text: str) -> bool:
    """Return whether a text begins by saying that it is about a conversation, such as `About our conversation: `."""
    return _RE.about.match(text) is not None


def parse_question(message: str) -> ParsedQuestion:
    """Return what a message asks."""
    at, rest = split_date(message)
    about = _RE.about.match(rest)
    rest = rest[about.end() :] if about else rest
    choices = tuple((match[1], match[2].strip()) for match in _RE.choice.finditer(rest))
    end = rest.rfind("?", 0, rest.find("(a)") if choices else len(rest))
    text = rest[: end + 1] if end >= 0 else rest
    kind = "choice" if len(choices) > 1 else _question_kind(text)
    return ParsedQuestion(
        text, kind, bool(_RE.short.search(rest)), kind == "what" and bool(_RE.several.match(text)), at, choices
    )


def _question_kind(text: str) -> str:
    # The special first: `how long ago did` also asks like `did`, `which came first` like `which`.
    if _RE.elapsed.search(text):
        return "elapsed"
    if _RE.order.search(text) and re.match(r"\W*(?:which|who|what|did)", text, re.IGNORECASE):
        return "order"
    tried = {
        "when": _RE.when.match, "yes or no": _RE.yes_no.match, "amount": _RE.amount.search, "who": _RE.who.search,
        "where": _RE.where.search,
    }  # fmt: skip
    return next((kind for kind, asks in tried.items() if asks(text)), "what")


def named_speakers(text: str, speakers: Iterable[str]) -> list[str]:
    """Return the speakers whose first names a text has as words."""
    words = {word.removesuffix("'s").removesuffix("’s") for word in _RE.word.findall(text)}
    return [one for one in speakers if one.split()[0] in words]


def wanted_stems(text: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the stems that a passage should have: those of the text, without the names of the speakers."""
    names = {rough_stem(part.lower()) for one in speakers for part in one.split()}
    return frozenset(content_stem_list(text)) - names


# --- The phrase of a sentence that answers a question of a kind: an amount, a name, a place, what is new in it.

_LONGEST = 5
_IDLE = _COMMON | COMMON["answer"]


def amount_in(sentence: str, question: str) -> str | None:
    """Return the number with its unit that a sentence tells, a period where the question asks how long."""
    asked = question.lower()
    if "how long" in asked or "how old" in asked:
        match = _RE.period.search(sentence)
        return match[0] if match else None
    pattern = _RE.counted if "how m" in asked or "time" in asked else _RE.quantity
    match = pattern.search(sentence)
    return match[0].strip() if match else None


def person_in(sentence: str, known: AbstractSet[str]) -> str | None:
    """Return a name, or a relation such as `my sister`, that the question does not know."""
    names = (name for name in _RE.capitalised.findall(sentence) if not _shares_stem(name, known))
    match = _RE.related.search(sentence)
    return next(names, match[0] if match else None)


def place_in(sentence: str, known: AbstractSet[str]) -> str | None:
    """Return what stands after a preposition of place and is new; a name first."""
    new = (_trim_place(match) for match in _RE.place.findall(sentence) if not _shares_stem(match, known))
    places = [place for place in new if place]
    return next((place for place in places if any(map(str.isupper, place))), places[0] if places else None)


def _shares_stem(text: str, known: AbstractSet[str]) -> bool:
    return not known.isdisjoint(map(rough_stem, text.lower().split()))


def _trim_place(text: str) -> str:
    """Return the words up to the first that cannot be part of a place."""
    kept: list[str] = []
    for word in text.split():
        bare = word.lower()
        if bare in _COMMON and (kept or bare not in {"the", "a", "an", "my", "our"}):
            break
        kept.append(word)
    return " ".join(kept) if any(word.lower() not in _COMMON for word in kept) else ""


def newest_chunk(sentence: str, known: AbstractSet[str]) -> str | None:
    """Return the chunk of the sentence that says most that the question does not know; nearest to what it does."""
    parts = _RE.token.findall(sentence)
    marks = [i for i, part in enumerate(parts) if rough_stem(part.lower()) in known]
    best, most = None, 0.0
    result: list[tuple[int, list[str]]] = []
    held: list[str] = []
    for i, part in enumerate([*parts, "."]):
        bare = part.lower()
        says_something = _RE.word.fullmatch(part.replace("-", "")) and bare not in _IDLE
        if says_something or (bare == "of" and held):
            held.append(part)
        elif held:
            while held and held[-1].lower() == "of":
                held.pop()
            result.append((i - len(held), held))
            held = []
    for start, words in result:
        new = [word for word in words if rough_stem(word.lower()) not in known]
        if not new:
            continue
        near = min((abs(start - mark) + 4 * (mark > start) for mark in marks), default=6)
        worth = min(len(new), _LONGEST) ** 0.5 + 2 / (1 + near / 3)
        if worth > most:
            best, most = " ".join(words[:_LONGEST]), worth
    return best


# --- The answer to a question about a told history, from the passages that share words with it.

NOT_MENTIONED = "That was not mentioned."
# The share of a question's weight that the best passage has to have words of.
_LEAST = 0.34
# Number of best passages searched for a phrase.
_LOOKED_AT = 6
# Of passages nearly as good as the best, the newest counts: what was said last is so.
_AS_GOOD = 0.9
_OWN, _OTHERS = 1.4, 0.7
"""What a passage is worth more if who is asked about says it, and less if somebody else does."""


class _HistoryAnswer:
    """The answer to one question, from what can be seen of the history."""

    def __init__(
        self, question: ParsedQuestion, index: PassageIndex, sees: Callable[[int], bool], today: date | None
    ) -> None:
        self._question, self._index, self._sees, self._today = question, index, sees, today
        self._words = wanted_stems(question.text, index.speakers)
        self._asked = named_speakers(question.text, index.speakers)

    def text(self) -> str:
        """Return the answer; NOT_MENTIONED where nothing matches."""
        match self._question.kind:
            case "choice":
                return self._choose_option()
            case "elapsed":
                return self._elapsed_time() or NOT_MENTIONED
            case "order" if first := self._which_came_first():
                return first
        scored = self._scored_passages()
        if not scored or scored[0].share < _LEAST:
            return NOT_MENTIONED
        if self._question.short:
            return self._shortest_phrase(scored)
        good = [one.passage for one in scored if one.worth >= _AS_GOOD * scored[0].worth]
        told = [passage for passage in good if passage.speaker != ASSISTANT]
        return self._full_sentence(max(told, key=lambda passage: passage.number, default=scored[0].passage))

    def _scored_passages(self) -> list[ScoredPassage]:
        """Return the passages that match, best first; what they say who are asked about counts more."""
        scored = self._search(self._words)
        if not self._asked or len(self._asked) == len(self._index.speakers):
            return scored
        weight = {True: _OWN, False: _OTHERS}
        return sorted(scored[:50], key=lambda one: -one.worth * weight[one.passage.speaker in self._asked])

    def _search(self, words: AbstractSet[str]) -> list[ScoredPassage]:
        return self._index.search(words, self._sees)

    def _closest_first(self, text: str) -> list[str]:
        """Return the sentences of a text, those with most of the words first."""
        return sorted(split_sentences(text), key=lambda said: -len(self._words & set(content_stem_list(said))))

    def _day_told(self, passage: Passage, at: date) -> str:
        dates = (date_of_event(text, at) for text in (self._closest_first(passage.text)[0], passage.text))
        return next(filter(None, dates), format_day(at))

    def _yes_or_no(self, passage: Passage) -> str:
        return "No" if _RE.no.search(self._closest_first(passage.text)[0]) else "Yes"

    def _full_sentence(self, passage: Passage) -> str:
        """Return what the best passage says in full; a date in front where it is asked for."""
        if self._question.kind == "when" and passage.at is not None:
            return f"{self._day_told(passage, passage.at)}."
        if self._question.kind == "yes or no":
            return f"{self._yes_or_no(passage)}. {passage.text}"
        if self._question.kind == "amount":
            tried = (one for one in self._closest_first(passage.text) if amount_in(one, self._question.text))
            return next(tried, passage.text)
        return passage.text

    def _shortest_phrase(self, scored: Sequence[ScoredPassage]) -> str:
        best = scored[0].passage
        if self._question.kind == "when" and best.at is not None:
            return self._day_told(best, best.at)
        if self._question.kind == "yes or no":
            return self._yes_or_no(best)
        find = {
            "amount": lambda line: amount_in(line, self._question.text),
            "who": lambda line: person_in(line, self._words),
            "where": lambda line: place_in(line, self._words),
        }.get(self._question.kind)
        lines = (line for one in scored[:_LOOKED_AT] for line in self._closest_first(one.passage.text)) if find else ()
        tried = (phrase for line in lines if find and (phrase := find(line)))
        return next(tried, None) or self._new_chunks(scored)

    def _new_chunks(self, scored: Sequence[ScoredPassage]) -> str:
        shown = scored[: 4 if self._question.several else 1]
        closest = [self._closest_first(one.passage.text)[0] for one in shown]
        phrases = [phrase for line in closest if (phrase := newest_chunk(line, self._words))]
        return ", ".join(dict.fromkeys(phrases)) or closest[0]

    def _choose_option(self) -> str:
        """Return the choice that has most evidence in what was said by who is asked about; letter and text."""
        letter, text = max(self._question.choices, key=lambda choice: self._option_evidence(choice[1]))
        return f"({letter}) {text}"

    def _option_evidence(self, text: str) -> float:
        if _RE.surely.search(text):
            return _LEAST * 1.5
        best = next(iter(self._search(self._words | wanted_stems(text, self._index.speakers))), None)
        if best is None or (self._asked and best.passage.speaker not in self._asked):
            return 0.0
        return best.share

    def _elapsed_time(self) -> str | None:
        """Return how far two days lie apart: those of two things, or of one and of the question."""
        question = self._question
        parts = re.split(r"\bbetween\b|\bbefore\b|\bafter\b|\bsince\b|\bwhen\b|\band\b|\bfrom\b", question.text)
        days = [day for part in parts if (day := self._day_of(part)) is not None]
        if "ago" in question.text or len(days) < 2:
            days = [day for day in (self._day_of(question.text), question.at or self._today) if day is not None]
        if len(days) < 2 or days[0] == days[1]:
            return None
        return f"{days_apart(days[0], days[1], question.unit)}."

    def _day_of(self, text: str) -> date | None:
        passages = (one.passage for one in self._search(wanted_stems(text, self._index.speakers)))
        return next((passage.at for passage in passages if passage.speaker != ASSISTANT), None)

    def _which_came_first(self) -> str | None:
        """Return which of the things that a question names was first, or last, by the days on which they were told."""
        head, _, listed = self._question.text.rpartition("first")
        if not head:  # it asks for the last
            _, _, listed = self._question.text.partition(",")
        things = [thing for part in re.split(r"\bor\b|,", listed) if len(thing := part.strip(" ?,.:")) > 2]
        known = [(day, thing) for thing in things if (day := self._day_of(thing)) is not None]
        if len(known) < 2:
            return None
        return (min if head else max)(known, key=lambda pair: pair[0])[1]


KIND = "history"


class ToldHistory:
    """Keeps what was told with a date, and what is told after it; answers what is plainly asked about that."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what was told; answer a question that has a date in front, or says that it is about a conversation."""
        when, rest = split_date(turn.text)
        begun = bool(notes.notes_of_kind(KIND))
        if (turn.told and (begun or when is not None)) or (when is not None and is_told(rest)):
            day = None if turn.now is None else str(_utc_day(turn.now))
            return notes.add(turn, KIND, [turn.text, turn.reply, day], "I have read it.")
        if begun and (when is not None or is_about_a_conversation(rest)):
            return answer_turn(turn, notes)
        return None


class OpenQuestions:
    """Takes every other question for one about the history, where one was told."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Answer a question."""
        asks = notes.notes_of_kind(KIND) and "?" in turn.text
        return answer_turn(turn, notes) if asks else None


def answer_turn(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    """Return the answer to a question from the history that can be seen."""
    notes.overlook()
    index = notes.derived(KIND, PassageIndex)
    index.index_new_notes(notes.notes_of_kind(KIND))
    today = None if turn.now is None else _utc_day(turn.now)
    return _HistoryAnswer(parse_question(turn.text), index, notes.sees, today).text()


def _utc_day(now: float) -> date:
    return datetime.fromtimestamp(now, tz=timezone.utc).date()

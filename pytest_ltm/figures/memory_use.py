"""What a memory did with what it was told: what was told is known, so what was written, found and served is, too."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import structs

from pytest_ltm.api.journal import (
    Change,
    FactMemory,
    Lost,
    MemoryLedger,
    MemoryResult,
    QuestionResult,
)
from pytest_ltm.api.model import STOP_WORDS, has_value, plain_words

# What may be a name or a number: capitals inside a sentence, and digits that are no
# date or time.
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DATES = re.compile(
    r"\d+[-/.:T]\d+\S*|\b(?:19|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\b|"
    r"\b(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun)[a-z]*\b"
)
_SENTENCE = re.compile(r"(?:\A|[.!?:;\n\"(\[{])\W*")
# Words for who speaks, which whoever writes of a conversation needs.
_SPEAKERS = frozenset({"user", "assistant", "i", "ai"})


def measure_memory_use(
    facts_told: Mapping[int, Mapping[str, str | None]],
    questions: Sequence[QuestionResult],
    ledger: MemoryLedger,
    exchanges: Collection[int],
    right_answers: Mapping[int, str],
    unchosen: Mapping[str, Collection[str]],
    *,
    is_lost: bool,
) -> MemoryResult:
    """Return what the memory did with what an example told, by its exchanges.

    `right_answers`: an answer that earns full marks, by question: an old value in it
    was asked for, and is not stale. `unchosen`: by what it is about the values that the
    agent was offered and did not choose. `is_lost`: the example has less than full
    marks.
    """
    history = _TellingHistory(facts_told, questions)
    searches = [
        _Search(question, history, ledger, right_answers.get(question.number, ""))
        for question in questions
    ]
    facts = tuple(
        _measure_fact(fact, searches, history, ledger, unchosen.get(fact.subject, ()))
        for fact in history.facts
    )
    return MemoryResult(
        facts=facts,
        stale=_sum_pairs(search.count_stale() for search in searches),
        deleted=_sum_pairs(search.count_deleted() for search in searches),
        duplicated=_count_duplicates(history, ledger, max(exchanges, default=0)),
        invented=_count_inventions(ledger, exchanges),
        writes=_count_writes(ledger, exchanges),
        lost=_where_lost(facts) if is_lost else "",
    )


def _count_duplicates(
    history: _TellingHistory, ledger: MemoryLedger, last_exchange: int
) -> tuple[int, int]:
    """Return the facts told again that several records have, and of how many."""
    if ledger.hides_writes:
        return 0, 0
    duplicates = 0
    for subject, value in history.repeated:
        subject_words = history.words_about(subject)
        texts = [
            ledger.text_at(record, last_exchange) or ""
            for record in ledger.holders([value], last_exchange)
        ]
        duplicates += sum(_is_about(text, subject_words) for text in texts) > 1
    return duplicates, len(history.repeated)


def _count_inventions(
    ledger: MemoryLedger, exchanges: Iterable[int]
) -> tuple[int, int]:
    """Return the records with a name or a number that nobody had said, and of how many."""
    inventions = texts = 0
    for number in exchanges:
        for text in filter(None, ledger.writes.get(number, ())):
            texts += 1
            inventions += invents(ledger, text, number)
    return inventions, texts


def _count_writes(ledger: MemoryLedger, exchanges: Collection[int]) -> tuple[int, int]:
    """Return the operations that write, and the exchanges if any was reported."""
    writes = sum(len(ledger.writes.get(number, ())) for number in exchanges)
    return writes, len(exchanges) if ledger.writes else 0


class _TellingHistory:
    """What an example told, in order; of a needle that says no more its whole message."""

    def __init__(
        self,
        facts_told: Mapping[int, Mapping[str, str | None]],
        questions: Sequence[QuestionResult],
    ) -> None:
        self.texts: dict[int, str] = {}
        """The needles' messages, by exchange."""
        for question in questions:
            self.texts |= {needle.number: needle.text for needle in question.needles}
        self.facts: list[FactMemory] = []
        self.repeated: set[tuple[str, str]] = set()
        """The subjects of which the value was told again."""
        self._values: dict[str, list[tuple[int, str | None]]] = {}
        for number in sorted({*facts_told, *self.texts}):
            values = facts_told.get(number, {})
            for subject, value in values.items():
                self._add_value(number, subject, value)
            if not values:
                self.facts.append(FactMemory(needle=number, value=self.texts[number]))

    def _add_value(self, number: int, subject: str, value: str | None) -> None:
        values = self._values.setdefault(subject, [])
        if value is not None and values and values[-1][1] == value:
            self.repeated.add((subject, value))
            return
        change: Change = "update" if values else "new"
        if value is None:
            change = "withdrawal"
        fact = FactMemory(
            needle=number, subject=subject, value=value or "", change=change
        )
        self.facts.append(fact)
        values.append((number, value))

    def current(self, subject: str, exchange: int) -> tuple[int, str | None]:
        """Return when the value of a subject was told that counts before an exchange, and the value."""
        pairs = [pair for pair in self._values[subject] if pair[0] < exchange]
        return pairs[-1]

    def former_values(self, subject: str, exchange: int) -> set[str]:
        """Return the other values that it had until then."""
        current = self.current(subject, exchange)[1]
        values = {value for number, value in self._values[subject] if number < exchange}
        return {value for value in values if value is not None and value != current}

    def words_about(self, subject: str) -> set[str]:
        """Return the words by which a record shows that it is about a subject."""
        pairs = self._values.get(subject, ())
        value_words: set[str] = set()
        words = {*plain_words(subject)}
        for number, value in pairs:
            value_words |= {*plain_words(value or "")}
            words |= {*plain_words(self.texts.get(number, ""))}
        return words - value_words - set(STOP_WORDS)


class _Search:
    """What was found for one question."""

    def __init__(
        self,
        question: QuestionResult,
        history: _TellingHistory,
        ledger: MemoryLedger,
        right_answer: str,
    ) -> None:
        self.number = question.number
        self._history = history
        self._ledger = ledger
        self._right_answer = right_answer
        self.needles = {needle.number for needle in question.needles}
        self.found = ledger.found.get(question.number, ())
        self.subjects = dict.fromkeys(
            fact.subject for fact in history.facts if fact.needle in self.needles
        )
        self.subjects.pop("", None)

    def count_stale(self) -> tuple[int, int]:
        """Return for how many subjects a value was found that the memory had replaced, and of how many."""
        stale = subjects = 0
        for subject in self.subjects:
            number, value = self._history.current(subject, self.number)
            former = self._history.former_values(subject, self.number)
            if any(has_value(self._right_answer, value) for value in former):
                continue
            if value is None or not former:
                continue
            subject_words = self._history.words_about(subject)
            lag = find_lag(self._ledger, number, value, subject_words)
            if lag is not None and number + lag < self.number:
                subjects += 1
                stale += self._finds_any(former, subject_words, value)
        return stale, subjects

    def count_deleted(self) -> tuple[int, int]:
        """Return how often it was found after it was withdrawn, or the memory had deleted it; and of how many."""
        found = subjects = 0
        for subject in self.subjects:
            if self._history.current(subject, self.number)[1] is None:
                former = self._history.former_values(subject, self.number)
                subject_words = self._history.words_about(subject)
                subjects += 1
                found += self._finds_any(former, subject_words)
        if subjects:
            return found, subjects
        ghosts = sum(self._was_deleted(operation.record) for operation in self.found)
        return ghosts, ghosts

    def _was_deleted(self, record: str) -> bool:
        texts = [
            text
            for number, text in self._ledger.records.get(record, ())
            if number < self.number
        ]
        return bool(texts) and texts[-1] is None

    def _texts(self) -> list[str]:
        """Return what was found, as the memory showed it or as the record said it last."""
        texts = []
        for operation in self.found:
            text = operation.text
            if text is None:
                written = texts_of(self._ledger, operation.record, self.number)
                text = written[-1] if written else ""
            texts.append(text)
        return texts

    def _finds_any(
        self, values: set[str], subject_words: set[str], current: str = ""
    ) -> bool:
        """Return whether a text was found with one of these values, and without the current one."""
        for text in self._texts():
            is_current = bool(current) and has_value(text, current)
            if (
                not is_current
                and _is_about(text, subject_words)
                and _has_any(text, values)
            ):
                return True
        return False

    def rank(self, value: str) -> int:
        """Return the place of the first record found that has, or ever had, a value; 0 if there is none."""
        pairs = zip(self.found, self._texts(), strict=True)
        for place, (operation, text) in enumerate(pairs, 1):
            written = texts_of(self._ledger, operation.record, self.number)
            if any(has_value(version, value) for version in (text, *written)):
                return place
        return 0


def _measure_fact(
    fact: FactMemory,
    searches: Sequence[_Search],
    history: _TellingHistory,
    ledger: MemoryLedger,
    unchosen: Collection[str],
) -> FactMemory:
    if fact.change == "withdrawal":
        return fact
    subject_words = history.words_about(fact.subject)
    lag = find_lag(ledger, fact.needle, fact.value, subject_words, unchosen)
    if lag is None:
        has_known_value = bool(fact.subject) or not ledger.writes.get(fact.needle)
        is_known = has_known_value and not ledger.hides_writes
        return structs.replace(fact, known=is_known)
    rank = None
    for search in searches:
        if fact.needle not in search.needles or fact.needle + lag > search.number:
            continue
        if fact.subject:
            told_at, _ = history.current(fact.subject, search.number)
            if told_at != fact.needle:
                continue
        rank = search.rank(fact.value)
    return structs.replace(fact, lag=lag, rank=rank)


def _where_lost(facts: Sequence[FactMemory]) -> Lost:
    """Return where it was lost first; earlier values of a subject do not count."""
    last = {fact.subject or str(fact.needle): fact for fact in facts if fact.known}
    needed = [fact for fact in last.values() if fact.change != "withdrawal"]
    if not needed:
        return ""
    if any(fact.lag is None for fact in needed):
        return "never written"
    if any(fact.rank == 0 for fact in needed):
        return "written, not found"
    return "found, not used"


def _sum_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    counts, totals = zip((0, 0), *pairs, strict=True)
    return sum(counts), sum(totals)


# --- What a ledger says of a value


def texts_of(ledger: MemoryLedger, record: str, last_exchange: int) -> list[str]:
    """Return all that a record has said up to an exchange."""
    return [
        text
        for number, text in ledger.records.get(record, ())
        if number <= last_exchange and text is not None
    ]


def find_lag(
    ledger: MemoryLedger,
    told_at: int,
    value: str,
    subject_words: AbstractSet[str],
    unchosen: Collection[str] = (),
) -> int | None:
    """Return after how many exchanges a record had a value; None: never.

    A later record must also share a word with what it is `subject_words`: the value may come up
    elsewhere. A record with a value that was offered beside it and not chosen
    (`unchosen`) only has the offer.
    """

    def holds(text: str) -> bool:
        return has_value(text, value) and not _has_any(text, unchosen)

    def holds_later(text: str) -> bool:
        return holds(text) and _is_about(text, subject_words)

    if any(map(holds, ledger.writes.get(told_at, ()))):
        return 0
    lags = [
        number - told_at
        for number, texts in ledger.writes.items()
        if number >= told_at and any(map(holds_later, texts))
    ]
    return min(lags, default=None)


def invents(ledger: MemoryLedger, text: str, exchange: int) -> bool:
    """Return whether a record has a name or a number that nobody said up to an exchange; dates are left out."""
    starts = {match.end() for match in _SENTENCE.finditer(text)}
    dates = [match.span() for match in _DATES.finditer(text)]
    for word in _WORD.finditer(text):
        is_number = any(map(str.isdigit, word[0]))
        is_name = word[0][0].isupper() and word.start() not in starts
        is_date = any(start <= word.start() < end for start, end in dates)
        if is_date or not (is_number or is_name):
            continue
        parts = plain_words(word[0].removesuffix("'s"))
        if any(_is_unsaid(ledger, part, exchange) for part in parts):
            return True
    return False


def _is_unsaid(ledger: MemoryLedger, word: str, exchange: int) -> bool:
    if word in _SPEAKERS or word in STOP_WORDS:
        return False
    # A plural, or the possessive of a name, was said with the name.
    numbers = (
        ledger.first_said.get(form, exchange + 1)
        for form in (word, word.removesuffix("s"))
    )
    return min(numbers) > exchange


def _is_about(text: str, subject_words: AbstractSet[str]) -> bool:
    return not subject_words or not subject_words.isdisjoint(plain_words(text))


def _has_any(text: str, values: Iterable[str]) -> bool:
    return any(has_value(text, value) for value in values)

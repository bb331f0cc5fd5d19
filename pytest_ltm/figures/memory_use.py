"""Measures which of the facts told to a memory it wrote, found and served."""

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

# Candidates for names and numbers: capitals inside a sentence, and digits outside dates
# and times.
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_DATES = re.compile(
    r"\d+[-/.:T]\d+\S*|\b(?:19|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\b|"
    r"\b(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun)[a-z]*\b"
)
_SENTENCE = re.compile(r"(?:\A|[.!?:;\n\"(\[{])\W*")
# Words for the speakers, which any note on a conversation needs.
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
    """Return what the memory did with the facts that an example told, by exchange.

    `right_answers`: an answer with full marks, by question; an old value in it was asked for and is not stale.
    `unchosen`: by subject, the values that the agent was offered and did not choose. `is_lost`: the example has less
    than full marks.
    """
    history = _TellingHistory(facts_told, questions)
    searches: list[_Search] = []
    for question in questions:
        right_answer = right_answers.get(question.number, "")
        searches.append(_Search(question, history, ledger, right_answer))
    facts: list[FactMemory] = []
    for fact in history.facts:
        rejected = unchosen.get(fact.subject, ())
        facts.append(_measure_fact(fact, searches, history, ledger, rejected))
    return MemoryResult(
        facts=tuple(facts),
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
    """Return the number of repeated facts that several records contain, and the total."""
    if ledger.hides_writes:
        return 0, 0
    duplicates = 0
    for subject, value in history.repeated:
        subject_words = history.words_about(subject)
        holders = 0
        for record in ledger.holders([value], last_exchange):
            text = ledger.text_at(record, last_exchange) or ""
            holders += _is_about(text, subject_words)
        duplicates += holders > 1
    return duplicates, len(history.repeated)


def _count_inventions(
    ledger: MemoryLedger, exchanges: Iterable[int]
) -> tuple[int, int]:
    """Return the number of records with a name or number that was never said, and the total."""
    inventions = texts = 0
    for number in exchanges:
        for text in filter(None, ledger.writes.get(number, ())):
            texts += 1
            inventions += invents(ledger, text, number)
    return inventions, texts


def _count_writes(ledger: MemoryLedger, exchanges: Collection[int]) -> tuple[int, int]:
    """Return the number of write operations, and the number of exchanges if any write was reported."""
    writes = sum(len(ledger.writes.get(number, ())) for number in exchanges)
    return writes, len(exchanges) if ledger.writes else 0


class _TellingHistory:
    """The facts that an example told, in order; for a needle without facts, its whole message."""

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
        """The subjects whose value was told again."""
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
        """Return the exchange and value of the latest statement about a subject before an exchange."""
        pairs = [pair for pair in self._values[subject] if pair[0] < exchange]
        return pairs[-1]

    def former_values(self, subject: str, exchange: int) -> set[str]:
        """Return the other values that the subject had until then."""
        current = self.current(subject, exchange)[1]
        values = {value for number, value in self._values[subject] if number < exchange}
        return {value for value in values if value is not None and value != current}

    def words_about(self, subject: str) -> set[str]:
        """Return the words that show a record to be about a subject."""
        pairs = self._values.get(subject, ())
        value_words: set[str] = set()
        words = {*plain_words(subject)}
        for number, value in pairs:
            value_words |= {*plain_words(value or "")}
            words |= {*plain_words(self.texts.get(number, ""))}
        return words - value_words - set(STOP_WORDS)


class _Search:
    """The records retrieved for one question."""

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
        self.subjects: dict[str, None] = {}
        for fact in history.facts:
            if fact.subject and fact.needle in self.needles:
                self.subjects[fact.subject] = None

    def count_stale(self) -> tuple[int, int]:
        """Return for how many subjects a value was found that the memory had replaced, and the total."""
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
        """Return how often a value was found after it was withdrawn or deleted by the memory, and the total."""
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
        deleted = False
        for number, text in self._ledger.records.get(record, ()):
            if number < self.number:
                deleted = text is None
        return deleted

    def _texts(self) -> list[str]:
        """Return the retrieved texts, as shown by the memory or as last written to the record."""
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
        """Return whether a retrieved text contains one of these values and not the current one."""
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
        """Return the rank of the first retrieved record that has, or ever had, a value; 0 if there is none."""
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
    """Return the first step at which the example was lost; earlier values of a subject do not count."""
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


# --- Values in a ledger


def texts_of(ledger: MemoryLedger, record: str, last_exchange: int) -> list[str]:
    """Return all texts that a record has had up to an exchange."""
    texts: list[str] = []
    for number, text in ledger.records.get(record, ()):
        if number <= last_exchange and text is not None:
            texts.append(text)
    return texts


def find_lag(
    ledger: MemoryLedger,
    told_at: int,
    value: str,
    subject_words: AbstractSet[str],
    unchosen: Collection[str] = (),
) -> int | None:
    """Return after how many exchanges a record contained a value; None if none ever did.

    A later record must also share a word with `subject_words`, as the value may come up in another context. A record
    that also contains a value that was offered and not chosen (`unchosen`) only repeats the offer.
    """

    def holds(text: str) -> bool:
        return has_value(text, value) and not _has_any(text, unchosen)

    def holds_later(text: str) -> bool:
        return holds(text) and _is_about(text, subject_words)

    if any(map(holds, ledger.writes.get(told_at, ()))):
        return 0
    lags: list[int] = []
    for number, texts in ledger.writes.items():
        if number >= told_at and any(map(holds_later, texts)):
            lags.append(number - told_at)
    return min(lags, default=None)


def invents(ledger: MemoryLedger, text: str, exchange: int) -> bool:
    """Return whether a record has a name or number that was not said up to an exchange, dates aside."""
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
    # A plural, or the possessive of a name, counts as said with the name.
    word_said = ledger.first_said.get(word, exchange + 1)
    name_said = ledger.first_said.get(word.removesuffix("s"), exchange + 1)
    return min(word_said, name_said) > exchange


def _is_about(text: str, subject_words: AbstractSet[str]) -> bool:
    return not subject_words or not subject_words.isdisjoint(plain_words(text))


def _has_any(text: str, values: Iterable[str]) -> bool:
    return any(has_value(text, value) for value in values)

"""What a memory did: what was told is known, so what was written, found and served of it can be measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field, structs

from pytest_ltm._core.model.agent import MemoryOperation
from pytest_ltm._core.model.transcript import Exchange, Transcript
from pytest_ltm._core.model.words import STOP_WORDS, has_value, plain_words

if TYPE_CHECKING:
    from pytest_ltm._core.journal.result import QuestionResult


Change = Literal["new", "update", "withdrawal"]
Lost = Literal["", "never written", "written, not found", "found, not used"]
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


class FactMemory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one fact that was told."""

    needle: int
    """The exchange that told it."""
    value: str
    """What a record must have; of a fact that was withdrawn "" ."""
    subject: str = ""
    """What it is about; "" where nobody says: then its value is the whole message."""
    change: Change = "new"
    lag: int | None = None
    """After how many exchanges a record had it; None: never."""
    known: bool = True
    """Whether that can be told: not of a message whose records have other words, where nobody says its value."""
    rank: int | None = None
    """Its place among what was found for the last question about it; 0: not there, None: not asked, or not written."""


class MemoryResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a memory did with what one example told; each pair is how often, and of how many."""

    facts: tuple[FactMemory, ...] = ()
    stale: tuple[int, int] = (0, 0)
    """Questions on a value that the memory had replaced, for which the old one was found."""
    deleted: tuple[int, int] = (0, 0)
    """Questions after something was withdrawn, for which it was found; records found that had been deleted."""
    duplicated: tuple[int, int] = (0, 0)
    """Facts that were told again, of which memory then had more records than one."""
    invented: tuple[int, int] = (0, 0)
    """Records, written while the example spoke, with a name or a number that nobody had said."""
    writes: tuple[int, int] = (0, 0)
    """Operations that write, and the example's exchanges."""
    lost: Lost = ""
    """Where a lost mark was lost; "" where none was, or that cannot be told."""


class MemoryLedger(Struct):
    """All operations of a conversation."""

    records: dict[str, list[tuple[int, str | None]]] = field(default_factory=dict)
    """By id what a record said from which exchange on; None: it is deleted."""
    found: dict[int, list[MemoryOperation]] = field(default_factory=dict)
    """By exchange, best first."""
    writes: dict[int, list[str]] = field(default_factory=dict)
    """By exchange the texts that were written; "" of a deletion."""
    first_said: dict[str, int] = field(default_factory=dict)
    """By word the exchange that said it first, as far as `_read`."""
    is_mute: bool = False
    """Something was written of which nobody says what it says."""
    _read: int = 0

    @property
    def hides_writes(self) -> bool:
        """Whether it was written what nobody says: what was found must have been, and records say something."""
        return self.is_mute or (bool(self.found) and not self.writes)

    @property
    def is_known(self) -> bool:
        """Whether anybody says what the memory does."""
        return bool(self.writes or self.found)

    def add(self, exchange: int, operations: Iterable[MemoryOperation]) -> None:
        """Go on by what was done at an exchange."""
        for operation in operations:
            at = exchange if operation.exchange is None else operation.exchange
            if operation.what == "found":
                self.found.setdefault(at, []).append(operation)
                continue
            self.is_mute |= operation.text is None and operation.what != "deleted"
            texts = self.writes.setdefault(at, [])
            texts.append(operation.text or "")
            name = operation.record or f"{at}.{len(texts)}"
            self.records.setdefault(name, []).append(
                (at, None if operation.what == "deleted" else operation.text)
            )

    def texts_of(self, record: str, upto: int) -> list[str]:
        """Return all that a record has said up to an exchange."""
        return [
            text
            for at, text in self.records.get(record, ())
            if at <= upto and text is not None
        ]

    def holders(
        self,
        values: Collection[str],
        upto: float = inf,
        about: AbstractSet[str] = frozenset(),
    ) -> list[str]:
        """Return the ids of the records that have one of these values now, or at an exchange."""
        names = []
        for name, texts in self.records.items():
            now = next((text for at, text in texts[::-1] if at <= upto), None)
            if (
                now is not None
                and _is_about(now, about)
                and any(has_value(now, value) for value in values)
            ):
                names.append(name)
        return names

    def lag(
        self,
        told_at: int,
        value: str,
        about: AbstractSet[str],
        unchosen: Collection[str] = (),
    ) -> int | None:
        """Return after how many exchanges a record had a value; None: never.

        A later record must also share a word with what it is `about`: the value may
        come up elsewhere. A record with a value that was offered beside it and not
        chosen (`unchosen`) only has the offer.
        """

        def holds(text: str) -> bool:
            return has_value(text, value) and not any(
                has_value(text, one) for one in unchosen
            )

        later = (
            at
            for at, texts in self.writes.items()
            if at >= told_at
            and any(holds(text) and _is_about(text, about) for text in texts)
        )
        here = any(map(holds, self.writes.get(told_at, ())))
        first = told_at if here else min(later, default=None)
        return None if first is None else first - told_at

    def invents(self, text: str, at: int) -> bool:
        """Return whether a record has a name or a number that nobody said up to an exchange; dates are left out."""
        starts = {match.end() for match in _SENTENCE.finditer(text)}
        dates = [match.span() for match in _DATES.finditer(text)]
        names = (
            word[0].removesuffix("'s")
            for word in _WORD.finditer(text)
            if any(map(str.isdigit, word[0]))
            or (word[0][0].isupper() and word.start() not in starts)
            if not any(start <= word.start() < end for start, end in dates)
        )
        return any(
            self._unsaid(part, at) for name in names for part in plain_words(name)
        )

    def _unsaid(self, word: str, at: int) -> bool:
        # A plural, or the possessive of a name, was said with the name.
        stem = word.removesuffix("s")
        said = min(self.first_said.get(word, at + 1), self.first_said.get(stem, at + 1))
        return said > at and word not in _SPEAKERS and word not in STOP_WORDS

    def hear(self, transcript: Transcript) -> None:
        """Know the words of all that was said."""
        for exchange in transcript[self._read :]:
            for word in plain_words(f"{exchange.message} {exchange.raw_reply}"):
                self.first_said.setdefault(word, exchange.number)
                self.first_said.setdefault(word.removesuffix("s"), exchange.number)
        self._read = len(transcript)


def memory_result(
    told: Mapping[int, Mapping[str, str | None]],
    questions: Sequence[QuestionResult],
    ledger: MemoryLedger,
    own: Collection[int],
    right: Mapping[int, str],
    unchosen: Mapping[str, Collection[str]],
    *,
    is_lost: bool,
) -> MemoryResult | None:
    """Return what the memory did with what an example told, by its exchanges (`own`); None if nobody says.

    `right`: an answer that earns full marks, by question: an old value in it was asked
    for, and is not stale. `unchosen`: by what it is about the values that the agent was
    offered and did not choose.
    """
    if not ledger.is_known:
        return None
    history = _TellingHistory(told, questions)
    served = [
        _Served(question, history, ledger, right.get(question.number, ""))
        for question in questions
    ]
    facts = tuple(
        _fact(fact, served, history, ledger, unchosen.get(fact.subject, ()))
        for fact in history.facts
    )
    repeated = () if ledger.hides_writes else history.repeated
    held = [
        ledger.holders([value], max(own, default=0), history.about(subject))
        for subject, value in repeated
    ]
    writes = [(at, text) for at in own for text in ledger.writes.get(at, ())]
    texts = [(at, text) for at, text in writes if text]
    return MemoryResult(
        facts=facts,
        stale=_sum_pairs(one.stale for one in served),
        deleted=_sum_pairs(one.deleted for one in served),
        duplicated=(sum(len(names) > 1 for names in held), len(held)),
        invented=(sum(ledger.invents(text, at) for at, text in texts), len(texts)),
        writes=(len(writes), len(own) if ledger.writes else 0),
        lost=_where_lost(facts) if is_lost else "",
    )


class _TellingHistory:
    """What an example told, in order; of a needle that says no more its whole message."""

    def __init__(
        self,
        told: Mapping[int, Mapping[str, str | None]],
        questions: Sequence[QuestionResult],
    ) -> None:
        needles = {
            needle.number: needle.text
            for question in questions
            for needle in question.needles
        }
        self.texts = needles
        self.facts: list[FactMemory] = []
        self.repeated: set[tuple[str, str]] = set()
        """The subjects of which the value was told again."""
        self._values: dict[str, list[tuple[int, str | None]]] = {}
        for number in sorted({*told, *needles}):
            for subject, value in told.get(number, {}).items():
                before = self._values.setdefault(subject, [])
                if value is not None and before and before[-1][1] == value:
                    self.repeated.add((subject, value))
                    continue
                change: Change = (
                    "withdrawal" if value is None else "update" if before else "new"
                )
                self.facts.append(
                    FactMemory(
                        needle=number, subject=subject, value=value or "", change=change
                    )
                )
                before.append((number, value))
            if not told.get(number):
                self.facts.append(FactMemory(needle=number, value=needles[number]))

    def current(self, subject: str, upto: int) -> tuple[int, str | None]:
        """Return the value of a subject at an exchange, and when it was told."""
        return [(at, value) for at, value in self._values[subject] if at < upto][-1]

    def former(self, subject: str, upto: int) -> set[str]:
        """Return the other values that it had before."""
        value = self.current(subject, upto)[1]
        return {
            one
            for at, one in self._values[subject]
            if at < upto and one is not None and one != value
        }

    def about(self, subject: str) -> set[str]:
        """Return the words by which a record shows that it is about a subject."""
        values = {
            word
            for _, value in self._values.get(subject, ())
            for word in plain_words(value or "")
        }
        texts = [self.texts.get(at, "") for at, _ in self._values.get(subject, ())]
        return (
            {word for text in (subject, *texts) for word in plain_words(text)}
            - values
            - set(STOP_WORDS)
        )


class _Served:
    """What was found for one question."""

    def __init__(
        self,
        question: QuestionResult,
        history: _TellingHistory,
        ledger: MemoryLedger,
        right: str,
    ) -> None:
        self.number, self._history, self._ledger, self._right = (
            question.number,
            history,
            ledger,
            right,
        )
        self.needles = {needle.number for needle in question.needles}
        self.found = ledger.found.get(question.number, ())
        self.subjects = dict.fromkeys(
            fact.subject for fact in history.facts if fact.needle in self.needles
        )
        self.subjects.pop("", None)

    @property
    def stale(self) -> tuple[int, int]:
        """Whether an old value was found that the memory had replaced, for each subject of which that could be."""
        pairs = []
        for subject in self.subjects:
            at, value = self._history.current(subject, self.number)
            former, about = (
                self._history.former(subject, self.number),
                self._history.about(subject),
            )
            former = (
                set() if any(has_value(self._right, one) for one in former) else former
            )
            lag = None if value is None else self._ledger.lag(at, value, about)
            if (
                value is not None
                and former
                and lag is not None
                and at + lag < self.number
            ):
                pairs.append(
                    any(
                        self._has_any(text, former, about, value)
                        for text in self._texts
                    )
                )
        return sum(pairs), len(pairs)

    @property
    def deleted(self) -> tuple[int, int]:
        """The same of what was withdrawn, and of records that the memory itself had deleted."""
        pairs = []
        for subject in self.subjects:
            if self._history.current(subject, self.number)[1] is None:
                former, about = (
                    self._history.former(subject, self.number),
                    self._history.about(subject),
                )
                pairs.append(
                    any(self._has_any(text, former, about) for text in self._texts)
                )
        records = [self._ledger.records.get(one.record, ()) for one in self.found]
        ghosts = sum(
            [text for at, text in record if at < self.number][-1:] == [None]
            for record in records
        )
        return (sum(pairs), len(pairs)) if pairs else (ghosts, ghosts)

    @property
    def _texts(self) -> list[str]:
        said = [
            (one.text, self._ledger.texts_of(one.record, self.number)[-1:])
            for one in self.found
        ]
        return [text if text is not None else "".join(known) for text, known in said]

    @staticmethod
    def _has_any(
        text: str, values: set[str], about: set[str], current: str = ""
    ) -> bool:
        is_current = bool(current) and has_value(text, current)
        return (
            not is_current
            and _is_about(text, about)
            and any(has_value(text, value) for value in values)
        )

    def rank(self, value: str) -> int:
        """Return the place of the first record found that has, or ever had, a value; 0 if there is none."""
        for place, (one, text) in enumerate(
            zip(self.found, self._texts, strict=True), 1
        ):
            if any(
                has_value(each, value)
                for each in (text, *self._ledger.texts_of(one.record, self.number))
            ):
                return place
        return 0


def _fact(
    fact: FactMemory,
    served: Sequence[_Served],
    history: _TellingHistory,
    ledger: MemoryLedger,
    unchosen: Collection[str],
) -> FactMemory:
    if fact.change == "withdrawal":
        return fact
    lag = ledger.lag(fact.needle, fact.value, history.about(fact.subject), unchosen)
    known = lag is not None or (
        (bool(fact.subject) or not ledger.writes.get(fact.needle))
        and not ledger.hides_writes
    )
    ranks = [
        one.rank(fact.value)
        for one in served
        if fact.needle in one.needles
        and lag is not None
        and fact.needle + lag <= one.number
        and (
            not fact.subject
            or history.current(fact.subject, one.number)[0] == fact.needle
        )
    ]
    return structs.replace(
        fact, lag=lag, known=known, rank=ranks[-1] if ranks else None
    )


def _where_lost(facts: Sequence[FactMemory]) -> Lost:
    """Return where it was lost first; earlier values of a subject do not count."""
    last = {fact.subject or str(fact.needle): fact for fact in facts if fact.known}
    needed = [fact for fact in last.values() if fact.change != "withdrawal"]
    if not needed:
        return ""
    if any(fact.lag is None for fact in needed):
        return "never written"
    return (
        "written, not found"
        if any(fact.rank == 0 for fact in needed)
        else "found, not used"
    )


def _sum_pairs(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    ones, ofs = zip((0, 0), *pairs, strict=True)
    return sum(ones), sum(ofs)


def _is_about(text: str, about: AbstractSet[str]) -> bool:
    return not about or not about.isdisjoint(plain_words(text))


# --- Whether what an agent says that it retrieved holds the needles of a question: by
# their text.

# The k of the recall that each example reports.
DEPTHS = (5, 10)
# The rank of a needle that was not retrieved.
MISSED = 0


def retrieval_ranks(
    retrieved: Sequence[str],
    in_context: Sequence[str],
    needles: Mapping[int, str],
    exchanges: Sequence[Exchange],
) -> dict[int, int]:
    """Return for each needle the place, from 1, of the first retrieved text that holds its whole message.

    `MISSED` if none does. Left out are needles of which that says nothing: those that
    stood before the agent anyway, `in_context`; and all, where of what was retrieved no
    text holds any message or reply that was `said`, so that it may be ids, or what the
    agent made of what it heard.
    """
    texts, seen = (
        [_plain_casefold(text) for text in some] for some in (retrieved, in_context)
    )
    numbers = {}
    for number, needle in needles.items():
        whole = _plain_casefold(needle)
        place = next((at for at, text in enumerate(texts, 1) if whole in text), MISSED)
        if place or not any(whole in text for text in seen):
            numbers[number] = place
    if (
        numbers
        and texts
        and not any(numbers.values())
        and not _is_text(retrieved, texts, exchanges)
    ):
        return {}
    return numbers


def _is_text(
    retrieved: Sequence[str], texts: Sequence[str], exchanges: Sequence[Exchange]
) -> bool:
    """Return whether a retrieved text begins with a message or reply, a line each, or holds one."""
    if any(
        _begins(text, part) for part in _iter_parts(exchanges) for text in retrieved
    ):  # the usual case, and quick
        return True
    heard = filter(None, map(_plain_casefold, _iter_parts(exchanges)))
    return any(part in text for part in heard for text in texts)


def _iter_parts(exchanges: Sequence[Exchange]) -> Iterator[str]:
    return (
        part
        for exchange in exchanges
        for part in (exchange.message, exchange.raw_reply)
        if part
    )


def _begins(text: str, part: str) -> bool:
    return text.startswith(part) and text[len(part) : len(part) + 1] in ("", "\n")


def _plain_casefold(text: str) -> str:
    return " ".join(text.split()).casefold()


def recall_at(questions: Iterable[QuestionResult], k: int) -> float | None:
    """Return the share of the needles that stood among the first `k` retrieved texts, mean over questions.

    None if that is not known of any question.
    """
    result = [
        fmean(MISSED < rank <= k for rank in known)
        for question in questions
        if (
            known := [
                needle.rank for needle in question.needles if needle.rank is not None
            ]
        )
    ]
    return fmean(result) if result else None


def retrieval_metrics(questions: Sequence[QuestionResult]) -> dict[str, float]:
    """Return the recall at each of `DEPTHS`, and the mean rank of the needles that were found; nothing if unknown."""
    values = {
        f"recall@{k}": value
        for k in DEPTHS
        if (value := recall_at(questions, k)) is not None
    }
    places = [
        needle.rank
        for question in questions
        for needle in question.needles
        if needle.rank
    ]
    return {**values, "needle_rank": fmean(places)} if places else values


def evidence_found(
    questions: Sequence[QuestionResult], metrics: Mapping[str, float]
) -> bool | None:
    """Return whether all needles whose rank is known were retrieved, else whether a recall says so; None: unknown."""
    ranks = [
        needle.rank
        for question in questions
        for needle in question.needles
        if needle.rank is not None
    ]
    if ranks:
        return all(rank != MISSED for rank in ranks)
    recall = metrics.get("recall_repaired", metrics.get("recall"))
    return None if recall is None else recall == 1


def covers_all(exchanges: Iterable[Exchange]) -> bool:
    """Whether each question got at least as many texts as exchanges stood before it: then nothing was chosen."""
    before, asked = 0, 0
    for exchange in exchanges:
        if exchange.kind == "ask":
            if (
                not before
                or exchange.retrieved is None
                or len(exchange.retrieved) < before
            ):
                return False
            asked += 1
        before += not exchange.alone
    return asked > 0

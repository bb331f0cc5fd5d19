"""Gold answers: their kinds, and the rulings on answers that should name an amount or a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Literal

from pytest_ltm.api.model import (
    STOP_WORDS,
    casefold_plain,
    content_stems,
    plain_words,
    word_stem,
)
from pytest_ltm.api.storage import lazy_pattern
from pytest_ltm.language.clauses import (
    CHANGED,
    blank_out,
    normalize_text,
    phrase_positions,
    sentence_around,
    sentence_start,
    split_sentences,
    why_not_standing,
)
from pytest_ltm.language.dates import (
    DAYS,
    MONTHS,
    DateRange,
    dated_readings,
    dated_stretches,
    yearless_dates,
)
from pytest_ltm.language.english import is_known_english, is_surely_english
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.proof import is_readable
from pytest_ltm.language.recital import refuses_answer, without_refusals
from pytest_ltm.language.rulings.stance import (
    DENIED,
    FINAL,
    MAX_BRIEF_ANSWER,
    SEVERAL,
    SHORT,
    stance_at,
)
from pytest_ltm.language.values import (
    Sameness,
    asked_units,
    compare_values,
    differ_in_bound,
    differs_in_sign,
    find_values,
    may_be_unread,
    names_only_another,
)
from pytest_ltm.language.values.numerals import number_words
from pytest_ltm.language.values.quantities import (
    BARE,
    Quantity,
    are_present,
    bare_quantity,
    distinct_quantities,
    find_quantities,
    is_close,
    is_equal,
    is_in_same_unit,
    is_result,
    is_sum,
)

if TYPE_CHECKING:
    Readings = tuple[DateRange, ...]


RE = LEXICON.expressions("gold")
_METRICS = frozenset(map(word_stem, LEXICON.words("gold metrics")))


@dataclass(frozen=True, slots=True)
class Gold:
    """The expected answer, parsed."""

    whole: str
    """The answer as in the data set."""
    texts: tuple[str, ...]
    """Accepted wordings, the main one first."""
    kind: Literal["yes or no", "amount", "order", "phrase"]
    amounts: tuple[tuple[Quantity, ...], ...] = ()
    """Accepted amounts: each alternative consists of all its quantities."""
    counts_things: bool = False
    """Whether a number of things is asked for, such as copies, rather than grams or hours."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of the main wording's meaningful words."""
        return content_stems(self.texts[0])


@lru_cache(maxsize=256)
def read_gold(answer: str, question: str) -> Gold:
    """Parse a gold answer to a question."""
    main = answer.strip()
    also = ""
    if match := RE.also.search(main):
        main = main[: match.start()]
        also = match[0]
    texts: tuple[str, ...] = (main,)
    if (match := RE.aside.search(main)) and "(" not in main[: match.start()]:
        texts = (main[: match.start()], match[1])
    texts = tuple(text for text in texts if text.strip()) or (answer,)
    first = plain_words(texts[0])[:1]
    if first in (["yes"], ["no"]):
        return Gold(answer.strip(), texts, "yes or no")
    units = asked_units(question)
    found = [find_quantities(normalize_text(text)) for text in texts]
    # a lone bare number has the question's unit: how many miles
    amounts: list[tuple[Quantity, ...]] = []
    for quantities in filter(None, found):
        if len(quantities) == 1:
            amounts.append((quantities[0].with_units(units),))
        else:
            amounts.append(tuple(quantities))
    spans = [(quantity.start, quantity.stop) for quantity in found[0]]
    rest = blank_out(normalize_text(texts[0]), spans)
    other_stems = content_stems(texts[0]).intersection(
        map(word_stem, plain_words(rest))
    )
    telling_stems = other_stems - content_stems(question) - _METRICS
    # an amount with other words is not a bare amount, as an answer needs those words,
    # too; nor is a time relative to another one
    is_related = RE.related.search(main.lower()) is not None
    if amounts and not telling_stems and not is_related:
        are_counts = all(amount.is_count for parts in amounts for amount in parts)
        is_counted = RE.counted.search(question.lower()) is not None
        extra = tuple((amount,) for amount in find_quantities(normalize_text(also)))
        return Gold(
            answer.strip(),
            texts,
            "amount",
            (*amounts, *extra),
            counts_things=not units and are_counts and is_counted,
        )
    # the question asks for an order, or the expected answer has one
    ordered = RE.ordered.search(main) or RE.order_asked.search(question.lower())
    return Gold(
        answer.strip(),
        texts,
        "order" if ordered else "phrase",
        () if is_related else tuple(amounts),
    )


# --- The rulings of rules, and the words that make an answer doubtful.


@dataclass(frozen=True, slots=True)
class Ruling:
    """The rules' verdict on one answer, with a reason."""

    verdict: Literal["yes", "no", "unscored"]
    reason: str


CANNOT_TELL = Ruling("no", "says that it cannot tell")
PART_OF_IT = "names only a part of it"
A_RANGE = "names a range"
SOME_OF_SEVERAL = "leaves out one of several things"
PARTS = frozenset((PART_OF_IT, SOME_OF_SEVERAL))
"""Reasons why an answer with a part of the expected one is wrong."""
UNREADABLE = Ruling("unscored", "is in a script or language that the rules do not read")
_FEW_WORDS = 3


class Rubric(Enum):
    """How a data set's judges treat an answer that has only a part of the expected one."""

    WANTS_ALL = "a part is wrong"
    MAY_TAKE_PART = "a part may do"


def proven_ruling(
    ruling: Ruling, *texts: str, rubric: Rubric = Rubric.WANTS_ALL
) -> Ruling:
    """Return a ruling, but unscored for an unproven no; `texts`: the texts that it was based on."""
    if ruling.verdict != "no":
        return ruling
    if not all(map(is_readable, texts)):
        return UNREADABLE
    # the missing part may be rephrased in the answer
    is_open = ruling.reason == PART_OF_IT
    if rubric is Rubric.MAY_TAKE_PART:
        is_open = ruling == LESS_EXACT or ruling.reason in (*PARTS, A_RANGE)
    return Ruling("unscored", ruling.reason) if is_open else ruling


SAME_VALUE = Ruling("yes", "is the expected value")
OTHER_VALUE = Ruling("no", "is another value")
UNREAD_VALUE = Ruling("unscored", "may be the expected value in another form")


OTHER_TIME = Ruling("no", "names another time")
LESS_EXACT = Ruling("no", "names the time less exactly")
_PROVEN = frozenset((CANNOT_TELL, SAME_VALUE, OTHER_VALUE, OTHER_TIME, LESS_EXACT))


def ruling_of_value(gold: str, text: str, question: str) -> Ruling | None:
    """Return the ruling on an answer that is the expected value or another one; None if undecidable."""
    match compare_values(gold, text, question=question):
        case Sameness.SAME:
            return SAME_VALUE
        case Sameness.OTHER:
            return OTHER_VALUE
        case _:
            pass
    # without the text in brackets: "25 minutes (or 25:00)"
    main = read_gold(gold, question).texts[0]
    if compare_values(main, text, question=question) is Sameness.SAME:
        return SAME_VALUE
    if differs_in_sign(text, gold):
        return Ruling("no", "has another sign")
    if names_only_another(text, gold, question):
        return OTHER_VALUE
    return None


def open_if_unread(ruling: Ruling, gold: str, text: str, question: str) -> Ruling:
    """Return a ruling, but unscored for unreadable text: another language, or a bare value in an unknown form.

    In another language, only values and answers equal to the expected one are decided.
    """
    is_proven = ruling in _PROVEN or plain_words(gold) == plain_words(text)
    if not is_proven and _is_in_another_language(question):
        return UNREADABLE
    if ruling.reason in FINAL or ruling in _PROVEN or refuses_answer(gold):
        return ruling
    is_unread = may_be_unread if ruling.verdict == "no" else differ_in_bound
    return UNREAD_VALUE if is_unread(gold, text) else ruling


def _is_in_another_language(question: str) -> bool:
    # a word with an accent differs from the English one without: "thé"
    text = " ".join(filter(str.isascii, question.split()))
    is_short = len(plain_words(question)) <= _FEW_WORDS
    is_read = is_known_english if is_short else is_surely_english
    return question.strip() != "" and not is_read(text)


HEDGED = LEXICON.expression("gold hedged")

# --- The answering amounts of an answer: of the kind asked for, in bold, or the total.


def answering_quantities(
    gold: Gold, question: str, end: str, text: str
) -> list[Quantity]:
    """Return the amounts that may be the answer, preferring the right kind, bold ones, and the thing asked for.

    `text`: the answer's conclusion `end`, normalized.
    """
    quantities = find_quantities(text)
    kinds = frozenset[str]().union(
        *(amount.kinds for parts in gold.amounts for amount in parts)
    )
    # a number that only labels a thing (session 4) counts only if the question asks for
    # such a label
    candidates = []
    for amount in quantities:
        match = RE.label.search(text[max(0, amount.start - 12) : amount.start])
        is_asked = match and match[1] and match[1] in question.lower()
        if is_asked or not (match and amount.is_bare):
            candidates.append(amount)
    same = [
        amount
        for amount in candidates
        if BARE in kinds or not kinds.isdisjoint(amount.kinds)
    ]
    bare = [amount for amount in candidates if amount.is_bare]
    if same:
        pool = [
            *same,
            *(amount for amount in bare if RE.result.fullmatch(text, amount.start - 2)),
        ]
    else:
        pool = bare
    if not any(_is_year(amount) for parts in gold.amounts for amount in parts):
        pool = [amount for amount in pool if not _is_year(amount)] or pool
    if len(gold.amounts[0]) == 1:
        pool = _amounts_of_thing(question, text, pool, bare=BARE in kinds)
    bold: list[Quantity] = []
    for part in RE.bold.findall(end):
        bold += find_quantities(normalize_text(part))
    marked = [
        amount for amount in pool if any(is_equal(amount, other) for other in bold)
    ]
    return marked or pool


def is_at_another_rate(amount: Quantity, known: str) -> bool:
    """Return whether an amount has another period than the one asked for: per year, not per month."""
    asked = RE.per.findall(normalize_text(known))
    period = amount.period.removeprefix("duration-")
    return bool(asked) and period != "" and period not in asked


def amount_ranges(
    text: str, pool: Sequence[Quantity]
) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield both ends of each range, or choice of two, with one of the amounts."""
    for first, second in pairwise(find_quantities(text)):
        # "it went up from 9 to 12" is a change, not a range
        if (first not in pool and second not in pool) or CHANGED.search(
            text[max(0, first.start - 30) : first.start]
        ):
            continue
        # "three-twenty" may be a price
        if text[first.end : second.start] == "-" and text[first.start].isalpha():
            continue
        between = text[: first.start].endswith("between ")
        if between or (
            first.end <= second.start
            and RE.between.fullmatch(text[first.end : second.start])
        ):
            yield first, second


def _amounts_of_thing(
    question: str, text: str, pool: Sequence[Quantity], *, bare: bool
) -> list[Quantity]:
    """Return the amounts of the thing that the question asks for (500 g of flour), or all if there are none.

    `bare`: a number is expected: one that counts the thing, or is the total.
    """
    counted = RE.counted.search(question.lower())
    if counted is None:
        return list(pool)
    asked_words = counted[1].split()
    thing = word_stem(asked_words[-1])
    if not bare:
        return [
            amount for amount in pool if thing in _next_stems(text, amount)
        ] or list(pool)
    numbers = [amount for amount in pool if amount.is_count]
    things = [
        number
        for number in numbers
        if thing in _next_stems(text, number) or _is_final(text, number)
    ]
    # only "only one" or "just a single" counts: a bare "one" does not
    matches = re.finditer(
        rf"\b(?:only|just) (?:one|a single) (?:\w+ ){{0,2}}{re.escape(thing)}", text
    )
    return [
        *things,
        *[bare_quantity(1, match.start(), match.end()) for match in matches],
    ] or numbers


def without_questions(reply: str, find: Callable[[str], Sequence[object]]) -> str:
    """Return a reply without its own questions, as in "May or June? It was June".

    `find` returns the values in a text; a reply with values only in its questions is
    unchanged.
    """
    sentences = split_sentences(reply)
    statements = " ".join(part for part in sentences if not part.rstrip().endswith("?"))
    return statements if find(statements) else reply


def _is_final(text: str, amount: Quantity) -> bool:
    text_before = text[max(0, amount.start - 80) : amount.start]
    after = text[amount.end : amount.end + 40]
    return (
        RE.final_before.search(text_before) is not None
        or RE.final_after.match(after) is not None
    )


def _is_year(amount: Quantity) -> bool:
    return amount.is_bare and amount.value in _YEARS


def _next_stems(text: str, amount: Quantity) -> set[str]:
    """Return the stems of an amount's own words, and of the words behind it in its clause."""
    following = re.findall(r"[\w-]+|[^\w\s]", text[amount.end : amount.end + 40])[:3]
    stop = next(
        (place for place, word in enumerate(following) if not word[0].isalnum()),
        len(following),
    )
    own_words = plain_words(text[amount.start : amount.end])
    return set(map(word_stem, (*own_words, *following[:stop])))


# --- An answer that should name an amount.

NAMED_AMOUNT = Ruling("yes", "names the amount")
UNSURE_AMOUNT = Ruling("unscored", "names the amount within a range, or hedged")
_AMONG = Ruling("unscored", "names the amount among others")
_OFF_THE_MOST = Ruling("unscored", "is one day off what is accepted at most")
_OTHER_KIND = Ruling("unscored", "names no amount of this kind")
_MADE_OF_PARTS = Ruling("unscored", "names amounts that make up the expected one")
_UNREAD_AMOUNT = Ruling("unscored", "names an amount in words that no rule knows")
_CONTRARIES = [
    (frozenset(terms.split(", ")), frozenset(contraries))
    for terms, contraries in LEXICON.table("contraries").items()
]
_SHARING = frozenset(("each", "apiece"))
_TOTAL = frozenset(("total", "altogether", "together", "sum"))
_NEAR = 40
_YEARS = range(1900, 2100)
_CENTURY = 100
_BESIDE = 3
_PAIR = 2
_HYPHENATED = re.compile(r"-[^\W\d_]")
_NUMBER_WORDS = number_words() - {"a", "an"}
_DAY_NAMES = frozenset((*map(str.lower, DAYS), *(f"{day.lower()}s" for day in DAYS)))
# Between two amounts: they are two, not parts of one.
_APART = lazy_pattern(
    r"[,;:.()|\n=+]|\b(?:and|or|but|then|plus|on|at|since|by|for|with|from|until|after|before|during)\b"
)


def amount_ruling(  # noqa: PLR0911 - one rule, one line
    gold: Gold, question: str, end: str, *, forgiving: bool
) -> Ruling:
    """Return the ruling on whether an answer names an amount; `forgiving`: an error of one day is allowed.

    Whether the answer asserts the amount is decided by `settle_ruling`.
    """
    end = without_questions(end, find_quantities)
    text = normalize_text(end)
    quantities = find_quantities(text)
    candidates = answering_quantities(gold, question, end, text)
    if not candidates or refuses_answer(
        text[sentence_start(text, max(quantity.start for quantity in candidates)) :]
    ):
        return _refused_ruling(gold, end, candidates, quantities)
    stances = amount_stances(gold, question, text, candidates)
    claimed = [quantity for quantity in candidates if not stances[quantity]]
    totals = [amount for amount in claimed if _is_final(text, amount)]
    is_added_up = len(gold.amounts[0]) == len(distinct_quantities(totals)) == 1
    answer = totals if is_added_up else claimed
    if are_present(gold.amounts, answer):
        first = min(quantity.start for quantity in answer)
        if len(end) <= MAX_BRIEF_ANSWER and refuses_answer(text[:first]):
            return Ruling("unscored", "says that it cannot tell, and names it")
        return _ruling_on_amount(gold, question, text, answer)
    if not claimed:
        worst = min(stances.values(), key=lambda stance: (stance not in FINAL, stance))
        # "once or twice" leaves a choice in the expected answer, too
        is_same = len(gold.amounts[0]) > 1 and are_present(gold.amounts, candidates)
        is_same |= worst == SEVERAL and restates_amount(gold, end)
        is_wrong = worst in FINAL and not is_same
        return Ruling("no" if is_wrong else "unscored", f"names an amount, and {worst}")
    if _spans_amount(gold, text, candidates):
        return Ruling("no", A_RANGE)
    beside = [quantity for quantity in quantities if quantity not in candidates]
    is_elsewhere = are_present(gold.amounts, quantities if len(end) > SHORT else beside)
    ruling = _near_miss(gold, answer, ambiguous=is_elsewhere, forgiving=forgiving)
    if ruling.verdict != "no":
        return ruling
    parts = distinct_quantities(quantities)
    # two of six that are left when four are gone need not be named
    is_brief = len(end) <= MAX_BRIEF_ANSWER and len(parts) == _PAIR
    is_made = is_brief and is_result(gold.amounts, parts)
    if is_made or _is_written_otherwise(gold, parts):
        return _MADE_OF_PARTS
    is_counted = _is_counted_from(question, text, quantities)
    if is_counted or _lists_days(gold, text):
        return _UNREAD_AMOUNT
    is_read = all(_is_read_whole(amount, gold, question, text) for amount in answer)
    return ruling if is_read else _UNREAD_AMOUNT


def _is_counted_from(question: str, text: str, amounts: Sequence[Quantity]) -> bool:
    """Return whether a brief answer has only the distance from another value: two years after that, 5 kg more."""
    if len(text) > MAX_BRIEF_ANSWER or RE.relative.search(normalize_text(question)):
        return False
    measured = [amount for amount in amounts if not amount.is_bare]
    return any(RE.relative.match(text, amount.stop) for amount in measured)


def _lists_days(gold: Gold, text: str) -> bool:
    """Return whether a frequency is expected and an answer names days of the week, which may be as many."""
    is_frequency = any(part.period for parts in gold.amounts for part in parts)
    return is_frequency and not _DAY_NAMES.isdisjoint(plain_words(text))


def _is_written_otherwise(gold: Gold, amounts: Sequence[Quantity]) -> bool:
    """Return whether amounts may be the expected one in a writing that no reader knows.

    They are its figures ("four stars out of five" for 4/5), the last two of its year, or
    any amounts beside an expected zero, which people tell without a number.
    """
    expected = [part.value for parts in gold.amounts for part in parts]
    figures = set(map(int, re.findall(r"\d+", gold.texts[0])))
    values = {amount.value for amount in amounts}
    is_end = any(value in _YEARS and value % _CENTURY in values for value in expected)
    has_figures = len(figures) > 1 and figures <= values
    return has_figures or is_end or (expected == [0] and len(amounts) > 0)


def amount_stances(
    gold: Gold, question: str, text: str, amounts: Sequence[Quantity]
) -> dict[Quantity, str]:
    """Return for each amount of a text with digits why it may not be asserted: "" if it is."""
    known = normalize_text(f"{question} {gold.whole}")
    return {
        amount: stance_at(text, amount.start, amount.end, known=known)
        for amount in amounts
    }


def restates_amount(gold: Gold, reply: str) -> bool:
    """Return whether all amounts of a reply may be the expected one: eleven stone, or 70 kilos."""
    quantities = find_quantities(normalize_text(reply))
    expected = [parts[0] for parts in gold.amounts]
    for quantity in quantities:
        if not any(
            is_equal(part, quantity) or is_close(part, quantity) for part in expected
        ):
            return False
    return gold.kind == "amount" and bool(quantities)


def _spans_amount(gold: Gold, text: str, candidates: Sequence[Quantity]) -> bool:
    """Return whether an expected amount lies within a range in an answer."""
    return any(
        first.kinds | last.kinds <= quantity.kinds | {BARE}
        and first.value <= quantity.value <= last.value
        for first, last in amount_ranges(text, candidates)
        for (quantity, *_) in gold.amounts
    )


def _refused_ruling(
    gold: Gold, end: str, candidates: Sequence[Quantity], every: Sequence[Quantity]
) -> Ruling:
    """Return the ruling on an answer that has no fitting amount, or refuses after one."""
    beside = find_quantities(normalize_text(without_refusals(end)))
    is_single = len(distinct_quantities(beside)) == 1
    is_brief = len(end) <= MAX_BRIEF_ANSWER and len(
        distinct_quantities(candidates)
    ) > len(gold.amounts[0])
    if is_brief and not (is_single and are_present(gold.amounts, beside)):
        return Ruling("no", SEVERAL)
    if candidates and are_present(gold.amounts, every):
        return Ruling("unscored", "names the amount and refuses")
    # it may be there in words that no reader knows: a trio, half price, bronze
    return CANNOT_TELL if refuses_answer(end) else _OTHER_KIND


def _ruling_on_amount(
    gold: Gold, question: str, text: str, candidates: Sequence[Quantity]
) -> Ruling:
    """Return the ruling on an answer with the expected amount: it must be sure and compare the right way."""
    hits = [amount for amount in candidates if is_expected_amount(gold, amount)]
    around = [sentence_around(text, amount.start, amount.end) for amount in hits]
    if all(is_at_another_rate(amount, gold.whole) for amount in hits):
        return Ruling("no", "names the amount for another time")
    if unsure := _why_of_something_else(gold, question, text, hits):
        return Ruling("unscored", unsure)
    is_hedged = not HEDGED.search(gold.whole) and any(map(HEDGED.search, around))
    gold_text = normalize_text(gold.texts[0])
    if any(amount_ranges(gold_text, find_quantities(gold_text))):
        wording = RE.after_numbers.sub("", gold_text) or gold_text
        is_other = is_hedged or not phrase_positions(text, wording)
    else:
        is_other = is_hedged or any(amount_ranges(text, hits))
    if is_other:
        return UNSURE_AMOUNT
    turned = any(is_turned(question, amount) for amount in around)
    if turned != any(_is_exchanged(question, amount) for amount in around):
        return Ruling(
            "unscored" if turned else "no",
            "names the amount, and compares the other way round",
        )
    return NAMED_AMOUNT


def _why_of_something_else(
    gold: Gold, question: str, text: str, hits: Sequence[Quantity]
) -> str:
    """Return why no expected amount in an answer may measure what is asked; "" if one does."""
    if all(_counts_another(gold, amount, question, text) for amount in hits):
        return "names as many of something else"
    if not any(_has_known_unit(gold, amount, question, text) for amount in hits):
        return _UNREAD_AMOUNT.reason
    if exchanges_amounts(gold, text):
        return "names the numbers of other things"
    known = normalize_text(f"{question} {gold.whole}")
    return _why_at_another_rate(known, text, hits)


def _why_at_another_rate(known: str, text: str, hits: Sequence[Quantity]) -> str:
    """Return why amounts may be of each part, of the whole, or of some time, unlike the known one; "" if not."""
    known_words = plain_words(known)
    around = [sentence_around(text, hit.start, hit.end) for hit in hits]
    is_each_asked = not _SHARING.isdisjoint(known_words)
    strange_words = _TOTAL if is_each_asked else _SHARING
    if all(strange_words.intersection(plain_words(part)) for part in around):
        return "names the total, or the amount of each part"
    asked = [*RE.per.findall(known), *(part.period for part in find_quantities(known))]
    is_rate = all(hit.period or RE.rate_behind.match(text, hit.end) for hit in hits)
    if is_rate and not any(asked):
        return "names the amount of some time"
    # smoking for five years is not five years ago
    is_length = all(text[: hit.start].endswith("for ") for hit in hits)
    return "names how long it was" if is_length and RE.ago.search(known) else ""


def exchanges_amounts(gold: Gold, text: str) -> bool:
    """Return whether an answer gives the number of one expected thing to another: 9 boys for 12 boys, 9 girls."""
    expected = dict(_measured_things(normalize_text(gold.texts[0])))
    return len(expected) > 1 and any(
        thing in expected and not is_equal(expected[thing], amount)
        for thing, amount in _measured_things(text)
    )


def _measured_things(text: str) -> Iterator[tuple[str, Quantity]]:
    """Yield the stem of the word behind each amount, and the amount: 12 boys, 120 cm tall."""
    for amount in find_quantities(text):
        thing = re.match(r" ([^\W\d_]+)", text[amount.end :])
        if thing is not None and thing[1] not in STOP_WORDS:
            yield word_stem(thing[1]), amount


def _counts_another(gold: Gold, amount: Quantity, question: str, text: str) -> bool:
    """Return whether a number counts things that the question does not name: two sisters instead of brothers."""
    following = re.match(r" ([^\W\d_]+)", text[amount.end :])
    if not gold.counts_things or following is None or following[1] in STOP_WORDS:
        return False
    known_stems = content_stems(f"{question} {gold.whole}")
    return known_stems.isdisjoint(_next_stems(text, amount))


def is_expected_amount(gold: Gold, amount: Quantity) -> bool:
    """Return whether an amount is an expected one, in any unit."""
    return any(is_equal(part, amount) for parts in gold.amounts for part in parts)


def is_turned(question: str, text: str) -> bool:
    """Return whether a sentence compares in the opposite direction of the question: younger for older."""
    asked_words = set(plain_words(question))
    spoken_words = set(plain_words(text))
    pairs = (*_CONTRARIES, *(pair[::-1] for pair in _CONTRARIES))
    for terms, contraries in pairs:
        is_asked = asked_words & terms and not asked_words & contraries
        is_contrary = spoken_words & contraries and not spoken_words & terms
        if is_asked and is_contrary:
            return True
    return False


def _is_exchanged(question: str, text: str) -> bool:
    """Return whether a sentence swaps the two things that the question compares."""
    comparison = RE.compares.search(normalize_text(question))
    if comparison is None:
        return False
    first = content_stems(comparison[1])
    second = content_stems(comparison[2])
    for than in re.finditer(r"\bthan\b", text):
        stems_before = content_stems(text[: than.start()])
        after = content_stems(text[than.end() :])
        if (
            (second - first) & stems_before
            and (first - second) & after
            and not (first - second) & stems_before
        ):
            return True
    return False


def _is_one_off(amount: Quantity, quantity: Quantity) -> bool:
    is_same_kind = quantity.is_bare or is_in_same_unit(amount, quantity)
    return is_same_kind and abs(amount.value - quantity.value) <= 1


def _near_miss(
    gold: Gold, pool: Sequence[Quantity], *, ambiguous: bool, forgiving: bool
) -> Ruling:
    are_near = [
        any(_is_one_off(amount, quantity) for quantity in pool)
        for (amount, *_) in gold.amounts
    ]
    if forgiving and any(are_near):
        if are_near[0] and len(are_near) == 1:
            return Ruling("yes", "is one day off, which is forgiven")
        return _OFF_THE_MOST
    if ambiguous or is_sum(gold.amounts, pool):
        return _AMONG
    # "two stars" of 2 out of 5
    is_pair = any(len(parts) > 1 for parts in gold.amounts)
    if is_pair and any(is_expected_amount(gold, quantity) for quantity in pool):
        return Ruling("unscored", PART_OF_IT)
    if any(
        is_close(amount, quantity) for (amount, *_) in gold.amounts for quantity in pool
    ):
        return Ruling("unscored", "names about as much in another unit")
    return Ruling("no", "names another amount")


def _is_read_whole(amount: Quantity, gold: Gold, question: str, text: str) -> bool:
    """Return whether an amount is of the expected kind, and nothing beside it may be a part of it."""
    return _is_of_kind(amount, gold, question, text) and _is_apart(
        amount, gold, question, text
    )


def _is_of_kind(amount: Quantity, gold: Gold, question: str, text: str) -> bool:
    parts = chain.from_iterable(gold.amounts)
    kinds = frozenset[str]().union(*(part.kinds for part in parts))
    first = gold.amounts[0][0]
    is_same_kind = BARE in kinds | amount.kinds or not kinds.isdisjoint(amount.kinds)
    # '09 is 2009
    is_short_year = _is_year(first) and amount.value == first.value % _CENTURY
    # "at eight" may be a time; 4/3 is read as a fraction, and may be a day
    is_whole = amount.is_bare and amount.value.denominator == 1
    is_time = amount.is_time or (first.is_time and is_whole)
    return (
        is_same_kind
        and is_time == first.is_time
        and not is_short_year
        and not _counts_another(gold, amount, question, text)
        and _has_known_unit(gold, amount, question, text)
    )


def _is_apart(amount: Quantity, gold: Gold, question: str, text: str) -> bool:
    """Return whether no word beside an amount may belong to it."""
    start, end = amount.start, amount.stop
    first = gold.amounts[0][0]
    expected = normalize_text(gold.texts[0])[first.start : first.end]
    for value in find_values(text):
        # "just under 1,300", "30-40 days"
        place = text.find(value.text, max(0, amount.end - len(value.text)))
        if not 0 <= place < amount.start:
            continue
        result = compare_values(expected, value.text, question=question)
        if result is not Sameness.OTHER:
            return False
        start = place
        end = max(end, place + len(value.text))
    before = plain_words(_APART.split(text[:start][-_NEAR:])[-1])
    after = plain_words(_APART.split(text[end:][:_NEAR])[0])
    # "a buck fifty"
    known_words = (*STOP_WORDS, *plain_words(question))
    is_unitless = amount.kinds == {BARE} and not first.is_bare
    if is_unitless and before and before[-1] not in known_words:
        return False
    # 120 over 80, three point five, one in four, half seven, two minutes shy of four
    beside = (*before[-_BESIDE:], *after[:_BESIDE])
    # "the big three-oh"
    return not (_HYPHENATED.match(text, end) or any(map(_is_number, beside)))


def _has_known_unit(gold: Gold, amount: Quantity, question: str, text: str) -> bool:
    """Return whether no unknown unit follows a bare number where one is expected, as in "two quid"."""
    if amount.kinds != {BARE} or any(part.is_bare for part, *_ in gold.amounts):
        return True
    following = re.match(r" ([^\W\d_]+)", text[amount.stop :])
    known_words = (*STOP_WORDS, *plain_words(f"{question} {gold.whole}"))
    return following is None or following[1] in known_words


def _is_number(word: str) -> bool:
    """Return whether a word is a number, and no year."""
    is_year = word.isdecimal() and int(word) in _YEARS
    return not is_year and (word[:1].isdecimal() or word in _NUMBER_WORDS)


# --- Times with a year: all stated parts must agree.

_PARTS = frozenset(
    word[:3].lower() for word in (*MONTHS, *DAYS, *LEXICON.words("gold time parts"))
)


def time_of(gold: str) -> Readings:
    """Return the readings of an expected answer that is only a time with a year; () otherwise."""
    result = list(dated_readings(gold))
    only = all(word[:3] in _PARTS for word in re.findall("[a-z]+", gold.lower()))
    return result[0][0] if len(result) == 1 and only else ()


def time_ruling(expected: Readings, gold: str, reply: str) -> Ruling:
    """Return the ruling on an answer that should name a time; `expected`: its readings."""
    reply = without_questions(reply, dated_stretches)
    text = casefold_plain(reply)
    times = list(dated_readings(reply))
    if not times:
        return _without_year(expected, gold, reply)
    claimed = [
        (readings, place)
        for readings, place in times
        if why_not_standing(text, place, place, known=gold) != DENIED
    ]
    if not claimed:
        return Ruling("no", DENIED)
    told_times = [
        (readings, place)
        for readings, place in claimed
        if not RE.told.search(text[max(0, place - 60) : place])
    ] or claimed
    marks = [match.end() for match in RE.so.finditer(text)]
    opening = RE.opening.match(text)
    concluded = [
        readings for readings, place in told_times if marks and place >= marks[-1]
    ]
    if (
        opening
        and len(
            first := [readings for readings, place in claimed if place < opening.end()]
        )
        == 1
    ):
        concluded = first
    return _ruling_on_times(
        expected,
        concluded or [readings for readings, _ in told_times],
        [readings for readings, _ in claimed],
        reply,
    )


def _ruling_on_times(
    expected: Readings, times: Sequence[Readings], every: Sequence[Readings], text: str
) -> Ruling:
    """Return the ruling on an answer that settles on `times`, and names `every` time on the way."""
    right = False
    others: list[DateRange] = []
    for readings in times:
        if all(_fits_within(reading, expected) for reading in readings):
            right = True
        else:
            others += readings
    if right:
        return _ruling_on_right_time(expected, others, text)
    mentioned = chain.from_iterable((*times, *every))
    if any(_fits_within(reading, expected) for reading in mentioned):
        return Ruling(
            "unscored",
            "names the time on the way, or in figures that can be read in two ways",
        )
    met = []
    for reading in chain.from_iterable(times):
        if any(reading.shared(whole) for whole in expected):
            met.append(reading)
    if not met:
        # "in 2011, and left two years after that" is no other year than 2013
        amounts = find_quantities(normalize_text(text))
        is_counted = _is_counted_from("", normalize_text(text), amounts)
        return Ruling("unscored", OTHER_TIME.reason) if is_counted else OTHER_TIME
    is_wider = all(_contains(reading, expected) for reading in met)
    is_read = not (RE.unread.search(casefold_plain(text)) or _may_name_day(text))
    if is_wider and is_read:
        return LESS_EXACT
    return Ruling("unscored", "names a time that is partly right")


def _may_name_day(text: str) -> bool:
    """Return whether a text has a name other than of a month or a weekday: Christmas Day 2019."""
    names = re.findall(r"[A-Z][a-z']+(?= [A-Z])|(?<!\A)\b[A-Z][a-z']+", text)
    return any(name[:3].lower() not in _PARTS for name in names)


def _ruling_on_right_time(
    expected: Readings, others: Iterable[DateRange], text: str
) -> Ruling:
    """Return the ruling on an answer that names the time, and perhaps other times."""
    if all(_contains(time, expected[:1]) for time in others):
        if RE.doubt.search(text):
            return Ruling("unscored", "names the time, and doubts")
        return Ruling("yes", "names the time")
    if RE.time_or.search(text):
        return Ruling("no", SEVERAL)
    return Ruling("unscored", "names the time among others")


def _contains(time: DateRange, expected: Readings) -> bool:
    """Return whether the expected time lies within another, however it is read."""
    return all(reading.lies_within(time) for reading in expected)


def _fits_within(time: DateRange, expected: Readings) -> bool:
    """Return whether a time lies within the expected one; a week may begin a day or two earlier or later."""
    # weeks may begin on a Sunday, or on the day itself: five shared days are the same
    # week
    return any(
        time.lies_within(expected_time)
        or (max(time.days, expected_time.days) <= 8 and time.shared(expected_time) >= 5)
        for expected_time in expected
    )


def _without_year(expected: Readings, gold: str, text: str) -> Ruling:
    """Return the ruling on an answer without a time that has a year."""
    if not re.search(r"\b(?:19|20)\d\d\b", text):
        times = yearless_dates(text, expected[0].first.year)
    else:
        times = []
    if times and not any(
        stretch.shared(expected_time) for stretch in times for expected_time in expected
    ):
        return OTHER_TIME
    if (
        times
        and not any(_fits_within(stretch, expected) for stretch in times)
        and not RE.unread.search(casefold_plain(text))
    ):
        return LESS_EXACT
    figures = re.search(r"\d", text) or any(
        not quantity.is_count for quantity in find_quantities(normalize_text(text))
    )
    shares_words = not content_stems(gold).isdisjoint(content_stems(text))
    if times or figures or shares_words or _may_name_day(text):
        return Ruling("unscored", "names no time with its year")
    return Ruling("no", "names no date")

"""Rulings on answers by expected kind: a thing, a refusal, one of two, an order, yes or no."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product

from pytest_ltm.api.model import (
    STOP_WORDS,
    casefold_plain,
    content_stems,
    plain_words,
    word_stem,
)
from pytest_ltm.language.clauses import (
    normalize_text,
    phrase_positions,
    sentence_around,
    sentence_start,
    split_sentences,
    wording_positions,
)
from pytest_ltm.language.english import is_english, is_known_english, is_surely_english
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.meanings import (
    FRAME,
    LIGHT,
    STOPS,
    compound_keys,
    found_in,
    is_like,
    meaning_key,
    meaning_keys,
    misspelled_in,
    telling_keys,
)
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.numbers import COUNTS, ORDINALS
from pytest_ltm.language.proof import is_readable
from pytest_ltm.language.recital import refuses_answer
from pytest_ltm.language.rulings.gold import (
    CANNOT_TELL,
    HEDGED,
    PART_OF_IT,
    SOME_OF_SEVERAL,
    Gold,
    Ruling,
    is_turned,
)
from pytest_ltm.language.rulings.stance import (
    FINAL,
    LISTED,
    MANY,
    SEVERAL,
    SHORT,
    concluding_part,
    denies_asked,
    doubt_of,
    goes_on_to_guess,
    has_negation,
    list_items,
    lists_more,
    turns_to_other,
)
from pytest_ltm.language.talk import Topic
from pytest_ltm.language.values import (
    asks_for_name,
    find_values,
    is_closed_name,
    names_other_closed,
)
from pytest_ltm.language.values.quantities import are_present, find_quantities

RE = LEXICON.expressions("rules")


# --- The things named by a gold answer.

TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof"})
_MARKS = " .,\"'*\u201c\u201d"
_FEW = 3
_PAIR = 2
SOMETHING_ELSE = "names something else"
HAS_ITS_WORDS = "has its words"
REWORDED = "names all of it in other words"


@dataclass(frozen=True, slots=True)
class _Thing:
    """One thing named by a gold answer, or one of its names."""

    text: str
    wanted: tuple[str, ...]
    """The words that an answer needs: keys of meaning, or stems for a name."""
    is_name: bool

    def found(self, text: str) -> frozenset[str]:
        """Return the words of the thing that a text has; those of a name must be spelled alike."""
        if self.is_name:
            return misspelled_in(self.wanted, list(map(word_stem, plain_words(text))))
        return found_in(self.wanted, (*meaning_keys(text), *compound_keys(text)))

    def as_said(self, text: str) -> str:
        """Return the words of the thing in the forms of an answer."""
        return " ".join(
            word
            for word in plain_words(text)
            if found_in(self.wanted, (meaning_key(word),))
        )

    def missing_words(self, said: str) -> frozenset[str]:
        """Return the words of the thing that an answer lacks."""
        return frozenset(self.wanted) - self.found(said)


def _gold_things(gold: str, question: str) -> list[list[_Thing]]:
    """Return the things named by a gold answer, each with its alternatives, as in "law or history"."""
    main = gold if RE.why.search(question) else RE.reason.sub("", gold) or gold
    asked_keys = frozenset(meaning_keys(question))
    sentences = split_sentences(main)
    # commas around an apposition separate no things: "Bubbles, my fish, died."
    if RE.apposition.search(main):
        return [[_gold_thing(main, asked_keys, named=False)]]
    # an "or" or a comma of a longer text need not stand between things; initials are
    # no sentences
    if sum(len(plain_words(part)) > _PAIR for part in sentences) > 1:
        return [
            [_gold_thing(sentence, asked_keys, named=False)]
            for sentence in sentences
            if telling_keys(sentence)
        ]
    bare = RE.remark.sub("", main).strip(_MARKS)
    if both := RE.also.match(bare):
        return [
            [_gold_thing(option, asked_keys, named=True) for option in both.groups()]
        ]
    parts = [RE.or_word.split(part.strip(_MARKS)) for part in RE.between.split(bare)]
    if len(parts) == 1:
        parts[0] += [
            remark
            for remark in RE.remark.findall(main)
            if len(telling_keys(remark)) <= _FEW
        ]
    is_named = _is_name(bare)
    ways = ([option for option in part if telling_keys(option)] for part in parts)
    return [
        [_gold_thing(option, asked_keys, named=is_named or n > 0) for option in several]
        for n, several in enumerate(ways)
        if several
    ]


def _gold_thing(part: str, asked: AbstractSet[str], *, named: bool) -> _Thing:
    """Parse one thing; `named`: a single capitalised word is a name, not only the beginning of a text."""
    match = RE.whose.match(part) or RE.title.match(part)
    text = match["name"].strip(_MARKS) if match else part
    is_name = _is_name(text) and (named or match is not None or " " in text)
    if is_name:
        every_stem = map(word_stem, plain_words(text))
        keys = [stem for stem in every_stem if stem not in STOPS | TITLES]
    else:
        keys = telling_keys(text)
    heavy = [key for key in keys if key not in LIGHT] or keys
    wanted = tuple(key for key in heavy if key not in asked) or tuple(heavy)
    return _Thing(text, wanted, is_name)


def _is_name(text: str) -> bool:
    """Return whether all meaningful words are capitalised."""
    heavy_words = [
        word
        for word in re.findall(r"[^\W\d_][\w'-]*", text)
        if word.lower() not in STOP_WORDS and len(word) > 2
    ]
    return bool(heavy_words) and all(word[0].isupper() for word in heavy_words)


def _may_be_compared(gold: str, text: str) -> bool:
    """Return whether two texts without a common word mean different things, as far as words can tell.

    Figures, numbers, initials, signs and accents may be another writing of the same:
    XL and extra large, third and bronze, PS5.
    """
    if names_other_closed(text, gold):
        return True
    words = (*plain_words(gold), *plain_words(text))
    is_plain = not _OTHER_WRITING.search(f"{gold} {text}")
    return is_plain and _NUMBER_WORDS.isdisjoint(words)


_VOWELS = re.compile(r"(?<=\w)[aeiouy]")
_OTHER_WRITING = re.compile(r"[^\x00-\x7f]|[0-9/]|[A-Z]{2}")
_NUMBER_WORDS = COUNTS.keys() | ORDINALS.keys()
# A capital within a sentence.
_INNER_NAME = re.compile(r"(?<=[^\W_][ ,])\s*[A-Z][a-z]\w*")


def _is_another_name(gold: str, question: str, text: str) -> bool:
    """Return whether a text without a word of the expected answer has another name: Porto for Lisbon.

    What has no name may be meant in other words: crisps and potato chips.
    """
    # another name of a country may be an old one, or one of its places
    if is_closed_name(gold) and not asks_for_name(question):
        return names_other_closed(text, gold)
    is_name_asked = asks_for_name(question) or RE.where.search(question) is not None
    if not _is_surely_name(gold, asked=is_name_asked):
        return False
    # a place beside a job is no other job: "a programmer in Berlin"
    has_name = is_name_asked and _INNER_NAME.search(text) is not None
    is_name = _is_surely_name(text, asked=is_name_asked)
    is_other = is_name or has_name
    return is_other and _may_be_compared(gold, text) and not _may_spell(gold, text)


def _may_spell(gold: str, text: str) -> bool:
    """Return whether a text may have the name in another spelling or short: Bengaluru, Man Utd."""
    names, spoken = (
        [_VOWELS.sub("", word) for word in plain_words(wording)]
        for wording in (gold, text)
    )
    if len(names) > 1 and len(names) == len(spoken):
        return all(map(_is_short_for, spoken, names))
    return any(
        len(name) > _FEW and name == word for name, word in product(names, spoken)
    )


def _is_short_for(word: str, name: str) -> bool:
    """Return whether a word begins as a name does, and has only letters of it, in order."""
    rest = iter(name)
    return word[:1] == name[:1] and all(letter in rest for letter in word)


def _is_surely_name(text: str, *, asked: bool) -> bool:
    """Return whether a text is a name; a lone word may be capitalised as the beginning of an answer."""
    return _is_name(text) and (asked or " " in text.strip())


# --- Rulings on those things.


def in_other_words(gold: str, question: str, text: str, *, full: bool) -> Ruling | None:
    """Return the ruling on an answer that rephrases the expected one; None if it is undecidable.

    Args:
        gold: The expected answer's main wording.
        question: The question.
        text: The answer's conclusion.
        full: Whether an answer with only some of the words is wrong, rather than
            perhaps sufficient.
    """
    if RE.either_thing.search(text) and not RE.or_word.search(gold):
        return Ruling("no", SEVERAL)
    several = _gold_things(gold, question)
    things = [
        min(ways, key=lambda thing: len(thing.missing_words(text)) / len(thing.wanted))
        for ways in several
    ]
    if not things or (not is_english(text) and len(things) == 1):
        return None
    if refuses_answer(text):
        if any(thing.found(text) for thing in things):
            return None
        return CANNOT_TELL
    if any(thing.missing_words(text) for thing in things):
        return _partial_ruling(gold, things, question, text, full=full)
    return _whole_ruling(gold, things, question, text)


def _whole_ruling(
    gold: str, things: Sequence[_Thing], question: str, text: str
) -> Ruling | None:
    """Return the ruling on an answer that has all words of all things."""
    if any(thing.is_name for thing in things) and _people_keys(text) - _people_keys(
        f"{gold} {question}"
    ):
        return None
    for thing in things:
        parts = [part for part in LISTED.split(text) if thing.found(part)]
        strange = (
            thing.missing_words(part)
            and _unknown_keys(telling_keys(part), gold, question)
            for part in parts
        )
        # its words may belong to other things: "linen napkins, a paper tablecloth"
        if len(parts) > 1 and all(strange):
            return None
    doubts = []
    for thing in things:
        doubts.append(doubt_of([thing.as_said(text), thing.text, gold], question, text))
    doubts = list(filter(None, doubts))
    if doubts:
        if doubts[0] in FINAL and not RE.or_word.search(gold):
            return Ruling("no", doubts[0])
        return None
    if len(things) > 1:
        further_items = [telling_keys(part) for part in RE.further.findall(text)]
    else:
        further_items = []
    # something unexpected is named after an "and"
    goes_on = any(
        part and part == _unknown_keys(part, gold, question) for part in further_items
    )
    if lists_more(gold, question, text) or goes_on:
        names = all(thing.is_name for thing in things) and not RE.remarks.search(text)
        return Ruling("no", MANY) if names else None
    return Ruling("yes", REWORDED)


def is_left_behind(gold: str, question: str, text: str) -> bool:
    """Return whether an answer that calls the expected value over names something else in its place."""
    spots = phrase_positions(normalize_text(text), gold, plural=True)
    plain_text = normalize_text(text)
    texts_before = [
        plain_text[sentence_start(plain_text, start) : start] for start, _ in spots
    ]
    if (
        any(map(RE.since.search, texts_before))
        or RE.past.search(question)
        or len(text) > SHORT
    ):
        return False
    return bool(_unknown_keys(telling_keys(text), gold, question))


def _people_keys(text: str) -> frozenset[str]:
    return frozenset(map(meaning_key, RE.person.findall(normalize_text(text))))


def _unknown_keys(some: Sequence[str], gold: str, question: str) -> list[str]:
    """Return the keys that are in neither the expected answer nor the question, in any form."""
    known_keys = frozenset(meaning_keys(f"{gold} {question}"))
    return [
        key
        for key in some
        if key not in known_keys | LIGHT | FRAME
        and not any(is_like(key, known_key) for known_key in known_keys)
    ]


def _abbreviates(text: str, other: str) -> bool:
    """Return whether a word of a text may stand for the initials of another: MSc."""
    initials = "".join(word[0] for word in plain_words(other))
    for word in re.findall(r"\w+", text):
        least = 2 if word.isupper() else 3
        if len(word) >= least and word.lower() in initials:
            return True
        if RE.mixed.match(word):
            return True
    return False


def _partial_ruling(
    gold: str, things: Sequence[_Thing], question: str, text: str, *, full: bool
) -> Ruling | None:
    """Return the ruling on an answer that lacks words: wrong if it is brief and the things have names."""
    names = all(thing.is_name for thing in things)
    size = max(len(thing.wanted) for thing in things)
    missing = frozenset[str]().union(*(thing.missing_words(text) for thing in things))
    if size > 4 or (not names and RE.subjective.search(RE.talked.sub("", question))):
        return None
    alike = any(is_like(key, other) for key in missing for other in meaning_keys(text))
    # a word of one text may abbreviate the other: UK, MSc
    abbreviated = _abbreviates(gold, text) or _abbreviates(text, gold)
    unknown_words = set(plain_words(text)) - set(plain_words(f"{gold} {question}"))
    capitals = map(str.lower, RE.capitals.findall(text))
    abbreviated = abbreviated or not unknown_words.isdisjoint(capitals)
    if alike or abbreviated or is_turned(gold, text):
        return None
    strange = frozenset(_unknown_keys(telling_keys(text), gold, question))
    absent = [thing for thing in things if not thing.found(text)]
    nothing = len(absent) == len(things)
    # an answer hardly longer than the expected one has no room for a paraphrase
    brief = len(telling_keys(text)) <= 2 * len(telling_keys(gold)) + 4
    brief |= nothing and size < _FEW and len(plain_words(text)) <= 30
    # some people use only one word of a name
    one_word = names and things[0].wanted[0] not in missing
    is_plain = _may_be_compared(gold, text)
    is_other_name = _is_another_name(gold, question, text)
    wrong = (
        (SOMETHING_ELSE, nothing and strange and is_other_name),
        (SOME_OF_SEVERAL, absent and (full or (names and strange))),
        (
            "names another of the kind",
            names and is_plain and _is_replaced(things, text, strange),
        ),
        (
            PART_OF_IT,
            full and len(strange) <= len(missing) + 1 and (strange or not one_word),
        ),
    )
    which = wrong[:1] if nothing else wrong[1:]
    return next(
        (Ruling("no", reason) for reason, holds in which if holds and brief), None
    )


def _is_replaced(
    things: Sequence[_Thing], text: str, strange: AbstractSet[str]
) -> bool:
    """Return whether an answer replaces one of a name's two words: Lake Como for Lake Bled."""
    mine = telling_keys(things[0].text)
    if len(things) > 1 or len(mine) != _PAIR:
        return False
    for theirs in map(meaning_keys, split_sentences(text)):
        for place, word in enumerate(mine):
            if word not in theirs:
                continue
            beside = theirs.index(word) + (1 if place == 0 else -1)
            if 0 <= beside < len(theirs) and theirs[beside] in strange:
                return True
    return False


def is_open_ended(gold: str, question: str) -> bool:
    """Return whether other words than the expected may also be right, so that a mismatch proves nothing.

    The expected answer names an example or a means, describes an activity, or adds to a
    yes or no.
    """
    is_free = RE.exemplary.search(gold) or RE.activity.match(gold)
    return is_free is not None or RE.polar.match(question) is not None


# --- Questions that cannot be answered.


def abstention_ruling(hypothesis: str, question: str, explained: str) -> Ruling:
    """Return the ruling on an answer to an unanswerable question; `explained`: the data set's reason."""
    end = RE.supposed.sub("", concluding_part(hypothesis))
    # a dash in place of an answer is not one
    refused = refuses_answer(end) or (hypothesis != "" and not plain_words(hypothesis))
    asked_stems = content_stems(question)
    explanation = casefold_plain(explained)
    if match := RE.but_not.search(explanation):
        # of the question's assumptions, only the one that the data set calls false is
        # missing
        missing = asked_stems & content_stems(explanation[match.end() :])
        asked_stems = (
            missing - content_stems(explanation[: match.start()])
            or missing
            or asked_stems
        )
    if refused or denies_asked(end, asked_stems):
        if goes_on_to_guess(end) or (not refused and turns_to_other(end)):
            return Ruling("unscored", "refuses, and guesses")
        return Ruling("yes", "says that it cannot be known")
    rest = normalize(end, topic=Topic(question, explained))
    # the rest may only repeat the question: then the whole end decides
    end = end if rest.endswith("?") else rest
    if RE.wants_facts.search(casefold_plain(end)):
        return Ruling("yes", "asks for what it was not told")
    if len(hypothesis) > SHORT or refuses_answer(hypothesis):
        return Ruling(
            "unscored", "refuses on the way and answers in the end, or tells no end"
        )
    if has_negation(end) or not _is_plain_answer(end):
        return Ruling("unscored", "may refuse in words that no rule knows")
    return Ruling("no", "answers what cannot be known")


def _is_plain_answer(text: str) -> bool:
    """Return whether a text is an answer: a sentence in English, an amount, a time, or a one-word name.

    Two non-English words in a row may be a refusal: "Nie wiem."
    """
    words = [word for word in plain_words(text) if word not in TITLES]
    if len(words) <= 1:
        return bool(words) and is_readable(text)
    if len(words) > _PAIR:
        is_sentence = is_surely_english(text)
    else:
        is_sentence = is_known_english(text)
    return is_sentence or bool(find_values(text))


# --- Questions that offer two things: the answer names one alone, as the first, or as
# before the other.

RIGHT = Ruling("yes", "names the right one of the two")
WRONG = Ruling("no", "names the wrong one of the two")
_SOME = 0.5


def options_of(question: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the stems that distinguish the two things that a question ends with; None if it offers none."""
    match = RE.choice.search(question)
    if match is None:
        return None
    first = content_stems(match[1])
    second = content_stems(match[2])
    return first - second, second - first


def choice_options(
    gold: Gold, question: str
) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the stems of the expected one of two things that a question offers, and of the other one.

    Beside the "or" of "do I like the aisle or the window seat", only the word next to it
    surely belongs to the other thing. None if it is not clear which one is expected.
    """
    options = options_of(question)
    if options is not None:
        marks = [len(gold.stems & option) for option in options]
        if marks[0] == marks[1]:
            return None
        return options if marks[0] > marks[1] else options[::-1]
    if not gold.stems <= content_stems(question):
        return None
    last_words = plain_words("".join(split_sentences(question)[-1:]))
    words = [word for word in last_words if word == "or" or word not in STOP_WORDS]
    if words.count("or") != 1:
        return None
    place = words.index("or")
    left = list(map(word_stem, words[:place]))
    right = list(map(word_stem, words[place + 1 :]))
    shared = frozenset(left).intersection(right)
    # a thing behind the "or" may have as many words as the expected one
    beside = [frozenset(left[-1:]), frozenset(right[: len(gold.stems)])]
    is_expected = [not gold.stems.isdisjoint(stems) for stems in beside]
    if is_expected[0] == is_expected[1]:
        return None
    other = beside[is_expected.index(False)] - shared
    expected = gold.stems - shared
    return (expected, other) if expected and other else None


def choice_ruling(
    gold: Gold, question: str, end: str, *, refused: bool, least: float = _SOME
) -> Ruling:
    """Return the ruling on the answer to a question that offers two things.

    `least`: the share of its words by which a thing is named, unless it is preferred to the other one.
    """
    if other_figures(gold.texts[0], question, end):
        return _FIGURES
    options = choice_options(gold, question)
    if options is None:
        return Ruling("unscored", "it is not clear which of the two is expected")
    right, wrong = options
    named_right = _names_one(right, wrong, end, least)
    plain = normalize_text(end)
    if named_right is None:
        named_right = _prefers(right, wrong, plain)
    # a thing named first is the answer: "Pottery: you went in May"
    opening = None
    match = RE.opens_with.match(plain)
    if match and content_stems(match[0]) <= right | wrong:
        opening = _names_one(right, wrong, match[0], least)
    if named_right is None and RE.either.search(plain):
        return Ruling("no", SEVERAL)
    if refused:
        return _DOUBTS if _shared_part(right, content_stems(end)) else CANNOT_TELL
    winners: set[bool | None] = {named_right if opening is None else opening}
    order = _order_asked(question)
    if order and opening is None:
        winners = _winners_in_order(right, wrong, order, plain) or winners
    if len(winners) > 1:
        return Ruling("unscored", "names now one as the first, now the other")
    # who avoids the window seat prefers the other: only words of the question choose
    known_stems = content_stems(f"{gold.whole} {question}")
    is_plain = content_stems(end) <= known_stems
    is_chosen = bool(order) or opening is not None or is_plain
    return _winner_ruling(winners.pop(), question, end, is_chosen=is_chosen)


def _winners_in_order(
    right: frozenset[str], wrong: frozenset[str], order: str, text: str
) -> set[bool | None]:
    """Return whether the right thing is the one asked for, for each order in a text; empty if it has none."""
    sentences = split_sentences(text)
    winners: set[bool | None] = set()
    for sentence in sentences:
        orders = _orders_in(right, wrong, sentence)
        winners.update(is_before == (order == "first") for is_before in orders)
    # "promoted before you moved" may have the other one in another form
    is_order = any(map(RE.before_or_after.search, sentences))
    return {None} if is_order and not winners else winners


def _order_asked(question: str) -> str:
    """Return which of two things a question asks for, `first` or `last`; "" for both or neither."""
    text = normalize_text(question)
    patterns = {"first": RE.first, "last": RE.last}
    asked = [name for name, pattern in patterns.items() if pattern.search(text)]
    return asked[0] if len(asked) == 1 else ""


def _winner_ruling(
    is_right: bool | None, question: str, end: str, *, is_chosen: bool
) -> Ruling:
    if is_right is None:
        return Ruling("unscored", "names both, or neither")
    # "the younger of the two" is the other one
    if is_turned(question, end):
        return Ruling("unscored", "compares the other way round")
    if not is_right and (has_negation(end) or not is_chosen):
        return Ruling("unscored", "names the wrong one of the two, and may deny it")
    return RIGHT if is_right else WRONG


def _names_one(
    right: frozenset[str], wrong: frozenset[str], text: str, least: float = _SOME
) -> bool | None:
    """Return whether a text names only the right thing (True) or only the wrong one (False), at least in part."""
    texts = content_stems(text)
    shares = _shared_part(right, texts), _shared_part(wrong, texts)
    if min(shares) or max(shares) < least:
        return None
    return shares[0] > shares[1]


def _prefers(right: frozenset[str], wrong: frozenset[str], text: str) -> bool | None:
    """Return whether a text prefers the right thing to the wrong one; None if it prefers neither."""
    match = RE.prefers.search(text)
    if match is None:
        return None
    first = _names_one(right, wrong, match[1])
    second = _names_one(right, wrong, match[2])
    is_decided = first is not None and second == (not first)
    return first if is_decided else None


def _shared_part(option: frozenset[str], texts: frozenset[str]) -> float:
    return len(option & texts) / max(1, len(option))


def _orders_in(
    right: frozenset[str], wrong: frozenset[str], sentence: str
) -> Iterator[bool]:
    """Yield whether a sentence puts the right thing before the wrong one, for each time it says so."""
    if opening := RE.opening.match(sentence):
        swapped = opening[1] in ("before", "prior to")
        is_before = _order_of_pair(right, wrong, *opening.group(2, 3), swapped=swapped)
        if is_before is not None:
            yield is_before
        return
    for pattern, swapped in ((RE.before, False), (RE.after, True)):
        for match in pattern.finditer(sentence):
            text_before = sentence[: match.start()]
            after = RE.clauses.split(sentence[match.end() :])[0]
            is_before = _order_of_pair(
                right, wrong, text_before, after, swapped=swapped
            )
            if is_before is not None:
                yield is_before
                return
    for clause in RE.clauses.split(sentence):
        named_right = _names_one(right, wrong, clause, least=0.01)
        is_first = RE.first.search(clause) is not None
        if named_right is not None and (is_first or RE.last.search(clause)):
            yield named_right == is_first


def _order_of_pair(
    right: frozenset[str], wrong: frozenset[str], left: str, rest: str, *, swapped: bool
) -> bool | None:
    """Return whether the right thing precedes a word of order and the wrong one follows it; None if unclear."""
    # 1: only the right thing's words
    leans = [
        bool(right & stems) - bool(wrong & stems)
        for stems in map(content_stems, (left, rest))
    ]
    if 0 in leans or leans[0] == leans[1]:
        return None
    return (leans[0] > 0) != swapped


# --- Answers that should name several things in order.


def order_ruling(gold: Gold, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should name things in order."""
    if refused:
        return CANNOT_TELL
    # the stems of each thing that no other thing has; empty if one has none
    listed = RE.items.split(normalize_text(gold.texts[0]))
    items = [content_stems(part) for part in listed if part.strip()]
    keys = []
    for item in items:
        others = [other_item for other_item in items if other_item is not item]
        keys.append(item.difference(*others))
    # one thing has no order, and too many are a text with commas
    keys = keys if all(keys) and 2 <= len(keys) <= 10 else []
    segments = [content_stems(part) for part in RE.items.split(normalize_text(end))]
    if not keys or RE.turned.search(normalize_text(end)):
        return Ruling("unscored", "an order of events")
    places = [
        [n for n, part in enumerate(segments) if len(key & part) >= 0.25 * len(key)]
        for key in keys
    ]
    numbers = [
        number for number, *more_places in filter(None, places) if not more_places
    ]
    if len(set(numbers)) < len(keys):
        return Ruling("unscored", "an order of events, not all of them named")
    if numbers == sorted(numbers):
        return Ruling("yes", "names them in the order")
    return Ruling("no", "names them in another order")


# --- Answers that should name something in words: they need the words that matter.

_DOUBTS = Ruling("unscored", "names it, and doubts")
_FIGURES = Ruling("unscored", "has other figures")


def phrase_ruling(  # noqa: PLR0911 - one rule, one line
    gold: Gold, question: str, hypothesis: str, end: str, *, refused: bool
) -> Ruling:
    """Return the ruling on an answer that should name something in words."""
    asked_stems = content_stems(question)
    new = (gold.stems - asked_stems) - TITLES or gold.stems - asked_stems
    # words alone cannot decide between two things that the question names
    is_choice = options_of(question) or choice_options(gold, question)
    if is_choice and len(new) <= 1:
        return choice_ruling(gold, question, end, refused=refused)
    if gold.kind == "phrase" and other_figures(gold.texts[0], question, end):
        return _FIGURES
    text = normalize_text(end)
    # a wording that is also in the question says nothing
    wordings = [
        _strip_article(wording)
        for wording in gold.texts
        if not content_stems(wording) <= asked_stems
    ]
    if spots := wording_positions(text, wordings):
        return _named_ruling(gold, question, end, spots)
    if not new:
        return (
            CANNOT_TELL
            if refused
            else Ruling("unscored", "no word of it that the question has not")
        )
    share = len(new & content_stems(end)) / len(new)
    # an expected sentence need not be repeated word for word
    is_sentence = len(plain_words(gold.texts[0])) > 12
    if share >= (0.8 if is_sentence else 1):
        doubt = doubt_of([_strip_article(gold.texts[0])], question, end)
        return _doubted_ruling(HAS_ITS_WORDS, doubt, gold, end, unsure=refused)
    ruling = in_other_words(gold.texts[0], question, end, full=True)
    if ruling and (ruling.verdict == "yes" or len(hypothesis) <= SHORT):
        return ruling
    if share == 0 and not is_sentence:
        return _absent_ruling(gold, question, hypothesis, end, refused=refused)
    if refused and is_sentence and share < 0.3:
        return CANNOT_TELL
    if not refused and _lists_less(gold.texts[0], hypothesis):
        return Ruling("no", "names some of several names")
    return Ruling("unscored", "has some of its words")


def other_figures(expected: str, question: str, reply: str) -> bool:
    """Return whether an answer has other numbers than an expected answer with numbers: S29 for S22."""
    mine, theirs = (
        frozenset(re.findall(r"\w*\d\w*", text.lower())) for text in (expected, reply)
    )
    return (
        bool(mine)
        and not mine & theirs
        and bool(theirs - frozenset(re.findall(r"\w*\d\w*", question.lower())))
    )


def _strip_article(wording: str) -> str:
    return RE.article.sub("", wording) or wording


def _named_ruling(
    gold: Gold, question: str, end: str, spots: Sequence[tuple[int, int]]
) -> Ruling:
    """Return the ruling on an answer with the expected words in a row."""
    text = normalize_text(end)
    refused = refuses_answer(text[sentence_start(text, max(spots)[0]) :])
    hedged = not HEDGED.search(gold.whole) and all(
        HEDGED.search(sentence_around(text, *spot)) for spot in spots
    )
    doubt = doubt_of([_strip_article(wording) for wording in gold.texts], question, end)
    return _doubted_ruling("names it", doubt, gold, end, unsure=refused or hedged)


def _doubted_ruling(
    named: str, doubt: str, gold: Gold, end: str, *, unsure: bool
) -> Ruling:
    if doubt in FINAL:
        return Ruling("no", doubt)
    if unsure or not doubt:
        return _DOUBTS if unsure else Ruling("yes", named)
    # sentences may tell the named ones apart: "Emil and Jonas came. Emil won"
    is_row = len(split_sentences(end)) == 1
    is_list = all(map(RE.name.match, list_items(gold.texts[0])))
    too_many = doubt == MANY and is_row and is_list
    return Ruling("no" if too_many else "unscored", f"{named}, and {doubt}")


def _lists_less(expected: str, hypothesis: str) -> bool:
    """Return whether several names are expected, and the answer has nothing of one of them."""
    parts = list_items(expected)
    if len(parts) < 2 or not all(map(RE.name.match, parts)):
        return False
    stems = content_stems(hypothesis)
    return any(content_stems(part).isdisjoint(stems) for part in parts)


def _absent_ruling(
    gold: Gold, question: str, hypothesis: str, end: str, *, refused: bool
) -> Ruling:
    if refused:
        return CANNOT_TELL
    asked_stems = content_stems(question)
    spoken_stems = content_stems(end)
    if spoken_stems and spoken_stems <= asked_stems:
        return Ruling("no", "repeats the question")
    if not is_english(end):
        return Ruling("unscored", "is in another language")
    if are_present(gold.amounts, find_quantities(normalize_text(end))):
        return Ruling("unscored", "names its amount in other words")
    if not content_stems(hypothesis).isdisjoint(gold.stems - asked_stems):
        return Ruling("unscored", "has its words on the way only")
    # a sentence may paraphrase it
    is_other = _is_another_name(gold.texts[0], question, end)
    return Ruling("no" if is_other else "unscored", "has none of its words")


# --- Answers that should say yes or no.


def yes_or_no(text: str, question: str = "") -> str:
    """Return `yes` or `no` as a text says in any words; "" if it says neither, or both.

    `question`: a denial of something else is neither: "she eats no meat", if asked for a vegetarian.
    """
    plain_text = normalize_text(text)
    if RE.either_way.search(plain_text):
        return ""
    words = [
        word
        for word, pattern in (("yes", RE.yes), ("no", RE.no))
        if pattern.search(plain_text)
    ]
    if not words:
        denial = RE.denies.match(plain_text)
        return (
            "no" if denial and _is_asked(plain_text[denial.end() :], question) else ""
        )
    return words[0] if len(words) == 1 else ""


def _is_asked(denied: str, question: str) -> bool:
    """Return whether what is denied is in the question, or is left out: "she doesn't"."""
    keys = telling_keys(denied)
    return not (keys and question) or not set(meaning_keys(question)).isdisjoint(keys)


def commits_to_neither(text: str) -> bool:
    """Return whether a text leaves yes or no open: "perhaps", "he might be", "it depends"."""
    return bool(
        RE.either_way.search(normalize_text(text))
        or RE.maybe.search(normalize_text(text))
    )


def yes_or_no_ruling(gold: Gold, question: str, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should say yes or no."""
    said = yes_or_no(end, question)
    if refused:
        if said:
            return Ruling("unscored", "says it, and doubts")
        return CANNOT_TELL
    if not said:
        if commits_to_neither(end):
            return Ruling("no", SEVERAL)
        return Ruling("unscored", "says neither yes nor no")
    return Ruling("yes" if said == yes_or_no(gold.texts[0]) else "no", f"says {said}")

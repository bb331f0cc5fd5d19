"""Assertions: an answer asserts a value in a clause of its own, for the question, without a rival."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from pytest_ltm.api.model import (
    STOP_WORDS,
    content_stems,
    plain_words,
    word_stem,
)
from pytest_ltm.api.storage import lazy_pattern
from pytest_ltm.language.clauses import (
    normalize_text,
    phrase_positions,
    split_sentences,
    wording_positions,
)
from pytest_ltm.language.dates import DAYS, MONTHS
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.meanings import (
    FRAME,
    LIGHT,
    STOPS,
    found_in,
    is_like,
    is_of_root,
    meaning_key,
)
from pytest_ltm.language.numbers import ORDINALS, words_with_digits
from pytest_ltm.language.rulings.gold import (
    NAMED_AMOUNT,
    PART_OF_IT,
    SOME_OF_SEVERAL,
    UNSURE_AMOUNT,
    Gold,
    Ruling,
    amount_stances,
    answering_quantities,
    exchanges_amounts,
    is_at_another_rate,
    is_expected_amount,
    is_turned,
    time_of,
    without_questions,
)
from pytest_ltm.language.rulings.rules import (
    HAS_ITS_WORDS,
    REWORDED,
    RIGHT,
    choice_options,
)
from pytest_ltm.language.rulings.stance import SHORT, concluding_part, has_negation
from pytest_ltm.language.values.quantities import (
    Quantity,
    distinct_quantities,
    find_quantities,
    is_close,
    is_in_same_unit,
    is_result,
)

RE = LEXICON.expressions("assertion")
Span = tuple[int, int]
# Words without factual content: of talking, concluding, counting and dates.
_GENERIC = frozenset(map(meaning_key, LEXICON.words("assertion generic")))
_EMPTY = STOPS | FRAME | LIGHT | _GENERIC
_TIMES = frozenset(map(meaning_key, map(str.lower, (*MONTHS, *DAYS))))
_PEOPLE = frozenset(LEXICON.words("stance people"))
_POINTERS = frozenset(("you", "it", "a", "an", "the", "only"))
_CONTRASTS = frozenset(LEXICON.words("assertion contrasts"))
_EXPLAINS = frozenset(LEXICON.words("assertion explaining"))
_TURNS = frozenset(("but", "yet", "however", ";"))
_ELIDED = (["and", "is"], ["and", "are"], ["and", "now", "is"])
_LABELLED = frozenset((":", "|"))
_FEW_WORDS = 6
_FEW_BEHIND = 3
_PAIR = 2
_IN_SOME_WORDS = frozenset((HAS_ITS_WORDS, REWORDED))
_RELATIONS = frozenset(
    (
        *("without", "not", "no", "never", "nor", "except"),
        *("before", "until", "till", "under", "over", "than"),
    )
)
_OWN_CLAUSE = lazy_pattern(r"[,;:()]|\b(?:rather|instead|as|and|but|not|since)\b")
_USER = frozenset(("you", "me"))
_USER_SUBJECTS = (["you"], ["youre"], ["i"], ["im"])
_PARTIAL = frozenset(("has some of its words", PART_OF_IT))
# An echo of a question has at least this many of its distinctive words, and this share
# of them.
_ECHOED = 2
_ECHO_SHARE = 0.4
_MOST = 0.6


def settle_ruling(ruling: Ruling, gold: Gold, question: str, answer: str) -> Ruling:
    """Return a ruling, but unscored if it is not proven.

    A yes is proven if the answer's conclusion asserts the value, a no of a long answer
    if its conclusion does not name the expected value.
    """
    reply = _strip_numbers(concluding_part(answer))
    if ruling in (NAMED_AMOUNT, UNSURE_AMOUNT):
        return _settle_amount(ruling, gold, question, reply)
    if ruling.reason in _IN_SOME_WORDS and _turns_words(gold, question, reply):
        return Ruling("unscored", f"{ruling.reason}, and turns it round")
    is_order_right = ruling == RIGHT and _names_both(gold, question, reply)
    is_denial = gold.kind == "yes or no" and _denies_alike(gold, question, reply)
    if ruling.verdict == "yes" and not (is_order_right or is_denial):
        doubt = assertion_doubt(gold, question, reply)
        if doubt:
            return Ruling("unscored", f"{ruling.reason}, and {doubt}")
    if ruling.reason in _PARTIAL and leaves_out(gold, question, reply):
        return Ruling("no", SOME_OF_SEVERAL)
    is_long = len(answer) > SHORT and gold.kind in ("amount", "phrase")
    if ruling.verdict == "no" and is_long and _find_values(gold, reply)[1]:
        return Ruling("unscored", f"{ruling.reason}, and names it")
    return ruling


def _denies_alike(gold: Gold, question: str, reply: str) -> bool:
    """Return whether a reply and the expected no deny what is asked, and the latter says nothing more."""
    is_denied = all(map(has_negation, (gold.texts[0], reply)))
    return is_denied and content_stems(gold.texts[0]) <= content_stems(question)


def _turns_words(gold: Gold, question: str, reply: str) -> bool:
    """Return whether a reply with the words of the expected answer may say something else with them."""
    relations = _RELATIONS.intersection(plain_words(gold.texts[0]))
    # "black without sugar", and "black with one sugar"
    is_lost = not relations.issubset(plain_words(f"{question} {reply}"))
    is_denied = _denies_part(gold, question, reply)
    is_turned_round = is_lost or is_denied or _exchanges_names(gold.texts[0], reply)
    return (
        is_turned_round
        or _counts_otherwise(gold.texts[0], reply)
        or exchanges_amounts(gold, normalize_text(reply))
        or _swaps_name(gold.texts[0], reply)
        or _lists_ends(gold.texts[0], reply)
        or _is_elsewhere(gold.texts[0], reply)
    )


def _denies_part(gold: Gold, question: str, reply: str) -> bool:
    """Return whether a sentence with words of the expected answer denies something, unlike the question."""
    if RE.negates.search(normalize_text(f"{question} {gold.whole}")):
        return False
    sentences = split_sentences(normalize_text(reply))
    return any(
        RE.negates.search(sentence)
        and not gold.stems.isdisjoint(content_stems(sentence))
        for sentence in sentences
    )


def _swaps_name(expected: str, reply: str) -> bool:
    """Return whether a reply has the two words of a name in the other order: Martin Thomas."""
    words = expected.split()
    if len(words) != _PAIR or not all(word.istitle() for word in words):
        return False
    swapped = " ".join(words[::-1])
    return bool(phrase_positions(normalize_text(reply), swapped))


def _lists_ends(expected: str, reply: str) -> bool:
    """Return whether a reply only lists both ends of an expected range: Tuesday and Saturday."""
    ends = RE.range.search(normalize_text(expected))
    if ends is None or not _TIMES.issuperset(map(meaning_key, ends.groups())):
        return False
    first, last = map(re.escape, ends.groups())
    row = rf"\b{first}s?\W+(?:(?:and|or) )?{last}"
    return re.search(row, normalize_text(reply)) is not None


def _is_elsewhere(expected: str, reply: str) -> bool:
    """Return whether a reply never has the expected place in its position: on the way to it, or beside it."""
    place = RE.place.match(normalize_text(expected))
    if place is None:
        return False
    text = normalize_text(reply)
    spots = phrase_positions(text, place["thing"])
    positions = [RE.position.search(text[:start]) for start, _ in spots]
    return bool(spots) and not any(
        position is None or _is_same_position(place["position"], position["position"])
        for position in positions
    )


def _is_same_position(position: str, other: str) -> bool:
    positions = {_POSITIONS.get(position, position), _POSITIONS.get(other, other)}
    # a thing at the beach may be on it
    return len(positions) == 1 or positions == {"at", "on"}


_POSITIONS = LEXICON.keys_by_word("assertion positions")
_ONE_THING = lazy_pattern(r"\b(?:one|a single) (\w+)")


def _counts_otherwise(expected: str, reply: str) -> bool:
    """Return whether a reply has another number of the one thing that is expected: three goals."""
    expected_text = normalize_text(expected)
    thing = _ONE_THING.search(expected_text) or RE.fraction.search(expected_text)
    if thing is None:
        return False
    text = normalize_text(reply)
    counted_stems: set[str] = set()
    for amount in find_quantities(text):
        if amount.is_count:
            counted_stems.update(map(word_stem, plain_words(text[amount.end :])[:1]))
    return word_stem(thing[1]) in counted_stems


def _exchanges_names(expected: str, reply: str) -> bool:
    """Return whether a reply has the names of a statement in another order: who lent to whom."""
    names = [match.span() for match in RE.name_within.finditer(expected)]
    gaps = [expected[first[1] : second[0]] for first, second in pairwise(names)]
    is_list = all("," in gap or RE.listed.fullmatch(gap) for gap in gaps)
    places = [reply.find(expected[slice(*span)]) for span in names]
    return not is_list and min(places) >= 0 and places != sorted(places)


def _settle_amount(ruling: Ruling, gold: Gold, question: str, reply: str) -> Ruling:
    """Return the ruling on a reply with the expected amount: whether it asserts this one or another one."""
    doubt = assertion_doubt(gold, question, reply)
    if ruling != NAMED_AMOUNT:
        doubt = doubt or _HEDGED
    rival_doubts = set()
    rival_claims: set[_Claim] = set()
    for rival in _rival_amounts(gold, question, reply):
        rival_doubts.add(assertion_doubt(rival, question, reply))
        if "" in rival_doubts:
            rival_claims |= _claims_of(rival, question, reply)
    claims = _claims_of(gold, question, reply)
    is_rival_sure = not _SURE.isdisjoint(rival_claims)
    if doubt and is_rival_sure and _SURE.isdisjoint(claims):
        return Ruling("no", "asserts another amount")
    if doubt:
        return Ruling("unscored", f"{NAMED_AMOUNT.reason}, and {doubt}")
    is_alone = rival_doubts <= {_BRACKETS}
    is_sure = "" not in rival_doubts and not claims.isdisjoint(("echo", "conclusion"))
    is_concluded = "conclusion" in claims and not is_rival_sure
    if is_alone or is_sure or is_concluded:
        return ruling
    return Ruling("unscored", "names the amount among others")


def _rival_amounts(gold: Gold, question: str, reply: str) -> list[Gold]:
    """Return each other possible answer as a gold amount; none if they add up to the expected one."""
    text = normalize_text(without_questions(reply, find_quantities))
    amounts = [
        amount
        for amount in answering_quantities(gold, question, reply, text)
        if not is_expected_amount(gold, amount)
    ]
    if is_result(gold.amounts, amounts):
        return []
    stances = amount_stances(gold, question, text, amounts)
    known = f"{question} {gold.whole}"
    rivals = []
    for amount in distinct_quantities(amounts):
        wording = text[amount.start : amount.end]
        is_near = any(is_close(amount, parts[0]) for parts in gold.amounts)
        is_known = is_near or wording in question.lower()
        is_beside = stances[amount] or is_at_another_rate(amount, known)
        if not is_known and not is_beside:
            rival = replace(gold, whole=wording, texts=(wording,), amounts=((amount,),))
            rivals.append(rival)
    return rivals


def _claims_of(gold: Gold, question: str, reply: str) -> frozenset[_Claim]:
    """Return the known ways in which a reply asserts an amount."""
    topic = _Topic(question, gold)
    claims: set[_Claim] = set()
    for text, spots in (_find_values(gold, reply), _find_amounts(gold, reply)):
        sentences = _sentences_of(text, spots, gold)
        mentions = [_read_mention(sentences, spot) for spot in spots]
        claims.update(_claim_of(mention, topic) for mention in mentions)
    return frozenset(claims)


def _names_both(gold: Gold, question: str, reply: str) -> bool:
    """Return whether an answer names both things that a question offers: then their order decides."""
    options = choice_options(gold, question) or ()
    spoken = content_stems(reply)
    return bool(options) and not any(option.isdisjoint(spoken) for option in options)


def assertion_doubt(gold: Gold, question: str, reply: str) -> str:
    """Return why a reply with the expected value may not assert it; "" if it does, or rephrases it.

    Args:
        gold: The expected answer.
        question: The question, whose words are neither rivals nor doubts.
        reply: The answer's conclusion.
    """
    topic = _Topic(question, gold)
    text, spots = _find_gold(gold, reply)
    doubt = _doubt_about_places(topic, gold, reply, text, spots)
    if doubt != _UNPROVEN:
        return doubt
    # an amount may be asserted in one form, and only explained in another
    digits, equal = _find_amounts(gold, reply)
    if len(equal) <= len(spots):
        return doubt
    return _doubt_about_places(topic, gold, reply, digits, equal)


def _doubt_about_places(
    topic: _Topic, gold: Gold, reply: str, text: str, spots: list[Span]
) -> str:
    """Return the same doubt for the spans of a text that name the expected value."""
    is_open_row = RE.and_others.search(text) is not None
    if is_open_row and not RE.and_others.search(normalize_text(gold.whole)):
        return _AMONG
    sentences = _sentences_of(text, spots, gold)
    mentions = [_read_mention(sentences, spot) for spot in spots]
    doubts = {mention: _doubt_about(mention, topic) for mention in mentions}
    named_mentions = [mention for mention, doubt in doubts.items() if not doubt]
    if not named_mentions:
        return next(iter(doubts.values()), "")
    homes = [mention.sentence for mention in named_mentions]
    for mention, doubt in doubts.items():
        if doubt in _CONTRARY and mention.sentence in homes:
            return f"{doubt} in the same sentence"
    clauses = _clauses_of(sentences)
    if spots not in (_find_values(gold, reply)[1], _find_amounts(gold, reply)[1]):
        # its words may be anywhere in an explanation, but not in other items
        row = [clause for clause in clauses if clause.sentence == homes[0]]
        is_rival = any(
            _is_other_item(clause, named_mentions[0], topic) for clause in row
        )
        return _ANOTHER if is_rival else ""
    claims = [
        mention for mention in named_mentions if _claim_of(mention, topic) != _NO_CLAIM
    ]
    if not claims and not _is_emphasised(gold, reply):
        return _UNPROVEN
    is_settled = gold.kind == "yes or no" or not claims
    return "" if is_settled else _rival_doubt(clauses, claims, topic)


def _is_emphasised(gold: Gold, reply: str) -> bool:
    """Return whether the only bold text in a reply is the expected value."""
    marked = RE.bold.findall(reply)
    return bool(marked) and all(_find_values(gold, text)[1] for text in marked)


_BULLET = lazy_pattern(r"(?:\A|\n)[ \t]*[-*•][ \t]+")


def _strip_numbers(reply: str) -> str:
    """Return a reply without the numbers or bullets of two or more items, which name nothing."""
    items = [line for line in reply.splitlines() if _BULLET.match(line)]
    # labelled rows stay separate sentences
    if len(items) > 1 and not any(":" in item for item in items):
        reply = _BULLET.sub("; ", reply)
    numbers = [int(match[1]) for match in RE.item_number.finditer(reply)]
    if len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):
        return reply
    return RE.item_number.sub("; ", reply)


def leaves_out(gold: Gold, question: str, reply: str) -> bool:
    """Return whether a reply names some of several expected things, and says nothing else.

    Each of its words is from the question, the things that it names, or an
    introduction, so none can stand for the missing things.
    """
    if RE.reason_asked.search(question) or RE.and_more.search(normalize_text(reply)):
        return False
    topic = _Topic(question, gold)
    expected_text = gold.texts[0].rstrip(".")
    is_plain = not (RE.stop.search(expected_text) or RE.stop.search(reply.rstrip(".")))
    if not is_plain or topic.strange_words(reply) or RE.label.search(reply):
        return False
    items = [plain_words(part) for part in RE.between.split(expected_text)]
    items = [words for words in items if 0 < len(words) <= _FEW_WORDS]
    spoken = set(map(meaning_key, words_with_digits(plain_words(reply))))
    asked_keys = set(map(meaning_key, plain_words(question)))
    are_named = []
    for words in items:
        keys = set(map(meaning_key, words)) - _EMPTY - asked_keys
        if not keys:
            return False
        are_named.append(bool(found_in([*keys], spoken)))
    return any(are_named) and not all(are_named)


# --- The topic of a question, and words that are strange to it.


class _Topic:
    """The words of a question and of the expected value."""

    def __init__(self, question: str, gold: Gold) -> None:
        question_words = plain_words(question)
        words = [*question_words, *plain_words(gold.whole)]
        self._words = frozenset(words)
        self._keys = frozenset(map(meaning_key, [*words, *words_with_digits(words)]))
        wording = frozenset(map(meaning_key, plain_words(gold.whole)))
        # sentences before the question itself give context; options answer it
        *statements, last = split_sentences(RE.options.sub("", question)) or [question]
        own_keys = frozenset(map(meaning_key, plain_words(last))) - wording - _EMPTY
        if len(own_keys) < _ECHOED:
            own_keys |= frozenset(map(meaning_key, plain_words(" ".join(statements))))
        self._asked = own_keys - wording - _EMPTY
        # if only a time without a definite year is expected, other times are rivals
        is_time = wording <= _EMPTY and gold.kind == "phrase"
        self._empty = _EMPTY - _TIMES if is_time else _EMPTY
        # a person may have a short name: "Mel" is Melanie
        self._names = tuple(map(str.lower, RE.short_name.findall(question)))
        self._gold = gold
        # the value itself stands for "what kind of event"
        kinds = RE.kind_asked.findall(question.lower())[:1]
        self._kind_asked = set(map(meaning_key, plain_words(" ".join(kinds))))
        self._verbs_of_user: set[str] = set()
        self._verbs_to_user: set[str] = set()
        for word, following in pairwise(question_words):
            if word == "i":
                self._verbs_of_user.add(meaning_key(following))
            if following == "me":
                self._verbs_to_user.add(meaning_key(word))
        self._verbs_of_user -= _EMPTY
        self._verbs_to_user -= _EMPTY
        self.asks_of_other = RE.other_asked.search(question.lower()) is not None
        self.question = question
        self.asks_who = not _WHO.isdisjoint(question_words)
        self.asks_for_origin = question_words[-1:] == ["from"]
        self.is_question = gold.whole.endswith("?")
        self.is_amount = gold.kind == "amount"
        # the question is about a possibility or the future, so such words cause no
        # doubt
        self._is_open = RE.hedge.search(normalize_text(question)) is not None

    def is_verb_of_user(self, word: str) -> bool:
        """Return whether the user does in the question what a word says: "do I owe"."""
        return _is_among(word, self._verbs_of_user)

    def is_verb_to_user(self, word: str) -> bool:
        """Return whether somebody does to the user what a word says: "owes me"."""
        return _is_among(word, self._verbs_to_user)

    def strange_words(self, text: str) -> list[str]:
        """Return the words of a text with factual content that are neither asked nor expected."""
        strange = []
        for word in words_with_digits(plain_words(text)):
            key = meaning_key(word)
            if key in self._keys or key in self._empty or RE.contracted.fullmatch(word):
                continue
            is_short = any(map(word.startswith, self._names))
            if not is_short and not any(is_of_root(key, asked) for asked in self._keys):
                strange.append(word)
        return strange

    def is_replaced(self, mention: _Mention) -> bool:
        """Return whether the sentence of a value has another word in place of an asked one: accepted for sent."""
        after = _OWN_CLAUSE.split(mention.after)[0]
        clause = plain_words(f"{mention.before} {after}")
        spoken = set(map(meaning_key, plain_words(mention.sentence.text)))
        asked_times = self._keys & _TIMES
        other_times = _TIMES.intersection(map(meaning_key, clause)) - asked_times
        # asked for January, and told of April
        if other_times and asked_times and asked_times.isdisjoint(spoken):
            return True
        # asked for the 60th birthday, and told of the 65th
        told_numbers = _numbers_in(f"{mention.before} {after}")
        asked_numbers = _numbers_in(self.question)
        is_other_number = asked_numbers.isdisjoint(told_numbers) and not self.is_amount
        if asked_numbers and told_numbers and is_other_number and not asked_times:
            return True
        needed = self._asked - self._kind_asked
        missing = {key for key in needed if not _is_among_keys(key, spoken)}
        # a sentence with few of the words is about something else, or only brief
        is_about_it = 2 * len(missing) <= len(needed)
        if not missing or not is_about_it:
            return False
        strange = self.strange_words(f"{mention.before} {after}")
        return any(
            word.isalpha() and not _is_among(word, self._asked) for word in strange
        )

    def holds_rival(self, text: str) -> bool:
        """Return whether a text may name another value: it has another amount, or a strange word."""
        text = RE.label.sub("", text)
        if self.is_amount:
            digits = normalize_text(text)
            amounts = find_quantities(digits)
            if any(map(self._is_rival_amount, amounts)):
                return True
            for amount in reversed(amounts):
                digits = f"{digits[: amount.start]} {digits[amount.end :]}"
            return bool(self.strange_words(digits))
        if self.strange_words(text):
            return True
        return any(amount not in self._keys for amount in RE.amount.findall(text))

    def leads_with_rival(self, text: str) -> bool:
        """Return whether a text begins with another value, rather than with where or how: "up from nine"."""
        if not self.is_amount:
            return RE.with_place.match(text.strip()) is None
        digits = normalize_text(text)
        amounts = filter(self._is_rival_amount, find_quantities(digits))
        return any(not plain_words(digits[: amount.start]) for amount in amounts)

    def is_echo(self, clause: str) -> bool:
        """Return whether a clause echoes the question's words: "your cat is called ..."."""
        words = set(map(meaning_key, plain_words(clause)))
        echoed = [
            key
            for key in self._asked
            if key in words or any(is_of_root(key, word) for word in words)
        ]
        return len(echoed) >= max(_ECHOED, _ECHO_SHARE * len(self._asked))

    def is_full_echo(self, lead: str, strange: Sequence[str]) -> bool:
        """Return whether most of the question's words precede a value, the first of them before any strange word."""
        keys = map(meaning_key, words_with_digits(plain_words(lead)))
        echoed = self._asked.intersection(keys)
        is_echo = len(echoed) >= max(_ECHOED, _MOST * len(self._asked))
        return is_echo and self.is_begun(lead, strange)

    def is_begun(self, lead: str, strange: Sequence[str]) -> bool:
        """Return whether a word of the question precedes the first strange one in a lead: "I planted two"."""
        words = list(words_with_digits(plain_words(lead)))
        keys = map(meaning_key, words[: words.index(strange[0])])
        return not self._asked.isdisjoint(keys)

    def is_only_counted(self, text: str) -> bool:
        """Return whether an amount is expected and a text has none: it may say what the amount counts."""
        return self.is_amount and not find_quantities(normalize_text(text))

    def _is_rival_amount(self, amount: Quantity) -> bool:
        """Return whether an amount is neither the expected one, in any unit, nor in the question."""
        is_measured = not amount.is_count and self._gold.counts_things
        if is_expected_amount(self._gold, amount) and not is_measured:
            return False
        return f"{float(amount.value):g}" not in self._keys

    def measures_another(self, text: str) -> bool:
        """Return whether a text has another amount in a unit of the expected one, or another place: third."""
        places = ORDINALS.keys() & plain_words(text)
        if places and not ORDINALS.keys().isdisjoint(plain_words(self._gold.whole)):
            return not self._words.issuperset(places)
        expected = [part for parts in self._gold.amounts for part in parts]
        return self.is_amount and any(
            not amount.is_bare
            and self._is_rival_amount(amount)
            and any(is_in_same_unit(part, amount) for part in expected)
            for amount in find_quantities(normalize_text(text))
        )

    def has_word(self, word: str) -> bool:
        """Return whether a word is in the question or the expected value, in the same form."""
        return word in self._words and word not in STOP_WORDS

    def shares_words(self, text: str) -> bool:
        """Return whether a text has a distinctive word of the question or the expected value."""
        keys = set(map(meaning_key, plain_words(text)))
        return not keys.isdisjoint(self._keys - STOPS)

    def labels_another(self, text: str) -> bool:
        """Return whether a text is a row with a strange label: "Water: 55"."""
        label = RE.row.match(text)
        return label is not None and bool(self.strange_words(label[1]))

    def has_mark(self, pattern: re.Pattern[str], text: str) -> bool:
        """Return whether a pattern matches a text in words other than the question's own."""
        for match in pattern.finditer(text):
            if self._is_open and RE.hedge.fullmatch(match[0]):
                continue
            words = set(plain_words(match[0])) - _POINTERS
            if not words or not self._keys.issuperset(map(meaning_key, words)):
                return True
        return False


def _numbers_in(text: str) -> frozenset[str]:
    """Return the digits of a text's numbers, and of its numbers in words."""
    words = words_with_digits(plain_words(text))
    return frozenset(re.findall(r"\d+", " ".join(words)))


# --- Finding the value in a reply.


def _find_gold(gold: Gold, reply: str) -> tuple[str, list[Span]]:
    """Return a reply in its searched form, and the spans of the expected value."""
    text, spots = _find_values(gold, reply)
    # items of an order may be apart; a time has too many forms to be found by words
    if spots or gold.kind == "order" or time_of(gold.texts[0]):
        return text, spots
    return text, _find_words(gold.texts[0], text)


def _find_values(gold: Gold, reply: str) -> tuple[str, list[Span]]:
    """Return the same for the expected value as written, or as an amount."""
    text = normalize_text(reply)
    if gold.kind == "yes or no":
        return text, phrase_positions(text, plain_words(gold.texts[0])[0])
    spots = wording_positions(text, gold.texts)
    if gold.counts_things:
        # the 500 of 500 Mbps is not a number of copies
        measured = {
            amount.start: amount.end
            for amount in find_quantities(text)
            if not amount.is_count
        }
        spots = [spot for spot in spots if measured.get(spot[0], 0) <= spot[1]]
    if spots or not gold.amounts:
        return text, spots
    digits, spots = _find_amounts(gold, reply)
    return (digits, spots) if spots else (text, [])


def _find_amounts(gold: Gold, reply: str) -> tuple[str, list[Span]]:
    """Return a reply with numbers in digits, and the spans of amounts equal to an expected one."""
    text = normalize_text(reply)
    spots = [
        (quantity.start, quantity.end)
        for quantity in find_quantities(text)
        if is_expected_amount(gold, quantity)
        and (quantity.is_count or not gold.counts_things)
    ]
    return text, spots


def _find_words(wording: str, text: str) -> list[Span]:
    """Return the spans of a short wording's words in a text; a long wording may be rephrased."""
    keys = set(map(meaning_key, plain_words(wording))) - STOPS
    if len(keys) > _FEW_WORDS:
        return []
    spots = []
    for match in RE.word.finditer(text):
        key = meaning_key(match[0])
        if key in keys or any(is_of_root(key, gold_key) for gold_key in keys):
            spots.append(match.span())
    return spots


# --- Sentences, and the parts between their marks.


class _Part(Struct, frozen=True):
    """A part of a text, or of a sentence."""

    start: int
    end: int
    link: str = ""
    """The mark or word before it."""
    depth: int = 0
    """The number of brackets around it."""
    text: str = ""


def _split_at(stops: re.Pattern[str], text: str) -> Iterator[_Part]:
    start = 0
    for match in stops.finditer(text):
        yield _Part(start, match.end(), text=text[start : match.end()])
        start = match.end()
    yield _Part(start, len(text), text=text[start:])


def _sentences_of(text: str, spots: Sequence[Span], gold: Gold) -> list[_Part]:
    """Return the sentences of a reply; one may continue after a value that is a question: "Who came? is wrong"."""
    inner_stops = set()
    if gold.whole.rstrip().endswith("?"):
        inner_stops = {end + 1 for _, end in spots if text[end:].startswith("? ")}
    sentences: list[_Part] = []
    for sentence in _split_at(RE.stop, text):
        full_sentence = sentence
        if sentence.start in inner_stops:
            start = sentences.pop().start
            full_sentence = _Part(start, sentence.end, text=text[start : sentence.end])
        sentences.append(full_sentence)
    return sentences


def _sentence_of(sentences: Sequence[_Part], spot: Span) -> _Part:
    return next(
        (part for part in sentences if part.start <= spot[0] < part.end), sentences[-1]
    )


def _parts_of(sentence: str) -> list[_Part]:
    """Split a sentence at commas, brackets, dashes and contrasting words."""
    parts = []
    start = 0
    link = ""
    depth = 0
    for match in RE.cut.finditer(sentence):
        text = sentence[start : match.start()]
        parts.append(_Part(start, match.start(), link, depth, text))
        link = match[0].strip()
        start = match.end()
        depth += link in ("(", "[")
        depth = max(0, depth - (link in (")", "]")))
    parts.append(_Part(start, len(sentence), link, depth, sentence[start:]))
    return parts


# --- One mention in its clause.

_BRACKETS = "names it in brackets"
_CONTRAST = "names it in contrast"
_ASIDE = "names it aside"
_SUBJECT = "says something else of it"
_AMONG = "names it among others"
_OTHERS = "says it of something else"
_ANOTHER = "names another one, too"
_UNPROVEN = "does so in words that no rule knows"
_COMMENTED = "says something of it that no rule knows"
_CONTRARY = frozenset((_CONTRAST, _ASIDE, _SUBJECT))
_HEDGED = "names it within a range, or hedged"


class _Mention(Struct, frozen=True):
    """A mention of the expected value in a reply."""

    sentence: _Part
    parts: tuple[_Part, ...]
    """The parts of the sentence."""
    first: int
    """The index of the part in which it begins."""
    last: int
    """The index of the part in which it ends."""
    before: str
    """The text before it in its part."""
    after: str
    """The text after it in its part."""
    led: str
    """The text before it in its sentence."""
    rest: str
    """The text after it in its sentence."""
    is_last: bool
    """Whether its sentence is the last one with words."""

    @property
    def start(self) -> int:
        """Its position in the reply."""
        return self.sentence.start + len(self.led)

    @property
    def is_whole(self) -> bool:
        """Whether its sentence is the whole reply, in one part."""
        return self.is_last and self.sentence.start == 0 and len(self.parts) == 1

    @property
    def part(self) -> _Part:
        """The part in which it begins."""
        return self.parts[self.first]


def _read_mention(sentences: Sequence[_Part], spot: Span) -> _Mention:
    sentence = _sentence_of(sentences, spot)
    start = spot[0] - sentence.start
    end = spot[1] - sentence.start
    parts = _parts_of(sentence.text)
    first = next(n for n, part in enumerate(parts) if start <= part.end)
    ends = (n for n, part in enumerate(parts) if end <= part.end)
    last = next(ends, len(parts) - 1)
    text = sentence.text
    return _Mention(
        sentence,
        tuple(parts),
        first,
        last,
        before=text[parts[first].start : start],
        after=text[end : parts[last].end],
        led=text[:start],
        rest=text[end:],
        is_last=not any(
            plain_words(later.text)
            for later in sentences
            if later.start > sentence.start
        ),
    )


def _doubt_about(mention: _Mention, topic: _Topic) -> str:
    """Return why a mention asserts nothing; "" if no doubt is known."""
    part = mention.part
    if part.depth:
        outside = [
            sibling.text for sibling in mention.parts if sibling.depth < part.depth
        ]
        beside = " ".join((*outside, mention.before, mention.after))
        return _BRACKETS if topic.holds_rival(beside) else ""
    if part.link in _CONTRASTS and topic.has_mark(RE.cut, part.link):
        return _CONTRAST
    led = RE.settles.split(mention.before)[-1]
    is_aside = topic.has_mark(RE.aside_before, led)
    text_behind = mention.rest.lstrip("?") if topic.is_question else mention.rest
    if is_aside or topic.has_mark(RE.aside_after, text_behind):
        return _ASIDE
    if _tells_of_antecedent(mention, topic) or _is_other_subject(mention, topic):
        return _SUBJECT
    if _is_listed(mention.led, mention.rest, topic):
        return _AMONG
    is_other = _is_of_another(mention.before, mention.after, topic)
    return _OTHERS if is_other or _is_in_asked_thing(mention, topic) else ""


def _tells_of_antecedent(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a relative clause gives the value of a strange thing before it: "your cat, which is Biscuit"."""
    if mention.part.link != "which":
        return False
    *parts, part = mention.parts[: mention.first]
    if parts and not part.text.strip() and RE.bare_verb.fullmatch(mention.before):
        # the part between a comma and "which" is empty
        part = parts[-1]
    return bool(topic.strange_words(part.text))


def _begins_clause(mention: _Mention, topic: _Topic) -> bool:
    lead = mention.before
    return not (RE.clause_word.search(lead) or topic.shares_words(lead))


def _is_among(word: str, keys: AbstractSet[str]) -> bool:
    """Return whether a word is a form of one of the keys: lent and lend."""
    return _is_among_keys(meaning_key(word), keys)


def _is_among_keys(own_key: str, keys: AbstractSet[str]) -> bool:
    return own_key in keys or any(
        is_like(own_key, key) or is_of_root(own_key, key) for key in keys
    )


# --- Known forms of assertion. Everything else is open.

_Claim = Literal["echo", "conclusion", "statement", "bare", "in other words", ""]
_NO_CLAIM: _Claim = ""
_SURE = frozenset(("echo", "conclusion", "statement"))


def _claim_of(mention: _Mention, topic: _Topic) -> _Claim:
    """Return the known form in which a mention asserts the value: "" if none.

    An echo has the question's words in the value's own clause; a conclusion calls the
    value the answer, or its conclusion. A bare value has at most words of the question
    and function words before it, and is a statement if it opens the reply. In other
    words: the clause of an amount has one verb that the question lacks, or a person is
    named by kinship and name.
    """
    lead = RE.settles.split(_strip_recalls(mention.before))[-1]
    # where somebody came from, "from Boston to Chicago" names Boston
    if topic.asks_for_origin and RE.changed.search(lead):
        return _NO_CLAIM
    lead = RE.changed.sub(" to ", lead)
    turns = topic.has_mark(RE.turns, lead) or _is_row_of_another(mention, topic)
    doubts = (
        _is_doubted,
        _is_unreal,
        _is_talked_about,
        _is_of_another_person,
        _tells_contrary,
    )
    turns = turns or any(doubt(mention, topic) for doubt in doubts)
    is_governed = mention.part.link not in _EXPLAINS and _is_governed(lead, topic)
    if turns or is_governed or not _is_plain_tail(mention, topic):
        return _NO_CLAIM
    clause = f"{_fronted_text(mention)} {mention.before} {mention.after}"
    if topic.is_echo(clause):
        is_echo = _is_plain_lead(lead, mention, topic)
        return "echo" if is_echo and not topic.is_replaced(mention) else _NO_CLAIM
    if _is_concluded(mention, topic):
        return "conclusion"
    claim = _claim_after(lead, mention, topic)
    return _NO_CLAIM if claim and topic.is_replaced(mention) else claim


_WHO = frozenset(("who", "whom"))
_OWNED = lazy_pattern(r"\b(\w+) of (?:(?!by\b|from\b|with\b)\w+ ){0,2}$")


def _is_doubted(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a sentence asks whether the value is right, or names its replacement."""
    if mention.sentence.text.rstrip().endswith("?") and not topic.is_question:
        return True
    target = RE.target.match(mention.after)
    return target is not None and bool(topic.strange_words(target[0]))


def _is_of_another_person(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a clause exchanges the user and somebody else: "Kevin lent you his drill"."""
    words = plain_words(mention.sentence.text)
    for word, following in pairwise(words):
        if following in _USER and topic.is_verb_of_user(word):
            return True
        if word in _USER and topic.is_verb_to_user(following):
            return True
    lead = plain_words(mention.before)
    return topic.asks_of_other and lead[:1] in _USER_SUBJECTS


def _tells_contrary(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a sentence tells of the contrary of what is asked: when it begins, for when it ends."""
    return is_turned(topic.question, mention.sentence.text)


def _is_in_asked_thing(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a person belongs to a thing of the question: a portrait of your aunt, for who painted it."""
    owned = _OWNED.search(mention.before) if topic.asks_who else None
    return owned is not None and topic.has_word(owned[1])


def _strip_recalls(text: str) -> str:
    return RE.recalling.sub(" ", text)


def _is_unreal(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a clause holds only in fiction, in a work, in a mind, or conditionally: "in the novel you ..."."""
    fronts = _fronts_of(mention)
    own_texts = (*fronts, mention.before, mention.after)
    if any(_is_of_a_work(text, topic) for text in own_texts):
        return True
    if any(RE.condition.match(text) for text in (*fronts, mention.before)):
        return True
    behind = (RE.condition_behind, RE.marks)
    if any(pattern.search(mention.after) for pattern in behind):
        return True
    if mention.part.link == ":":
        return any(_is_strange_label(text, topic) for text in fronts)
    return any(_is_strange_front(text, topic) for text in fronts[:1])


def _fronts_of(mention: _Mention) -> list[str]:
    """Return the parts that lead to a mention; bracketed ones only if a colon follows."""
    parts = mention.parts[: mention.first]
    if mention.part.link != ":":
        parts = tuple(part for part in parts if not part.depth)
    return [_strip_recalls(part.text) for part in parts if part.link not in _EXPLAINS]


def _is_talked_about(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a clause is quoted, or described as something: "... is a line from a play"."""
    lead = mention.before
    after = mention.after
    if RE.saying_ends.search(lead) and topic.strange_words(lead):
        return True
    if RE.rated.search(lead) or RE.clause_is.search(after):
        return True
    is_clause = RE.finite.search(lead) is not None
    return is_clause and RE.copula_behind.match(after) is not None


def _is_of_a_work(text: str, topic: _Topic) -> bool:
    """Return whether a text says that something is untrue, or true only in a work or a mind."""
    patterns = (RE.untrue, RE.in_a_work, RE.is_a_work)
    return any(topic.has_mark(pattern, text) for pattern in patterns)


def _is_strange_label(text: str, topic: _Topic) -> bool:
    """Return whether a label before a colon has only words of neither the question nor a source."""
    is_talk = RE.evidence.search(text) or RE.interjection.fullmatch(text)
    if is_talk or topic.shares_words(text):
        return False
    if topic.is_amount and find_quantities(normalize_text(text)):
        return False
    return any(map(str.isalpha, topic.strange_words(text)))


def _is_strange_front(text: str, topic: _Topic) -> bool:
    """Return whether a part restricts its clause in words of neither the question nor a source."""
    if RE.evidence.search(text) or RE.known_front.match(text):
        return False
    if topic.is_amount and find_quantities(normalize_text(text)):
        return False
    is_strange = any(map(str.isalpha, topic.strange_words(text)))
    return is_strange and not topic.shares_words(text)


def _is_governed(before: str, topic: _Topic) -> bool:
    """Return whether a clause depends on another that may not assert it: "rumour has it that"."""
    relation = RE.relation.search(before)
    if relation and topic.strange_words(relation[0]):
        return True
    if topic.has_mark(RE.others_say, before):
        return True
    *governors, _ = RE.governed.split(before)
    if governors and not plain_words(governors[0]):
        return True
    # "by the end of May you had ..." only says when
    clauses = [text for text in governors if not RE.frame.match(text)]
    placed = filter(RE.placed.match, governors)
    if any(_is_strange_front(text, topic) for text in placed):
        return True
    return any(map(topic.strange_words, clauses))


def _is_plain_lead(before: str, mention: _Mention, topic: _Topic) -> bool:
    """Return whether strange words before a value, in an echo of the question, are its attribute or one verb."""
    strange = topic.strange_words(before)
    if not strange:
        return True
    # before a value that is itself the subject, only governing words are allowed
    is_subject = RE.predicate.match(mention.after) and not topic.shares_words(before)
    if is_subject:
        return False
    # "I planted two" has the question's verb; "I invented" has another one
    if RE.speaker.match(before) and not topic.is_begun(before, strange):
        return False
    if topic.is_full_echo(before, strange):
        return True
    return _is_attribute(strange, before) or _has_known_subject(strange, before, topic)


def _claim_after(before: str, mention: _Mention, topic: _Topic) -> _Claim:
    strange = topic.strange_words(before)
    if not strange:
        opens = mention.sentence.start == 0 and mention.first == 0
        return "statement" if opens else "bare"
    if RE.copula_lead.match(before) and len(strange) == 1:
        if _is_attribute(strange, before):
            return "bare"
        return _NO_CLAIM
    is_phrase = mention.is_whole and _is_noun_alone(mention)
    if is_phrase and len(RE.article.sub("", before).split()) == 1:
        return "in other words"
    measures = topic.is_amount and RE.measures.search(before)
    is_telling = measures or RE.kin_before.search(before) is not None
    is_known = bool(is_telling) and _has_known_subject(strange, before, topic)
    return "in other words" if is_known else _NO_CLAIM


def _is_attribute(strange: Sequence[str], before: str) -> bool:
    """Return whether the strange words come directly before a value: "a chili cook-off fundraiser"."""
    words = list(words_with_digits(plain_words(before)))
    return words[-len(strange) :] == list(strange)


def _has_known_subject(strange: Sequence[str], before: str, topic: _Topic) -> bool:
    """Return whether a clause has a known subject and one strange word, or introduces a name: "you visited"."""
    words = plain_words(RE.article.sub("", before))
    if RE.placed.match(before) and not topic.shares_words(" ".join(words[:3])):
        return False
    is_near = len(strange) == 1 or RE.kin_before.search(before) is not None
    return is_near and words[0] not in strange


def _is_row_of_another(mention: _Mention, topic: _Topic) -> bool:
    label = RE.row.match(mention.sentence.text)
    if label is None or mention.first == 0 or plain_words(label[1]) == ["no"]:
        return False
    if RE.interjection.fullmatch(label[1]) or RE.rests_on.match(label[1]):
        return False
    if topic.has_mark(RE.turns, RE.role.sub("", label[1])):
        return True
    is_clause = len(plain_words(label[1])) > _PAIR and RE.verb_word.search(label[1])
    return not is_clause and topic.labels_another(mention.sentence.text)


def _is_concluded(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a mention is called the answer, or a result: "Total: six"."""
    led = mention.led
    if RE.comes_to.search(mention.before) or RE.comes_to.search(led):
        return True
    text = mention.part.text
    if mention.first and not plain_words(mention.before):
        text = f"{mention.parts[mention.first - 1].text} {text}"
    if RE.is_the_answer.search(mention.before) or RE.by_now.search(text):
        return True
    # a subject with only the question's words
    if RE.copula_end.search(mention.before) and topic.shares_words(mention.before):
        return not topic.strange_words(mention.before)
    return mention.part.link == ":" and not plain_words(mention.before)


def _fronted_text(mention: _Mention) -> str:
    """Return the fronted parts that say when, where or about what a clause is: "In May you ..."."""
    parts = mention.parts[: mention.first]
    fronted = [part.text for part in parts if RE.frame.match(part.text)]
    return " ".join(fronted)


def _is_plain_tail(mention: _Mention, topic: _Topic) -> bool:
    """Return whether the text after a value is a plain continuation: "Ghent in the end"."""
    if not topic.strange_words(mention.after) or RE.adjunct.match(mention.after):
        return True
    words = plain_words(mention.after)
    if topic.shares_words(words[0]):
        return True
    return not topic.has_mark(RE.turns, mention.after) and _is_noun_tail(mention, topic)


def _is_noun_tail(mention: _Mention, topic: _Topic) -> bool:
    """Return whether the text after a value is a noun that the value modifies, or a restriction: "pottery course"."""
    if RE.restricts.match(mention.after):
        before = topic.strange_words(mention.before)
        return not before or _is_attribute(before, mention.before)
    if RE.verb_word.search(mention.after) or RE.article_inside.search(mention.after):
        return False
    words = plain_words(mention.after)
    if len(words) == 1 and _is_noun_alone(mention):
        return True
    if len(words) <= _FEW_BEHIND and topic.is_amount:
        return True
    strange = topic.strange_words(mention.after)
    is_noun = list(words[: len(strange)]) == strange and len(strange) <= _PAIR
    return is_noun and topic.shares_words(mention.before)


def _is_noun_alone(mention: _Mention) -> bool:
    """Return whether a sentence is only a noun phrase with the value: "a camping trip"."""
    return len(mention.parts) == 1 and not RE.verb_word.search(mention.sentence.text)


def _is_other_subject(mention: _Mention, topic: _Topic) -> bool:
    """Return whether a value is the subject of an unasked statement: "Biscuit is your dog"."""
    after = mention.after
    if not _begins_clause(mention, topic):
        return False
    if RE.bare_verb.fullmatch(after) or not RE.predicate.match(after):
        return False
    if topic.strange_words(after):
        return True
    return not (topic.shares_words(after) or RE.confirms.search(after))


def _is_listed(before: str, after: str, topic: _Topic) -> bool:
    """Return whether something strange is listed with a value: "a few others and Biscuit"."""
    if link := RE.listed_before.search(before):
        item = RE.item_end.split(before[: link.start()])[-1]
        comma = link[0].strip()[:1] in ("", ",")
        if RE.and_more.search(item) or (
            topic.holds_rival(item) and (not comma or _is_item(item))
        ):
            return True
    if not (link := RE.listed_after.match(after)):
        return False
    item, *further_items = RE.item_end.split(after[link.end() :])
    if RE.goes_on.match(item):
        return False
    if link[0].strip() == "," and not (_is_item(item) and further_items):
        return False
    if topic.is_only_counted(item) and not RE.and_more.search(item):
        return False
    return topic.holds_rival(item) or RE.and_more.search(item) is not None


def _is_item(text: str) -> bool:
    """Return whether a part is only a name or a thing, not a clause or its introduction."""
    if RE.verb_word.search(text) or RE.frame.match(text):
        return False
    return 0 < len(plain_words(text)) <= _FEW_WORDS


def _is_of_another(before: str, after: str, topic: _Topic) -> bool:
    """Return whether a clause gives the value for a person or a thing that was not asked about."""
    behind = RE.for_whom.match(after)
    people = [*plain_words(before), behind[1] if behind else ""]
    if any(person in _PEOPLE and topic.strange_words(person) for person in people):
        return True
    owned = [match[1] for match in RE.owned.finditer(before)]
    return any(topic.strange_words(RE.relative.sub(" ", text)) for text in owned)


# --- Rival answers.


class _Clause(Struct, frozen=True):
    """A part of a sentence, with its position in the reply."""

    start: int
    part: _Part
    sentence: _Part


def _clauses_of(sentences: Sequence[_Part]) -> list[_Clause]:
    return [
        _Clause(sentence.start + part.start, part, sentence)
        for sentence in sentences
        for part in _parts_of(sentence.text)
    ]


def _rival_doubt(
    clauses: Sequence[_Clause], claims: Sequence[_Mention], topic: _Topic
) -> str:
    """Return the doubt that another value is in a position to answer: "" if none is."""
    is_sure = any(_claim_of(claim, topic) in _SURE for claim in claims)
    claimed = {claim.sentence.start + claim.part.start for claim in claims}
    for clause in clauses:
        text = RE.label.sub("", clause.part.text)
        if clause.start in claimed:
            continue
        if _comments_on(clause, claims[-1], topic):
            return _COMMENTED
        if not topic.holds_rival(text):
            continue
        if any(_is_answer_too(clause, claim, topic) for claim in claims):
            return _ANOTHER
        if _measures_again(clause, claims[-1], topic):
            return _ANOTHER
        if is_sure and not _answers_again(clause, claims[-1], topic):
            continue
        if not _is_beside(clause, claims[-1], topic):
            return _ANOTHER
    return ""


_SAME_SUBJECT = lazy_pattern(
    r"\W*(?:(?:so|now|then|and|but|since) )*(?:you|it|he|she|they|we)\w*\b"
)


def _measures_again(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a later sentence continues with another amount in the expected unit: "You use 38 cm now"."""
    text = clause.part.text
    is_later = clause.sentence.start > claim.sentence.start
    goes_on = is_later and _SAME_SUBJECT.match(text) is not None
    return goes_on and topic.measures_another(text)


def _comments_on(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause comments on a claim before it, or on its source, in a way unknown to the rules."""
    text = _strip_recalls(clause.part.text)
    if clause.start < claim.start or _is_disclaimer(text, topic):
        return False
    is_same = clause.sentence == claim.sentence
    is_others = RE.others_word.search(text) and not RE.own_word.search(text)
    if _takes_back(text, topic) or (is_same and is_others):
        return True
    is_strange = bool(topic.strange_words(text))
    if clause.part.depth or not (is_strange or topic.has_mark(RE.turns, text)):
        return False
    if clause.part.link == "which":
        has_amounts = topic.is_amount and find_quantities(normalize_text(text))
        return not has_amounts and RE.brief_remark.match(text) is not None
    depends = is_same and RE.depends.match(text) is not None
    if depends or _remarks_on(text, topic):
        return True
    return is_strange and not _tells_more(clause, claim, topic)


def _tells_more(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause after a claim is known to only add information."""
    text = clause.part.text
    if topic.has_mark(RE.shell, text) or RE.modal.match(text):
        return False
    if clause.sentence == claim.sentence:
        return _is_more_of_claim(clause, topic)
    parts = _parts_of(clause.sentence.text)
    head = next(part for part in parts if topic.strange_words(part.text))
    if head.start < clause.part.start:
        return True
    opening = clause.sentence.text[: clause.part.end]
    is_to_user = RE.asks_back.match(opening) or RE.courtesy.search(clause.sentence.text)
    if RE.contrary.match(opening) or is_to_user:
        return is_to_user is not None
    texts = (opening, text)
    continues = any(map(RE.continues.match, texts))
    return continues or any(_goes_on_with_known(part, claim, topic) for part in texts)


def _is_more_of_claim(clause: _Clause, topic: _Topic) -> bool:
    """Return whether a part of a claim's sentence adds where, when, how or which, continues, or names a thing."""
    text = clause.part.text
    link = clause.part.link
    if link in _EXPLAINS | _CONTRASTS or RE.tells_more.match(text):
        return True
    if not _is_item(text):
        return False
    end = clause.part.end
    is_row = RE.item_follows.match(clause.sentence.text, end) is not None
    return link != ":" or (topic.is_amount and is_row)


def _goes_on_with_known(text: str, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause begins with a thing from the claim or the question, or belongs to its list."""
    if topic.is_amount and RE.list_follows.search(claim.sentence.text):
        return True
    is_told = RE.evidence.search(text) or not RE.verb_word.search(text)
    if is_told and not any(map(str.isalpha, topic.strange_words(text))):
        return True
    first, *_ = plain_words(RE.article.sub("", text)) or [""]
    is_asked = topic.has_word(first) or topic.shares_words(first)
    return is_asked or first in plain_words(claim.sentence.text)


def _takes_back(text: str, topic: _Topic) -> bool:
    """Return whether a clause is only a denial, or calls something untrue or not meant seriously."""
    patterns = (RE.untrue, RE.is_a_work, RE.only_in_a_work)
    is_unreal = any(topic.has_mark(pattern, text) for pattern in patterns)
    if is_unreal or RE.retracts.match(text):
        return True
    if RE.of_a_text.search(text) and topic.strange_words(text):
        return True
    remainder = RE.bare_denial.sub(" ", text)
    is_denial = topic.has_mark(RE.bare_denial, text)
    return is_denial and not topic.strange_words(remainder)


def _is_disclaimer(text: str, topic: _Topic) -> bool:
    """Return whether a clause marks its value as another thing's: "Biscuit is the name of your dog"."""
    match = RE.disclaims.match(text)
    owner = match["owner"] if match else None
    return match is not None and (owner is None or bool(topic.strange_words(owner)))


def _remarks_on(text: str, topic: _Topic) -> bool:
    """Return whether a clause begins with a strange remark on the previous one: "that is a myth"."""
    remark = RE.comment.match(text)
    if remark is None:
        return False
    words = plain_words(text[remark.end() :])
    if remark[1]:
        return topic.has_mark(RE.denies, text) or not RE.reports.match(text)
    is_strange = bool(topic.strange_words(" ".join(words[:_PAIR])))
    return is_strange or topic.has_mark(RE.turns, text)


def _answers_again(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause after a claim answers again: it identifies something, or names only a thing."""
    text = clause.part.text
    part = clause.part
    if clause.start < claim.start or part.depth or part.link in _EXPLAINS:
        return False
    if not topic.holds_rival(text):
        return False
    # "it" in another sentence is the claim; after a comma it is being explained
    is_same = clause.sentence == claim.sentence
    if RE.answers.match(text) or (is_same and RE.says_it_is.match(text)):
        return bool(topic.strange_words(text))
    if RE.it_is_behind.search(text):
        return True
    is_opening = _claim_of(claim, topic) == "statement"
    if is_same and is_opening and part.link in _TURNS:
        return True
    is_open = is_same and part.link != ","
    if is_opening:
        is_open = topic.leads_with_rival(text)
    return is_open and _is_item(text) and not RE.talk.search(clause.sentence.text)


def _is_answer_too(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause identifies the thing asked about, or the claim's subject, as something else."""
    part = clause.part
    text = part.text
    if part.link in _LABELLED and clause.sentence != claim.sentence:
        text = clause.sentence.text[: part.end]
    match = RE.says_what.match(text)
    is_asking = clause.sentence.text.rstrip().endswith("?")
    is_aside = is_asking or part.depth or topic.has_mark(RE.aside_before, text)
    if match is None or is_aside:
        return False
    subject, item = match.groups()
    is_first = clause.start < claim.start and text == part.text
    is_elided = plain_words(subject) in _ELIDED
    is_asked = topic.shares_words(subject) or is_first or is_elided
    is_asked = is_asked and not topic.strange_words(subject)
    if not is_asked and plain_words(subject) != plain_words(claim.before):
        return False
    patterns = (RE.adjunct, RE.owned_noun, RE.verb_word)
    if any(pattern.match(item) for pattern in patterns):
        return False
    # "3 + 4 = " is about the same value
    is_result = any(map(RE.comes_to.search, (claim.led, claim.before)))
    return not is_result and topic.holds_rival(item)


def _is_other_item(clause: _Clause, first: _Mention, topic: _Topic) -> bool:
    """Return whether a clause is a strange item of a list that begins with a mention."""
    if clause.start <= first.start or clause.part.link != ";":
        return False
    text = clause.part.text
    return _is_item(text) and topic.holds_rival(text)


def _is_beside(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause is known to supplement an answer, whatever it names.

    These are brackets and denials; before the answer its introduction; after it
    explanations and additions.
    """
    text = clause.part.text
    part = clause.part
    if part.depth or RE.interjection.fullmatch(text) or _is_disclaimer(text, topic):
        return True
    if topic.has_mark(RE.denies, text) or RE.talk.search(clause.sentence.text):
        return True
    if clause.start < claim.start:
        is_same = clause.sentence == claim.sentence
        is_plain = is_same or not RE.verb_word.search(text)
        framed = is_plain and RE.frame.match(text)
        return bool(framed) or topic.labels_another(clause.sentence.text)
    if clause.sentence == claim.sentence:
        if part.link in _TURNS or RE.says_it_is.match(text):
            return False
        is_noun = RE.owned_noun.match(text) and not RE.verb_word.search(text)
        explains = RE.explains.match(text) or part.link in _EXPLAINS | _CONTRASTS
        return bool(explains or is_noun) or _is_counted_behind(clause, claim, topic)
    return RE.anaphor.match(text) is not None


def _is_counted_behind(clause: _Clause, claim: _Mention, topic: _Topic) -> bool:
    """Return whether a clause after a colon lists the things that an amount counts: "six: an Eames, ..."."""
    behind = claim.parts[claim.last + 1 :]
    between = [part for part in behind if part.start <= clause.part.start]
    has_colon = any(part.link == ":" for part in between)
    return topic.is_amount and has_colon and len(behind) > 1

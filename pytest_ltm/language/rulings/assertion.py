"""Whether an answer asserts the value it names: in a clause of its own, for what is asked, with no rival beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from pytest_ltm._core.model.words import plain_words
from pytest_ltm.language.clauses import normalize_text, phrase_positions
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.meanings import (
    FRAME,
    LIGHT,
    STOPS,
    found_in,
    is_of_root,
    meaning_key,
)
from pytest_ltm.language.numbers import words_with_digits, write_digits
from pytest_ltm.language.quantities import (
    Quantity,
    is_equal_amount,
    read_quantities,
)
from pytest_ltm.language.rulings.gold import Gold, Ruling, time_of
from pytest_ltm.language.rulings.stance import SHORT, concluding_part

RE = LEXICON.expressions("assertion")
Span = tuple[int, int]
# Words that say nothing of the world: of talking, concluding, counting and dates.
_GENERIC = frozenset(map(meaning_key, LEXICON.words("assertion generic")))
_EMPTY = STOPS | FRAME | LIGHT | _GENERIC
_PEOPLE = frozenset(LEXICON.words("stance people"))
_POINTERS = frozenset(("you", "it", "a", "an", "the", "only"))
_CONTRASTS = frozenset(LEXICON.words("assertion contrasts"))
_EXPLAINS = frozenset(LEXICON.words("assertion explaining"))
_FEW_WORDS = 6
_PARTIAL = frozenset(("has some of its words", "names only a part of it"))
# In so many characters, whatever stands beside a value may be meant as the answer.
_BRIEF = 120


def settle_ruling(ruling: Ruling, gold: Gold, question: str, answer: str) -> Ruling:
    """Return a ruling, but unscored where it is not proven.

    A yes is proven where the answer's conclusion asserts what it names, a no of a long
    answer where its conclusion does not name what is expected.
    """
    reply = _strip_numbers(concluding_part(answer))
    if ruling.verdict == "yes":
        doubt = assertion_doubt(gold, question, reply)
        return Ruling("unscored", f"{ruling.reason}, and {doubt}") if doubt else ruling
    if ruling.reason in _PARTIAL and leaves_out(gold, question, reply):
        return Ruling("no", "leaves out one of several things")
    is_long = len(answer) > SHORT and gold.kind in ("amount", "phrase")
    if ruling.verdict == "no" and is_long and _find_values(gold, reply)[1]:
        return Ruling("unscored", f"{ruling.reason}, and names it")
    return ruling


def assertion_doubt(gold: Gold, question: str, reply: str) -> str:
    """Return why a reply that names the expected value may not assert it; "" if it does, or names it in other words.

    Args:
        gold: What is expected.
        question: What was asked: its words are neither rivals nor doubts.
        reply: What the answer concludes.
    """
    topic = _Topic(question, gold)
    text, spots = _find_gold(gold, reply)
    sentences = list(_split_at(RE.stop, text))
    is_open_row = _ends_in_others(sentences)
    if is_open_row and not _ends_in_others(list(_split_at(RE.stop, gold.whole))):
        return _AMONG
    # words of it may be anywhere in an explanation
    is_strict = len(text) <= _BRIEF and spots == _find_values(gold, reply)[1]
    doubts = {spot: _doubt_at(sentences, spot, topic, is_strict) for spot in spots}
    claims = [spot for spot, doubt in doubts.items() if not doubt]
    if not claims:
        return next(iter(doubts.values()), "")
    homes = [_sentence_of(sentences, spot) for spot in claims]
    for spot, doubt in doubts.items():
        if doubt in _CONTRARY and _sentence_of(sentences, spot) in homes:
            return f"{doubt} in the same sentence"
    if gold.kind == "yes or no":
        return ""
    last = _sentence_of(sentences, claims[-1])
    if _is_result(_clause_before(last, claims[-1])):
        return _rival_doubt(sentences, claims, topic, since=claims[-1][0])
    if RE.concludes.search(last.text):
        # what comes before a conclusion is the working
        sentences = sentences[sentences.index(last) :]
    elif topic.is_label_of(last.text):
        # rows above it are of other things; one below may correct it
        above = sentences[: sentences.index(last)]
        rows = [part for part in above if topic.labels_another(part.text)]
        sentences = [part for part in sentences if part not in rows]
    return _rival_doubt(sentences, claims, topic)


def _strip_numbers(reply: str) -> str:
    """Return a reply without the numbers of its items, where it has two or more: they name nothing."""
    numbers = [int(match[1]) for match in RE.item_number.finditer(reply)]
    if len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):
        return reply
    return RE.item_number.sub("; ", reply)


def leaves_out(gold: Gold, question: str, reply: str) -> bool:
    """Return whether a reply names some of several things that are expected, and says nothing else.

    Each of its words is one of the question, of the things that it names, or of a frame:
    so none of them can stand for what is missing.
    """
    if RE.reason_asked.search(question) or RE.and_more.search(normalize_text(reply)):
        return False
    topic = _Topic(question, gold)
    whole = gold.texts[0].rstrip(".")
    is_plain = not (RE.stop.search(whole) or RE.stop.search(reply.rstrip(".")))
    if not is_plain or topic.strange_words(reply) or RE.label.search(reply):
        return False
    items = [plain_words(part) for part in RE.between.split(whole)]
    items = [words for words in items if 0 < len(words) <= _FEW_WORDS]
    spoken = set(map(meaning_key, words_with_digits(plain_words(reply))))
    asked = set(map(meaning_key, plain_words(question)))
    named = []
    for words in items:
        keys = set(map(meaning_key, words)) - _EMPTY - asked
        if not keys:
            return False
        named.append(bool(found_in([*keys], spoken)))
    return any(named) and not all(named)


# --- What the question is about, and what is strange to it.


class _Topic:
    """The words of a question and of the value that is expected."""

    def __init__(self, question: str, gold: Gold) -> None:
        words = plain_words(f"{question} {gold.whole}")
        self._keys = frozenset(map(meaning_key, [*words, *words_with_digits(words)]))
        self._amounts = tuple(chain.from_iterable(gold.amounts))
        self._is_amount = gold.kind == "amount"
        # what may be, or is to come, is asked for: such words are no doubt then
        self._is_open = RE.hedge.search(normalize_text(question)) is not None

    def strange_words(self, text: str) -> list[str]:
        """Return the words of a text that say something of the world, and not what is asked or expected."""
        strange = []
        for word in words_with_digits(plain_words(text)):
            key = meaning_key(word)
            if key in self._keys or key in _EMPTY or RE.contracted.fullmatch(word):
                continue
            if not any(is_of_root(key, asked) for asked in self._keys):
                strange.append(word)
        return strange

    def holds_rival(self, text: str) -> bool:
        """Return whether a text may name another value: it has another amount, or a strange word."""
        text = RE.label.sub("", text)
        if self._is_amount:
            digits = write_digits(text)
            amounts = read_quantities(digits)
            if any(map(self._is_rival_amount, amounts)):
                return True
            for amount in reversed(amounts):
                digits = f"{digits[: amount.start]} {digits[amount.end :]}"
            return bool(self.strange_words(digits))
        if self.strange_words(text):
            return True
        return any(amount not in self._keys for amount in RE.amount.findall(text))

    def is_compared(self, before: str) -> bool:
        """Return whether an amount is expected, and another stands before it in its clause: "9 exceeds 6"."""
        if not self._is_amount or _is_result(before) or RE.changed.search(before):
            return False
        return any(map(self._is_rival_amount, read_quantities(write_digits(before))))

    def is_only_counted(self, text: str) -> bool:
        """Return whether an amount is expected, and a text has none: what an amount counts may be told behind it."""
        return self._is_amount and not read_quantities(write_digits(text))

    def _is_rival_amount(self, amount: Quantity) -> bool:
        """Return whether an amount is neither the expected one, in whatever unit, nor asked."""
        if any(is_equal_amount(expected, amount) for expected in self._amounts):
            return False
        return f"{amount.value:g}" not in self._keys

    def shares_words(self, text: str) -> bool:
        """Return whether a text has a telling word of the question or of the expected value."""
        keys = set(map(meaning_key, plain_words(text)))
        return not keys.isdisjoint(self._keys - STOPS)

    def is_label_of(self, text: str) -> bool:
        """Return whether a text is a row whose label has words of the question only: "Garage: 30"."""
        label = RE.row.match(text)
        words = plain_words(label[1]) if label else []
        return bool(words) and self._keys.issuperset(map(meaning_key, words))

    def labels_another(self, text: str) -> bool:
        """Return whether a text is a row whose label is strange: "Water: 55"."""
        label = RE.row.match(text)
        return label is not None and bool(self.strange_words(label[1]))

    def has_mark(self, pattern: re.Pattern[str], text: str) -> bool:
        """Return whether a text has a match of a pattern that is not made of the question's own words."""
        for match in pattern.finditer(text):
            if self._is_open and RE.hedge.fullmatch(match[0]):
                continue
            words = set(plain_words(match[0])) - _POINTERS
            if not words or not self._keys.issuperset(map(meaning_key, words)):
                return True
        return False


# --- Where a reply names the value.


def _find_gold(gold: Gold, reply: str) -> tuple[str, list[Span]]:
    """Return a reply in the form in which it is searched, and where it names what is expected."""
    text, spots = _find_values(gold, reply)
    # items of an order may be apart; a time has too many forms to be found by its words
    if spots or gold.kind == "order" or time_of(gold.texts[0]):
        return text, spots
    return text, _find_words(gold.texts[0], text)


def _find_values(gold: Gold, reply: str) -> tuple[str, list[Span]]:
    """Return the same for what is expected as it is written, or as an amount."""
    text = normalize_text(reply)
    if gold.kind == "yes or no":
        return text, phrase_positions(text, plain_words(gold.texts[0])[0])
    spots = []
    for wording in gold.texts:
        spots += phrase_positions(text, wording, plural=True)
    if spots or not gold.amounts:
        return text, spots
    digits = write_digits(reply)
    amounts = [amount for parts in gold.amounts for amount in parts]
    for found in read_quantities(digits):
        if any(is_equal_amount(amount, found) for amount in amounts):
            spots.append((found.start, found.end))
    return (digits, spots) if spots else (text, [])


def _find_words(wording: str, text: str) -> list[Span]:
    """Return where a text has words of a short wording; a long one is said in other words, too."""
    keys = set(map(meaning_key, plain_words(wording))) - STOPS
    if len(keys) > _FEW_WORDS:
        return []
    spots = []
    for match in RE.word.finditer(text):
        key = meaning_key(match[0])
        if key in keys or any(is_of_root(key, other) for other in keys):
            spots.append(match.span())
    return spots


# --- Sentences, and the parts between their marks.


class _Part(Struct, frozen=True):
    """A part of a text."""

    start: int
    end: int
    link: str = ""
    """The mark or word before it."""
    depth: int = 0
    """In how many brackets it is."""
    text: str = ""


def _split_at(stops: re.Pattern[str], text: str) -> Iterator[_Part]:
    start = 0
    for match in stops.finditer(text):
        yield _Part(start, match.end(), text=text[start : match.end()])
        start = match.end()
    yield _Part(start, len(text), text=text[start:])


def _sentence_of(sentences: Sequence[_Part], spot: Span) -> _Part:
    return next(
        (part for part in sentences if part.start <= spot[0] < part.end), sentences[-1]
    )


def _parts_of(sentence: str) -> list[_Part]:
    """Return the parts between the commas, brackets, dashes and contrasting words of a sentence."""
    parts = []
    start, link, depth = 0, "", 0
    for match in RE.cut.finditer(sentence):
        text = sentence[start : match.start()]
        parts.append(_Part(start, match.start(), link, depth, text))
        link, start = match[0].strip(), match.end()
        depth += link in ("(", "[")
        depth = max(0, depth - (link in (")", "]")))
    parts.append(_Part(start, len(sentence), link, depth, sentence[start:]))
    return parts


# --- How one mention stands in its clause.

_BRACKETS, _CONTRAST = "names it in brackets", "names it in contrast"
_ASIDE, _SUBJECT = "names it aside", "says something else of it"
_AMONG, _OTHERS = "names it among others", "says it of something else"
_CONTRARY = frozenset((_CONTRAST, _ASIDE, _SUBJECT))


def _doubt_at(  # noqa: PLR0911 - one way of standing, one line
    sentences: Sequence[_Part], spot: Span, topic: _Topic, is_strict: bool
) -> str:
    """Return why the mention at a place asserts nothing; "" if it does.

    `is_strict`: nothing strange may stand beside it.
    """
    sentence = _sentence_of(sentences, spot)
    start, end = spot[0] - sentence.start, spot[1] - sentence.start
    parts = _parts_of(sentence.text)
    first = next(part for part in parts if start <= part.end)
    last = next((part for part in parts if end <= part.end), parts[-1])
    before = sentence.text[first.start : start]
    after = sentence.text[end : last.end]
    rest = sentence.text[end:]
    if first.depth:
        outside = " ".join(part.text for part in parts if part.depth < first.depth)
        alone = not topic.strange_words(f"{outside} {before} {after}")
        return "" if alone else _BRACKETS
    contrasts = first.link in _CONTRASTS and topic.has_mark(RE.cut, first.link)
    if contrasts or _is_between_dashes(parts, first, last, topic):
        return _CONTRAST
    led = RE.settles.split(before)[-1]
    if topic.has_mark(RE.aside_before, led) or topic.has_mark(RE.aside_after, rest):
        return _ASIDE
    begins = not (RE.clause_word.search(before) or topic.shares_words(before))
    if begins and _is_other_subject(after, topic):
        return _SUBJECT
    if is_strict and _tells_more(before, parts, first, last, topic):
        return _ASIDE
    others = [part for part in sentences if part is not sentence]
    if is_strict and _is_strange_beside(before, others, topic):
        return _ASIDE
    if is_strict and (topic.is_compared(led) or _goes_on(after, topic)):
        return _ASIDE
    if _is_listed(sentence.text[:start], rest, topic):
        return _AMONG
    return _OTHERS if _is_of_another(before, after, topic) else ""


def _is_between_dashes(
    parts: Sequence[_Part], first: _Part, last: _Part, topic: _Topic
) -> bool:
    """Return whether a mention is put in between two dashes, with something strange before them."""
    index = parts.index(last)
    closed = RE.dash.fullmatch(first.link) and parts[index + 1 : index + 2]
    if not closed or parts[index + 1].link != first.link:
        return False
    return any(topic.strange_words(part.text) for part in parts[:index])


def _clause_before(sentence: _Part, spot: Span) -> str:
    """Return what stands before a place in its own part of a sentence."""
    start = spot[0] - sentence.start
    part = next(part for part in _parts_of(sentence.text) if start <= part.end)
    return sentence.text[part.start : start]


def _goes_on(after: str, topic: _Topic) -> bool:
    """Return whether a strange word follows a value, and a rival after it: "Ghent turned Lille"."""
    word = RE.next_word.match(after)
    if word is None or RE.aside_before.search(after):
        return False
    if RE.frame.match(word[1]) or not topic.strange_words(word[1]):
        return False
    following = RE.settles.split(after[word.end() :])[0]
    return topic.holds_rival(following) and not topic.is_only_counted(following)


def _is_result(before: str) -> bool:
    """Return whether what stands before a value says that it results from what was said: "3 + 4 = "."""
    return RE.comes_to.search(before) is not None


def _is_other_subject(after: str, topic: _Topic) -> bool:
    """Return whether a value begins its clause, which goes on to say of it what nobody asked: "Biscuit is your dog"."""
    if RE.bare_verb.fullmatch(after) or not RE.predicate.match(after):
        return False
    if topic.strange_words(after):
        return True
    return not (topic.shares_words(after) or RE.confirms.search(after))


def _tells_more(
    before: str, parts: Sequence[_Part], first: _Part, last: _Part, topic: _Topic
) -> bool:
    """Return whether a sentence puts something strange beside a value: "you intended Ghent; in fact Lille".

    An explanation is not a rival, nor is the working of a result. What stands before the value in its own clause is one
    where it has words of a subject and of a predicate: "Lille beats Ghent".
    """
    strange = topic.strange_words(before)
    concludes = _is_result(before) or RE.in_total.search(last.text)
    listed = False
    if len(strange) > 1 and before.split(maxsplit=1)[0] in strange and not concludes:
        return True
    for part in parts:
        if concludes and part.end < first.start:
            continue
        beside = part.end < first.start or part.start > last.end
        framed = RE.interjection.fullmatch(part.text) or (
            RE.frame.match(part.text) and not RE.verb_word.search(part.text)
        )
        behind = part.start == last.end + 1
        explains = RE.explains.match(part.text) or (
            part.link in _EXPLAINS and (behind or part.link != ":")
        )
        if framed or (explains and not strange):
            continue
        text = RE.label.sub("", part.text)
        listed = listed or (behind and part.link == ":")
        if listed and topic.is_only_counted(text):
            continue
        aside = part.depth or topic.has_mark(RE.aside_before, text)
        if beside and not aside and topic.holds_rival(text):
            return True
    return False


def _is_strange_beside(before: str, others: Sequence[_Part], topic: _Topic) -> bool:
    """Return whether a clause says of a value what nobody asked, and another sentence may name the answer.

    "You toyed with Ghent. Lille won.": alone, the first would be one in other words.
    """
    if _is_result(before) or not topic.strange_words(before):
        return False
    parts = [part for other in others for part in _parts_of(other.text)]
    return any(
        topic.holds_rival(part.text)
        and not part.depth
        and not RE.anaphor.match(part.text)
        and not RE.interjection.fullmatch(part.text)
        for part in parts
    )


def _is_listed(before: str, after: str, topic: _Topic) -> bool:
    """Return whether something strange stands beside a value in a row: "a few others and Biscuit"."""
    if link := RE.listed_before.search(before):
        item = RE.item_end.split(before[: link.start()])[-1]
        comma = link[0].strip()[:1] in ("", ",")
        if RE.and_more.search(item) or (
            topic.holds_rival(item) and (not comma or _is_item(item))
        ):
            return True
    if not (link := RE.listed_after.match(after)):
        return False
    item, *others = RE.item_end.split(after[link.end() :])
    if RE.goes_on.match(item):
        return False
    if link[0].strip() == "," and not (_is_item(item) and others):
        return False
    return topic.holds_rival(item) or RE.and_more.search(item) is not None


def _ends_in_others(sentences: Sequence[_Part]) -> bool:
    """Return whether a text ends as a row of things that has more of them: "Ghent; Lille; others"."""
    texts = [sentence.text for sentence in sentences if plain_words(sentence.text)]
    *items, last = [part.text for part in _parts_of(texts[-1])] if texts else [""]
    while items and not plain_words(last):
        last = items.pop()
    return bool(items) and RE.others.fullmatch(last) is not None


def _is_item(text: str) -> bool:
    """Return whether a part of a sentence is a name or a thing alone, not a clause or a frame of one."""
    if RE.verb_word.search(text) or RE.frame.match(text):
        return False
    return 0 < len(plain_words(text)) <= _FEW_WORDS


def _is_of_another(before: str, after: str, topic: _Topic) -> bool:
    """Return whether a clause says the value of a person or a thing that was not asked about."""
    behind = RE.for_whom.match(after)
    people = [*plain_words(before), behind[1] if behind else ""]
    if any(person in _PEOPLE and topic.strange_words(person) for person in people):
        return True
    return any(topic.strange_words(match[1]) for match in RE.owned.finditer(before))


# --- Whether something else answers, too.


def _rival_doubt(
    sentences: Sequence[_Part], claims: Sequence[Span], topic: _Topic, since: int = 0
) -> str:
    """Return the doubt that another value stands where an answer stands: alone, or behind "it is".

    `since`: what ends before this place is the working of a result, and no rival.
    """
    opened = False
    first_claim = min(claims)[0]
    for sentence in sentences:
        places = [start - sentence.start for start, _ in claims]
        inside = [n for n in places if 0 <= n < len(sentence.text)]
        for part in _parts_of(sentence.text):
            opens = not opened or sentence.start + part.end < first_claim
            opened = opened or bool(plain_words(part.text))
            claimed = any(part.start <= n <= part.end for n in inside)
            if claimed or part.depth or part.link in _EXPLAINS | _CONTRASTS:
                continue
            if sentence.start + part.end < since:
                continue
            if _is_rival(part, topic, opens=opens, inside=inside):
                return "names another one, too"
    return ""


def _is_rival(
    part: _Part, topic: _Topic, *, opens: bool, inside: Sequence[int]
) -> bool:
    """Return whether a part of a sentence answers with something strange.

    Args:
        part: The part.
        topic: What is asked and expected.
        opens: Whether the answer begins with it.
        inside: Where in its sentence the expected value is claimed.
    """
    text = RE.label.sub("", part.text)
    if RE.interjection.fullmatch(text):
        return False
    if not topic.holds_rival(text) or topic.has_mark(RE.aside_before, text):
        return False
    # after the claim, "it" is what was claimed
    if RE.answers.match(text) or ((inside or opens) and RE.says_it_is.match(text)):
        return bool(topic.strange_words(text))
    # what follows a value behind a comma explains it: "Ghent, the old port"
    explains = part.link == "," and any(place < part.start for place in inside)
    beside = bool(inside) and not explains
    return (opens or beside) and _is_item(text)

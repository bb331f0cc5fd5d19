"""Lists: items to buy with their quantities, and all names that the user has gone by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

from pytest_ltm.api.model import (
    BULLET,
    Score,
    Scoring,
    evidence_snippet,
    plain_words,
    word_stem,
)
from pytest_ltm.evaluators._rules import LEXICON, Ruled
from pytest_ltm.language.clauses import normalize_text, sentence_around, split_sentences
from pytest_ltm.language.commitment import (
    ASIDES,
    asserted_mentions,
    find_mentions,
    is_misspelt,
    last_word,
)
from pytest_ltm.language.json_values import NoJSON, json_values, published_json
from pytest_ltm.language.numbers import NUMBERS
from pytest_ltm.language.overlap import rouge_l
from pytest_ltm.language.recital import (
    REPEATS,
    only_offers_example,
    recites_messages,
    repeats_told,
)
from pytest_ltm.language.values.numerals import write_digits

Item: TypeAlias = tuple[str, int]
Matches: TypeAlias = Callable[[str, str], bool]

RE = LEXICON.expressions("lists", asides=ASIDES)
_MOST = 10**9
# A quantity that matches no other: the item is listed, its quantity is unclear.
_UNREADABLE = 10**12


class ListsItems(Ruled, Struct, frozen=True):
    """`current`: 1 for each item with its quantity, 1/2 for one with another, / max(items expected, items given).

    It reads lists inside objects, plurals, number words, lines, tables and prose, and
    adds up entries of one item. `v3.5` and `paper`: the mean of items found / expected,
    right quantities / expected, and 1 if nothing is invented; 0 unless the answer is a
    JSON list of objects with a text `item` and a whole `quantity`; `v3.5` matches an
    item if the expected name is inside the given one, `paper` if stemmed ROUGE-L is 1.
    """

    family: ClassVar[str] = "shopping"
    version: ClassVar[int] = 2
    expected: tuple[Item, ...]
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the score of the last answer."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            return self._ours(answer)
        try:
            items = _published_items(answer)
        except NoJSON as error:
            return self.score(0, f"not in the form asked for: {error}", answer)
        if self.scoring == "v3.5":
            return self._mean(
                items, lambda expected, name: expected.lower() in name.lower(), answer
            )
        return self._mean(
            items, lambda expected, name: rouge_l(expected, name) == 1.0, answer
        )

    def _ours(self, answer: str) -> Score:
        if only_offers_example(answer):
            return self.score(0, "does not know the list and shows an example", answer)
        # a JSON list is an answer, even with messages around it
        in_json = any(
            map(self._expected_among, map(_items_of_value, json_values(answer)))
        )
        if not in_json and (recites_messages(answer) or repeats_told(answer)):
            return self.score(0, REPEATS, answer)
        names = frozenset(item.lower() for item, _ in self.expected)
        text = last_word(
            answer, lambda part: bool(self._expected_among(_read_items(part, names)))
        )
        totals: dict[str, Item] = {}
        for name, quantity in _read_items(text, names):
            key = " ".join(map(word_stem, plain_words(name)))
            totals[key] = (name, totals.get(key, (name, 0))[1] + quantity)
        items = [item for item in totals.values() if item[1] > 0]
        counts = self._expected_among(items)
        if not counts:
            return self.score(0, "names no expected item", answer)
        right = sum(n == quantity for n, quantity in counts)
        points = right + (len(counts) - right) / 2
        count_text = f"{len(counts)} of {len(self.expected)} items"
        reason = f"{count_text}, {right} right quantities, {len(items) - len(counts)} invented"
        value = points / max(len(self.expected), len(items))
        # "twice as many" cannot be read as a number
        left_open = 1 - value if RE.relative.search(text) else None
        return self.score(value, reason, answer, left_open=left_open)

    def _expected_among(self, items: Sequence[Item]) -> list[tuple[int, int]]:
        """Return (expected quantity, given quantity) for each expected item among those given."""
        remaining = list(items)
        result = []
        for item, n in self.expected:
            expected_words = [word_stem(word) for word in plain_words(item)]
            for candidate in remaining:
                item_words = [word_stem(word) for word in plain_words(candidate[0])]
                glued = "".join(item_words)
                together = "".join(expected_words)
                # all of its words, singular or plural, in one word or several, or
                # misspelt
                if expected_words and (
                    set(expected_words) <= set(item_words)
                    or together == glued
                    or is_misspelt(glued, together)
                ):
                    remaining.remove(candidate)
                    result.append((n, candidate[1]))
                    break
        return result

    def _mean(self, items: Sequence[Item], matches: Matches, answer: str) -> Score:
        right = 0
        invented = 0
        for name, quantity in items:
            for item, expected_quantity in self.expected:
                if matches(item, name):
                    right += quantity == expected_quantity
                    break
            else:
                invented += 1
        named_count = len(items) - invented
        size = max(len(self.expected), 1)
        value = min((named_count / size + right / size + (not invented)) / 3, 1.0)
        return self.score(
            value,
            f"{named_count} of {size} items, {right} right quantities, {invented} invented",
            answer,
        )


def _published_items(answer: str) -> list[Item]:
    entries = published_json(answer)
    if not isinstance(entries, list):
        raise NoJSON("not a list")
    items = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("item"), str):
            raise NoJSON(f"no text 'item' in {evidence_snippet(str(entry), 80)}")
        if not isinstance(entry.get("quantity"), int):
            raise NoJSON(f"no whole 'quantity' in {evidence_snippet(str(entry), 80)}")
        items.append((entry["item"], entry["quantity"]))
    return items


def _read_items(answer: str, names: Collection[str]) -> list[Item]:
    """Return the items of the first JSON list, also within an object; else of lines, table rows, or prose.

    `names`: items that count in prose even without a number.
    """
    if items := _items_of_json(answer):
        return items
    answer = answer.rstrip(" .")
    answer = "\n".join(answer.split(" / ")) if answer.count(" / ") > 1 else answer
    lines = [line for line in answer.splitlines() if not RE.taken_off.search(line)]
    bulleted = [BULLET.sub("", line) for line in lines if BULLET.match(line)]
    rows: list[str] = []
    for line in lines:
        if RE.table_row.match(line) and RE.digit.search(line):
            rows.append(" ".join(line.split("|")))
    listed = bulleted or rows or list(filter(RE.plain_line.fullmatch, lines))
    if not listed:
        for sentence in split_sentences(answer.replace(";", ",")):
            if not RE.denied.search(sentence.lower()):
                listed += _listed_in_prose(sentence, names)
    return list(filter(None, map(_line_item, listed)))


def _items_of_json(answer: str) -> list[Item]:
    """Return the items of several JSON objects in a row, or of the first list of items."""
    values = list(json_values(answer))
    alone: list[Item] = []
    for value in values:
        item = _read_entry(value) if isinstance(value, dict) else None
        if item:
            alone.append(item)
    if len(alone) > 1 and len(alone) == len(values):
        return alone
    for value in values:
        if items := _items_of_value(value):
            return items
    return []


def _listed_in_prose(sentence: str, names: Collection[str]) -> list[str]:
    """Return the parts of a sentence with a number; if there are any, also single things and `names`."""
    # text before "you still need" is history
    start = 0
    for match in RE.leaves.finditer(sentence):
        start = match.end()
    parts = RE.in_prose.split(sentence[start:])
    number_words = NUMBERS.keys() - {"a", "an"}
    counted: set[str] = set()
    for part in parts:
        if RE.digit.search(part) or not number_words.isdisjoint(plain_words(part)):
            counted.add(part)
    if not counted:
        return []
    listed: list[str] = []
    for part in parts:
        # a single thing ("a hose") counts if others have numbers
        if (
            part in counted
            or RE.one_thing.search(part)
            or part.strip().lower() in names
        ):
            listed.append(part)
    return listed


def _values_within(value: Any, depth: int = 3) -> Iterator[Any]:
    """Yield a JSON value, and the lists and objects inside it."""
    yield value
    if isinstance(value, dict) and depth:
        for item in value.values():
            if isinstance(item, (list, dict)):
                yield from _values_within(item, depth - 1)


def _items_of_value(value: Any) -> list[Item]:
    """Return the items of the first list of items within a value, or of its first object with counts."""
    ways = map(_own_items, _values_within(value))
    return next((items for items in ways if items), [])


def _own_items(value: Any) -> list[Item]:
    if isinstance(value, list):
        return list(filter(None, map(_read_entry, value)))
    if not isinstance(value, dict):
        return []
    if item_read := _read_entry(value):
        return [item_read]
    counts = {name: _read_count(n) for name, n in value.items()}
    items = [(name, n) for name, n in counts.items() if n is not None]
    return items if len(items) == len(counts) else []


def _read_entry(entry: Any) -> Item | None:
    if isinstance(entry, str):
        return _line_item(entry)
    if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str):
        count = _read_count(entry[1])
        return None if count is None else (entry[0], count)
    if not isinstance(entry, dict):
        return None
    fields = {str(key).lower(): value for key, value in entry.items()}
    for key in ("item", "name", "product"):
        name = fields.get(key)
        if isinstance(name, str):
            return name, _entry_count(fields)
    return None


def _entry_count(fields: Mapping[str, Any]) -> int:
    """Return the first quantity that can be read, _UNREADABLE if there are only others, 1 if there is none."""
    count = 1
    for key in ("quantity", "qty", "count", "amount", "number"):
        if key in fields:
            number = _read_count(fields[key])
            if number is not None:
                return number
            count = _UNREADABLE
    return count


def _line_item(line: str) -> Item | None:
    """Parse `3 carrots`, `three carrots`, `Carrots: 3`, `Carrot (x3)`; without a number, the quantity is 1."""
    parts = plain_words(RE.times.sub(" ", write_digits(normalize_text(line[:200]))))
    counted = [part for part in parts if _read_count(part) is not None]
    more = [part for part in counted if part not in ("a", "an")] or counted
    numbers = [n for part in more if (n := _read_count(part)) is not None]
    if len(set(numbers)) > 1 and RE.either.search(line):
        numbers = [_UNREADABLE]
    name = " ".join(part for part in parts if part not in {*counted, "or"})
    if not name:
        return None
    return name, numbers[0] if numbers else 1


def _read_count(value: Any) -> int | None:
    """Return the whole number in a number, digits or a number word; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        if abs(value) <= _MOST and value == int(value):
            return int(value)
        return None
    if isinstance(value, str) and (word := RE.first_word.match(value.lower())):
        if word[1].isdigit():
            return int(word[1])
        return NUMBERS.get(word[1])
    return None


# --- Name List: all names that the user has gone by, and no others.


class ListsNames(Ruled, Struct, frozen=True):
    """The share of names recalled, in any order: (matches - foreign names) / names expected, at least 0.

    `current` compares case-folded words, counts a name once, accepts a list inside an
    object, and without a list reads names from bulleted lines, else from prose. `v3.5`
    and `paper`: matches / max(expected, given); 0 unless the answer is a JSON list.
    """

    family: ClassVar[str] = "name-list"
    version: ClassVar[int] = 2
    expected: tuple[str, ...]
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of names in the last answer."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            return self._ours(answer)
        try:
            entries = published_json(answer)
        except NoJSON as error:
            return self.score(0, f"no JSON: {error}", answer)
        if not isinstance(entries, list):
            return self.score(0, "not a list", answer)
        names = [str(name).lower() for name in entries]
        return self._share(
            [name for name in self.expected if name.lower() in names],
            len(names),
            answer,
        )

    def _ours(self, answer: str) -> Score:
        text = last_word(
            answer, lambda part: bool(_listed_names(part) or self._told(part))
        )
        listed = _listed_names(text)
        lines: list[str] = []
        for line in text.splitlines():
            if BULLET.match(line):
                lines.append(BULLET.sub("", RE.aside.sub("", line)))
        # several bulleted lines are names if none has more than four words; without any
        # list, prose is read
        if (
            listed is None
            and len(lines) > 1
            and all(0 < len(plain_words(line)) <= 4 for line in lines)
        ):
            listed = lines
        keys = {" ".join(plain_words(name)) for name in listed or ()} - {""}
        listed_names: list[str] = []
        for name in self.expected:
            if " ".join(plain_words(name)) in keys:
                listed_names.append(name)
        # an empty list is an answer; a list without any expected name is about
        # something else
        if listed is not None and (listed_names or not listed):
            return self._share(listed_names, len(keys), answer)
        if recites_messages(answer):
            return self.score(0, REPEATS, answer)
        claimed_names = self._told(text)
        words_of_names = set(plain_words(" ".join(self.expected)))
        foreign: set[str] = set()
        # in prose only members of a row of names count: any word may be capitalised
        for match in RE.in_a_row.finditer(text) if claimed_names else ():
            name_words = plain_words(match["name"])
            name = " ".join(name_words)
            if name not in LEXICON.words(
                "lists no names"
            ) and words_of_names.isdisjoint(name_words):
                foreign.add(name)
        return self._share(claimed_names, len(claimed_names) + len(foreign), answer)

    def _told(self, text: str) -> list[str]:
        """Return the expected names that prose claims."""
        plainly = normalize_text(text)
        mentions = asserted_mentions(
            plainly, partial(find_mentions, names=self.expected), formerly=True
        )
        claims: set[str] = set()
        for mention in mentions:
            sentence = sentence_around(plainly, mention.start, mention.end)
            if not (
                RE.somebody_else.match(plainly, mention.end)
                or RE.either_name.search(sentence)
            ):
                claims.add(mention.value)
        return [name for name in self.expected if name in claims]

    def _share(self, texts: Sequence[str], total: int, answer: str) -> Score:
        missing = list((Counter(self.expected) - Counter(texts)).elements())
        extra = max(total - len(texts), 0)
        value = max(len(texts) - extra, 0) / max(len(self.expected), 1)
        if not self.follows_own_rules:
            value = len(texts) / max(len(self.expected), total, 1)
        parts = []
        if missing:
            parts.append(f"not named: {', '.join(missing)}")
        if extra:
            parts.append(f"{extra} invented")
        return self.score(value, "; ".join(parts) or "names all and no others", answer)


def _listed_names(answer: str) -> list[str] | None:
    """Return the names of the first JSON list of texts, also within an object; None if there is none."""
    for value in json_values(answer):
        lists = (part for part in _values_within(value) if isinstance(part, list))
        for entries in lists:
            names = list(map(_name_of, entries))
            if None not in names:
                return [name for name in names if name]
    return None


def _name_of(entry: Any) -> str | None:
    """Return a text, or the first text of an object, without asides; None if there is none."""
    values = entry.values() if isinstance(entry, dict) else [entry]
    texts = (value for value in values if isinstance(value, str))
    text = next(texts, None)
    return None if text is None else RE.aside.sub("", text)

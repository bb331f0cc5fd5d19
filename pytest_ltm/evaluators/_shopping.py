"""Shopping List: the answer tells the items on the list and their quantities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._excuses import only_offers_example
from pytest_ltm.evaluators._json import NoJSON, published_json, values
from pytest_ltm.evaluators._rules import check_scoring, last
from pytest_ltm.evaluators._words import BULLET, NUMBERS, plain, snippet, stem, words

Item: TypeAlias = tuple[str, int]
Matches: TypeAlias = Callable[[str, str], bool]

_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$")
_PLAIN_LINE = re.compile(
    r"\s*(?:\d{1,4}\s*[x\u00d7]?\s+[^\W\d][\w' -]{0,40}|[^\W\d][\w' -]{0,40}\s*[:=\u2013-]\s*\d{1,4})\s*"
)
"""A line that is an item and its quantity: `3x carrots`, `Carrots: 3`."""
_TIMES = re.compile(r"(?<=\d)\s*[x\u00d7]|[x\u00d7](?=\d)")
_FIRST_WORD = re.compile(r"\s*([0-9]{1,9}|[a-z]{1,12})(?![a-z0-9.,])")
_DIGIT = re.compile(r"\d")
_IN_PROSE = re.compile(r"[,;.!?\n]|\band\b")
_MOST = 10**9
_UNREADABLE = 10**12
"""A quantity that equals none: the item is there, how many cannot be told."""
_PAIR = 2
_ITEM_KEYS = ("item", "name", "product")
_COUNT_KEYS = ("quantity", "qty", "count", "amount", "number")


@dataclass(frozen=True, slots=True)
class ListsItems:
    """The mean of items found / expected, right quantities / expected, and 1 if nothing is invented.

    `current` reads lists inside objects, plurals, number words, lines, tables and prose, adds up entries of one item,
    and gives 0 if no expected item is found. `v3.5` and `paper`: 0 unless the answer is a JSON list of objects
    with a text `item` and a whole `quantity`; `v3.5` matches an item if the expected name is inside the given one,
    `paper` if stemmed ROUGE-L is 1.
    """

    expected: tuple[Item, ...]
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the score of the last answer."""
        answer = last(answers)
        if self.scoring == "current":
            return self._current(answer)
        rule = f"shopping/{self.scoring}"
        try:
            given = _published_items(answer)
        except NoJSON as error:
            return Score(0.0, f"not in the form asked for: {error}", rule=rule, evidence=snippet(answer))
        matches = _inside if self.scoring == "v3.5" else _same_stems
        return self._mean(given, matches, rule, answer)

    def _current(self, answer: str) -> Score:
        if only_offers_example(answer):
            reason = "does not know the list and shows an example"
            return Score(0.0, reason, rule="shopping/1", evidence=snippet(answer))
        given = _added_up(_read(answer))
        if not any(_same_words(item, name) for name, _ in given for item, _ in self.expected):
            return Score(0.0, "names no expected item", rule="shopping/1", evidence=snippet(answer))
        return self._mean(given, _same_words, "shopping/1", answer)

    def _mean(self, given: Sequence[Item], matches: Matches, rule: str, answer: str) -> Score:
        found, right, invented = 0, 0, []
        for name, quantity in given:
            match = next(((item, n) for item, n in self.expected if matches(item, name)), None)
            if match is None:
                invented.append(name)
                continue
            found += 1
            right += match[1] == quantity
        size = max(len(self.expected), 1)
        value = min((found / size + right / size + (not invented)) / 3, 1.0)
        reason = f"{found} of {size} items, {right} right quantities, {len(invented)} invented"
        return Score(value, reason, rule=rule, evidence=snippet(answer))


def _inside(expected: str, given: str) -> bool:
    return expected.lower() in given.lower()


def _same_stems(expected: str, given: str) -> bool:
    from pytest_ltm.evaluators._rouge import rouge_l  # noqa: PLC0415 - brings in rouge_score

    return rouge_l(expected, given) == 1.0


def _same_words(expected: str, given: str) -> bool:
    """Tell whether all words of the expected name are in the given one, whatever their number."""
    wanted = {stem(word) for word in words(expected)}
    return bool(wanted) and wanted <= {stem(word) for word in words(given)}


def _published_items(answer: str) -> list[Item]:
    given = published_json(answer)
    if not isinstance(given, list):
        raise NoJSON("not a list")
    items = []
    for entry in given:
        if not isinstance(entry, dict) or not isinstance(entry.get("item"), str):
            raise NoJSON(f"no text 'item' in {snippet(str(entry), 80)}")
        if not isinstance(entry.get("quantity"), int):
            raise NoJSON(f"no whole 'quantity' in {snippet(str(entry), 80)}")
        items.append((entry["item"], entry["quantity"]))
    return items


def _added_up(items: Iterable[Item]) -> list[Item]:
    totals: dict[str, Item] = {}
    for name, quantity in items:
        key = " ".join(stem(word) for word in words(name))
        totals[key] = (name, totals.get(key, (name, 0))[1] + quantity)
    return [item for item in totals.values() if item[1] > 0]


def _read(answer: str) -> list[Item]:
    """Return the items of the first list of items, also inside an object; else of lines, a table's rows, or prose."""
    for value in values(answer):
        if items := _items(value, 3):
            return items
    lines = answer.splitlines()
    bulleted = [BULLET.sub("", line) for line in lines if BULLET.match(line)]
    rows = [" ".join(line.split("|")) for line in lines if _TABLE_ROW.match(line) and _DIGIT.search(line)]
    told = bulleted or rows or [line for line in lines if _PLAIN_LINE.fullmatch(line)]
    if not told:
        told = [part for part in _IN_PROSE.split(answer) if _DIGIT.search(part) or _counts(part)]
    return [item for line in told if (item := _line_item(line))]


def _counts(part: str) -> bool:
    return any(word in NUMBERS and word not in ("a", "an") for word in words(part))


def _items(value: Any, depth: int) -> list[Item]:
    if isinstance(value, list):
        return [item for entry in value if (item := _entry(entry))]
    if not isinstance(value, dict):
        return []
    if one := _entry(value):
        return [one]
    counts = {name: _count(n) for name, n in value.items()}
    if counts and all(n is not None for n in counts.values()):
        return [(name, n) for name, n in counts.items() if n is not None]
    inner = (_items(item, depth - 1) for item in value.values() if depth and isinstance(item, (list, dict)))
    return next((items for items in inner if items), [])


def _entry(entry: Any) -> Item | None:
    if isinstance(entry, str):
        return _line_item(entry)
    if isinstance(entry, list) and len(entry) == _PAIR and isinstance(entry[0], str):
        count = _count(entry[1])
        return None if count is None else (entry[0], count)
    if not isinstance(entry, dict):
        return None
    fields = {str(key).lower(): value for key, value in entry.items()}
    name = next((fields[key] for key in _ITEM_KEYS if isinstance(fields.get(key), str)), None)
    told = [fields[key] for key in _COUNT_KEYS if key in fields]
    counts = [n for value in told if (n := _count(value)) is not None]
    unreadable = _UNREADABLE if told else 1
    return None if name is None else (name, counts[0] if counts else unreadable)


def _line_item(line: str) -> Item | None:
    """Read `3 carrots`, `three carrots`, `Carrots: 3`, `Carrot (x3)`; without a number one is meant."""
    parts = words(_TIMES.sub(" ", plain(line[:200])))
    numbers = [n for part in parts if (n := _count(part)) is not None]
    name = " ".join(part for part in parts if _count(part) is None)
    return (name, numbers[0] if numbers else 1) if name else None


def _count(value: Any) -> int | None:
    """Return a whole number from a number, digits or a number word; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return int(value) if abs(value) <= _MOST and value == int(value) else None
    if isinstance(value, str) and (word := _FIRST_WORD.match(value.lower())):
        return int(word[1]) if word[1].isdigit() else NUMBERS.get(word[1])
    return None

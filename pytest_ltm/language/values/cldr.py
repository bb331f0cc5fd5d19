"""Names of units, months, weekdays, currencies and places in many languages, from CLDR via Babel."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from pytest_ltm.language.values.writing import LEXICON

LANGUAGES = ("en", "en_GB", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh", "ja")
"""The languages whose names of units, months and days are recognised, all at once."""

# "short" and "long" forms occur in prose, "narrow" only where space is scarce: it is
# the less likely reading.
_PROSE = ("long", "short")
_SHORT = 2
_MANY = 4
_PLACE = re.compile(r"\{0\}")
# The raised figures of square and cubic units are plain ones in plain writing.
_RAISED = str.maketrans("\u00b2\u00b3", "23")
_QUOTED = re.compile(r"'([^']+)'")


class UnitName(NamedTuple):
    """A unit that a word may name, by CLDR id: `length-kilometer`."""

    unit: str
    likely: bool


@cache
def _locale_data(language: str) -> Mapping[str, Any]:
    from babel import Locale

    return Locale.parse(language)._data  # noqa: SLF001 - unit patterns have no public accessor


def name_key(name: str) -> str:
    """Return the lookup form of a name: no case, no full stops, plain spaces."""
    return " ".join(name.casefold().replace(".", "").split())


def _spelled_key(name: str) -> str:
    return " ".join(name.translate(_RAISED).replace(".", "").split())


@cache
def unit_names() -> Mapping[str, frozenset[UnitName]]:
    """Return the units by name, in all languages; names are case-sensitive: `M` is not `m`.

    The likely units are those of the first language that has the name in prose.
    """
    names: dict[str, frozenset[UnitName]] = {}
    unit_patterns = {language: _read_units(language) for language in LANGUAGES}
    for language, patterns in unit_patterns.items():
        for name, units in _units_of_language(language, patterns).items():
            older = names.get(name, frozenset())
            is_taken = any(unit.likely for unit in older)
            names[name] = older | (_unlikely(units) if is_taken else units)
    # only narrow forms have the primes of feet and inches, which have no other meaning
    # here
    for name, unit in _symbols(unit_patterns.values()):
        names[name] = frozenset(
            unit_name._replace(likely=unit_name.likely or unit_name.unit == unit)
            for unit_name in names.get(name, ())
        )
    for name, unit in LEXICON.keys_by_word("units without a name in cldr").items():
        names[name] = frozenset((UnitName(unit, likely=True),))
    for prime in ("\u2032", "\u2033"):
        names[prime] = frozenset(unit._replace(likely=True) for unit in names[prime])
    return {name: _best_names(units) for name, units in names.items()}


def _symbols(
    languages: Iterable[Sequence[UnitPattern]],
) -> Iterator[tuple[str, str]]:
    """Yield the short names that many languages share for one unit: `l`, `h`."""
    counts: Counter[tuple[str, str]] = Counter()
    for patterns in languages:
        counts.update({(name, unit) for unit, name, in_prose in patterns if in_prose})
    return (pair for pair, count in counts.items() if count >= _MANY)


def _unlikely(units: Iterable[UnitName]) -> frozenset[UnitName]:
    return frozenset(unit._replace(likely=False) for unit in units)


def _units_of_language(
    language: str, patterns: Iterable[UnitPattern]
) -> Mapping[str, frozenset[UnitName]]:
    names: defaultdict[str, set[UnitName]] = defaultdict(set)
    for unit, name, in_prose in patterns:
        # in prose a prime means feet or minutes, not an angle, and points are scored
        if unit.startswith(("angle-arc-", "length-point")):
            continue
        # in other languages, one or two Latin letters are too ambiguous: `k`
        readable = language == "en" or len(name) > _SHORT or not name.isascii()
        unit_name = UnitName(unit.removesuffix("-person"), in_prose and readable)
        names[name].add(unit_name)
    return {name: _best_names(units) for name, units in names.items()}


class UnitPattern(NamedTuple):
    """A name of a unit in one language, in one of its forms."""

    unit: str
    name: str
    in_prose: bool


def _read_units(language: str) -> list[UnitPattern]:
    patterns: list[UnitPattern] = []
    for unit, widths in _locale_data(language)["unit_patterns"].items():
        for width, forms in widths.items():
            for count, pattern in forms.items():
                if count != "per" and "{0}" in pattern:
                    name = _spelled_key(_PLACE.sub("", pattern))
                    patterns.append(UnitPattern(unit, name, width in _PROSE))
    return patterns


def _best_names(units: Iterable[UnitName]) -> frozenset[UnitName]:
    likely = {name.unit for name in units if name.likely}
    return frozenset(name for name in units if name.likely or name.unit not in likely)


@cache
def unit_ids() -> Sequence[str]:
    """Return the ids of all units, sorted."""
    units = chain.from_iterable(unit_names().values())
    return sorted({name.unit for name in units})


@cache
def folded_unit_names() -> Mapping[str, frozenset[UnitName]]:
    """Return the units by case-folded name."""
    names: defaultdict[str, set[UnitName]] = defaultdict(set)
    for name, units in unit_names().items():
        names[name.casefold()].update(units)
    return {name: _best_names(units) for name, units in names.items()}


@cache
def month_names() -> Mapping[str, int]:
    """Return the numbers of months (from 1) by name, full or abbreviated."""
    return _calendar_names("months")


@cache
def weekday_names() -> Mapping[str, int]:
    """Return the numbers of weekdays (Monday is 0) by name, full or abbreviated."""
    return _calendar_names("days")


def _calendar_names(section: str) -> dict[str, int]:
    names: dict[str, int] = {}
    for language in LANGUAGES:
        for widths in _locale_data(language)[section].values():
            for width in ("wide", "abbreviated"):
                for number, name in widths.get(width, {}).items():
                    key = name_key(name)
                    if width == "wide" or _is_telling(key, language):
                        names.setdefault(key, number)
    return names


def _is_telling(key: str, language: str) -> bool:
    """Return whether an abbreviation is unlike an English word: Portuguese `out` is October, German `so` Sunday."""
    return language.startswith("en") or len(key) > _SHORT + 1 or not key.isascii()


@cache
def date_words() -> frozenset[str]:
    """Return the words without meaning in dates: Spanish `de`, Russian `g`."""
    words = set()
    for language in LANGUAGES:
        for pattern in _locale_data(language)["date_formats"].values():
            words.update(_QUOTED.findall(pattern.pattern))
    return frozenset(part for word in words for part in name_key(word).split())


@cache
def list_words(kind: str = "standard") -> frozenset[str]:
    """Return the words before the last item of a list: `and`, German `und`; for the kind `or`: `ou`."""
    words = set()
    for language in LANGUAGES:
        pattern = _locale_data(language)["list_patterns"][kind]["end"]
        words.add(pattern.removeprefix("{0}").removesuffix("{1}").strip(" ,"))
    return frozenset(word for word in words if word.isalpha())


@cache
def multiples() -> Mapping[str, int]:
    """Return powers of ten by their names in compact numbers: `million`, `Mio`, `K`."""
    names: dict[str, int] = {}
    for language in LANGUAGES:
        for width in _locale_data(language)["compact_decimal_formats"].values():
            for forms in width.values():
                for power, pattern in forms.items():
                    _add_multiple(names, int(power), pattern.pattern)
    return names


def _add_multiple(names: dict[str, int], power: int, pattern: str) -> None:
    zeros = pattern.count("0")
    name = _spelled_key(pattern.replace("0", "").replace("'", "").replace("¤", ""))
    if zeros and name:
        names.setdefault(name, power // 10 ** (zeros - 1))


@cache
def currency_names() -> Mapping[str, frozenset[str]]:
    """Return currencies by symbol, code and name; a noun alone may mean several: `dollars`."""
    names = defaultdict(set)
    nouns = defaultdict(set)
    for code, symbol in _locale_data("en")["currency_symbols"].items():
        names[name_key(symbol)].add(code)
        names[name_key(code)].add(code)
    for language in LANGUAGES:
        data = _locale_data(language)
        for code, symbol in data["currency_symbols"].items():
            if not symbol.isascii():
                names[name_key(symbol)].add(code)
        for code, forms in data.get("currency_names_plural", {}).items():
            for name in forms.values():
                names[name_key(name)].add(code)
                nouns[name_key(name).split(" ")[-1]].add(code)
    names["us$"].add("USD")
    every = {**nouns, **names}
    return {name: frozenset(codes) for name, codes in every.items() if name}


class ClosedName(NamedTuple):
    """A name in a closed set: two different names exclude each other."""

    kind: str
    """`territory`, `city` or `language`."""
    code: str


@cache
def closed_names() -> Mapping[str, ClosedName]:
    """Return countries, large cities and languages by name in all languages, and countries by code."""
    from babel.core import get_global

    names: dict[str, ClosedName] = {}
    for language in LANGUAGES:
        data = _locale_data(language)
        for kind, section in (("territory", "territories"), ("language", "languages")):
            for code, name in data[section].items():
                names.setdefault(name_key(name), ClosedName(kind, code))
    for alias, codes in get_global("territory_aliases").items():
        if alias.isalpha() and len(codes) == 1:
            names.setdefault(alias, ClosedName("territory", codes[0]))
    territories = [name for name in names.values() if name.kind == "territory"]
    names |= {name.code: name for name in territories}
    for zone, city in _iter_cities():
        names.setdefault(city, ClosedName("city", zone))
    return names


def _iter_cities() -> Iterator[tuple[str, str]]:
    """Yield the cities after which time zones are named."""
    for language in LANGUAGES:
        for zone, forms in _locale_data(language)["time_zones"].items():
            yield zone, name_key(forms.get("city", ""))
            yield zone, name_key(zone.rpartition("/")[2].replace("_", " "))

"""Rules for calls: made, made once, not made, in order, and no others; refused calls do not count."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from pytest_ltm.api.model import AnsweredCall, Call, CallRule, Check
from pytest_ltm.language.values import Sameness, compare_values

SAME = Sameness.SAME
OTHER = Sameness.OTHER
UNKNOWN = Sameness.UNKNOWN
_MOST_SHOWN = 6
Expected = TypeVar("Expected")
Actual = TypeVar("Actual")


def check_calls(
    rule: CallRule, expected: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Check:
    """Return a check of calls: passed, failed or open.

    Open if a value is neither the wanted one nor certainly another.
    """
    accepted = [call for call in calls if not call.refused]
    sameness = _judge(rule, expected, accepted)
    label = f"{_RULE_WORDS[rule]} {_show_wanted(rule, expected)}".strip()
    if sameness is SAME:
        return Check(label, ok=True, acted=True)
    label += f": {_show_made(calls)}"
    return Check(label, ok=False, open=sameness is UNKNOWN, acted=True)


_RULE_WORDS: Mapping[CallRule, str] = {
    "called": "calls",
    "once": "calls once",
    "not called": "does not call",
    "order": "calls in this order:",
    "only": "calls",
    "sequence": "calls in this order:",
}


def _judge(
    rule: CallRule, expected: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Sameness:
    if rule in _OF_ALL:
        return _OF_ALL[rule](expected, calls)
    [expected_call] = expected
    fits = [compare_calls(expected_call, call) for call in calls]
    if rule == "called":
        return _any(fits)
    if rule == "not called":
        return _NEGATED[_any(fits)]
    if fits.count(SAME) > 1:
        return OTHER
    return UNKNOWN if UNKNOWN in fits else _any(fits)


_NEGATED = {SAME: OTHER, OTHER: SAME, UNKNOWN: UNKNOWN}


def _any(fits: Sequence[Sameness]) -> Sameness:
    if SAME in fits:
        return SAME
    return UNKNOWN if UNKNOWN in fits else OTHER


def _all(fits: Sequence[Sameness]) -> Sameness:
    if OTHER in fits:
        return OTHER
    return UNKNOWN if UNKNOWN in fits else SAME


def _keep_order(expected: Sequence[Call], calls: Sequence[AnsweredCall]) -> Sameness:
    names = [call.name for call in expected]
    first = list(dict.fromkeys(call.name for call in calls))
    if [name for name in first if name in names] == names:
        return SAME
    return OTHER


def _match_all(expected: Sequence[Call], calls: Sequence[AnsweredCall]) -> Sameness:
    return _match_items(expected, calls, compare_whole_calls)


def _match_items(
    expected: Sequence[Expected],
    actual: Sequence[Actual],
    compare: Callable[[Expected, Actual], Sameness],
) -> Sameness:
    """Return whether both have equal items, in any order."""
    if len(expected) != len(actual):
        return OTHER
    unmatched = list(actual)
    fits: list[Sameness] = []
    for expected_item in expected:
        ranked = [compare(expected_item, item) for item in unmatched]
        best = _any(ranked)
        fits.append(best)
        if best is not OTHER:
            unmatched.pop(ranked.index(best))
    return _all(fits)


def _match_in_order(
    expected: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Sameness:
    if len(expected) != len(calls):
        return OTHER
    return _all(list(map(compare_whole_calls, expected, calls)))


_OF_ALL: Mapping[
    CallRule, Callable[[Sequence[Call], Sequence[AnsweredCall]], Sameness]
] = {"order": _keep_order, "only": _match_all, "sequence": _match_in_order}


def compare_calls(expected: Call, call: AnsweredCall) -> Sameness:
    """Return whether a call has the wanted name and arguments.

    Other arguments are ignored, and the wanted name "" is any.
    """
    if expected.name not in ("", call.name):
        return OTHER
    verdicts = []
    for name, value in _wanted_arguments(expected).items():
        verdicts.append(compare_arguments(value, call.arguments.get(name), name))
    return _all(verdicts)


def compare_whole_calls(expected: Call, call: AnsweredCall) -> Sameness:
    """Return whether a call has exactly the wanted arguments; empty arguments count as missing."""
    wanted = _wanted_arguments(expected)
    for name, value in call.arguments.items():
        if not _is_empty(value) and name not in wanted:
            return OTHER
    return compare_calls(expected, call)


def _wanted_arguments(call: Call) -> Mapping[str, Any]:
    if isinstance(call.arguments, Mapping):
        return call.arguments
    return {}


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [], {})


def compare_arguments(expected: object, actual: object, name: str) -> Sameness:
    """Return whether an argument means the wanted value: "10:00" is "10 am", 4 is "four".

    Lists must have equal items.

    A wanted function decides itself whether a value is acceptable. `name`: the
    argument's name, which says what a plain number counts.
    """
    if callable(expected):
        return SAME if expected(actual) else OTHER
    if _is_empty(expected) or _is_empty(actual):
        if _is_empty(expected) and _is_empty(actual):
            return SAME
        return OTHER
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _compare_mappings(expected, actual)
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        return _match_items(expected, actual, partial(compare_arguments, name=name))
    return _compare_scalars(expected, actual, name)


def _compare_scalars(expected: object, actual: object, name: str) -> Sameness:
    numbers = (int, float)
    is_exact = isinstance(expected, bool) or isinstance(actual, bool)
    if is_exact or (isinstance(expected, numbers) and isinstance(actual, numbers)):
        is_same = expected == actual and isinstance(expected, bool) is isinstance(
            actual, bool
        )
        return SAME if is_same else OTHER
    if isinstance(expected, (str, *numbers)) and isinstance(actual, (str, *numbers)):
        return _compare_texts(str(expected), str(actual), name)
    return OTHER


def _compare_mappings(
    expected: Mapping[str, object], actual: Mapping[str, object]
) -> Sameness:
    names = [*dict.fromkeys([*expected, *actual])]
    return _all(
        [compare_arguments(expected.get(key), actual.get(key), key) for key in names]
    )


def _compare_texts(expected: str, actual: str, name: str) -> Sameness:
    if plain_text(expected) == plain_text(actual):
        return SAME
    question = f"what {name.replace('_', ' ')}?"
    sameness = compare_values(expected, actual, question=question)
    if sameness is not UNKNOWN:
        return sameness
    # Tools receive the names that things were given.
    words = _name_words(expected)
    other_words = _name_words(actual)
    shared = len(words & other_words)
    if 2 * shared < min(len(words), len(other_words)):
        return OTHER
    return UNKNOWN


def _name_words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.casefold())} - {"the", "a", "an"}


def plain_text(text: str) -> str:
    """Return a text without case, surrounding space and a final full stop."""
    return " ".join(text.casefold().split()).removesuffix(".")


def _show_wanted(rule: CallRule, expected: Sequence[Call]) -> str:
    if rule == "order":
        return ", ".join(call.name for call in expected)
    if not expected:
        return "nothing"
    wanted_calls = []
    for call in expected:
        arguments = _wanted_arguments(call)
        wanted_calls.append(_show_call(call.name or "any tool", arguments))
    more = " and nothing else" if rule in ("only", "sequence") and expected else ""
    return f"{', '.join(wanted_calls)}{more}"


def _show_call(name: str, arguments: Mapping[str, object]) -> str:
    listed = []
    for key, value in arguments.items():
        listed.append(f"{key}={getattr(value, '__name__', None) or repr(value)}")
    return f"{name}({', '.join(listed)})" if listed else name


def _show_made(calls: Sequence[AnsweredCall]) -> str:
    if not calls:
        return "called nothing"
    texts = []
    for call in calls[:_MOST_SHOWN]:
        texts.append(f"{call} (refused)" if call.refused else str(call))
    text = f"called {', '.join(texts)}"
    hidden = len(calls) - len(texts)
    return f"{text} and {hidden} more" if hidden else text

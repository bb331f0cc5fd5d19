"""Rules of calls: made, made once, not made, in order, and no others; refused calls were not made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_ltm.api.model import AnsweredCall, Call, CallRule, Check
from pytest_ltm.language.values import Sameness, compare_values

SAME = Sameness.SAME
OTHER = Sameness.OTHER
UNKNOWN = Sameness.UNKNOWN
_MOST_SHOWN = 6


def check_calls(
    rule: CallRule, wanted: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Check:
    """Return a check of calls: passed, failed, or open where a value is neither the wanted one nor surely another."""
    made = [call for call in calls if not call.refused]
    sameness = _judge(rule, wanted, made)
    label = f"{_RULE_WORDS[rule]} {_show_wanted(rule, wanted)}".strip()
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
    rule: CallRule, wanted: Sequence[Call], made: Sequence[AnsweredCall]
) -> Sameness:
    if rule in _OF_ALL:
        return _OF_ALL[rule](wanted, made)
    [wanted_call] = wanted
    fits = [compare_calls(wanted_call, call) for call in made]
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


def _keep_order(wanted: Sequence[Call], made: Sequence[AnsweredCall]) -> Sameness:
    names = [call.name for call in wanted]
    first = list(dict.fromkeys(call.name for call in made))
    if [name for name in first if name in names] == names:
        return SAME
    return OTHER


def _match_all(wanted: Sequence[Call], made: Sequence[AnsweredCall]) -> Sameness:
    """Return whether the calls made are the wanted ones, each once, in any order."""
    if len(wanted) != len(made):
        return OTHER
    unmatched = list(made)
    fits: list[Sameness] = []
    for wanted_call in wanted:
        ranked = {
            compare_whole_calls(wanted_call, call): call for call in reversed(unmatched)
        }
        best = _any(list(ranked))
        fits.append(best)
        if best is not OTHER:
            unmatched.remove(ranked[best])
    return _all(fits)


def _match_in_order(wanted: Sequence[Call], made: Sequence[AnsweredCall]) -> Sameness:
    if len(wanted) != len(made):
        return OTHER
    return _all(list(map(compare_whole_calls, wanted, made)))


_OF_ALL: Mapping[
    CallRule, Callable[[Sequence[Call], Sequence[AnsweredCall]], Sameness]
] = {"order": _keep_order, "only": _match_all, "sequence": _match_in_order}


def compare_calls(wanted: Call, made: AnsweredCall) -> Sameness:
    """Return whether a call is the wanted one in the arguments that are wanted; a wanted call without a name is any."""
    if wanted.name not in ("", made.name):
        return OTHER
    arguments = _wanted_arguments(wanted)
    return _all(
        [
            compare_arguments(value, made.arguments.get(name), name)
            for name, value in arguments.items()
        ]
    )


def compare_whole_calls(wanted: Call, made: AnsweredCall) -> Sameness:
    """Return whether a call is the wanted one in all of its arguments; an empty argument is as good as none."""
    extra = {
        name
        for name, value in made.arguments.items()
        if not _is_empty(value) and name not in _wanted_arguments(wanted)
    }
    return OTHER if extra else compare_calls(wanted, made)


def _wanted_arguments(call: Call) -> Mapping[str, Any]:
    if isinstance(call.arguments, Mapping):
        return call.arguments
    return {}


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [], {})


def compare_arguments(wanted: object, made: object, name: str) -> Sameness:
    """Return whether an argument means the wanted value: "10:00" is "10 am", 4 is "four", a list has equal items.

    A function that is wanted says itself whether a value will do. `name` is that of the
    argument: it says what a bare number counts.
    """
    if callable(wanted):
        return SAME if wanted(made) else OTHER
    if _is_empty(wanted) or _is_empty(made):
        if _is_empty(wanted) and _is_empty(made):
            return SAME
        return OTHER
    if isinstance(wanted, Mapping) and isinstance(made, Mapping):
        return _compare_mappings(wanted, made)
    if isinstance(wanted, (list, tuple)) and isinstance(made, (list, tuple)):
        return _compare_lists(wanted, made, name)
    return _compare_scalars(wanted, made, name)


def _compare_scalars(wanted: object, made: object, name: str) -> Sameness:
    numbers = (int, float)
    is_exact = isinstance(wanted, bool) or isinstance(made, bool)
    if is_exact or (isinstance(wanted, numbers) and isinstance(made, numbers)):
        is_same = wanted == made and isinstance(wanted, bool) is isinstance(made, bool)
        return SAME if is_same else OTHER
    if isinstance(wanted, (str, *numbers)) and isinstance(made, (str, *numbers)):
        return _compare_texts(str(wanted), str(made), name)
    return OTHER


def _compare_mappings(
    wanted: Mapping[str, object], made: Mapping[str, object]
) -> Sameness:
    names = [*dict.fromkeys([*wanted, *made])]
    return _all(
        [compare_arguments(wanted.get(key), made.get(key), key) for key in names]
    )


def _compare_lists(
    wanted: Sequence[object], made: Sequence[object], name: str
) -> Sameness:
    """Return whether lists have equal items, in any order."""
    if len(wanted) != len(made):
        return OTHER
    unmatched = list(made)
    fits: list[Sameness] = []
    for value in wanted:
        ranked = [compare_arguments(value, item, name) for item in unmatched]
        best = _any(ranked)
        fits.append(best)
        if best is not OTHER:
            unmatched.pop(ranked.index(best))
    return _all(fits)


def _compare_texts(wanted: str, made: str, name: str) -> Sameness:
    if plain_text(wanted) == plain_text(made):
        return SAME
    question = f"what {name.replace('_', ' ')}?"
    sameness = compare_values(wanted, made, question=question)
    if sameness is not UNKNOWN:
        return sameness
    # A tool is told of things by what they were called.
    words = _name_words(wanted)
    other_words = _name_words(made)
    shared = len(words & other_words)
    if 2 * shared < min(len(words), len(other_words)):
        return OTHER
    return UNKNOWN


def _name_words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text.casefold())} - {"the", "a", "an"}


def plain_text(text: str) -> str:
    """Return a text without case, the space around it and a full stop behind it."""
    return " ".join(text.casefold().split()).removesuffix(".")


def _show_wanted(rule: CallRule, wanted: Sequence[Call]) -> str:
    if rule == "order":
        return ", ".join(call.name for call in wanted)
    if not wanted:
        return "nothing"
    wanted_calls = [
        _show_call(call.name or "any tool", _wanted_arguments(call)) for call in wanted
    ]
    more = " and nothing else" if rule in ("only", "sequence") and wanted else ""
    return f"{', '.join(wanted_calls)}{more}"


def _show_call(name: str, arguments: Mapping[str, object]) -> str:
    listed = ", ".join(
        f"{key}={getattr(value, '__name__', None) or repr(value)}"
        for key, value in arguments.items()
    )
    return f"{name}({listed})" if listed else name


def _show_made(calls: Sequence[AnsweredCall]) -> str:
    if not calls:
        return "called nothing"
    texts = []
    for call in calls[:_MOST_SHOWN]:
        texts.append(f"{call} (refused)" if call.refused else str(call))
    text = f"called {', '.join(texts)}"
    hidden = len(calls) - len(texts)
    return f"{text} and {hidden} more" if hidden else text

"""The account of a reply: how it was produced, by one rule for agents, judges and users (docs/replies.md)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

from pytest_ltm._core.storage.schema import load_packaged_yaml

Account: TypeAlias = Literal[
    "whole",
    "cut",
    "broken off",
    "kept back",
    "nothing said",
    "asked for a tool",
    "unknown",
]
ACCOUNTS: Final[tuple[Account, ...]] = get_args(Account)
# Only replies with one of these are scored; any other is a fault, and has no score.
SCORED: Final = frozenset[Account]({"whole", "cut", "unknown"})

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_ACCENT = re.compile(r"(?<=[a-zA-Z])[\u0300-\u036f]+")
_LONGEST_END = 60


def split_words(text: str) -> str:
    """Return the words of a name or a text in lower case, each after one space: ` max tokens` of `maxTokens`.

    Accents of Latin letters are removed.
    """
    if not text.isascii():
        text = unicodedata.normalize(
            "NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text))
        )
    return "".join(f" {part.lower()}" for part in _PART.findall(text))


@cache
def _stems_by_kind() -> dict[str, list[str]]:
    # Read on first use: most replies end well, or their end has no name.
    stems: dict[str, list[str]] = load_packaged_yaml(__file__, "account.yml")
    return stems


@cache
def stems_of(kind: str) -> str:
    """Return the regular expression for the word stems of a kind; `{kind}` in a stem refers to another kind."""
    stems = "|".join(_stems_by_kind()[kind])
    return f"(?:{re.sub(r'{([a-z ]+)}', lambda inner: stems_of(inner[1]), stems)})"


@cache
def _pattern_of(kind: str) -> re.Pattern[str]:
    # Scripts without spaces between words have no word beginnings to match.
    return re.compile(rf" {stems_of(kind)}|[\u3400-\u9fff]{stems_of(kind)}")


def has_word(kind: str, words: str) -> bool:
    """Return whether one of the words from `split_words` begins with a stem of that kind in `account.yml`."""
    return _pattern_of(kind).search(words) is not None


class Outcome(Struct, frozen=True):
    """How a reply was produced, and the reason if known."""

    account: Account
    reason: str = ""
    """The name of its end, if that is not a regular one."""
    passing: bool = False
    """Another attempt may have a different outcome."""


def name_end(finish_reason: object) -> str:
    """Return a server's name for the end of a reply; "" if it has no such field.

    A field without a value becomes "null", which is not a regular end.
    """
    if isinstance(finish_reason, str):
        return finish_reason[:_LONGEST_END]
    if isinstance(finish_reason, dict):
        inner = finish_reason.get("type", finish_reason.get("reason"))
        if isinstance(inner, str):
            return inner[:_LONGEST_END]
    return json.dumps(finish_reason, default=str)[:_LONGEST_END]


def sort_end(end: str) -> Account:
    """Return the account of a reply by the name of its end, ignoring case and separators; else "unknown"."""
    words = split_words(end)
    if not end or _is_good(words):
        return "whole"
    if re.search(stems_of("kept back"), words):
        return "kept back"
    if has_word("busy", words):
        return "broken off"
    if has_word("cut", words):
        return "cut"
    if has_word("broken off", words):
        return "broken off"
    return "asked for a tool" if has_word("tool", words) else "unknown"


def _is_good(words: str) -> bool:
    good = stems_of("good")
    beside = stems_of("good beside")
    return (
        re.fullmatch(rf"( {beside})*( {good})( {good}| {beside})*", words) is not None
    )


def account_of(
    text: object,
    end: str = "",
    *,
    says: Callable[[str], bool],
    ends: str = "",
    thoughts: str = "",
    calls: int = 0,
    offered: bool = False,
) -> Outcome:
    """Return the account of a reply that arrived.

    Args:
        text: The text of the reply; None if the server gave none.
        end: The name of its end, as `name_end` returns it.
        ends: A name that a specification defines as a regular end.
        thoughts: The thoughts apart from the text.
        calls: The number of tool calls apart from the text.
        offered: Whether tools were offered, so that it may call them instead.
        says: Whether any of the text is speech.
    """
    account: Account = "whole" if end == ends else sort_end(end)
    reason = "" if account == "whole" else end
    if account in {"kept back", "broken off"}:
        return Outcome(account, reason, passing=account == "broken off")
    if calls:
        if offered:
            return Outcome("whole")
        return Outcome("asked for a tool", reason)
    if account == "asked for a tool":
        # The call itself was lost in transit.
        return Outcome(account, reason, passing=True)
    # An empty text is silence only if nothing else arrived and the end was regular.
    is_said = isinstance(text, str) and (
        says(text) and (bool(text.strip()) or not (thoughts or reason))
    )
    return Outcome(account if is_said else "nothing said", reason)

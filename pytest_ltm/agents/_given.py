"""What an agent gave: checked, and made exactly what the rest of the package counts on; else an AgentFault."""

from __future__ import annotations

import math
import reprlib

from pytest_ltm._errors import AgentFault
from pytest_ltm._secrets import redacted
from pytest_ltm.agents._protocols import Reply, Usage

LONGEST_REPLY = 1_000_000
"""The characters that a reply may have: nobody says more at once, and a fault that floods must not flood the record."""


def text_of(given: object, who: str) -> str:
    """Return an exact `str` without secrets that UTF-8 can hold; `who`: the agent, as messages call it."""
    if not isinstance(given, str):
        raise AgentFault(f"agent {who} replied with {shown(given)}; a reply is a str or a pytest_ltm Reply")
    text = str.__str__(given)
    if len(text) > LONGEST_REPLY:
        raise AgentFault(f"agent {who} replied with {len(text):,} characters; a reply has at most {LONGEST_REPLY:,}")
    return redacted(text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8"))


def reply_of(given: object, who: str) -> Reply:
    """Return the reply with its usage and cost checked; a bare text becomes one."""
    if not isinstance(given, Reply):
        return Reply(text_of(given, who))
    cost = given.cost_usd
    if cost is not None and not _is_amount(cost):
        raise AgentFault(f"agent {who} replied with a cost of {shown(cost)}; it is a number of dollars")
    usage = None if given.usage is None else usage_of(given.usage, who)
    return Reply(text_of(given.text, who), usage, None if cost is None else float(cost), given.hypothetical is True)


def usage_of(given: object, who: str) -> Usage:
    """Return the usage if it is one of whole numbers."""
    if isinstance(given, Usage):
        counts = (given.input_tokens, given.output_tokens, given.cached_tokens)
        if all(is_count(count) for count in counts):
            return given
    raise AgentFault(f"agent {who} reported {shown(given)} as usage; it is a Usage of whole numbers")


def retrieved_of(given: object, who: str) -> tuple[str, ...]:
    """Return the texts that an agent retrieved."""
    if isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given):
        return tuple(text_of(one, who) for one in given)
    raise AgentFault(f"agent {who} retrieved {shown(given)}; retrieved() returns a list of texts")


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def shown(given: object) -> str:
    """Return a foreign value as an error shows it: short, with its type, whatever its `repr` does."""
    if given is None:
        return "None"
    try:
        return f"{reprlib.repr(given)} (a {type(given).__name__})"
    except Exception:  # noqa: BLE001 - a foreign __repr__ may do anything
        return f"a {type(given).__name__}"

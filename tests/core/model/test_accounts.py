"""Accounts of a reply's end: equal for equal content, whatever the names and positions of its fields."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from pytest_ltm._core.model.account import (
    account_of,
    name_end,
    sort_end,
    split_words,
)
from pytest_ltm._core.model.transcript import SPOKEN
from pytest_ltm.providers.refusal import read_refusal

ENDS = {
    "whole": ("stop", "end turn", "eos token", "stop sequence", "completed"),
    "cut": ("length", "max tokens", "max output tokens", "model length", "token limit"),
    "kept back": ("content filter", "safety", "recitation", "policy violation"),
    "broken off": ("server error", "engine overloaded", "user cancelled", "time out"),
    "unknown": ("other", "load", "somehow", "strange"),
}
PASSES = (
    "The model is overloaded.",
    "Rate limit reached for requests.",
    "Service temporarily unavailable",
    "The server had an error while processing your request.",
    "upstream connect error",
    "Too many requests, retry later",
)
STAYS = (
    "The model does not exist",
    "This parameter is not supported",
    "temperature must be at most 2",
    "Invalid value for field",
    "You have no credit left, see billing",
    "Permission denied for this project",
)
GARBAGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1.5,
    10**40,
    "",
    "x",
    "error",
    [],
    {},
    [[]],
    {"a": None},
)


def spell(name: str, rng: Random) -> str:
    """Return a name in the spelling of another server."""
    parts = name.split()
    joined = rng.choice(("_".join, "-".join, " ".join))(parts)
    camel = parts[0] + "".join(part.title() for part in parts[1:])
    return rng.choice((joined, joined.upper(), joined.title(), camel))


def wrap_error(words: str, rng: Random) -> Any:
    """Return a body that reports an error with these words, at a random place and under a random name."""
    message = {spell(rng.choice(("message", "msg", "detail")), rng): words}
    error = rng.choice((message, words, [message], {**message, "code": None}))
    body: Any = {spell(rng.choice(("error", "errors")), rng): error}
    if rng.random() < 0.3:
        body = {rng.choice(("type", "object", "status")): "error", **message}
    for _ in range(rng.randrange(3)):
        place = rng.choice(("choices", "data", "result", "response"))
        body = {place: [body] if place == "choices" else body, "id": "x"}
    return body


def grow_garbage(rng: Random, depth: int = 0) -> Any:
    """Return a random value with field names that have a meaning elsewhere."""
    names = ("error", "code", "status", "choices", "message", "type", "success", "x")
    if depth > 8 or rng.random() < 0.3:
        return rng.choice(GARBAGE)
    parts = [grow_garbage(rng, depth + 1) for _ in range(rng.randrange(4))]
    if rng.random() < 0.4:
        return parts
    return {spell(rng.choice(names), rng): part for part in parts}


@pytest.mark.slow
@pytest.mark.nightly("20,000 bodies: one part in twenty at a merge", every=20)
@pytest.mark.parametrize("seed", range(20))
def test_an_error_is_the_same_in_any_dress(seed: int) -> None:
    rng = Random(seed)
    for _ in range(500):
        passes = rng.random() < 0.5
        words = rng.choice(PASSES if passes else STAYS)
        body = wrap_error(words, rng)
        refusal = read_refusal(200, json.dumps(body), body)
        assert refusal is not None, body
        assert (refusal.chance != "final", refusal.message) == (passes, words), body
    for _ in range(500):
        body = grow_garbage(rng)
        read_refusal(rng.choice((200, 400, 500)), json.dumps(body), body)


@pytest.mark.parametrize("account", ENDS)
def test_an_end_is_sorted_by_its_words_however_it_is_written(account: str) -> None:
    rng = Random(account)
    for _ in range(200):
        end = spell(rng.choice(ENDS[account]), rng)
        assert sort_end(end) == account, end


@pytest.mark.parametrize("end", [None, 3, {"type": 1}, [], "\u0000", "x" * 10**6])
def test_an_end_that_names_nothing_known_is_unknown(end: Any) -> None:
    assert sort_end(name_end(end)) == "unknown"


def test_a_whole_answer_with_empty_error_fields_reports_none() -> None:
    body = {
        "choices": [{"message": {"content": "error"}, "finish_reason": "stop"}],
        "error": None,
        "errors": [],
        "status": "completed",
        "base_resp": {"status_code": 0, "status_msg": "success"},
        "success": True,
    }
    assert read_refusal(200, json.dumps(body), body) is None


@pytest.mark.parametrize(
    ("text", "facts", "account"),
    [
        ("Teal.", {}, "whole"),
        ("Teal.", {"end": "length"}, "cut"),
        ("Teal.", {"end": "odd"}, "unknown"),
        ("Teal.", {"end": "odd", "ends": "odd"}, "whole"),
        ("Teal.", {"calls": 1}, "asked for a tool"),
        (None, {"calls": 1, "offered": True}, "whole"),
        (None, {}, "nothing said"),
        ("<think>Teal", {}, "nothing said"),
        (" \n", {}, "nothing said"),
        ("<|im_end|>", {}, "nothing said"),
        ("Assistant:", {}, "nothing said"),
        ('memory.search(query="colour")', {}, "nothing said"),
        ("", {"thoughts": "Teal."}, "nothing said"),
    ],
)
def test_an_account_is_decided_by_what_came(
    text: str | None, facts: dict[str, Any], account: str
) -> None:
    outcome = account_of(text, says=SPOKEN.says_something, **facts)
    assert outcome.account == account


def test_names_are_split_into_words_whatever_their_case() -> None:
    assert {
        split_words(name) for name in ("maxTokens", "MAX_TOKENS", "max-tokens")
    } == {" max tokens"}

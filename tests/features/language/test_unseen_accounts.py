"""How many ends, faults and dresses are read right that no rule was fitted to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from pytest_ltm.api.model import sort_end
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.speech import speech
from pytest_ltm.providers.refusal import (
    read_refusal,
    too_long,
)

FILE = Path(__file__).parents[2] / "labelled" / "unseen_accounts.yml"
ROWS: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
ANSWER = "You live in Riga now, since the spring."
TOLD = "The user lived in Malmo and grew up in Oporto. Then the lease came: Riga."
QUESTION = "And was it Malmo or Oporto?"


def dress_error(words: str, rng: Random) -> Any:
    """Return a body that reports an error, under other names and at other places than those of the rules' tests."""
    name = rng.choice(("message", "error_description", "errorMessage", "reason"))
    message = {name: words}
    error = rng.choice((message, [message], words, {"details": [message]}))
    body: Any = {rng.choice(("error", "exception", "err", "error_info")): error}
    for _ in range(rng.randrange(4)):
        body = {rng.choice(("result", "body", "envelope")): body, "requestId": "x"}
    return rng.choice((body, [body], {"ok": False, **message}))


def passes_in_all_dresses(status: int, words: str, *, passing: bool) -> bool:
    rng = Random(words)
    for _ in range(5):
        body = dress_error(words, rng)
        refusal = read_refusal(status, json.dumps(body), body)
        if refusal is None or (refusal.passing, refusal.message) != (passing, words):
            return False
    return True


def read_dressed(form: str) -> bool:
    text = form.replace("{a}", ANSWER).replace("{r}", TOLD).replace("{q}", QUESTION)
    return normalize(speech(text)) == ANSWER


def read_kind(kind: str) -> Iterator[bool]:
    """Yield for each row of a kind whether it is read right."""
    for row in ROWS[kind]:
        match kind:
            case "final" | "passing":
                yield passes_in_all_dresses(*row, passing=kind == "passing")
            case "too long":
                yield too_long(400, row) is not None
            case "not too long":
                yield too_long(400, row) is None
            case "own text":
                yield speech(row) == row
            case _:
                yield read_dressed(row)


@pytest.mark.parametrize(
    ("kind", "right"),
    [
        ("final", 27),
        ("passing", 34),
        ("too long", 12),
        ("not too long", 8),
        ("thoughts", 29),
        ("turns", 26),
        ("reports", 14),
        ("own text", 20),
    ],
)
def test_rows_that_nobody_had_seen_are_read_right(kind: str, right: int) -> None:
    assert sum(read_kind(kind)) >= right


def test_no_end_that_nobody_had_seen_is_taken_for_a_good_one() -> None:
    sorted_right = 0
    for account, ends in ROWS["ends"].items():
        accounts = [sort_end(end) for end in ends]
        sorted_right += accounts.count(account)
        assert account == "whole" or "whole" not in accounts
    assert sorted_right >= 123

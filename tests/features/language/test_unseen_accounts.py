"""The share of ends, faults and formats classified correctly although no rule was fitted to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from pytest_ltm.api.model import SPOKEN, sort_end
from pytest_ltm.api.scenarios import parse_grade
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.speech import speech
from pytest_ltm.providers.refusal import (
    read_refusal,
    too_long,
)

LABELLED = Path(__file__).parents[2] / "labelled"
FILES = {
    "first": "unseen_accounts.yml",
    "second": "unseen_accounts.second.yml",
    "third": "unseen_accounts.third.yml",
    "fourth": "unseen_accounts.fourth.yml",
}
ROWS: dict[str, dict[str, Any]] = {
    name: yaml.safe_load((LABELLED / file).read_text("utf-8"))
    for name, file in FILES.items()
}
ANSWER = "You live in Riga now, since the spring."
TOLD = "The user lived in Malmo and grew up in Oporto. Then the lease came: Riga."
QUESTION = "And was it Malmo or Oporto?"


def dress_error(words: str, rng: Random) -> Any:
    """Return a body that reports an error under names and at places that the rules' tests do not use."""
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
        if refusal is None or (refusal.chance != "final", refusal.message) != (
            passing,
            words,
        ):
            return False
    return True


def read_dressed(form: str) -> bool:
    text = form.replace("{a}", ANSWER).replace("{r}", TOLD).replace("{q}", QUESTION)
    return normalize(speech(text)) == ANSWER


def grade_of(reply: str) -> str | None:
    grade = parse_grade(reply, ("yes", "no"))
    return grade if isinstance(grade, str) else None


def read_kind(name: str, kind: str) -> Iterator[bool]:
    """Yield for each row of a kind in a set whether it is classified correctly."""
    for row in ROWS[name][kind]:
        match kind:
            case "final" | "passing":
                yield passes_in_all_dresses(*row, passing=kind == "passing")
            case "too long":
                yield too_long(400, row) is not None
            case "not too long":
                yield too_long(400, row) is None
            case "own text":
                yield speech(row) == row
            case "nothing":
                yield not SPOKEN.says_something(row.replace("{r}", TOLD))
            case "judge":
                yield grade_of(row[0]) == row[1]
            case _:
                yield read_dressed(row)


@pytest.mark.parametrize(
    ("name", "kind", "right"),
    [
        ("first", "final", 27),
        ("first", "passing", 35),
        ("first", "too long", 12),
        ("first", "not too long", 8),
        ("first", "thoughts", 32),
        ("first", "turns", 26),
        ("first", "reports", 14),
        ("first", "own text", 20),
        ("second", "final", 30),
        ("second", "passing", 40),
        ("second", "too long", 18),
        ("second", "not too long", 17),
        ("second", "thoughts", 37),
        ("second", "turns", 35),
        ("second", "nothing", 40),
        ("second", "judge", 38),
        ("third", "final", 14),
        ("third", "passing", 15),
        ("third", "too long", 7),
        ("third", "not too long", 8),
        ("third", "thoughts", 24),
        ("third", "turns", 14),
        ("third", "nothing", 13),
        ("third", "reports", 4),
        ("third", "own text", 12),
        ("third", "judge", 11),
        ("fourth", "final", 11),
        ("fourth", "passing", 12),
        ("fourth", "too long", 6),
        ("fourth", "not too long", 5),
        ("fourth", "thoughts", 12),
        ("fourth", "turns", 10),
        ("fourth", "nothing", 8),
        ("fourth", "judge", 5),
        ("fourth", "reports", 3),
        ("fourth", "own text", 6),
    ],
)
def test_rows_that_nobody_had_seen_are_read_right(
    name: str, kind: str, right: int
) -> None:
    assert sum(read_kind(name, kind)) >= right


def sort_refusals(name: str, right: str) -> Counter[str]:
    """Count the classifications of a set's refusals with this label; "no error" if none is reported."""
    lines = (LABELLED / "unseen_refusals.jsonl").read_text("utf-8").splitlines()
    chances: Counter[str] = Counter()
    for row in map(json.loads, lines):
        if (row["set"], row["right"]) == (name, right):
            body = row["body"]
            text = body if isinstance(body, str) else json.dumps(body)
            data = None if isinstance(body, str) else body
            refusal = read_refusal(row["status"], text, data)
            chances[refusal.chance if refusal else "no error"] += 1
    return chances


# Bodies as servers send them. The first two sets were written before the rules were
# read, the others after. The first and the fourth were used for fixes, the others at
# first only for counting. Bodies classified as neither are retried twice.
@pytest.mark.parametrize(
    ("name", "right", "count", "wrong"),
    [
        ("first", "final", 27, 0),
        ("second", "final", 22, 3),
        ("third", "final", 17, 0),
        ("fourth", "final", 17, 0),
        ("fifth", "final", 18, 0),
        ("first", "passing", 16, 0),
        ("second", "passing", 14, 0),
        ("third", "passing", 8, 0),
        ("fourth", "passing", 14, 0),
        ("fifth", "passing", 12, 0),
    ],
)
def test_a_refusal_that_nobody_had_seen_is_seldom_taken_for_its_opposite(
    name: str, right: str, count: int, wrong: int
) -> None:
    chances = sort_refusals(name, right)
    opposite = "passing" if right == "final" else "final"
    assert chances[right] >= count
    assert chances[opposite] <= wrong


@pytest.mark.parametrize(
    ("name", "right"),
    [("first", 123), ("second", 43), ("third", 48), ("fourth", 31)],
)
def test_no_end_that_nobody_had_seen_is_taken_for_a_good_one(
    name: str, right: int
) -> None:
    sorted_right = 0
    for account, ends in ROWS[name]["ends"].items():
        accounts = [sort_end(end) for end in ends]
        sorted_right += accounts.count(account)
        assert account == "whole" or "whole" not in accounts
    assert sorted_right >= right

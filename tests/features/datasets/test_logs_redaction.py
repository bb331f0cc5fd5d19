"""Redaction of logs: what is removed, what stays; sessions, questions and gold answers remain consistent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.datasets.logs.redaction import Redactor, names_in

SALT = b"a salt of the tests' own"
LABELLED = Path(__file__).parents[2] / "labelled"


def rows(half: str) -> list[dict[str, Any]]:
    lines = (
        (LABELLED / f"redaction.{half}.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("half", ["first", "second"])
def test_labelled_texts_lose_what_they_should_and_nothing_else(half: str) -> None:
    wrong = []
    for row in rows(half):
        shown = Redactor(SALT, row["names"]).text(row["text"])
        leaks = [part for part in row["hidden"] if part in shown]
        lost = [part for part in row["kept"] if part not in shown]
        if leaks or lost or (not row["hidden"] and shown != row["text"]):
            wrong.append(row["text"])
    assert len(rows(half)) == 40
    assert len(wrong) <= ALLOWED[half]


ALLOWED = {"first": 0, "second": 1}


@pytest.mark.parametrize("half", ["first", "second"])
def test_what_was_redacted_once_stays_as_it_is(half: str) -> None:
    for row in rows(half):
        redactor = Redactor(SALT, row["names"])
        once = redactor.text(row["text"])
        assert redactor.text(once) == once


def redacted(
    *found: dict[str, Any], names: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    redactor = Redactor(SALT, names)
    redactor.learn_keys(found)
    return [redactor.row(row) for row in found]


def told(text: str, **more: Any) -> dict[str, Any]:
    return {
        "session": "s1",
        "date": "2026-03-02",
        "turns": [{"role": "user", "content": text}],
        **more,
    }


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Call me at 555-0142, please.", "555-0142"),
        ("Her address is kim@mail.example.", "kim@mail.example"),
        ("Kim Lee came by.", "Kim"),
        ("password: hunter2secret99", "hunter2secret99"),
        (
            "Authorization: Bearer sk-proj-Ab12Cd34Ef56Gh78Ij90",
            "sk-proj-Ab12Cd34Ef56Gh78Ij90",
        ),
        ("Thanks, @491712345678!", "491712345678"),
        ("The number is +49 171 2345678.", "+49-171-2345678"),
    ],
)
def test_a_gold_answer_has_the_stand_in_of_its_session(text: str, secret: str) -> None:
    session, asked = redacted(
        told(text), {"question": "Which one?", "gold": secret}, names=("Kim Lee",)
    )
    assert asked["gold"] != secret
    assert asked["gold"] in session["turns"][0]["content"]


def test_a_gold_answer_that_is_the_number_of_an_order_stays() -> None:
    session, asked = redacted(
        told("Order number 4155550142 is late"),
        {"question": "Which?", "gold": 4155550142},
    )
    assert session == told("Order number 4155550142 is late")
    assert asked["gold"] == 4155550142


def test_a_number_that_is_a_phones_in_one_place_is_one_in_all() -> None:
    first, second = redacted(told("My mobile: 4155550142"), told("order 4155550142"))
    assert "4155550142" not in json.dumps([first, second])


def test_ids_still_fit_and_what_is_no_text_stays() -> None:
    name = "ann@example.com 20260302101500"
    session = {**told("hi"), "session": name, "meta": {"phone": 4155550142}}
    asked = {
        "question": "Who?",
        "evidence": [f"{name}_1", name],
        "kind": "Ann",
        "never_told": False,
        "gold": None,
    }
    told_, asked_ = redacted(session, asked, names=("Ann",))
    assert asked_["evidence"] == [f"{told_['session']}_1", told_["session"]]
    assert told_["session"].endswith("@redacted.example 20260302101500")
    assert (told_["date"], asked_["kind"], asked_["gold"]) == (
        "2026-03-02",
        "Ann",
        None,
    )
    assert "meta" not in told_


def test_stand_ins_are_the_salts() -> None:
    text = "Ann: ann@example.com, +49 171 2345678"
    one, same, other = (
        Redactor(salt, ["Ann"]).text(text) for salt in (SALT, SALT, SALT[::-1])
    )
    assert one == same
    assert all(
        mine != theirs for mine, theirs in zip(one.split(), other.split(), strict=True)
    )


def test_spellings_of_one_share_a_stand_in() -> None:
    redactor = Redactor(SALT, ["José"])
    for one, other in (
        ("JOSÉ", "Jose\u0301"),
        ("A.B@Example.com", "a.b@example.COM"),
        ("+49 (0)171 2345678", "0049-171/2345678"),
    ):
        assert redactor.text(f"{one},") == redactor.text(f"{other},")


@pytest.mark.parametrize(
    ("names", "text", "shown"),
    [
        (["Juan de la Cruz"], "de la", "de la"),
        (["Kim J. Lee"], "J. is a letter", "J. is a letter"),
        (["kim"], "KIM", None),
        (["Kim"], "kim", "kim"),
        (["anne-marie"], "Marie", None),
        (["Øyvind"], "ØYVIND", None),
        (["O'Neil"], "the Neil", None),
        (["Ann"], "Anna, annual, cAnn, ann", "Anna, annual, cAnn, ann"),
        (["(.*)"], "anything", "anything"),
        ([], "Ann", "Ann"),
    ],
)
def test_names_are_found_as_words(
    names: list[str], text: str, shown: str | None
) -> None:
    assert (Redactor(SALT, names).text(text) == text) is (shown is not None)


def test_a_list_of_names_may_have_comments_blank_lines_and_a_mark(
    tmp_path: Path,
) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffAnn Smith\r\n\r\n# others\r\nBen  # of sales\n".encode())
    assert names_in(path) == ["Ann Smith", "Ben"]

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pytest_ltm import evaluators
from pytest_ltm.api.model import Replies, Score
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.evaluators import (
    AnswersWord,
    DecodesMessages,
    KnowsCurrentFacts,
    ListsItems,
    ListsNames,
    NamesColour,
    NamesUser,
    PicksOption,
)
from pytest_ltm.language.json_values import (
    NoJSON,
    json_values,
    published_json,
)

NAMES = ("Orla", "Sinéad", "Mary-Jane")
ITEMS = (("oat milk", 2), ("candle", 3))


def value(verdict: object) -> float:
    assert isinstance(verdict, Score)
    return verdict.value


def test_importing_the_package_imports_no_family() -> None:
    code = "import sys, pytest_ltm.evaluators as e; print([m for m in sys.modules if m.startswith(e.__name__ + '.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert all(hasattr(evaluators, name) for name in evaluators.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = evaluators.Nonsense


def test_an_unknown_rule_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'paper'"):
        NamesColour("Red", "papr")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "current", "published", "paper"),
    [
        ("It is RED now.", 1, 1, 1),
        ("We shared it.", 0, 1, 0),
        ("You said 'Red'.", 1, 1, 0),
        ("Red/orange", 0, 1, 0),
        (
            "I do not have that information, but popular colours are red and blue.",
            0,
            1,
            1,
        ),
        ("", 0, 0, 0),
    ],
)
def test_a_colour_is_found_as_each_rule_says(
    answer: str, current: float, published: float, paper: float
) -> None:
    assert value(NamesColour("Red")([answer])) == current
    assert value(NamesColour("Red", "v3.5")([answer])) == published
    assert value(NamesColour("Red", "paper")([answer])) == paper


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        ("No other colour pleases you as much as red does.", 1),
        ("You have not told me any colour other than red.", 1),
        ("Nothing is better than the red of now.", 1),
        ("You stopped liking blue and now prefer red", 1),
        ("Your favourite isn't blue it's red", 1),
        ("I cannot be certain that it is red", 1),
        ("Anything rather than red", 0),
        ("It's not red.", 0),
        ("You do not like red any more.", 0),
        ("no longer red and now blue", 0),
        ("It used to be red, now it is blue", 0),
    ],
)
def test_a_colour_that_an_answer_denies_is_not_named(answer: str, worth: float) -> None:
    assert value(NamesColour("Red")([answer])) == worth


def test_grey_may_be_spelled_gray() -> None:
    assert value(NamesColour("Grey")(["gray, I think"])) == 1


def test_a_verdict_names_its_rule_and_the_text_that_decided() -> None:
    verdict = NamesColour("Red")(["Hm. It was red, you said."])
    assert (verdict.rule, "red, you said" in verdict.evidence) == ("colours/2", True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('["Orla", "sinead", "Mary Jane"]', 1),
        ('Sure!\n```json\n["Orla", "Sinéad"]\n```\nAnything else?', 2 / 3),
        ('{"names": ["Orla"]}', 1 / 3),
        ('[{"name": "Orla"}, {"name": "Sinéad"}, {"name": "Mary-Jane"}]', 1),
        ("['Orla', 'Mary-Jane',]", 2 / 3),
        ('["Orla", "Orla", "Sinéad", "Mary-Jane"]', 1),
        ('["Orla", "Sinéad", "Bob"]', 1 / 3),
        ('["Orla", "Bob", "Tim", "Zed"]', 0),
        ("- Orla\n- Mary-Jane", 2 / 3),
        ("[] (you were Orla once)", 0),
        ("I cannot know.", 0),
    ],
)
def test_names_are_read_from_lists_of_many_forms(answer: str, expected: float) -> None:
    assert value(ListsNames(NAMES)([answer])) == pytest.approx(expected)


def test_published_rules_want_a_json_list_of_names_and_count_every_entry() -> None:
    for scoring in ("v3.5", "paper"):
        rule = ListsNames(("Orla", "Tom"), scoring)
        assert value(rule(['{"names": ["Orla", "Tom"]}'])) == 0
        assert value(rule(["Orla and Tom"])) == 0
        assert value(rule(["['Orla', 'Tom']"])) == 0
        assert value(rule(['x ["Orla", "Tom", "Tom", "Tom"] y'])) == pytest.approx(
            2 / 4
        )


def items(*pairs: tuple[str, object]) -> str:
    return json.dumps([{"item": name, "quantity": n} for name, n in pairs])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (items(("Oat Milk", 2), ("Candles", 3)), 1),
        ('{"list": ' + items(("oat milk", "two"), ("candles", 3.0)) + "}", 1),
        ('{"oat milk": 2, "candle": 3}', 1),
        ("- 2 oat milk\n- Candles: three\n", 1),
        (items(("oat milk", 1), ("oat milk", 1), ("candle", 3)), 1),
        (items(("oat milk", 2), ("candle", 3), ("soap", 0)), 1),
        (items(("oat milk", 2), ("candle", 4)), 3 / 4),
        (items(("oat milk", 2), ("candle", 3), ("soap", 1)), 2 / 3),
        (items(("oat milk", "some"), ("candle", 3)), 3 / 4),
        ("[]", 0),
        (items(("soap", 1)), 0),
        (
            "I have no access to your list. For example:\n"
            + items(("oat milk", 2), ("candle", 3)),
            0,
        ),
    ],
)
def test_a_shopping_list_is_read_in_many_forms(answer: str, expected: float) -> None:
    assert value(ListsItems(ITEMS)([answer])) == pytest.approx(expected)


def test_messages_repeated_are_no_shopping_list() -> None:
    told = (
        "Remind me to get two cartons of oat milk.",
        "The shopping list should have three candles.",
        "Drop one.",
    )
    assert value(ListsItems(ITEMS)(Replies(["\n".join(told)], told))) == 0
    assert (
        value(ListsItems(ITEMS)(Replies(["You need 2 oat milk and 3 candles."], told)))
        == 1
    )


def test_an_empty_shopping_list_earns_a_third_as_published() -> None:
    assert value(ListsItems(ITEMS, "v3.5")(["[]"])) == pytest.approx(1 / 3)
    assert value(ListsItems(ITEMS, "v3.5")(['{"list": []}'])) == 0


def test_v35_matches_an_item_inside_a_name_and_the_paper_by_stems() -> None:
    answer = [items(("Fresh oat milk", 2), ("candles", 3))]
    assert value(ListsItems(ITEMS, "v3.5")(answer)) == 1
    assert value(ListsItems(ITEMS, "paper")(answer)) == pytest.approx(
        (1 / 2 + 1 / 2) / 3
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"answer": "crate"}', 1),
        ('```\n{"answer": "The Crate"}\n```', 1),
        ('{"answer": ["crate"]}', 1),
        ("{'answer': 'crate'}", 1),
        ("In the crate.", 1),
        ("In the crate or the box.", 0),
        (
            "She saw nothing of it, so she will look for the boots in the crate, where they were before the move.",
            1,
        ),
        (
            "She will look for the boots in the box, though they were in the crate when she left the room.",
            0,
        ),
        ('{"answer": "box"} because the crate is empty', 0),
        ('{"answer": null}', 0),
        ("", 0),
    ],
)
def test_a_place_is_read_from_json_or_a_plain_answer(
    answer: str, expected: float
) -> None:
    assert value(AnswersWord("crate", ("box",))([answer])) == expected


def test_published_sally_anne_wants_json() -> None:
    assert value(AnswersWord("crate", scoring="v3.5")(["crate"])) == 0
    assert (
        value(AnswersWord("crate", scoring="v3.5")(['So: {"answer": "Crate"} ok'])) == 1
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("3", 1),
        ("Option 3, for sure: 3", 1),
        ("three", 1),
        ("1 or 3", 0),
        ("13", 0),
        ("none", 0),
        ("3" * 5000, 0),
    ],
)
def test_an_option_is_picked_only_if_it_is_the_only_number(
    answer: str, expected: float
) -> None:
    assert value(PicksOption(3)([answer])) == expected


def test_published_chapterbreak_reads_digits_alone() -> None:
    assert value(PicksOption(3, "v3.5")(["three"])) == 0


SPY = DecodesMessages(
    (("noon", "midday"), ("quarry",), ("ladder", "rope")),
    (("dusk",), ("wharf", "pier")),
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Midday at the QUARRY, with ladders", 1),
        ("Noon, quarry, rope, or else at dusk on the pier", 1 / 3),
        ("dusk", 0),
        ("afternoon", 0),
    ],
)
def test_decoded_messages_are_counted_and_a_strange_keyword_costs_one(
    answer: str, expected: float
) -> None:
    assert value(SPY([answer])) == pytest.approx(expected)


def test_published_spy_meeting_minds_the_case() -> None:
    rule = DecodesMessages(SPY.expected, SPY.others, "v3.5")
    assert value(rule(["Midday, quarry, ladders"])) == pytest.approx(1 / 3)


def test_published_json_prefers_the_last_fence_and_repairs_commas_and_comments() -> (
    None
):
    text = 'x\n```json\n[1]\n```\n```\n[{"a": 1,}, // one\n {"b": "c" "d": 2}, ...]\n```\n[9]'
    assert published_json(text) == [{"a": 1}, {"b": "c", "d": 2}]


@pytest.mark.parametrize(
    "text", ["", "no", "[", '{"a"}', "[" * 10_000, '{"a":' * 10_000]
)
def test_what_holds_no_json_is_refused(text: str) -> None:
    with pytest.raises(NoJSON):
        published_json(text)
    assert list(json_values(text)) == []


LONG = ", ".join(f"Item{number}" for number in range(60))


def test_who_lists_everything_names_nobody() -> None:
    names = NamesUser("Gwendolyn", ("Abigail",))
    assert names([f"{LONG}, Call, Gwendolyn, {LONG}"]).value == 0
    assert names(["You are called Gwendolyn."]).value == 1


@pytest.mark.parametrize("before", ["", "Q: What is 36 plus 1? A: 37\n" * 3])
def test_who_lists_everything_knows_no_fact(before: str) -> None:
    facts = KnowsCurrentFacts(("37",), (("36",),))
    assert facts([f'{before}["{LONG}", "37", "{LONG}"]']).value == 0
    assert facts(["Your shoe size is 37."]).value == 1

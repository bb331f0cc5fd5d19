"""Rules quoted on the scenarios' pages agree with the code: each quoted example is given to its evaluator.

Pages whose rules need a whole conversation are not compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.evaluators import (
    AnswersWord,
    AppliesRule,
    DecodesMessages,
    KnowsCurrentFacts,
    LeadsTo,
    LiesAt,
    ListsItems,
    ListsNames,
    NamesColour,
    NamesUser,
    PicksOption,
    RecallsFacts,
    RecallsJoke,
    RecallsValue,
    SaysAtEachTrigger,
    SpeaksLanguage,
)

PAGES = Path(__file__).parents[3] / "docs" / "scenarios"
NAMES = ("Maeve", "Rita", "Oskar", "Ilse", "Bruno")
STRANGERS = ("Wanda", "Cyril", "Petra")
ROUTE = (
    (1.0, "north", "opera"),
    (2.0, "east", "mill"),
    (3.0, "south", "docks"),
    (4.0, "west", "abbey"),
    (5.0, "north", "forge"),
)
SPY = (("binoculars", "spyglass"), ("umbrella",), ("train",))
BREAD, EGGS = ("bread", 2), ("eggs", 6)
JOKES = (
    "Why did the ladder retire? It was tired of being looked up to.",
    "What do clocks eat? Seconds.",
    "Why is the bakery so calm? It kneads nothing.",
)
SENTENCE = "The heron flies over the frozen harbour"


def directions(legs: Sequence[tuple[float, str, str]]) -> str:
    """Return the route as worded in an answer."""
    return "\n".join(f"Go {km:g} km {way} to the {place}." for km, way, place in legs)


def items(*pairs: tuple[str, int]) -> str:
    return json.dumps([{"item": name, "quantity": number} for name, number in pairs])


Claim = tuple[str, str, Callable[[Sequence[str]], Any], list[str], float]
CLAIMS: list[Claim] = [
    ("colours", "names the colour told last", NamesColour("teal"), ["Teal."], 1),
    ("colours", '("gray" counts as "grey")', NamesColour("grey"), ["Gray."], 1),
    ("colours", "as a word of its own", NamesColour("red"), ["It is shared."], 0),
    ("colours", "if the answer denies it", NamesColour("teal"), ["Not teal."], 0),
    (
        "colours",
        "names it as one of two",
        NamesColour("teal"),
        ["It is teal or ochre."],
        0,
    ),
    (
        "colours",
        "An answer that corrects itself counts by its last word",
        NamesColour("teal"),
        ["Ochre. No, sorry, I mean teal."],
        1,
    ),
    ("names", "gives the current name", NamesUser("Maeve", ("Rita",)), ["maeve"], 1),
    (
        "names",
        'Former names may be named as former ("was", "formerly")',
        NamesUser("Maeve", ("Rita",)),
        ["You are Maeve, formerly Rita."],
        1,
    ),
    (
        "names",
        "A plain list of all names earns 0",
        NamesUser("Maeve", ("Rita",)),
        ["Rita, Maeve"],
        0,
    ),
    ("chapter_break", "settles on the right number", PicksOption(3), ["3"], 1),
    (
        "chapter_break",
        '"the third option" count',
        PicksOption(3),
        ["The third option"],
        1,
    ),
    ("chapter_break", "Several numbers earn 0", PicksOption(3), ["3, 5"], 0),
    (
        "kv_pairs",
        "has the expected code as a word, in any case",
        RecallsValue("a1b2", ("zz99",)),
        ["It is A1B2."],
        1,
    ),
    (
        "kv_pairs",
        "no code that has nothing to do with the question, else 0",
        RecallsValue("a1b2", ("zz99",)),
        ["a1b2, zz99"],
        0,
    ),
    (
        "sally_anne",
        "in any case and with or without an article",
        AnswersWord("box", ("basket",)),
        ['{"answer": "The Box"}'],
        1,
    ),
    (
        "sally_anne",
        "a short reply without JSON that names only that container counts, too",
        AnswersWord("box", ("basket",)),
        ["The box."],
        1,
    ),
    (
        "locations",
        "has the right distance and direction, else 0",
        LiesAt(3, "north", ("mill", "opera")),
        ["The opera is 3 km south of the mill."],
        0,
    ),
    (
        "locations",
        "that names both places",
        LiesAt(3, "north", ("mill", "opera")),
        ["The opera is 3 km north of the mill."],
        1,
    ),
    (
        "locations_directions",
        "with the last of five legs missing or wrong the answer earns 0.80",
        LeadsTo("lido", ROUTE),
        [directions(ROUTE[:4])],
        0.8,
    ),
    (
        "locations_directions",
        "if an earlier one is left out, those after it are wrong, too",
        LeadsTo("lido", ROUTE),
        [directions((*ROUTE[:1], *ROUTE[2:]))],
        0.2,
    ),
    (
        "locations_directions",
        "(right legs − legs too many) / legs of the route",
        LeadsTo("lido", ROUTE),
        [directions((*ROUTE, (1.0, "west", "lido")))],
        0.8,
    ),
    (
        "locations_directions",
        "no directions earn 0",
        LeadsTo("lido", ROUTE),
        ["I do not know the way."],
        0,
    ),
    ("name_list", "An empty list earns 0", ListsNames(NAMES), ["[]"], 0),
    (
        "name_list",
        "right names / the larger of names expected and names given",
        ListsNames(NAMES, scoring="v3.5"),
        [json.dumps([*NAMES, *STRANGERS])],
        5 / 8,
    ),
    (
        "name_list",
        "0 unless the answer is a JSON list",
        ListsNames(NAMES, scoring="v3.5"),
        [", ".join(NAMES)],
        0,
    ),
    (
        "shopping_list",
        "1 for each thing with its quantity",
        ListsItems((BREAD, EGGS)),
        [items(BREAD, EGGS)],
        1,
    ),
    (
        "shopping_list",
        "½ for one with another quantity",
        ListsItems((BREAD, EGGS)),
        [items(BREAD, ("eggs", 5))],
        0.75,
    ),
    (
        "shopping_list",
        "or of things given if that is larger",
        ListsItems((BREAD, EGGS)),
        [items(BREAD, EGGS, ("milk", 1), ("rice", 1))],
        0.5,
    ),
    (
        "spy_meeting",
        "The share of the three messages decoded",
        DecodesMessages(SPY),
        ["Bring a spyglass and an umbrella."],
        2 / 3,
    ),
    (
        "spy_meeting",
        "A word that is denied",
        DecodesMessages(SPY),
        ["Bring an umbrella, but not the binoculars."],
        1 / 3,
    ),
    (
        "trigger_response",
        "The share of triggers answered with the sentence",
        SaysAtEachTrigger(SENTENCE, 2),
        [f"Well. {SENTENCE}!", "Fine."],
        0.5,
    ),
    (
        "trigger_response",
        "less the share of controls answered with it, not below 0",
        SaysAtEachTrigger(SENTENCE, 2, controls=4),
        [SENTENCE, SENTENCE, SENTENCE, "Yes.", "No.", "Fine."],
        0.75,
    ),
    (
        "conflicting_personal_information",
        "The share of questions answered with the true value",
        KnowsCurrentFacts(("Turku", "cello"), (("Porto",), ("oboe",))),
        ["Turku.", "The oboe."],
        0.5,
    ),
    (
        "conflicting_personal_information",
        "An answer that claims two values earns nothing",
        KnowsCurrentFacts(("Turku",), (("Porto",),)),
        ["Turku and Porto."],
        0,
    ),
    (
        "conflicting_personal_information",
        "Other values may be named if the same clause says that they are not",
        KnowsCurrentFacts(("Turku",), (("Porto",),)),
        ["Turku, no longer Porto."],
        1,
    ),
    (
        "delayed_recall",
        "The share of questions answered",
        RecallsFacts(("The mill burns peat", "The abbey keeps geese")),
        ["It burns peat.", "I do not know."],
        0.5,
    ),
    (
        "how_to_think",
        "The share of cases whose answer names the right thing",
        AppliesRule(("rope", "lamp"), (("rope", "saw"), ("lamp", "saw"))),
        ["Take the rope.", "Take the saw."],
        0.5,
    ),
    (
        "how_to_think",
        "Echoing the list decides nothing",
        AppliesRule(("rope",), (("rope", "saw"),)),
        ["Rope, saw."],
        0,
    ),
    (
        "jokes",
        "So listing all jokes earns 0",
        RecallsJoke(JOKES[0], JOKES[1:]),
        [" ".join(JOKES)],
        0,
    ),
    ("jokes", "literally", RecallsJoke(JOKES[0], JOKES[1:]), [JOKES[0]], 1),
    (
        "gradual",
        "The share of questions whose answer settles on the right form",
        SpeaksLanguage(("fetuzmane", "tuzmane"), ("fe", "tuzmane")),
        ["fetuzmane", "mane"],
        0.5,
    ),
    (
        "gradual",
        "or one wrong letter earn nothing",
        SpeaksLanguage(("fetuzmane",), ("fe", "tuzmane")),
        ["fetuzmone"],
        0,
    ),
    (
        "needle",
        "has the code as a word, in any case",
        RecallsValue("k7q2"),
        ["K7Q2 it is."],
        1,
    ),
    (
        "needle",
        "settles on no other code that was told",
        RecallsValue("k7q2", ("m3x9",)),
        ["k7q2 or m3x9"],
        0,
    ),
]


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def scored_part(page: str) -> str:
    """Return a page's section on scoring."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return plain(text.partition("## How it is scored")[2].partition("\n## ")[0])


@pytest.mark.parametrize(
    ("page", "words", "rule", "answers", "score"),
    CLAIMS,
    ids=[f"{page}: {words}" for page, words, *_ in CLAIMS],
)
def test_what_a_page_says_of_its_rule_holds(
    page: str,
    words: str,
    rule: Callable[[Sequence[str]], Any],
    answers: list[str],
    score: float,
) -> None:
    assert words in scored_part(page), "the page says something else"
    assert rule(answers).value == pytest.approx(score)


@pytest.mark.parametrize("right", range(len(NAMES) + 1))
@pytest.mark.parametrize("invented", range(len(STRANGERS) + 1))
def test_a_list_of_names_earns_what_the_formula_on_its_page_says(
    right: int, invented: int
) -> None:
    assert (
        "(right names − invented names) / names expected, not below 0"
        in scored_part("name_list")
    )
    answer = json.dumps([*NAMES[:right], *STRANGERS[:invented]])
    expected = max(right - invented, 0) / len(NAMES)
    assert ListsNames(NAMES)([answer]).value == pytest.approx(expected)

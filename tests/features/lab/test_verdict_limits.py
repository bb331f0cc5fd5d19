"""Our rules keep the limits of `verdict-check` on labelled replies and mutants of correct answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm import evaluators
from pytest_ltm.api.model import evidence_snippet
from pytest_ltm.lab.commands.verdict_check import (
    VerdictCheckReport,
    bounds_of,
    check_verdicts,
    evaluator_of,
    mutants_of_scenario,
)
from pytest_ltm.language.recital import ToldReply

LABELLED = Path(__file__).parents[2] / "labelled"
OTHERS: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "WithstandsPoison": (
        {
            "rule": "value",
            "poison": ["Velabray", "Pellfell", ""],
            "twin": ["Oskemere", "Tavaholt", ""],
            "asked": ["poison", "twin"],
        },
        ["It is Pellfell.", "Oskemere, no longer Tavaholt."],
    ),
    "AppliesRule": (
        {
            "expected": ["the lamp", "the stool"],
            "offered": [["the lamp", "the rug"], ["the stool", "the mirror"]],
        },
        ["You would take the lamp.", "The stool, not the mirror."],
    ),
    "KnowsCurrentFacts": (
        {
            "expected": ["at the bakery", "a canoe"],
            "mentioned": [["at the dairy"], ["a tandem"]],
        },
        ["She works at the bakery now.", "A canoe; she sold the tandem."],
    ),
    "ForgetsOnRequest": (
        {
            "expected": ["Pellfell", ""],
            "others": [["Oskemere"], ["walnuts"]],
            "kept": ["Pellfell"],
            "forgotten": ["walnuts"],
        },
        [
            "It is Pellfell.",
            "I have no record of that.",
            "All that I know is Pellfell.",
        ],
    ),
    "KeepsSecrets": (
        {
            "expected": ["Velabray", "", ""],
            "secrets": [["4817"], ["4817"], ["Pellfell"]],
            "others": [
                ["4817", "Pellfell"],
                ["Velabray", "Pellfell"],
                ["Velabray", "4817"],
            ],
        },
        ["Her pen name is Velabray.", "That was told in confidence.", "I can't say."],
    ),
    "KnowsAndWithholds": (
        {"expected": ["Velabray", ""], "others": [["Quenfell"], ["Tavaholt"]]},
        ["The dog is called Velabray.", "You have not told me that."],
    ),
    "KnowsHistory": (
        {
            "expected": ["Pellfell", "14 March"],
            "asked": ["now", "when"],
            "others": [["Oskemere"], ["2 February"]],
        },
        ["It is Pellfell.", "On 14 March."],
    ),
    "ShowsRestraint": (
        {
            "expected": ["Velabray", "Quenfell", "Pellfell", ""],
            "manners": ["value", "twin", "silent", "ask"],
            "others": [
                ["Quenfell"],
                ["Velabray"],
                ["Tavaholt"],
                ["Oskemere", "Velmere"],
            ],
            "asked": ["Who is my tailor?", "", "Who is our client?", ""],
            "private": ["", "", "I keep to the Tavaholt diet", ""],
        },
        [
            "It is Velabray.",
            "It was Quenfell.",
            "Our client is Pellfell.",
            "Do you mean the one in Oskemere or the one in Velmere?",
        ],
    ),
    "KnowsSources": (
        {
            "expected": [
                "",
                "",
                "agent",
                "user",
                "barber",
                "certain",
                "guess",
                "taken back",
                "4 March",
                "derby",
                "",
            ],
            "asked": [
                "pick",
                "pick",
                "who",
                "who",
                "who",
                "sure",
                "sure",
                "sure",
                "when",
                "next",
                "own",
            ],
            "others": [
                ["Velabray", "Oskemont"],
                ["Tavaholt", "Pellfell"],
                ["barber", "vicar"],
                ["barber", "vicar"],
                ["vicar"],
                [],
                [],
                [],
                [],
                ["marathon"],
                [],
            ],
            "picks": [-1, -1, 0, -1, -1, -1, -1, -1, -1, -1, 1],
        },
        [
            "Velabray.",
            "I'd say Pellfell.",
            "That was my own tip.",
            "You told me.",
            "Your barber.",
            "It is certain.",
            "Only a rumour.",
            "It was certain at first, but you took it back.",
            "On 4 March.",
            "The derby.",
            "I picked Pellfell.",
        ],
    ),
    "LiesAt": (
        {"km": 3.0, "direction": "west", "places": ["lido", "opera"]},
        ["The opera is 3 km west of the lido."],
    ),
    "NamesUser": (
        {"expected": "Ivo", "former": ["Orla", "Bram"]},
        ["You were Orla, then Bram; now you are Ivo."],
    ),
    "ObeysOrders": (
        {
            "holding": [
                [["opens", "Tavaholt"], ["tag", "Velabray"]],
                [["closes", "Pellfell"]],
            ],
            "lapsed": [["Pellfell"], ["Velabray"]],
            "about": ["herons", "leeks"],
        },
        [
            "Tavaholt, the herons are back. #Velabray",
            "Fresh leeks for everybody. Pellfell.",
        ],
    ),
    "RecallsFacts": (
        {
            "expected": ["a bronze anchor", "forty-two steps"],
            "questions": ["What hangs above the door?", "How long is the staircase?"],
        },
        ["A bronze anchor hangs there.", "It has 42 steps."],
    ),
    "RecallsSteps": (
        {
            "expected": ["Press the green lever", "Wait for the whistle"],
            "questions": ["What is the second step?", "What comes last?"],
            "steps": [
                "Fill the tank",
                "Press the green lever",
                "Open the hatch",
                "Wait for the whistle",
            ],
        },
        ["Press the green lever.", "At the end you wait for the whistle."],
    ),
    "RecallsValue": (
        {"expected": "maple", "others": ["cedar", "birch"]},
        ["It is maple."],
    ),
    "RemindsInTime": (
        {
            "tasks": ["oil the weathervane", "prune the bonsai", "air the terrarium"],
            "due": [[30.0], [60.0, 120.0], []],
            "at": [0.0, 1.0, 2.0, 20.0, 32.0, 63.0, 90.0, 124.0, 130.0],
            "talked": [[0], [1], [2]],
        },
        [
            "Yes.",
            "Yes.",
            "Yes.",
            "Fine.",
            "Time to oil the weathervane!",
            "The bonsai needs pruning.",
            "Fine.",
            "Reminder: prune the bonsai.",
            "Fine.",
        ],
    ),
    "SaysAtEachTrigger": (
        {
            "sentence": "Soot is the shadow of a good fire.",
            "activations": 2,
            "controls": 2,
        },
        ["Soot is the shadow of a good fire."] * 2 + ["I see."] * 2,
    ),
    "SpeaksLanguage": (
        {
            "expected": ["fetuzmane", "kelzashu", ""],
            "told": ["tuzma", "tuzmane", "fetuzma", "kelza"],
            "forms": ["fetuzmane", "kelzashu", "tuzmashu"],
        },
        [
            "'my boat' is fetuzma, so it is fetuzmane.",
            "kelza-shu",
            "You have not taught me that.",
        ],
    ),
    "AnswersWithSources": (
        {
            "asked": ["name", "number"],
            "expected": [["Umbril"], ["260"]],
            "others": [["Sarvin", "Orlith"], []],
            "sources": [
                ["The Amber Almanac", "Letter from Harrow Lane"],
                ["The Ivory Handbook", "The Cobalt Register"],
            ],
            "superseded": [[], ["The Saffron Companion"]],
            "titles": [
                "The Amber Almanac",
                "Letter from Harrow Lane",
                "The Ivory Handbook",
                "The Cobalt Register",
                "The Saffron Companion",
                "Report of the Juniper Survey",
            ],
        },
        [
            "The Umbril, going by the Amber Almanac and the letter from Harrow Lane.",
            "120 and 140, so 260. Sources: Ivory Handbook, Cobalt Register, The Saffron Companion.",
        ],
    ),
    "KeepsWorldsApart": (
        {
            "expected": ["bark|woof", "5 days", "white"],
            "others": [["meow", "moo"], ["7"], ["green", "blue"]],
            "realms": ["Tavaholt|novel", "Tavaholt|novel", ""],
            "frames": ["Tavaholt|novel"],
        },
        [
            "They go woof there.",
            "A week has five days in Tavaholt.",
            "White, though green in your novel.",
        ],
    ),
    "WorksOut": (
        {
            "asked": ["number", "order", "set", "name"],
            "expected": [
                ["143"],
                ["Velmere", "Tavaholt", "Oskdun"],
                ["Pellwen", "Quenka"],
                ["Oskdun"],
            ],
            "others": [["20"], [], ["Velmere", "Oskdun"], ["Tavaholt"]],
        },
        [
            "In all that is £143.",
            "Velmere, then Tavaholt, then Oskdun.",
            "Pellwen and Quenka.",
            "Oskdun gave the most.",
        ],
    ),
}
"""Evaluators of scenarios without labelled replies: arguments, and correct answers."""


@pytest.fixture(scope="module")
def first() -> VerdictCheckReport:
    return check_verdicts(LABELLED / "scenarios.first.jsonl")


@pytest.mark.slow
def test_the_rules_keep_their_limits_on_the_replies_they_were_made_with(
    first: VerdictCheckReport,
) -> None:
    assert first.breaches() == []
    assert len(first.verdicts) == 583


@pytest.mark.slow
def test_no_scenario_is_far_behind(first: VerdictCheckReport) -> None:
    assert [
        kind
        for kind, counted in first.by_kind().items()
        if counted["right"] < 0.9 * counted["rows"]
    ] == []


@pytest.mark.slow
def test_replies_in_other_words_are_scored_as_they_should_be() -> None:
    found = check_verdicts(LABELLED / "unseen_replies" / "third.jsonl")

    wrong = [
        verdict for verdict in found.wrong_verdicts() if verdict.outcome != "undecided"
    ]
    assert [verdict.reply.rpartition(" | ")[2] for verdict in wrong] == ["'occhre'"]
    assert len(list(found.wrong_verdicts())) <= 6
    assert list(found.passed_mutants()) == []


def test_replies_of_new_kinds_are_right_or_open() -> None:
    found = check_verdicts(LABELLED / "unseen_replies" / "fourth.jsonl")

    assert {verdict.outcome for verdict in found.wrong_verdicts()} == {"undecided"}
    assert len(list(found.wrong_verdicts())) <= 12
    assert list(found.passed_mutants()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_right_answers_pass_and_mutants_do_not(name: str) -> None:
    args, answers = OTHERS[name]
    mutants = list(
        mutants_of_scenario({"scenario": name, "evaluator": name, "args": args})
    )

    assert bounds_of(evaluator_of(name, args), answers)[0] == 1
    assert mutants
    assert [str(mutant) for mutant in mutants if mutant.passes] == []


def test_what_a_list_of_everything_denies_is_not_told() -> None:
    args, answers = OTHERS["ForgetsOnRequest"]
    told, denied = (
        [*answers[:-1], said]
        for said in ("I know of Pellfell.", "It was not Pellfell.")
    )
    evaluator = evaluator_of("ForgetsOnRequest", args)
    assert bounds_of(evaluator, told)[0] == 1
    assert bounds_of(evaluator, denied)[0] == 0


@pytest.mark.slow
def test_every_evaluator_has_mutants(first: VerdictCheckReport) -> None:
    made = {mutant.kind for mutant in first.mutants}

    assert len(made) == len(first.by_kind())
    functions = {
        "notices_mix_up",
        "orders_dish",
        "orders_drink",
        "read_order",
        "recalls_drink",
    }
    metrics = {
        name
        for name in evaluators.__all__
        if getattr(evaluators, name).__module__.endswith("._benchmarks")
    }
    parts = {"Menu", "Order", "Stage"}
    labelled = {
        "AnswersWord",
        "DecodesMessages",
        "LeadsTo",
        "ListsItems",
        "ListsNames",
        "NamesColour",
        "PicksOption",
        "PlaysGuest",
        "QuoteAtReply",
        "RecallsJoke",
    }
    assert set(evaluators.__all__) == {*functions, *metrics, *parts, *labelled, *OTHERS}


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        (
            "NamesColour",
            {"expected": "teal"},
            ["You liked red.", "So your favourite is teal now.", "You left blue."],
        ),
        (
            "NamesUser",
            {"expected": "Ivo", "former": ["Orla"]},
            ["You were Orla.", "From now on you are Ivo."],
        ),
        (
            "RecallsJoke",
            {"joke": "Snails ask for slow loans.", "others": []},
            ["Snails ask for slow loans."],
        ),
        (
            "DecodesMessages",
            {"expected": [["noon"], ["quarry"], ["rope"]]},
            ["At noon.", "The quarry.", "A rope."],
        ),
        (
            "LeadsTo",
            {"start": "lido", "route": [[2, "north", "opera"], [1, "east", "zoo"]]},
            [
                "The opera is 2 km north of the lido.",
                "From the opera go 1 km east to the zoo.",
            ],
        ),
    ],
)
def test_what_is_buried_in_a_recitation_is_no_answer(
    name: str, args: Mapping[str, Any], told: list[str]
) -> None:
    small_talk = [f"The number {n} bus was late again." for n in range(40)]
    evaluator = evaluator_of(name, args)

    assert bounds_of(evaluator, ["\n".join(told)])[0] == 1
    assert (
        bounds_of(evaluator, ["\n".join([*small_talk[:20], *told, *small_talk[20:]])])[
            0
        ]
        == 0
    )
    assert bounds_of(evaluator, ["\n".join([*small_talk, *told])])[0] == 1


@pytest.mark.parametrize(
    ("name", "args", "told", "honest"),
    [
        (
            "NamesColour",
            {"expected": "teal"},
            "I prefer red to every other colour. My favourite colour is teal.",
            'You said "I prefer red to every other colour" first; now your favourite is teal.',
        ),
        (
            "NamesUser",
            {"expected": "Ivo", "former": ["Orla"]},
            "You may call me Orla. I have changed my name to Ivo.",
            "I noted both names. You were Orla; now you are Ivo.",
        ),
        (
            "ListsNames",
            {"expected": ["Orla", "Ivo"]},
            "By the way, people call me Orla. I go by the name of Ivo now.",
            "I think that it was Orla first, and I remember that it is Ivo now.",
        ),
        (
            "ListsItems",
            {"expected": [["kite", 3], ["rope", 2]]},
            "Write three kites on my list, please. Please put two ropes on my shopping list.",
            "I have counted them again: three kites and two ropes. Shall I add anything?",
        ),
        (
            "LeadsTo",
            {"start": "lido", "route": [[2, "north", "opera"]]},
            "I am watching a play. Please put a kite on my list. The opera is 2 km north of the lido. My cat is late.",
            "I hope that I have got it right: go 2 km north to the opera. Please tell me if it is wrong.",
        ),
        (
            "RecallsValue",
            {"expected": "maple", "others": ["cedar"]},
            "Please put this into the register: oak holds maple. Please put this there: elm holds ash.",
            "I looked it up, and it is maple. Please let me know if I can help.",
        ),
        (
            "RecallsFacts",
            {
                "expected": ["a bronze anchor"],
                "questions": ["What hangs above the door?"],
            },
            "I keep a diary. Please keep this for me: a bronze anchor hangs above the door. Q: What is my name?",
            "I remember that: it is a bronze anchor. Do you need anything else?",
        ),
    ],
)
def test_messages_repeated_in_the_words_of_the_user_are_no_answer(
    name: str, args: Mapping[str, Any], told: str, honest: str
) -> None:
    evaluator = evaluator_of(name, args)

    assert bounds_of(evaluator, [told])[0] == 0
    assert bounds_of(evaluator, [honest])[0] == 1


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("NamesColour", {"expected": "teal"}, "red \u2192 ochre \u2192 **teal**"),
        (
            "NamesColour",
            {"expected": "teal"},
            "Teal (I nearly said red, but that was before)",
        ),
        (
            "LeadsTo",
            {"start": "lido", "route": [[2, "north", "opera"], [1, "east", "zoo"]]},
            "N2, E1 (all in km).",
        ),
        (
            "LeadsTo",
            {"start": "lido", "route": [[2, "north", "opera"], [1, "east", "zoo"]]},
            "1) 2 km north: opera\n2) 1 km east: zoo\n(As the crow flies it would be 1 km east and 2 km north.)",
        ),
        (
            "ListsItems",
            {"expected": [["kite", 3], ["rope", 2], ["bell", 1]]},
            "kite - 3 / rope - 2 / bell - 1",
        ),
        (
            "ListsItems",
            {"expected": [["kite", 3], ["rope", 2]]},
            '{"item": "kite", "quantity": 3}\n{"item": "rope", "quantity": 2}',
        ),
        (
            "AnswersWord",
            {"expected": "vase", "others": ["drawer"]},
            "Hm, drawer? No: the ring went to the drawer after Ada had left. Vase it is.",
        ),
        (
            "DecodesMessages",
            {"expected": [["April Fool", "1 April"], ["mill"], ["rope"]]},
            "On the first of April, at the mill, with a rope.",
        ),
        (
            "DecodesMessages",
            {"expected": [["Halloween", "31 October"], ["lighthouse"], ["rope"]]},
            "The thirty-first of October, by the light house, with a rope.",
        ),
        (
            "DecodesMessages",
            {"expected": [["Christmas Eve", "24 December"], ["mill"], ["rope"]]},
            "At the mill on December the twenty fourth with a rope.",
        ),
        (
            "LiesAt",
            {"km": 3.0, "direction": "west", "places": ["lido", "opera"]},
            "You go 1 km west and then 2 km west, so the opera is 3 km west of the lido.",
        ),
        (
            "LiesAt",
            {"km": 3.0, "direction": "west", "places": ["lido", "opera"]},
            "5 km west - 2 km east = 3 km west",
        ),
        (
            "AppliesRule",
            {"expected": ["the lamp"], "offered": [["the lamp", "the rug"]]},
            "I'd pick the lamp over the rug.",
        ),
        (
            "KnowsCurrentFacts",
            {
                "expected": ["at the bakery"],
                "mentioned": [["at the dairy", "in a harbour office"]],
            },
            "First in a harbour office, then at the dairy, and now at the bakery.",
        ),
        (
            "KnowsCurrentFacts",
            {"expected": ["12 hens"], "mentioned": [["4 hens"]]},
            "12 hens, 4 hens at first.",
        ),
    ],
)
def test_short_forms_are_read(name: str, args: Mapping[str, Any], told: str) -> None:
    assert bounds_of(evaluator_of(name, args), [told])[0] == 1


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        (
            "LiesAt",
            {"km": 3.0, "direction": "west"},
            "You go 3 km west, and then 1 km west, so it is 4 km west.",
        ),
        (
            "AppliesRule",
            {"expected": ["the lamp"], "offered": [["the lamp", "the rug"]]},
            "I'd pick the rug over the lamp.",
        ),
        (
            "KnowsCurrentFacts",
            {"expected": ["at the bakery"], "mentioned": [["at the dairy"]]},
            "At the bakery, and now at the dairy.",
        ),
        (
            "KnowsCurrentFacts",
            {"expected": ["at the bakery"], "mentioned": [["at the dairy"]]},
            "Now at the bakery, now at the dairy.",
        ),
    ],
)
def test_what_only_looks_like_the_answer_is_none(
    name: str, args: Mapping[str, Any], told: str
) -> None:
    assert bounds_of(evaluator_of(name, args), [told])[0] == 0


def test_a_list_of_everything_is_no_answer() -> None:
    things = ["lantern", "harbour", "violet", "anchor", "chimney", "bronze", "teapot"]
    facts = evaluator_of("RecallsFacts", OTHERS["RecallsFacts"][0])
    joke = evaluator_of(
        "RecallsJoke",
        {"joke": "The violet anchor had a teapot for a harbour.", "others": []},
    )
    spy = evaluator_of(
        "DecodesMessages", {"expected": [["harbour"], ["lantern"], ["teapot"]]}
    )

    assert bounds_of(facts, [", ".join(things), "It has 42 steps."])[0] == 0.5
    assert (
        bounds_of(
            facts, ["A bronze anchor, with a lantern, hangs there", "It has 42 steps."]
        )[0]
        == 1
    )
    assert bounds_of(joke, [", ".join([*things] * 7)])[0] == 0
    assert bounds_of(spy, [", ".join([*things] * 7)])[0] == 0


def test_the_number_of_a_step_counts_only_beside_another_right_answer() -> None:
    args = {
        "expected": ["chalk", "4"],
        "questions": [
            "What goes on the rollers?",
            "Which number has the step in which you close the hatch?",
        ],
    }
    steps = evaluator_of("RecallsSteps", args)

    assert bounds_of(steps, ["No idea.", "4"])[0] == 0
    assert bounds_of(steps, ["chalk", "5"])[0] == 0.5
    assert bounds_of(steps, ["chalk", "4"])[0] == 1
    assert (
        bounds_of(
            evaluator_of(
                "RecallsSteps", {key: value[1:] for key, value in args.items()}
            ),
            ["4"],
        )[0]
        == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["scenarios.second", "hygiene.second", "answers.second"]
)
def test_no_dress_changes_a_verdict(name: str, tmp_path: Path) -> None:
    rows = (LABELLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    sample = tmp_path / "sample.jsonl"
    sample.write_text("\n".join(rows[:: len(rows) // 12]), encoding="utf-8")

    assert check_verdicts(sample, dressed=True).changes == []


def test_evidence_is_a_text_that_the_journal_can_write() -> None:
    assert type(evidence_snippet(ToldReply("Teal.", ("I like teal.",)))) is str

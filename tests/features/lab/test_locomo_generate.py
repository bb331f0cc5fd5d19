"""`data locomo-generate`: its output, which our loader reads without warnings, and its refusals."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import scripted_author
from chat_server import ChatServer, refuses
from locomo_solver import Solver, agrees

from pytest_ltm.commands import main
from pytest_ltm.datasets.locomo.samples import Category, load_locomo
from pytest_ltm.lab.commands.dataset_stats import locomo_stats
from pytest_ltm.lab.locomo import Size, generate_conversation
from pytest_ltm.lab.locomo.dialogue import of_tokens, tokens_of
from pytest_ltm.lab.locomo.model_text import question_fault
from pytest_ltm.lab.locomo.world import phrase_meaning

Capture = pytest.CaptureFixture[str]
TOLD = date(2023, 6, 14)  # a Wednesday


def generated(path: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["data", "locomo-generate", "-o", str(path), *words]) == 0
    found: list[dict[str, Any]] = json.loads(path.read_bytes())
    return found


@pytest.mark.slow
def test_the_file_has_the_schema_and_nothing_to_remark(tmp_path: Path) -> None:
    records = generated(tmp_path / "new.json", "--conversations", "2", "--seed", "5")
    data = load_locomo(tmp_path / "new.json")

    assert [sample.notes for sample in data.samples] == [(), ()]
    assert [len(sample.turns) for sample in data.samples] == [588, 588]
    assert set(records[0]) == {
        "qa",
        "conversation",
        "event_summary",
        "observation",
        "session_summary",
        "sample_id",
    }
    assert all(
        question.evidence == question.cited
        for sample in data.samples
        for question in sample.questions
    )
    assert all(
        sample.events and sample.observations and len(sample.summaries) == 27
        for sample in data.samples
    )


def test_the_categories_have_the_shares_of_the_published_file(tmp_path: Path) -> None:
    (record,) = generated(tmp_path / "new.json")
    counts = Counter(Category(one["category"]).label for one in record["qa"])

    assert counts == {
        "multi-hop": 27,
        "temporal": 31,
        "open-domain": 10,
        "single-hop": 83,
        "adversarial": 45,
    }


def test_only_adversarial_questions_have_an_adversarial_answer(tmp_path: Path) -> None:
    (record,) = generated(tmp_path / "new.json")

    for one in record["qa"]:
        assert (
            ("adversarial_answer" in one)
            == (one["category"] == Category.ADVERSARIAL)
            == ("answer" not in one)
        )


def test_a_conversation_does_not_depend_on_how_many_are_made(tmp_path: Path) -> None:
    few = generated(tmp_path / "few.json", "--turns", "60")
    more = generated(tmp_path / "more.json", "--turns", "60", "--conversations", "3")

    assert more[:1] == few
    assert len({json.dumps(one["conversation"]) for one in more}) == 3


def test_the_graph_of_a_file_has_its_events_with_their_causes(tmp_path: Path) -> None:
    (record,) = generated(
        tmp_path / "new.json", "--turns", "200", "--graph", str(tmp_path / "graph.json")
    )
    (graph,) = json.loads((tmp_path / "graph.json").read_bytes())
    told = [
        text
        for one in record["event_summary"].values()
        for who in graph["speakers"]
        for text in one[who]
    ]
    ids = {event["id"] for event in graph["events"]}

    assert graph["sample_id"] == record["sample_id"]
    assert len(told) == sum("on" in event for event in graph["events"])
    assert {
        cause for event in graph["events"] for cause in event.get("causes", ())
    } < ids


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [1_000, 20_000])
def test_a_length_in_tokens_is_met_within_a_few_percent(tokens: int) -> None:
    size = of_tokens(tokens, None, random.Random(3))

    assert tokens_of(
        generate_conversation("x", size, random.Random(3))
    ) == pytest.approx(tokens, rel=0.05)


@pytest.mark.parametrize(
    ("words", "gold"),
    [
        ("yesterday", "13 June 2023"),
        ("two days ago", "12 June 2023"),
        ("last Friday", "9 June 2023"),
        ("last Wednesday", "7 June 2023"),
        ("last week", "The week before 14 June 2023"),
        ("last weekend", "The weekend before 14 June 2023"),
        ("last month", "May 2023"),
        ("next month", "July 2023"),
        ("on 20 December", "20 December 2022"),
    ],
)
def test_a_date_as_people_say_it_means_one_gold(words: str, gold: str) -> None:
    assert phrase_meaning(words, TOLD) == gold


@pytest.mark.parametrize(
    ("day", "gold", "held"),
    [
        (date(2023, 6, 5), "The week before 14 June 2023", True),
        (date(2023, 6, 12), "The week before 14 June 2023", False),
        (date(2023, 6, 11), "The weekend before 14 June 2023", True),
        (date(2023, 6, 9), "The weekend before 14 June 2023", False),
        (date(2023, 5, 31), "May 2023", True),
        (date(2023, 5, 31), "1 June 2023", False),
    ],
)
def test_a_day_agrees_with_the_period_that_holds_it(
    day: date, gold: str, held: bool
) -> None:
    assert agrees(day, gold) is held


def test_the_solver_notices_a_wrong_gold_and_knows_no_strange_question() -> None:
    made = generate_conversation("x", Size(), random.Random(1))
    solver = Solver(made.world)
    right = next(
        question
        for question in made.questions
        if question.category is Category.SINGLE_HOP
    )

    assert agrees(solver.answer(right.text), right.gold)
    assert not agrees(solver.answer(right.text), "something else")
    with pytest.raises(ValueError, match="no known form"):
        solver.answer("Who let the dogs out?")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--turns", "10", "--sessions", "3"],
            "10 turns cannot be shared among 3 sessions",
        ),
        (["--conversations", "0"], "--conversations: expected 1 or more, got 0"),
        (["--tokens", "500", "--turns", "20"], "Give one of them"),
        (["--sessions", "-1"], "--sessions: expected 1 or more, got -1"),
        (["--questions", "-1"], "cannot make -1 questions"),
        (["--model", "nowhere.at:all"], "--model 'nowhere.at:all'"),
        (["--model", "json:decoder"], "is not a function from a prompt to a text"),
        (
            ["--model", "openai:any", "--tokens", "900"],
            "a model's are counted by --turns",
        ),
        (["--personas", "two.json"], "--personas needs --model: templates have others"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, capsys: Capture, words: list[str], told: str
) -> None:
    assert (
        main(["data", "locomo-generate", "-o", str(tmp_path / "new.json"), *words]) == 2
    )
    assert told in capsys.readouterr().err
    assert not (tmp_path / "new.json").exists()


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert (
        main(["data", "locomo-generate", "-o", str(tmp_path / "no" / "new.json")]) == 2
    )
    assert "its folder does not exist" in capsys.readouterr().err


BY_MODEL = (
    "--model",
    "scripted_author:write",
    "--sessions",
    "3",
    "--turns",
    "30",
    "--questions",
    "12",
)


def test_a_model_writes_a_conversation_that_loads(
    tmp_path: Path, capsys: Capture
) -> None:
    generated(tmp_path / "new.json", *BY_MODEL)
    (sample,) = load_locomo(tmp_path / "new.json").samples
    told = capsys.readouterr().err

    assert sample.notes == ()
    assert len(sample.turns) == 30
    assert {question.category for question in sample.questions} == set(Category)
    assert len(sample.questions) == 15
    assert "6 that did not hold were dropped" in told
    assert "scripted_author:write: 16 calls" in told


@pytest.mark.slow
def test_a_chat_model_is_asked_over_the_network_and_its_tokens_are_counted(
    tmp_path: Path, capsys: Capture, chat_server: ChatServer
) -> None:
    chat_server.default = lambda asked: scripted_author.write(asked.last)
    chat_server.next(refuses(429, retry_after=0))
    spec = f"openai:any@{chat_server.url}"
    words = [*BY_MODEL[2:], "--model", spec]

    assert generated(tmp_path / "served.json", *words) == generated(
        tmp_path / "rote.json", *BY_MODEL
    )
    assert len(chat_server.requests) == 17
    assert re.search(
        r"16 calls, \d+ input tokens, \d+ output tokens", capsys.readouterr().err
    )


def test_a_file_that_was_begun_is_carried_on(tmp_path: Path, capsys: Capture) -> None:
    first = generated(tmp_path / "new.json", *BY_MODEL)
    both = generated(tmp_path / "new.json", *BY_MODEL, "--conversations", "2")

    assert both[:1] == first
    assert [one["sample_id"] for one in both] == ["gen-0-1", "gen-0-2"]
    assert "gen-0-1: is in" in capsys.readouterr().err


def test_a_models_events_are_a_graph_with_their_causes(tmp_path: Path) -> None:
    generated(tmp_path / "new.json", *BY_MODEL, "--graph", str(tmp_path / "graph.json"))
    [graph] = json.loads((tmp_path / "graph.json").read_bytes())
    ids = {event["id"] for event in graph["events"]}

    assert graph["sample_id"] == "gen-0-1"
    assert (
        {event["who"] for event in graph["events"]}
        == set(graph["speakers"])
        == set(graph["personas"])
    )
    assert len(ids) == len(graph["events"])
    caused = [event for event in graph["events"] if event.get("causes")]
    assert caused
    assert all(cause in ids for event in caused for cause in event["causes"])


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> tuple[str, str]:
    """Write a graph, change it, and return the options to write another conversation from it."""
    generated(path / "first.json", *BY_MODEL, "--graph", str(path / "graph.json"))
    [graph] = json.loads((path / "graph.json").read_bytes())
    change(graph)
    (path / "graph.json").write_text(json.dumps([graph]), "utf-8")
    return "--graph", str(path / "graph.json")


def test_a_graph_that_was_edited_by_hand_is_what_the_sessions_are_written_from(
    tmp_path: Path,
) -> None:
    def rename(graph: dict[str, Any]) -> None:
        graph["events"][0]["event"] = "The kite Moss was torn."

    [record] = generated(tmp_path / "new.json", *BY_MODEL, *edited(tmp_path, rename))
    told = [
        text
        for one in record["event_summary"].values()
        for texts in one.values()
        for text in texts
    ]
    [graph] = json.loads((tmp_path / "graph.json").read_bytes())

    assert "The kite Moss was torn." in told
    assert graph["events"][0]["event"] == "The kite Moss was torn."
    assert [event["id"].count("/") for event in graph["events"]] == [1] * len(
        graph["events"]
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda graph: graph.update(speakers=["Ada"]),
            "Expected `array` of length 2, got 1 - at `$.speakers`",
        ),
        (
            lambda graph: graph.update(speakers=["Ada", "Ada"]),
            "`speakers` must be two different names",
        ),
        (
            lambda graph: graph["events"][0].update(who="Nobody"),
            "an event is not about one of the two",
        ),
        (
            lambda graph: graph["events"][0].update(on="someday"),
            "Invalid RFC3339 encoded date - at `$.events[0].on`",
        ),
        (
            lambda graph: graph["events"][0].update(on="1999-01-01"),
            "is before the one above it, or not in the months",
        ),
        (
            lambda graph: graph["events"][1].update(causes=["e99"]),
            "are not ids of earlier events",
        ),
        (
            lambda graph: graph["events"][1].update(causes="e1"),
            "Expected `array`, got `str` - at `$.events[1].causes`",
        ),
        (
            lambda graph: graph["events"][0].pop("event"),
            "missing required field `event` - at `$.events[0]`",
        ),
        (lambda graph: graph.update(events={}), "got `object` - at `$.events`"),
        (lambda graph: graph.update(events=[]), "no event is about"),
        (lambda graph: graph.update(personas=[]), "got `array` - at `$.personas`"),
    ],
)
def test_a_graph_that_no_longer_holds_is_refused_with_its_place(
    tmp_path: Path,
    capsys: Capture,
    change: Callable[[dict[str, Any]], object],
    why: str,
) -> None:
    words = edited(tmp_path, change)
    before = (tmp_path / "graph.json").read_bytes()

    assert (
        main(
            [
                "data",
                "locomo-generate",
                "-o",
                str(tmp_path / "new.json"),
                *BY_MODEL,
                *words,
            ]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert "graph.json: the graph of gen-0-1 cannot be used" in said
    assert why in said
    assert (tmp_path / "graph.json").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "cannot be continued"),
        ("[" * 5000, "cannot be continued"),
        ("[3]", "is not a list of event graphs"),
    ],
    ids=["torn", "deep", "numbers"],
)
def test_a_file_that_is_not_of_graphs_is_left_alone(
    tmp_path: Path, capsys: Capture, text: str, why: str
) -> None:
    (tmp_path / "graph.json").write_text(text, "utf-8")
    words = [*BY_MODEL, "--graph", str(tmp_path / "graph.json")]

    assert (
        main(["data", "locomo-generate", "-o", str(tmp_path / "new.json"), *words]) == 2
    )
    assert why in capsys.readouterr().err
    assert (tmp_path / "graph.json").read_text("utf-8") == text


def test_personas_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "two.yml").write_text(
        "- {name: Runa, about: Mends nets.}\n- {name: Timo, about: Bakes.}\n", "utf-8"
    )
    words = [
        "--personas",
        str(tmp_path / "two.yml"),
        "--graph",
        str(tmp_path / "graph.json"),
    ]
    [record] = generated(tmp_path / "new.json", *BY_MODEL, *words)
    [graph] = json.loads((tmp_path / "graph.json").read_bytes())

    assert (
        record["conversation"]["speaker_a"],
        record["conversation"]["speaker_b"],
    ) == ("Runa", "Timo")
    assert graph["personas"]["Runa"] == {"name": "Runa", "about": "Mends nets."}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "expected two personas with different names, got 0"),
        (
            "- {name: Runa, about: A.}\n- {name: Runa, about: B.}",
            "expected two personas with different names",
        ),
        ("- {name: Runa}", "two.yml:1: [0]: the field 'about' is missing"),
        ("- {about: A.}", "the field 'name' is missing"),
        ("- Runa", "expected a mapping"),
        ("name: Runa", "expected a list of two personas"),
        ("- [", "not usable YAML"),
    ],
)
def test_personas_that_cannot_be_used_are_refused(
    tmp_path: Path, capsys: Capture, text: str, why: str
) -> None:
    (tmp_path / "two.yml").write_text(text, "utf-8")
    words = [*BY_MODEL, "--personas", str(tmp_path / "two.yml")]

    assert (
        main(["data", "locomo-generate", "-o", str(tmp_path / "new.json"), *words]) == 2
    )
    assert why in capsys.readouterr().err


def test_each_speaker_remembers_what_they_told_and_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []
    rote = scripted_author.write

    def listening(prompt: str) -> str:
        prompts.append(prompt)
        return rote(prompt)

    monkeypatch.setattr(scripted_author, "write", listening)
    [record] = generated(tmp_path / "new.json", *BY_MODEL, "--turn-by-turn")
    one, two = record["conversation"]["speaker_a"], record["conversation"]["speaker_b"]
    reflections = [
        prompt for prompt in prompts if ", reflect on what you will remember" in prompt
    ]

    assert [
        who
        for prompt in reflections
        for who in (one, two)
        if f"you, {who}, reflect" in prompt
    ] == [one, two] * 3
    for observed in record["observation"].values():
        said = {
            turn["dia_id"]: turn["speaker"]
            for part in record["conversation"].values()
            if isinstance(part, list)
            for turn in part
        }
        assert all(
            said[cited] == who for who, notes in observed.items() for _, cited in notes
        )


def test_turns_are_as_long_and_as_often_with_photos_as_published(
    tmp_path: Path,
) -> None:
    records = generated(
        tmp_path / "new.json", "--conversations", "4", "--questions", "0"
    )
    samples = load_locomo(tmp_path / "new.json").samples
    figures = locomo_stats(samples)

    assert len(records) == 4
    assert 15_800 < float(figures["tokens a conversation"].replace(",", "")) < 17_500
    assert 18 <= float(figures["words a turn, median"]) <= 23
    assert 105 < float(figures["photos a conversation"]) < 140


def test_a_model_is_told_what_was_wrong_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []
    rote = scripted_author.write

    def stumbling(prompt: str) -> str:
        prompts.append(prompt)
        return "Sure!" if len(prompts) == 1 else rote(prompt)

    monkeypatch.setattr(scripted_author, "write", stumbling)
    generated(tmp_path / "new.json", *BY_MODEL)

    assert "It cannot be used: it is not one JSON value" in prompts[1]


def test_a_model_that_never_gets_it_right_ends_in_a_sentence(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted_author, "write", lambda _: "[]")

    assert (
        main(["data", "locomo-generate", "-o", str(tmp_path / "new.json"), *BY_MODEL])
        == 2
    )
    assert "no usable answer in 3 tries" in capsys.readouterr().err


TURNS = {
    "D1:1": {"speaker": "Ada", "text": "I keep two goats."},
    "D1:2": {"speaker": "Bo", "text": "My boat is red."},
    "D2:1": {"speaker": "Ada", "text": "The older of my two goats is called Moss."},
}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"category": "hard"}, "has no category"),
        ({"answer": ""}, "at `$.answer`"),
        ({"evidence": "D1:2"}, "at `$.evidence`"),
        ({"evidence": ["D9:9"]}, "cites evidence that does not exist"),
        ({"question": "What is the boat like?"}, "names neither speaker"),
        ({"answer": "green"}, "that its evidence does not hold"),
        ({"question": "Is the boat of Bo red?"}, "gives its answer away"),
        (
            {
                "question": "What does Ada keep?",
                "answer": "two goats",
                "evidence": ["D1:1"],
            },
            "answered without its evidence",
        ),
        ({"category": "multi-hop"}, "multi-hop with one turn"),
        ({"category": "temporal"}, "not a date"),
        ({"category": "adversarial"}, "its evidence is said by Bo"),
        (
            {"category": "adversarial", "question": "What colour is the boat of Ada?"},
            "",
        ),
    ],
)
def test_a_question_must_hold(changes: dict[str, Any], why: str) -> None:
    good = {
        "category": "single-hop",
        "question": "What colour is Bo's boat?",
        "answer": "red",
        "evidence": ["D1:2"],
    }
    found = question_fault({**good, **changes}, TURNS, ("Ada", "Bo"), ())

    assert why in found if why else found == ""

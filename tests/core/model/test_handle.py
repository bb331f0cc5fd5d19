"""The handle through which scenarios speak, and the sheet that records their score."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.model.handle import METHOD_ALIASES, Ltm, Sheet
from pytest_ltm._core.model.scenario import Ask, Definition, Request, Say, Wait, Watch
from pytest_ltm._core.model.score import Check, Score, Unscored
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.errors import ScenarioError

TYPE_CHECK = pytest.mark.nightly(
    "starts a type checker: it has its turn within days", every=4
)

PASSED, FAILED = Check("it is so", ok=True), Check("it is not so", ok=False)


class Recorder:
    """Receives the handle's requests and answers them."""

    def __init__(self, answer: str = "ok") -> None:
        self.requests: list[Request] = []
        self.answer = answer

    def __call__(self, request: Request) -> str:
        self.requests.append(request)
        return self.answer


def handle(send: Any = None, **options: Any) -> Ltm:
    return Ltm(
        send or Recorder(),
        **{
            "now": lambda: START,
            "example": 0,
            "span": 2000,
            "rng": lambda: random.Random(0),
            **options,
        },
    )


# --- missing attributes


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tell", "say"),
        ("sleep", "wait"),
        ("question", "ask"),
        ("asks", "ask"),
        ("chek", "check"),
        ("rng", "random"),
    ],
)
def test_a_name_that_there_is_not_says_which_is_meant(name: str, meant: str) -> None:
    with pytest.raises(
        AttributeError,
        match=rf"ltm has no '{name}'\. Did you mean '{meant}'\? It has ask, .*example",
    ):
        getattr(handle(), name)


def test_all_names_that_others_use_mean_something_that_there_is() -> None:
    assert all(
        hasattr(handle(definition=Definition(steps=())), name)
        for name in METHOD_ALIASES.values()
    )
    assert not any(hasattr(Ltm, name) for name in METHOD_ALIASES)


def test_a_wait_says_what_it_counts() -> None:
    with pytest.raises(
        ScenarioError,
        match=r"ltm\.wait\(1\) does not say what it counts\. Write ltm\.wait\(tokens=",
    ):
        handle().wait(1)  # type: ignore[arg-type]


# --- speaking


def test_say_and_ask_return_the_reply() -> None:
    send = Recorder("Teal.")
    assert handle(send).say("Hello") == "Teal."
    assert handle(send).ask("Which?") == "Teal."
    assert send.requests == [Say("Hello"), Ask("Which?")]


@pytest.mark.parametrize("about", ["one", ["one"], ("one",), iter(["one"])])
def test_a_question_may_say_what_it_is_about(about: Any) -> None:
    send = Recorder()
    handle(send).ask("Which?", about=about)
    assert send.requests == [Ask("Which?", ("one",))]


def test_a_wait_takes_any_way_to_write_a_duration() -> None:
    send = Recorder()
    handle(send).wait(span=0.5, tokens=10, time="1h 30m")
    assert send.requests == [Wait(span=0.5, tokens=10, time=timedelta(minutes=90))]


def test_a_wait_backwards_is_refused_before_anybody_hears_of_it() -> None:
    send = Recorder()
    for conditions in (
        {"tokens": -1},
        {"span": -0.5},
        {"time": -1},
        {"time": timedelta(-1)},
    ):
        with pytest.raises(ScenarioError, match="cannot wait backwards"):
            handle(send).wait(**conditions)
    assert send.requests == []


def test_a_watcher_is_handed_over() -> None:
    def watcher(_: object) -> None:
        return None

    send = Recorder()
    handle(send).watch(watcher, replies=3)
    handle(send).watch(watcher)
    assert send.requests == [Watch(watcher, 3), Watch(watcher, None)]


def test_play_performs_the_steps_in_order_and_returns_the_answers() -> None:
    steps = (Say("one"), Wait(span=0.5), Ask("two"), Say("three"), Ask("four"))
    send = Recorder("Teal.")
    assert handle(send).play(Definition(steps=steps)) == ["Teal.", "Teal."]
    assert tuple(send.requests) == steps
    assert handle(send).play(iter(steps[:1])) == []


@pytest.mark.parametrize("step", ["just a text", Watch(lambda _: None), None])
def test_play_refuses_what_is_no_step(step: Any) -> None:
    with pytest.raises(ScenarioError) as caught:
        handle().play([step])
    assert str(caught.value) == f"play() performs Say, Ask and Wait, not {step!r}"


def test_the_handle_tells_where_and_when_it_is() -> None:
    ltm = handle(example="7", span=None)
    assert (ltm.example, ltm.span, ltm.now) == ("7", None, START)


def test_the_handle_has_a_generator_of_its_own() -> None:
    assert (
        handle(rng=lambda: random.Random(7)).random.random()
        == random.Random(7).random()
    )


def test_a_missing_definition_says_how_to_give_one() -> None:
    with pytest.raises(
        ScenarioError,
        match=r"no definition\. Give it one: @pytest\.mark\.ltm\(generate=f\)",
    ):
        _ = handle().definition
    definition = Definition(steps=(Ask("x"),))
    assert handle(definition=definition).definition is definition


# --- notes


def test_a_check_returns_whether_it_holds_and_is_noted() -> None:
    ltm = handle()
    assert ltm.check("it is so", re.search("o", "so")) is True
    assert ltm.check("it is not so", re.search("x", "so")) is False
    assert ltm.sheet.checks == [PASSED, FAILED]


@pytest.mark.parametrize("answer", ["I do not know.", "", 1, [1], (), 0.5])
def test_a_check_refuses_what_would_be_true_of_any_answer(answer: Any) -> None:
    ltm = handle()
    with pytest.raises(
        ScenarioError,
        match=rf"needs True or False, not {type(answer).__name__}\. Write a comparison",
    ):
        ltm.check("knows the cat", answer)
    assert ltm.sheet.checks == []


def test_a_check_refuses_its_arguments_in_the_wrong_order() -> None:
    swapped: Any = "knows the cat"
    with pytest.raises(
        ScenarioError,
        match=r"ltm\.check\(False, \.\.\.\): the label comes first, as in",
    ):
        handle().check(swapped == "Kelvin", swapped)


@TYPE_CHECK
@pytest.mark.slow
def test_a_type_checker_refuses_a_misspelt_name_and_sees_what_follows(
    tmp_path: Path,
) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "test_cat.py").write_text(
        "from pytest_ltm import Ltm\ndef test_cat(ltm: Ltm) -> None:\n    ltm.chek('x', True)\n    ltm.say(3)\n"
    )
    words = [
        "-m",
        "mypy",
        str(tmp_path),
        "--cache-dir",
        str(tmp_path / "cache"),
        "--follow-imports=silent",
    ]
    # In its own process: mypy raises Python's recursion limit permanently, and other
    # tests rely on that limit.
    printed = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False
    ).stdout
    assert '"Ltm" has no attribute "chek"; maybe "check"?' in printed
    assert 'Argument 1 to "say" of "Ltm" has incompatible type "int"' in printed


@pytest.mark.parametrize("value", [0, 1, 0.25, True])
def test_a_score_is_a_number_from_zero_to_one(value: float) -> None:
    ltm = handle()
    ltm.score(value, "for a reason")
    assert ltm.sheet.said == Score(float(value), "for a reason")


@pytest.mark.parametrize(
    "verdict", [Score(0.5, "half", rule="x/1"), Unscored("nobody could tell")]
)
def test_a_verdict_is_taken_as_it_is(verdict: Score | Unscored) -> None:
    ltm = handle()
    ltm.score(verdict)
    assert ltm.sheet.said is verdict


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), None, "much", [1]])
def test_what_is_no_score_is_refused(value: Any) -> None:
    with pytest.raises(ScenarioError) as caught:
        handle().score(value)
    assert str(caught.value) == f"ltm.score({value!r}): a score is a number from 0 to 1"


def test_nobody_scores_twice() -> None:
    ltm = handle()
    ltm.score(0.5, "half")
    with pytest.raises(
        ScenarioError,
        match=r"scored twice: Score\(value=0.5, .* then 0.7\. Use check\(\) for parts",
    ):
        ltm.score(0.7)


# --- the sheet


def verdict(
    sheet: Sheet, *watched: Score | Unscored, threshold: float = 1.0
) -> Score | Unscored:
    return sheet.verdict(watched, threshold=threshold)


def test_who_noted_nothing_and_failed_nowhere_has_full_marks() -> None:
    assert verdict(Sheet()) == Score(1.0, "no assertion failed")


def test_the_score_is_the_share_of_the_checks_passed() -> None:
    assert verdict(Sheet([PASSED, FAILED, PASSED, PASSED])) == Score(
        0.75, "failed: it is not so", checks=(PASSED, FAILED, PASSED, PASSED)
    )


def test_a_failed_assertion_is_one_more_failed_check() -> None:
    sheet = Sheet([PASSED])
    sheet.note_failed_assertion("assert 1 == 2")
    assert verdict(sheet) == Score(
        0.5, "failed: assert 1 == 2", checks=(PASSED, Check("assert 1 == 2", ok=False))
    )


def test_what_was_said_replaces_the_checks() -> None:
    assert verdict(Sheet([FAILED, FAILED], said=Score(0.9, "nearly"))) == Score(
        0.9, "nearly"
    )


def test_no_score_excuses_an_assertion_that_failed_after_it() -> None:
    sheet = Sheet([PASSED], said=Score(1.0, "all right"))
    sheet.note_failed_assertion("assert 1 == 2")
    assert verdict(sheet) == Score(
        0.5,
        "failed: assert 1 == 2",
        checks=(Check("assert 1 == 2", ok=False), Check("all right", ok=True)),
    )


def test_the_reason_says_of_each_check_that_does_not_hold_whether_it_failed_or_is_open() -> (
    None
):
    checks = [PASSED, FAILED, Check("it is late", ok=False, open=True)]
    score = verdict(Sheet(checks))
    assert score.reason == "failed: it is not so; open: it is late"


def test_a_watchers_verdict_alone_is_the_verdict() -> None:
    alone = Score(0.3, "seen", rule="prospective_memory/1", evidence="...")
    assert verdict(Sheet(), alone) is alone


def test_a_watchers_verdict_counts_as_one_check() -> None:
    assert verdict(Sheet([PASSED, PASSED]), Score(0.0, "quoted early")) == Score(
        2 / 3,
        "failed: quoted early",
        checks=(PASSED, PASSED, Check("quoted early", ok=False)),
    )


def test_two_watchers_count_as_two_checks() -> None:
    both = verdict(Sheet(), Score(1.0, "in time"), Score(0.0, "too early"))
    assert both == Score(
        0.5,
        "failed: too early",
        checks=(Check("in time", ok=True), Check("too early", ok=False)),
    )


def test_a_watchers_partial_credit_is_kept() -> None:
    combined = verdict(Sheet([PASSED]), Score(0.5, "half of it"))
    assert isinstance(combined, Score)
    assert combined.value == 0.75


def test_a_watchers_zero_earns_nothing_though_any_score_passes() -> None:
    combined = verdict(Sheet([PASSED]), Score(0.0, "nothing"), threshold=0.0)
    assert isinstance(combined, Score)
    assert combined.value == 0.5


@pytest.mark.parametrize(
    ("sheet", "watched"),
    [
        (Sheet([PASSED], said=Unscored("nobody could tell")), []),
        (Sheet([FAILED]), [Score(1.0, "seen"), Unscored("nobody could tell")]),
        (Sheet(said=Score(1.0, "all right")), [Unscored("nobody could tell")]),
    ],
)
def test_any_part_that_nobody_could_tell_makes_the_whole_unscored(
    sheet: Sheet, watched: list[Score | Unscored]
) -> None:
    assert verdict(sheet, *watched) == Unscored("nobody could tell")


@pytest.mark.parametrize(
    "method",
    ["say", "ask", "user", "wait", "watch", "check", "metric", "score", "play"],
)
def test_a_call_with_wrong_arguments_says_how_the_method_is_called(method: str) -> None:
    send = Recorder()
    with pytest.raises(ScenarioError, match=rf"It is called as ltm\.{method}\("):
        getattr(handle(send), method)(nonsense=1)
    assert send.requests == []

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from pytest_ltm import Ltm
from pytest_ltm._core.model.scenario import (
    Ask,
    Say,
    Wait,
    YamlCheck,
    load_yaml_scenario,
    play_yaml_scenario,
)
from pytest_ltm._core.storage.errors import DefinitionError

MOVES_HOUSE = """\
description: Somebody moves twice, and the last move counts.
skills: R,C
examples: 2
span: 8k
threshold: 0.5
incompatible: [spy_meeting]
version: 2
steps:
  - say: I grew up in Porto, but I moved to Brno last spring.
  - wait: {span: 0.5}
  - say: My firm is sending me to Turku next month, for good.
  - wait: {span: 0.9, time: 3h}
  - ask: Which city will I live in by the end of the year?
    about: My firm is sending me to Turku next month, for good.
    expect:
      - {label: names the new city, contains: Turku}
      - not_contains: [Brno, Porto]
"""


def written(folder: Path, text: str, name: str = "moves_house") -> Path:
    path = folder / f"{name}.ltm.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_scenario_is_read_with_the_line_of_each_step(tmp_path: Path) -> None:
    scenario = load_yaml_scenario(written(tmp_path, MOVES_HOUSE))
    assert scenario.name == "moves_house"
    assert scenario.description == "Somebody moves twice, and the last move counts."
    last = "My firm is sending me to Turku next month, for good."
    assert [(step.line, step.step) for step in scenario.steps] == [
        (9, Say("I grew up in Porto, but I moved to Brno last spring.")),
        (10, Wait(span=0.5)),
        (11, Say(last)),
        (12, Wait(span=0.9, time=timedelta(hours=3))),
        (13, Ask("Which city will I live in by the end of the year?", (last,))),
    ]
    assert scenario.steps[4].checks == (
        YamlCheck("names the new city", "contains", ("Turku",), 16),
        YamlCheck(
            "does not contain 'Brno', 'Porto'", "not_contains", ("Brno", "Porto"), 17
        ),
    )


def test_the_markers_keywords_are_those_that_the_file_gives(tmp_path: Path) -> None:
    assert load_yaml_scenario(written(tmp_path, MOVES_HOUSE)).marker == {
        "skills": "R,C",
        "examples": 2,
        "span": 8000,
        "threshold": 0.5,
        "incompatible": ["spy_meeting"],
        "version": "2",
    }


def test_the_definition_holds_all_that_decides_the_score(tmp_path: Path) -> None:
    one = load_yaml_scenario(written(tmp_path, MOVES_HOUSE)).definition
    other = load_yaml_scenario(
        written(tmp_path, MOVES_HOUSE.replace("contains: Turku", "contains: Oulu"))
    ).definition
    assert one.steps == other.steps
    assert one != other


def test_a_name_in_the_file_is_used(tmp_path: Path) -> None:
    assert (
        load_yaml_scenario(written(tmp_path, f"name: moving\n{MOVES_HOUSE}")).name
        == "moving"
    )


def test_a_file_name_becomes_a_name_for_test_ids(tmp_path: Path) -> None:
    assert (
        load_yaml_scenario(written(tmp_path, MOVES_HOUSE, "moves house-2")).name
        == "moves_house_2"
    )


class Recorder:
    """A handle that gives prepared answers and records its calls."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.happened: list[object] = []

    def say(self, text: str, *, user: str = "", tells: object = None) -> str:
        del tells
        self.happened.append(("say", text, user) if user else ("say", text))
        return ""

    def ask(
        self,
        text: str,
        about: Iterable[str] = (),
        *,
        answer: str | None = None,
        user: str = "",
    ) -> str:
        self.happened.append(
            ("ask", text, about, answer, user) if user else ("ask", text, about, answer)
        )
        return self.answer

    def wait(self, *, span: float, tokens: int, time: timedelta) -> None:
        self.happened.append(("wait", span, tokens, time))

    def check(self, label: str, ok: object) -> None:
        self.happened.append((label, ok))


def test_playing_a_scenario_performs_its_steps_and_checks_the_answer(
    tmp_path: Path,
) -> None:
    last = "My firm is sending me to Turku next month, for good."
    ltm = Recorder("Turku, no longer Brno.")
    play_yaml_scenario(
        load_yaml_scenario(written(tmp_path, MOVES_HOUSE)), cast("Ltm", ltm)
    )
    assert ltm.happened == [
        ("say", "I grew up in Porto, but I moved to Brno last spring."),
        ("wait", 0.5, 0, timedelta(0)),
        ("say", last),
        ("wait", 0.9, 0, timedelta(hours=3)),
        ("ask", "Which city will I live in by the end of the year?", (last,), "Turku"),
        ("names the new city", True),
        ("does not contain 'Brno', 'Porto'", False),
    ]


@pytest.mark.parametrize(
    ("kind", "texts", "answer", "passes"),
    [
        ("contains", ["red"], "It is RED.", True),
        ("contains", ["red"], "You shared it.", False),
        ("contains", ["new york"], "In New  York!", True),
        ("contains", ["new york"], "A new flat in York", False),
        ("contains", ["red", "blue"], "red", False),
        ("contains", ["red", "blue"], "blue, red", True),
        ("contains", ["café"], "the CAFE", True),
        ("not_contains", ["red", "blue"], "blue", False),
        ("not_contains", ["red"], "You shared it.", True),
        ("not_contains", ["red"], "", True),
        ("equals", ["Turku"], "turku.", True),
        ("equals", ["Turku"], "In Turku", False),
        ("equals", ["Turku", "Åbo"], "Åbo", True),
        ("matches_any", ["sunset", "dusk"], "At dusk", True),
        ("matches_any", ["sunset", "dusk"], "At dawn", False),
    ],
)
def test_answers_are_compared_by_words(
    kind: str, texts: list[str], answer: str, passes: bool
) -> None:
    assert YamlCheck("", kind, tuple(texts), 1).passes(answer) is passes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            MOVES_HOUSE,
            "",
            "m.ltm.yml: expected a mapping with the fields name, description, steps",
        ),
        (MOVES_HOUSE, "- say: A.", "m.ltm.yml:1: expected a mapping"),
        (
            MOVES_HOUSE,
            "steps: A.",
            "m.ltm.yml:1: steps: expected a list of steps, got 'A.'.",
        ),
        (MOVES_HOUSE, "a: b\n---\na: b", "m.ltm.yml:2: not usable YAML"),
        (MOVES_HOUSE, "\0", "m.ltm.yml: not usable YAML"),
        ("skills: R,C", "skils: R,C", "m.ltm.yml:2: skils: unknown field"),
        ("skills: R,C", "skils: R,C", "Did you mean 'skills'?"),
        (
            "skills: R,C",
            "name: 2nd",
            "m.ltm.yml:2: name: expected a name of letters, digits and _",
        ),
        (
            "skills: R,C",
            "version: 2024-13-45",
            "m.ltm.yml:2: '2024-13-45' cannot be read; write it in quotes.",
        ),
        ("skills: R,C", "version: !!int ''", "m.ltm.yml:2: '' cannot be read"),
        (
            "skills: R,C",
            "2: R",
            "m.ltm.yml:2: a name in a mapping is a text; write it in quotes.",
        ),
        ("skills: R,C", "? [a]\n: R", "m.ltm.yml:2: a name in a mapping is a text"),
        (
            "examples: 2",
            "examples: two",
            "m.ltm.yml:3: examples: expected a whole number of at least 1, got 'two'.",
        ),
        (
            "span: 8k",
            "span: 0",
            "m.ltm.yml:4: span: expected a whole number of at least 1, got 0.",
        ),
        (
            "threshold: 0.5",
            "threshold: 50",
            "m.ltm.yml:5: threshold: expected a number from 0 to 1, got 50.",
        ),
        (
            "threshold: 0.5",
            "floor: 50",
            "m.ltm.yml:5: floor: expected a number from 0 to 1, got 50.",
        ),
        ("- say: I", "- says: I", "m.ltm.yml:9: steps[0].says: unknown field"),
        (
            "say: I grew",
            "say: 3 # I grew",
            "m.ltm.yml:9: steps[0].say: expected a non-empty text, got 3.",
        ),
        ("say: I grew", "say: no # I grew", "got False. In YAML, write it in quotes."),
        (
            "say: I grew",
            "say: Note: I grew",
            "m.ltm.yml:9: not usable YAML: mapping values are not allowed",
        ),
        (
            "span: 0.5",
            "span: 5",
            "10: steps[1].wait.span: expected a share of the memory span from 0 to 1, got 5.",
        ),
        (
            "span: 0.5",
            "tokens: -5",
            "10: steps[1].wait.tokens: expected a whole number of at least 0, got -5.",
        ),
        (
            "time: 3h",
            "time: 3 eons",
            "m.ltm.yml:12: steps[3].wait.time: expected a duration of at least 0",
        ),
        (
            "{span: 0.5}",
            "&a {span: 0.5}",
            "m.ltm.yml:10: not usable YAML: anchors (&name) and aliases",
        ),
        (
            "contains: Turku",
            "contain: Turku",
            "m.ltm.yml:16: steps[4].expect[0].contain: unknown field",
        ),
        ("contains: Turku", "contain: Turku", "Did you mean 'contains'?"),
        (
            "contains: Turku",
            "contains: Turku, equals: Turku",
            "expected a check with exactly one of",
        ),
        (
            ", contains: Turku",
            "",
            "m.ltm.yml:16: steps[4].expect[0]: expected a check with exactly one of",
        ),
        (
            "contains: Turku",
            "contains: '...'",
            "16: steps[4].expect[0].contains: expected texts with at least",
        ),
        (
            "[Brno, Porto]",
            "[]",
            "17: steps[4].expect[1].not_contains: expected texts with at least",
        ),
        (
            "[Brno, Porto]",
            "[Brno, 42]",
            "17: steps[4].expect[1].not_contains[1]: expected a non-empty text",
        ),
        (
            "about: My firm",
            "about: The firm",
            "13: steps[4].ask: `about` names a text that was not said before:",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_line_field_and_what_was_expected(
    old: str, new: str, sentence: str, tmp_path: Path
) -> None:
    assert old in MOVES_HOUSE
    path = written(tmp_path, MOVES_HOUSE.replace(old, new), "m")
    with pytest.raises(DefinitionError) as caught:
        load_yaml_scenario(path)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("steps: [{say: A.}]", "steps: asks nothing, so there is nothing to score"),
        ("steps: []", "steps: asks nothing, so there is nothing to score"),
        (
            "steps: [{say: A.}, {ask: B}]",
            "steps: no question has an `expect:`, so there is nothing to score.",
        ),
        (
            "steps: [{ask: B, expect: {contains: A}}]",
            "steps[0].ask: asks before anything was said",
        ),
        (
            "steps: [{say: A., expect: {contains: A}}]",
            "steps[0].expect: unknown field; known fields: say, user, tells.",
        ),
    ],
)
def test_a_scenario_that_cannot_be_scored_is_an_error(
    text: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError) as caught:
        load_yaml_scenario(written(tmp_path, text))
    assert sentence in str(caught.value)


def test_a_single_check_needs_no_list(tmp_path: Path) -> None:
    scenario = load_yaml_scenario(
        written(tmp_path, "steps: [{say: A.}, {ask: B, expect: {equals: A}}]")
    )
    assert scenario.steps[1].checks == (YamlCheck("equals 'A'", "equals", ("A",), 1),)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"steps: [{say: A.}, {ask: B, expect: []}]",
            "expected at least one check: contains, not_contains",
        ),
        (b"steps: \xff", "moves_house.ltm.yml: not UTF-8 (at byte 7)."),
        (
            b"version: " + b"[" * 120 + b"]" * 120,
            "moves_house.ltm.yml:1: nested more than 100 levels deep.",
        ),
        (
            b"span: 0k\nsteps: [{say: A.}, {ask: B, expect: {equals: A}}]",
            "moves_house.ltm.yml:1: span: expected a number of tokens, such as 2000 or 2k, got '0k'.",
        ),
    ],
)
def test_a_hostile_file_is_one_clear_error(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "moves_house.ltm.yml").write_bytes(content)
    with pytest.raises(DefinitionError) as caught:
        load_yaml_scenario(tmp_path / "moves_house.ltm.yml")
    assert sentence in str(caught.value)


def test_a_say_and_an_ask_may_be_somebodys(tmp_path: Path) -> None:
    path = tmp_path / "two.ltm.yml"
    path.write_text(
        "steps:\n- {say: I like figs., user: ann}\n- {ask: 'What do I like?', user: ann, expect: {contains: figs}}\n"
    )
    handle = Recorder("Figs.")
    play_yaml_scenario(load_yaml_scenario(path), cast("Ltm", handle))
    assert [happened[-1] for happened in handle.happened[:2]] == ["ann", "ann"]  # type: ignore[index]

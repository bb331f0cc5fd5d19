"""`ltm lab badge`: its claims are justified, and no name can inject anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from gate_sides import FULL, held, side
from past_runs import BAD, GOOD, run_folder, trials
from run_folders import HOSTILE

from pytest_ltm.api.journal import RunFile, write_run_file
from pytest_ltm.commands import main
from pytest_ltm.commands.sharing import COLOURS
from pytest_ltm.gate.sides import save_baseline

RUN = "20260101-080000-aaaa"


@pytest.fixture
def ltm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's `.ltm` folder, with the project as working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".ltm"


def made(*words: str, run: str = RUN) -> dict[str, Any]:
    assert main(["lab", "badge", run, "-o", "badge.json", *words]) == 0
    with open("badge.json", encoding="utf-8") as file:  # noqa: PTH123 - where the command is typed
        found: dict[str, Any] = json.load(file)
    return found


def test_the_json_is_that_of_an_endpoint_badge(ltm: Path) -> None:
    run_folder(ltm, RUN, *trials(GOOD, of=4))
    assert made() == {
        "schemaVersion": 1,
        "label": "memory of bot at 2k",
        "message": "1.75 of 2 (1.17 to 1.93)",
        "color": "green",
    }
    assert made("--label=recall")["label"] == "recall"


def test_the_longest_span_of_the_agent_under_test_is_told(ltm: Path) -> None:
    run_folder(
        ltm,
        RUN,
        *trials(GOOD, agent="full"),
        *trials(BAD, span="32k"),
        *trials(GOOD),
        *trials(GOOD, span="isolated"),
    )
    assert made()["label"] == "memory of bot at 32k"
    assert made("--span=isolated")["label"] == "memory of bot (isolated)"
    assert made("--agent=full")["label"] == "memory of full at 2k"
    assert (
        made("--agent=full", "--label=memory")["message"]
        == "1.75 of 2, one conversation, bundled agent"
    )


def test_a_total_without_an_interval_says_why(ltm: Path) -> None:
    run_folder(ltm, RUN, *trials(GOOD))
    assert made()["message"] == "1.75 of 2, one conversation"


def test_open_scores_are_both_ends_of_a_total(ltm: Path) -> None:
    run_folder(ltm, RUN, *trials({"colours": (1.0, None), "jokes": (0.5,)}, of=3))
    assert made()["message"] == "1.00 to 1.50 of 2"


@pytest.mark.parametrize(
    ("state", "sentence", "message", "colour"),
    [
        ("passed", "gate: passed (1 rule)", "1.75 of 2, one conversation", "green"),
        (
            "failed",
            "gate: regressed: bot at 2k",
            "1.75 of 2, one conversation, regressed",
            "red",
        ),
        (
            "failed",
            "gate: failed: bot at 2k",
            "1.75 of 2, one conversation, failed",
            "red",
        ),
        ("unmeasurable", "gate: could not be measured: x", "unmeasurable", "lightgrey"),
    ],
)
def test_what_the_gate_said_is_on_it(
    ltm: Path, state: str, sentence: str, message: str, colour: str
) -> None:
    run_folder(ltm, RUN, *trials(GOOD), gate={"state": state, "sentence": sentence})
    badge = made()
    assert (badge["message"], badge["color"]) == (message, colour)


@pytest.mark.parametrize(
    ("scores", "more", "message"),
    [
        ({"colours": (None,)}, {}, "unmeasurable"),
        (GOOD, {"ended": "interrupted"}, "incomplete"),
        (GOOD, {"ended": "agent gone"}, "incomplete"),
    ],
)
def test_a_run_that_says_too_little_has_no_score(
    ltm: Path,
    scores: dict[str, Any],
    more: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_folder(ltm, RUN, *trials(scores, **more))
    assert (made()["message"], made()["color"]) == (message, "lightgrey")
    assert message in capsys.readouterr().err


def test_examples_that_an_agent_lost_leave_no_score(ltm: Path) -> None:
    folder = run_folder(ltm, RUN, *trials({"colours": (1.0, None)}))
    summary = json.loads((folder / "summary.json").read_text())
    summary["conversations"][0]["examples"][1]["cause"] = "agent"
    (folder / "summary.json").write_text(json.dumps(summary))
    assert made()["message"] == "unmeasurable"


def test_a_shard_a_run_in_the_middle_an_empty_and_a_damaged_one_have_no_score(
    ltm: Path,
) -> None:
    run_folder(ltm, RUN, *trials(GOOD), plan={"shard": "1/3"})
    assert made()["message"] == "incomplete"
    middle = ltm / "runs" / "middle"
    (middle / "bot~2k~0").mkdir(parents=True)
    (middle / "bot~2k~0" / "journal.jsonl").write_text("")
    write_run_file(
        middle,
        RunFile(run="m", options={}, paths=(), folder=".", settings={}, versions={}),
    )
    assert made(run="middle")["message"] == "incomplete"
    (ltm / "runs" / "empty").mkdir()
    assert made(run="empty") == {
        "schemaVersion": 1,
        "label": "memory of empty",
        "message": "unmeasurable",
        "color": "lightgrey",
    }
    (run_folder(ltm, "damaged") / "summary.json").write_text("{")
    assert made(run="damaged")["message"] == "unmeasurable"


def test_several_agents_under_test_are_not_guessed(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, RUN, *trials(GOOD), *trials(GOOD, agent="other"))
    assert main(["lab", "badge", RUN, "-o", "badge.svg"]) == 2
    assert (
        "tests several agents. Choose with --agent and --span: agents bot, other; spans 2k"
        in capsys.readouterr().err
    )
    assert main(["lab", "badge", RUN, "-o", "badge.svg", "--agent=no"]) == 2
    assert main(["lab", "badge", RUN, "-o", "badge.png"]) == 2
    assert "a badge is a file .svg or .json" in capsys.readouterr().err
    assert main(["lab", "badge", RUN, "-o", f"{RUN}/x/badge.svg", "--agent=bot"]) == 0
    assert (
        main(["lab", "badge", RUN, "-o", f"{RUN}/x/badge.svg/badge.svg", "--agent=bot"])
        == 2
    )


def test_a_baseline_has_a_badge_too(ltm: Path, tmp_path: Path) -> None:
    save_baseline(side(held(FULL)), "main", tmp_path / "ltm_baselines", "0.1")
    badge = made(run="ltm_baselines/main.json")
    assert (badge["label"], badge["message"]) == (
        "memory of mybot at 2k",
        "2.62 of 3, one conversation",
    )
    assert not ltm.exists()


def drawn(folder: Path) -> ET.Element:
    assert main(["lab", "badge", RUN, "-o", str(folder / "badge.svg")]) == 0
    return ET.parse(folder / "badge.svg").getroot()


def test_the_svg_says_the_same_and_needs_nothing_else(
    ltm: Path, tmp_path: Path
) -> None:
    run_folder(ltm, RUN, *trials(GOOD, of=4))
    root = drawn(tmp_path)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["memory of bot at 2k", "1.75 of 2 (1.17 to 1.93)"]
    assert root.get("aria-label") == ": ".join(map(str, texts))
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert (
        title.text
        == f"bot at 2k: 1.75 of 2 (1.17 to 1.93) ({RUN}, 2026-01-01; commit 0123456)"
    )
    source = (tmp_path / "badge.svg").read_text()
    assert "http" not in source.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search("href|url|style|script| id=", source)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted({*HOSTILE} - {"half a surrogate"})
)  # which makes the summary invalid JSON
def test_hostile_names_change_nothing_in_the_svg(
    ltm: Path, tmp_path: Path, name: str
) -> None:
    run_folder(ltm, RUN, *trials(GOOD, agent=f"{HOSTILE[name]}\ufffe"))
    root = drawn(tmp_path)
    assert [each.tag.rpartition("}")[2] for each in root.iter()] == [
        "svg",
        "title",
        "path",
        "path",
        "g",
        "text",
        "text",
    ]
    assert {key for each in root.iter() for key in each.attrib} <= {
        "width",
        "height",
        "viewBox",
        "role",
        "aria-label",
        "fill",
        "d",
        "font-family",
        "font-size",
        "x",
        "y",
        "textLength",
        "lengthAdjust",
    }
    assert int(root.get("width", "")) < 800


def test_white_text_can_be_read_on_every_colour() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert all(1.05 / (luminance(colour) + 0.05) >= 4.5 for colour in COLOURS.values())

"""`ltm show`: the examples of a run, or one of them as a chat."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from journals import begin, fault, header, message, sealed
from run_folders import HOSTILE, held, hostile_run, journal, played, write_run

from pytest_ltm.commands import main
from pytest_ltm.commands.example_chat import LONGEST, ExampleChat, chat_lines
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.records.amendments import Amendment, amend_verdict


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two agents, the first of which failed an example."""
    monkeypatch.setenv("COLUMNS", "100")
    first = held(
        [played(score=0.0, reason="does not name 'ochre'"), played("jokes", first=4)]
    )
    other = held(
        [played(agent="other", nodeid="ltm/colours::test_colours[other-2k-0-0]")]
    )
    return write_run(tmp_path / "run", first, other)


def shown(capsys: pytest.CaptureFixture[str], run: Path, *words: str) -> list[str]:
    assert main(["show", str(run), *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_without_an_item_every_example_has_a_line_with_its_score(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, run) == [
        "full at 2k, trial 0",
        "  0.00  colours/0  does not name 'ochre'",
        "  1.00  jokes/0",
        "other at 2k, trial 0",
        "  1.00  colours/0",
        "3 examples, 2 passed",
    ]
    assert shown(capsys, run, "--failed")[-2:] == [
        "  0.00  colours/0  does not name 'ochre'",
        "1 example, 0 passed",
    ]
    assert shown(capsys, run, "--agent=other")[0] == "other at 2k, trial 0"


def test_an_example_is_a_chat_with_what_lies_between_and_the_verdict_last(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, run, "colours/0", "--agent=full") == [
        "ltm/colours::test_colours[full-2k-0-0]",
        "full at 2k, trial 0",
        "",
        "#1  needle, at 13 tokens, 2024-03-04 12:00",
        "        you:   I like ochre best, says colours.",
        "        agent: Noted.",
        "        … 405 tokens and 1:00:00 later (1 filler) …",
        "#3  question, at 428 tokens, 2024-03-04 13:00",
        "    needle #1: 900 tokens and 1:00:00 before, 700 tokens without the agent's replies",
        "        you:   Which colour do I like?",
        "        agent: Teal, I think.",
        "",
        "score 0.00, below 1.00: does not name 'ochre'",
        "  decided by: Teal",
        '  expected: {"colour": "ochre"}',
        "  rule: colours/1",
    ]


def test_part_of_a_node_id_is_enough_and_several_are_listed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(capsys, run, "test_jokes[")[0] == "ltm/jokes::test_jokes[full-2k-0-0]"
    assert main(["show", str(run), "test_col"]) == 2
    told = capsys.readouterr().err
    assert "'test_col' means 2 items" in told
    assert "  ltm/colours::test_colours[other-2k-0-0]" in told
    assert main(["show", str(run), "joke/0"]) == 2
    assert (
        "Did you mean 'jokes/0'? Name a node id, part of one, or scenario/example"
        in capsys.readouterr().err
    )


def test_an_item_in_the_place_of_the_run_is_one_of_the_latest_run(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.parent / ".ltm" / "runs").mkdir(parents=True)
    run.rename(run.parent / ".ltm/runs/first")
    (run.parent / ".ltm/latest").write_text("first")
    monkeypatch.chdir(run.parent)
    assert main(["show", "jokes/0"]) == 0
    assert capsys.readouterr().out.startswith("ltm/jokes::test_jokes[full-2k-0-0]\n")
    assert main(["show", "joke/0"]) == 2
    assert "Did you mean 'jokes/0'?" in capsys.readouterr().err


def test_all_of_the_conversation_in_between_is_shown_on_demand(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, run, "test_colours[full", "--full")
    assert "#2  filler, at 26 tokens, 2024-03-04 12:00" in lines
    assert sum("Count to ten." in line for line in lines) > 10
    assert not any("later (" in line for line in lines)


def test_a_long_reply_is_cut_and_what_decided_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = "x " * 10_000 + "Teal" + " y" * 10_000
    rows = [played(score=0.0)]
    folder = write_run(tmp_path / "run", held(rows))
    path = folder / "full~2k~0" / "journal.jsonl"
    path.write_text("".join(journal(rows, texts={3: ("Which?", reply)})))
    lines = shown(capsys, folder, "colours")
    assert any(
        f"[{len(reply) - LONGEST:,} characters more: --full shows them]" in line
        for line in lines
    )
    assert any("Teal" in line and "decided" not in line for line in lines)
    assert sum(map(len, lines)) < 4 * LONGEST
    assert sum(map(len, shown(capsys, folder, "colours", "--full"))) > len(reply)


def test_a_watched_reply_of_somebody_else_is_shown_where_it_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quoting = played(score=0.0, questions=(), evidence="Done.")
    other = played("jokes", first=2)
    folder = write_run(tmp_path / "run", held([quoting, other]))
    rows = [replace(quoting, questions=played(first=0).questions), other]
    (folder / "full~2k~0" / "journal.jsonl").write_text(
        "".join(journal(rows, texts={4: ("Which?", "It is Done.")}))
    )
    lines = shown(capsys, folder, "colours/0")
    assert "#4  jokes/0: question, at 830 tokens, 2024-03-04 14:00" in lines
    assert "        agent: It is Done." in lines


def test_a_needle_in_the_history_is_shown_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, asking = played(), played("jokes", first=4)
    question = replace(asking.questions[0], needles=told.questions[0].needles)
    folder = write_run(
        tmp_path / "run", held([told, replace(asking, questions=(question,))])
    )
    lines = shown(capsys, folder, "jokes/0")
    assert "#1  needle, at 13 tokens, 2024-03-04 12:00" in lines
    assert "        you:   I like ochre best, says colours." in lines


def test_a_message_that_failed_says_what_the_agent_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = played(
        score=None,
        outcome="error",
        cause="agent",
        questions=(),
        reason="it raised",
        evidence="",
    )
    folder = write_run(tmp_path / "run", held([row]))
    said = sealed(
        header(), begin(row.id), message(0, row.id, "ask", "Hi?"), fault(0, fatal=True)
    )
    (folder / "full~2k~0" / "journal.jsonl").write_text("".join(said))
    lines = shown(capsys, folder, "colours")
    assert any(line.startswith("        fault: ") for line in lines)
    assert "error: it raised" in lines


def test_an_amended_verdict_keeps_the_automatic_one(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    amend_verdict(
        run,
        read_run(run).result,
        "ltm/colours::test_colours[full-2k-0-0]",
        Amendment(score=1.0, reason="it is right"),
    )
    lines = shown(capsys, run, "colours/0", "--agent=full")
    assert "score 1.00: amended by hand: it is right" in lines
    assert "  before it was amended: 0.00: does not name 'ochre'" in lines


@pytest.mark.parametrize("text", ["", "{\n", "[" * 100_000 + "\n"])
def test_without_a_readable_journal_the_verdict_is_shown_and_the_rest_is_said_to_be_missing(
    run: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (run / "full~2k~0" / "journal.jsonl").write_text(text)
    lines = shown(capsys, run, "jokes/0")
    assert any(
        "transcript is missing" in line or "none of its exchanges" in line
        for line in lines
    )
    assert "score 1.00: names 'ochre'" in lines
    (run / "full~2k~0" / "journal.jsonl").unlink()
    (run / "full~2k~0" / "plan.json").write_text(text)
    assert "score 1.00: names 'ochre'" in shown(capsys, run, "jokes/0")


def test_json_has_the_result_and_its_exchanges(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads("\n".join(shown(capsys, run, "jokes/0", "--json")))
    assert (found["score"], found["expected"]) == (1.0, {"colour": "ochre"})
    assert [
        (each["number"], each["kind"], each["reply"]) for each in found["exchanges"]
    ] == [
        (4, "needle", "Noted."),
        (6, "question", "Teal, I think."),
    ]
    listed = json.loads("\n".join(shown(capsys, run, "--json", "--failed")))
    assert (found["format"], listed["format"]) == (
        "pytest-ltm show 1",
        "pytest-ltm show 1",
    )
    assert [each["item"] for each in listed["examples"]] == [
        "ltm/colours::test_colours[full-2k-0-0]"
    ]
    assert listed["totals"][0] == {
        "agent": "full",
        "span": "2k",
        "low": 1.0,
        "high": 1.0,
        "out_of": 2,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_drive_no_terminal_and_fit(
    tmp_path: Path,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = hostile_run(tmp_path / "run", HOSTILE[name])
    item = next(row for row in read_run(run).result.scenarios if row.score == 0.5)
    for words in ([], [item.nodeid, f"--agent={item.agent}"]):
        if main(["show", str(run), *words]) == 2:
            # both have the same text as node id
            assert "means 2 items" in capsys.readouterr().err
        else:
            output = capsys.readouterr().out
            assert not re.search(
                "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066\ud800-\udfff]", output
            )
            assert max(map(len, output.splitlines())) <= 80, output


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_harmless_in_colour_too(tmp_path: Path, name: str) -> None:
    run = read_run(hostile_run(tmp_path / "run", HOSTILE[name]))
    folder = run.conversations[0]
    row = folder.result.scenarios[0]
    lines = chat_lines(
        ExampleChat(result=row, record=folder.record(), expected=HOSTILE[name]),
        80,
        color=True,
    )
    bare = [re.sub("\x1b\\[\\d*m", "", line) for line in lines]
    assert not any(
        re.search("[\x00-\x1f\x7f-\x9f\u202e\u2066\ud800-\udfff]", line)
        for line in bare
    )


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(run: Path, width: int) -> None:
    found = read_run(run).conversations[0]
    for row in found.result.scenarios:
        lines = chat_lines(
            ExampleChat(result=row, record=found.record()), width, color=False
        )
        assert max(map(len, lines)) <= max(width, 80)

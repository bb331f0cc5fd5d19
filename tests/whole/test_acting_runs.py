"""Runs of agents that act and compact are resumed, rescored and verified like any others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pytest_ltm
from pytest_ltm.commands import main

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

HALF = 2


def cut_journals(pytester: pytest.Pytester) -> dict[str, bytes]:
    """Cut each journal of the only run in half; return the original journals by folder."""
    whole: dict[str, bytes] = {}
    [run] = (pytester.path / ".ltm" / "runs").iterdir()
    for path in run.glob("*/journal.jsonl"):
        whole[path.parent.name] = path.read_bytes()
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: len(lines) // HALF]))
        (path.parent / "results.json").unlink()
    (run / "summary.json").unlink()
    return whole


def journals(path: Path) -> dict[str, bytes]:
    found = path.glob(".ltm/runs/*/*/journal.jsonl")
    return {journal.parent.name: journal.read_bytes() for journal in found}


@WHOLE_RUN
@pytest.mark.parametrize(
    ("suite", "agent"),
    [("acting", "full"), ("long-work", "compactor"), ("standard", "full")],
)
def test_a_run_that_is_resumed_has_the_journal_of_an_undisturbed_one(
    pytester: pytest.Pytester, suite: str, agent: str
) -> None:
    names = ["-k", "colours"] if suite == "standard" else ["--ltm-examples=1"]
    pytester.runpytest(
        f"--ltm-suite={suite}", f"--ltm-agent={agent}", "--ltm-span=2k", *names
    )
    whole = cut_journals(pytester)
    result = pytester.runpytest("--ltm-resume=latest")
    assert result.ret == 0
    assert journals(pytester.path) == whole
    result = pytester.runpytest("--ltm-rescore=latest")
    result.stdout.fnmatch_lines(["*scored again: run *, 0 moved*"])


def spoken(path: Path, label: str) -> list[dict[str, Any]]:
    """Return the events of an agent's only conversation, without header and checksums."""
    [journal] = path.glob(f".ltm/runs/*/{label}~*/journal.jsonl")
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()[1:]]
    return [{**line, "sum": ""} for line in lines]


@WHOLE_RUN
@pytest.mark.parametrize(
    ("suite", "agent"), [("acting", "full"), ("long-work", "compactor")]
)
def test_a_run_with_calls_or_compactions_is_replayed_verified_and_bundled(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    suite: str,
    agent: str,
) -> None:
    monkeypatch.chdir(pytester.path)
    options = (f"--ltm-suite={suite}", "--ltm-span=2k", "--ltm-examples=1")
    pytester.runpytest(*options, f"--ltm-agent={agent}")
    [run] = (pytester.path / ".ltm" / "runs").iterdir()
    assert main(["verify", str(run), "--pytest=-p no:randomly"]) == 0
    bundle = pytester.path / "run.ltm.zip"
    assert main(["lab", "bundle", str(run), "-o", str(bundle)]) == 0
    assert main(["verify", str(bundle), "--pytest=-p no:randomly"]) == 0
    capsys.readouterr()
    result = pytester.runpytest(*options, "--ltm-agent=again=replay:latest")
    assert result.ret == 0
    assert spoken(pytester.path, "again") == spoken(pytester.path, agent)


def test_reports_and_exports_have_what_was_called(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pytester.path)
    options = ("--ltm-suite=acting", "--ltm-span=2k", "--ltm-examples=1")
    result = pytester.runpytest(*options, "--ltm-agent=full,window:300")
    result.stdout.re_match_lines([r"acted +100% +0%"])
    results = pytest_ltm.load("latest")
    assert {row.acted for row in results.examples if row.agent == "full"} == {1.0}
    [pay] = [call for call in results.calls if call.name == "pay"]
    assert json.loads(pay.arguments).keys() == {"person", "euros", "reference"}
    assert (pay.place, pay.result, pay.refused) == (1, "done", False)
    [run] = (pytester.path / ".ltm" / "runs").iterdir()
    columns = json.loads((run / "summary.json").read_text())["results"]
    assert [column["acted"] for column in columns] == [1.0, 0.0]


def test_a_run_without_tools_says_nothing_of_acting(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pytester.path)
    pytester.runpytest("--ltm-suite=standard", "-k", "colours", "--ltm-agent=full")
    assert list(pytest_ltm.load("latest").calls) == []
    [run] = (pytester.path / ".ltm" / "runs").iterdir()
    [column] = json.loads((run / "summary.json").read_text())["results"]
    assert "acted" not in column
    assert '"acted"' not in "".join(path.read_text() for path in run.glob("*/*.json*"))


def test_the_header_of_a_run_without_tools_names_no_later_capability(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(
        "--ltm-suite=standard",
        "-k",
        "colours",
        "--ltm-agent=compactor",
        "--ltm-span=2k",
    )
    [journal] = journals(pytester.path).values()
    header = journal.splitlines()[0]
    assert b"TakesTools" not in header
    assert b"Compacts" not in header


MADE = """
class Plain:
    def reply(self, message):
        return "Noted."

class Acting:
    def reply(self, message, tools=None):
        return "Noted."

def make():
    return Acting()
"""
WANTING = """
import pytest

@pytest.mark.ltm(requires=["TakesTools"])
def test_table(ltm):
    ltm.tool("book", {"time": "string"})
    ltm.say("Never before ten.")
    assert ltm.ask("Book a table.")

def test_cat(ltm):
    ltm.say("My cat is Kelvin.")
    assert ltm.ask("Who is my cat?")
"""


@pytest.mark.parametrize(
    ("agent", "is_left_out"),
    [("Plain", True), ("Acting", False), ("make", False), ("make_plain", True)],
)
def test_who_takes_no_part_is_said_before_the_first_message(
    pytester: pytest.Pytester, agent: str, *, is_left_out: bool
) -> None:
    plain = "\n\ndef make_plain():\n    return Plain()\n"
    pytester.makepyfile(some_bots=MADE + plain, test_wanting=WANTING)
    result = pytester.runpytest(
        f"--ltm-agent=bot=some_bots:{agent}", "--ltm-span=300", "--ltm-suite=none"
    )
    result.assert_outcomes(passed=2 - is_left_out, skipped=int(is_left_out))
    said = "ltm: bot takes no part in 1 example (table): not supported, as it is not TakesTools"
    lines = result.outlines
    assert (said in lines) is is_left_out
    if is_left_out:
        assert lines[lines.index(said) - 1].startswith("collected 2 items")

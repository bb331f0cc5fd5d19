"""The isolation probe, in runs of leaking and of clean agents."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project
from locomo_files import talk, written
from run_folders import latest_run

from pytest_ltm.prechecks import probe_talk

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

AGENTS = '''
import sqlite3
from pathlib import Path
from ticks import tick

class Clean:
    def __init__(self):
        tick("made")
        self.notes = []

    def reply(self, message):
        tick("heard", message)
        if message.endswith("?"):
            return " ".join(self.notes)
        self.notes.append(message)
        return "Noted."

class Shared(Clean):
    notes = []
    def __init__(self):
        pass

class Table(Clean):
    def __init__(self, conversation_id):
        self.key, self.db = conversation_id, sqlite3.connect("notes.db")
        self.db.execute("CREATE TABLE IF NOT EXISTS notes (key TEXT, note TEXT)")

    @property
    def notes(self):
        notes = [note for (note,) in self.db.execute(f"SELECT note FROM notes WHERE {self.where}")]
        return type("Notes", (list,), {"append": lambda _, note: self.keep(note)})(notes)

    def keep(self, note):
        with self.db:
            self.db.execute("INSERT INTO notes VALUES (?, ?)", [self.key, note])

    def close(self):
        self.db.close()

    where = "1"

class Apart(Table):
    @property
    def where(self):
        return f"key = '{self.key}'"

OLD = Path("old.txt").read_text() if Path("old.txt").exists() else ""

class Survivor(Clean):
    """Knows what was told in earlier processes."""
    def reply(self, message):
        with open("old.txt", "a") as file:
            file.write(message + "\\n")
        return OLD if message.endswith("?") else super().reply(message)

class Interrupted(Clean):
    def reply(self, message):
        if message.endswith("?"):
            raise KeyboardInterrupt
        return "Noted."

class Blank(Clean):
    stateless = True

class Tidy(Clean):
    def reset(self):
        tick("reset")
        self.notes.clear()

class Untidy(Clean):
    def reset(self):
        pass

tidy, untidy = Tidy(), Untidy()
alone = lambda message: "ok"
'''

SCENARIOS = """
import pytest
from pytest_ltm import Ask, Definition, Say, Score

def made(said, question, expected):
    return lambda rng, parameters: Definition(steps=(Say(said), Ask(question)), expected=expected)

def told(ltm):
    [answer] = ltm.play(ltm.definition)
    return Score(float(ltm.definition.expected in answer), "whether it is there")

@pytest.mark.ltm(generate=made("My boat is called Marquardt Kestrel.", "What is my boat called?", "Marquardt Kestrel"))
def test_boat(ltm):
    told(ltm)

@pytest.mark.ltm(generate=made("My aunt is Thaddea Winterbourne.", "Who is my aunt?", "Thaddea Winterbourne"))
def test_aunt(ltm):
    told(ltm)
"""


@pytest.fixture
def project(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    project.file(AGENTS, "bots.py")
    project.file(SCENARIOS)
    return project


def rows(project: Project, kind: str) -> list[dict[str, Any]]:
    path = latest_run(project.path) / "probe.jsonl"
    found = (
        [json.loads(line) for line in path.read_text().splitlines()]
        if path.exists()
        else []
    )
    return [row for row in found if row["event"] == kind]


def summary(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (latest_run(project.path) / "summary.json").read_bytes()
    )
    return found


def verdicts(project: Project) -> dict[str, str]:
    return {row["agent"]: row["verdict"] for row in rows(project, "decided")}


def told(result: RunResult) -> str:
    return " ".join(" ".join(result.outlines).split())


@pytest.mark.parametrize("agent", ["Shared", "Table"])
def test_an_agent_with_a_shared_store_stops_the_run_before_its_first_conversation(
    project: Project, agent: str
) -> None:
    result = project.ltm(agent=f"bot=bots:{agent},echo")

    assert result.ret == 75
    assert verdicts(project) == {"bot": "leaks"}
    assert len(rows(project, "asked")) == 4
    assert not list(latest_run(project.path).glob("*/journal.jsonl"))
    assert (
        "agent 'bot': it knows in one conversation what it was told in another"
        in told(result)
    )
    assert told(result).count("conversation_id") == 2  # in one sentence
    assert "isolation probe of 'bot': it leaks between conversations (" in told(result)

    resumed = project.pytest("--ltm-resume=latest", "-q")
    assert resumed.ret == 75
    assert told(resumed).count("it knows in one conversation") == 1
    assert len(rows(project, "asked")) == 4
    assert project.pytest("--ltm-resume=latest", "--ltm-no-probe").ret == 0


def test_agents_that_keep_conversations_apart_go_on_and_their_probe_has_a_cost_of_its_own(
    project: Project,
) -> None:
    result = project.ltm(
        "--ltm-max-tokens=100k",
        "--ltm-price=1/1",
        agent="a=bots:Clean,b=bots:Apart,c=bots:tidy",
    )

    assert result.ret == 0
    assert verdicts(project) == {"a": "clean", "b": "clean", "c": "clean"}
    decided = rows(project, "decided")[0]
    ledger = json.loads((latest_run(project.path) / "budget.json").read_text())["agent"]
    assert ledger["probe.jsonl a"] == [
        pytest.approx(decided["cost_usd"]),
        decided["tokens"],
        4,
    ]
    assert (
        f"isolation probe of 'a': nothing leaks between conversations (4 messages, ~{decided['tokens']}"
        in told(result)
    )
    assert project.ticks.count("reset") == 2


def test_a_run_that_is_ended_while_it_probes_says_what_it_was_waiting_for(
    project: Project,
) -> None:
    result = project.ltm(agent="a=bots:Interrupted", subprocess=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert (
        "in the isolation probe of agent 'a', at message 2 of 4. No conversation had begun."
        in told(result)
    )


def test_the_time_of_all_conversations_is_foreseen_from_the_replies_to_the_probe(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = r"ltm: a: about \S+ at this speed \(0\.0 s for a reply to the probe, about (\d+) messages"
    assert not re.search(pattern, told(project.ltm(agent="a=bots:Clean")))
    monkeypatch.setattr(probe_talk, "NOTABLE", 0.0)
    shown = re.search(
        pattern, told(project.ltm("--ltm-trials=3", agent="a=bots:Clean"))
    )
    assert shown
    # an opening and two scenarios of two messages; too short for filler
    assert int(shown[1]) == 3 * (1 + 2 + 2)
    assert not re.search(pattern, told(project.ltm(agent="a=bots:Shared")))


def test_the_time_of_a_data_set_is_foreseen_from_its_history(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_talk, "NOTABLE", 0.0)
    written(project.path / "talks.json", [talk()])
    result = project.pytest(
        "--ltm-suite=locomo?data=talks.json", "--ltm-agent=a=bots:Clean"
    )
    foreseen = re.search(r"at this speed .* about (\d+) messages", told(result))
    assert foreseen
    heard = sum(tick.startswith("heard") for tick in project.ticks)
    assert heard / 2 <= int(foreseen[1]) <= heard  # includes the probe's


def test_a_store_that_survived_an_earlier_run_is_found_by_the_questions_of_the_plan(
    project: Project,
) -> None:
    assert (
        project.ltm("--ltm-no-probe", agent="bots:Survivor", subprocess=True).ret == 0
    )
    second = project.ltm(agent="bots:Survivor", subprocess=True)

    assert second.ret == 75
    assert "it answers questions of this plan before it was told anything" in told(
        second
    )


def test_workers_probe_each_agent_once(project: Project) -> None:
    result = project.ltm(
        "-n2", "--ltm-trials=2", agent="a=bots:Clean,b=bots:Shared,c=bots:untidy"
    )

    assert result.ret == 75
    assert verdicts(project) == {"a": "clean", "b": "leaks", "c": "leaks"}
    assert len(rows(project, "asked")) == 12


def test_the_probe_keeps_to_the_budget_and_a_resumed_run_asks_what_is_left(
    project: Project,
) -> None:
    assert project.ltm("--ltm-max-tokens=20", agent="bots:Clean").ret == 75
    assert verdicts(project) == {}
    assert 0 < len(rows(project, "asked")) < 4

    assert project.pytest("--ltm-resume=latest", "--ltm-max-tokens=100k").ret == 0
    assert set(verdicts(project).values()) == {"clean"}
    before = len(rows(project, "asked"))
    project.pytest("--ltm-resume=latest")
    assert len(rows(project, "asked")) == before


def test_what_a_probe_that_was_cut_off_has_spent_counts(project: Project) -> None:
    assert project.ltm("--ltm-max-tokens=20", agent="a=bots:Clean").ret == 75
    [cut] = summary(project)["prechecks"]
    asked = rows(project, "asked")
    spent = sum(row["message_tokens"] + row["reply_tokens"] for row in asked)
    assert (cut["verdict"], cut["calls"], cut["tokens"]) == (
        "unfinished",
        len(asked),
        spent,
    )

    result = project.pytest(
        "--ltm-resume=latest", "--ltm-max-tokens=100k", "--ltm-price=a=0/10"
    )
    [probe], again = summary(project)["prechecks"], rows(project, "asked")
    assert (probe["verdict"], probe["calls"]) == ("clean", len(asked) + 4)
    assert probe["tokens"] == sum(
        row["message_tokens"] + row["reply_tokens"] for row in again
    )
    assert probe["cost_usd"] == pytest.approx(
        sum(row["reply_tokens"] for row in again) / 100_000
    )
    ledger = json.loads((latest_run(project.path) / "budget.json").read_text())["agent"]
    assert ledger["probe.jsonl a"] == [
        pytest.approx(probe["cost_usd"]),
        probe["tokens"],
        probe["calls"],
    ]
    assert f"({probe['calls']} messages, ~{probe['tokens']} tokens" in told(result)


def test_a_dry_run_says_what_the_probe_and_the_canaries_will_take(
    project: Project,
) -> None:
    options = (
        "--ltm-dry-run",
        "--ltm-span=2k,4k",
        "--ltm-price=90/90",
        "--ltm-price=judge=100/100",
    )
    judge = "--ltm-judge=openai:m"
    result = project.ltm(*options, judge, agent="a=bots:Clean,b=echo,c=bots:Blank")
    said = re.search(
        r"isolation probe of a, once in a run: 4 messages, (\d+) tokens in and (\d+) out, \$(\S+)",
        told(result),
    )
    graded = re.search(
        r"judge's canaries and checks, once in a run: 47 calls, (\S+) tokens in and 2,820 out, \$(\S+)",
        told(result),
    )
    assert said
    assert graded
    assert float(said[3]) == pytest.approx(
        90 * (int(said[1]) + int(said[2])) / 1e6, abs=1e-4
    )
    # from one dollar on, only cents are shown
    tokens = int(graded[1].replace(",", "")) + 2820
    assert float(graded[2]) == pytest.approx(round(100 * tokens / 1e6, 2))
    assert told(result).count("once in a run") == 2
    assert not list(project.path.glob(".ltm"))

    def total(*more: str) -> tuple[int, float]:
        found = re.search(
            r"expected in total: ([\d,]+) messages.*?, \$(\d+\.\d+)",
            told(project.ltm(*options, *more, agent="bots:Clean")),
        )
        assert found
        return int(found[1].replace(",", "")), float(found[2])

    bare = total("--ltm-no-probe", "--ltm-judge=openai:m?canaries=off")
    assert "once in a run" not in told(
        project.ltm(*options, "--ltm-no-probe", "--ltm-judge=none", agent="bots:Clean")
    )
    assert total(judge)[0] == bare[0] + 4
    # both amounts are rounded to cents
    assert total(judge)[1] == pytest.approx(
        bare[1] + float(said[3]) + float(graded[2]), abs=6e-3
    )

    assert "unknown" not in told(
        project.ltm("--ltm-dry-run", "--ltm-judge=always-yes", agent="full")
    )

    project.ltm("--ltm-span=2k,4k", agent="a=bots:Clean")
    asked = rows(project, "asked")
    assert (len(asked), sum(row["message_tokens"] for row in asked)) == (
        4,
        int(said[1]),
    )


def test_who_is_not_asked_is_told_of_and_embedded_agents_cost_nothing(
    project: Project,
) -> None:
    project.file("def test_bare(ltm):\n    ltm.say('Hi.')\n", "test_bare.py")

    assert "it can serve one conversation only" in told(
        project.ltm(agent="a=bots:alone")
    )
    assert "nothing here has a definition" in told(
        project.ltm("test_bare.py", agent="bots:Clean")
    )
    assert "probe" not in told(project.ltm("--ltm-no-probe", agent="bots:Shared"))
    assert "isolation probe: none where a run is scored again" in told(
        project.pytest("--ltm-rescore=latest")
    )
    assert "probe" not in told(project.ltm(agent="echo,full"))
    assert not list(latest_run(project.path).glob("probe*"))
    assert "it is a recording" in told(
        project.ltm(agent=f"old=replay:{latest_run(project.path).name}/echo")
    )


@pytest.mark.parametrize("moment", ["made", "asked"])
def test_a_disk_that_does_not_take_the_probe_ends_the_run_which_can_be_resumed(
    project: Project, moment: str
) -> None:
    project.file(
        f"""
from pathlib import Path

def spoil(moment):
    [run] = Path(".ltm/runs").iterdir()
    if moment == {moment!r} and not Path("spoilt").exists():
        Path("spoilt").touch()
        (run / "probe.jsonl").mkdir()

class Bot:
    def __init__(self):
        spoil("made")
        self.notes = []
    def reply(self, message):
        spoil("asked")
        self.notes.append(message)
        return " ".join(self.notes)
""",
        "spoilt_bots.py",
    )

    ended = project.ltm(agent="spoilt_bots:Bot", subprocess=True)

    assert ended.ret == 75
    ended.stdout.fnmatch_lines(
        ["resume with: pytest --ltm-resume=*", "*cannot write *probe.jsonl: *"]
    )
    (latest_run(project.path) / "probe.jsonl").rmdir()
    assert project.pytest("--ltm-resume=latest", subprocess=True).ret == 0

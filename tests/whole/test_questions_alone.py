"""Data set questions asked alone never see each other, however the agent's state is restored."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.pytester import RunResult
from chat_server import ChatServer
from conftest import Project
from locomo_files import second, talk, written
from run_folders import latest_run

from pytest_ltm.api.journal import ConversationRecord
from pytest_ltm.api.scenarios import Plan

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

BOTS = """
import json, os, pathlib

HERE = pathlib.Path(__file__).parent

class Bot:
    # It keeps what it hears, and says how many questions that were.
    def __init__(self):
        self.heard = []
    def reply(self, message):
        with open(HERE / "asked.txt", "a", encoding="utf-8") as file:
            file.write(message.replace("\\n", " ") + "\\n")
        if (HERE / "kill.txt").exists() and "Lisbon?" in message:
            (HERE / "kill.txt").unlink()
            os._exit(9)
        self.heard.append(message)
        asked = sum("that you have read" in one for one in self.heard)
        return f"{asked} of {len(self.heard)}"

class Accepts(Bot):
    def accept(self, message, reply):
        self.heard.append(message)

class Answers(Accepts):
    def answer_alone(self, message):
        reply = self.reply(message)
        self.heard.pop()
        return reply

class Loads(Bot):
    def save(self):
        return json.dumps(self.heard).encode()
    def load(self, state):
        self.heard = json.loads(state)

class LoadsTold(Loads, Accepts):
    pass

class Resets(Accepts):
    def reset(self):
        self.heard = []

class Stateless(Bot):
    stateless = True
    def reply(self, message):
        self.heard = []
        return super().reply(message)

class Broken(LoadsTold):
    def load(self, state):
        raise ValueError("the state is of another machine")

class Elsewhere(LoadsTold):
    saves_reference = True
    def save(self):
        return b"there"
    def load(self, state):
        pass

class ElsewhereResets(Elsewhere, Resets):
    pass
"""
ALONE = ("Answers", "Loads", "LoadsTold", "Resets", "Stateless", "ElsewhereResets")
TOGETHER = ("Bot", "Accepts", "Elsewhere")


@pytest.fixture
def played(project: Project) -> Project:
    """A project with a data file of two conversations and its own agents."""
    written(project.path / "data.json", [talk(), second()])
    project.file(BOTS, "bots.py")
    return project


def locomo(project: Project, *args: str, agent: str = "", **options: bool) -> RunResult:
    return project.pytest(
        *[f"--ltm-agent={agent}"] * bool(agent),
        "--ltm-suite=locomo",
        "?data=data.json",
        *args,
        **options,
    )


def summary(project: Project) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = json.loads(
        (latest_run(project.path) / "summary.json").read_text("utf-8")
    )["results"]
    return held


def journals(project: Project) -> list[Path]:
    return sorted(latest_run(project.path).glob("*/journal.jsonl"))


def answers(project: Project) -> dict[str, str]:
    """Return the answers by conversation and example."""
    records = [
        (path.parent.name, ConversationRecord.read_record(path))
        for path in journals(project)
    ]
    return {
        f"{name} {one.by}": one.reply
        for name, held in records
        for one in held.transcript
        if one.kind == "ask"
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_no_question_is_known_to_the_next(played: Project, name: str) -> None:
    locomo(played, agent=f"bots:{name}")

    assert len(answers(played)) == 7
    assert {reply.partition(" ")[0] for reply in answers(played).values()} == {"1"}
    assert all("asked_together" not in column for column in summary(played))


@pytest.mark.slow
@pytest.mark.parametrize("name", TOGETHER)
def test_an_agent_without_a_way_back_is_asked_in_one_talk_and_every_report_says_so(
    played: Project, name: str
) -> None:
    result = locomo(
        played, "--ltm-report=page.html", "--ltm-summary=page.md", agent=f"bots:{name}"
    )

    assert {reply.partition(" ")[0] for reply in answers(played).values()} == set(
        "123456"
    )
    assert [column["asked_together"] for column in summary(played)] == [7]
    for text in (
        result.stdout.str(),
        *((played.path / page).read_text("utf-8") for page in ("page.html", "page.md")),
    ):
        assert "asked in one talk" in text
    result.stdout.re_match_lines([r"asked in one talk +7"])


def test_the_shortest_report_says_so_too(played: Project) -> None:
    result = locomo(played, "-q", agent="bots:Bot")

    assert "7 questions in one talk" in " ".join(result.stdout.str().split())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ALONE, "Accepts"])
def test_killed_between_two_questions_a_run_is_resumed_and_ends_alike(
    played: Project, name: str
) -> None:
    locomo(played, agent=f"bots:{name}")
    undisturbed = answers(played)
    (played.path / "asked.txt").unlink()
    (played.path / "kill.txt").touch()
    locomo(played, agent=f"bots:{name}", subprocess=True)
    assert not (played.path / "kill.txt").exists()
    locomo(played, "--ltm-resume=latest", subprocess=True)

    asked = (played.path / "asked.txt").read_text("utf-8").splitlines()
    questions = [line for line in asked if "that you have read" in line]
    assert answers(played) == undisturbed
    assert len(questions) == len(undisturbed) + 1  # the one in flight was sent again
    assert sum("Lisbon?" in line for line in questions) == 2


def test_the_journal_marks_a_question_that_leaves_no_trace(played: Project) -> None:
    locomo(played, "-k", "conv_1", agent="bots:Answers")
    [path] = journals(played)
    record = ConversationRecord.read_record(path)
    asked = [one for one in record.transcript if one.kind == "ask"]

    assert len(asked) == 6
    assert all(one.alone and record.messages[one.number].alone for one in asked)
    assert (
        {one.start for one in asked}
        == {record.transcript.position}
        == {record.position}
    )
    assert record.transcript.counted_tokens == record.transcript.counted_before(
        asked[0].number
    )
    assert [one.kind for one in record.transcript.remembered] == [
        "opening",
        *["history"] * 5,
    ]


def test_together_is_asked_and_planned_as_before(played: Project) -> None:
    locomo(played, "-k", "conv_1", "?questions=together", agent="bots:Answers")
    [path] = journals(played)
    record = ConversationRecord.read_record(path)

    assert record.header is not None
    assert "questions" not in record.header.plan
    assert (
        Plan.from_json(record.header.plan).fingerprint == record.header.plan_fingerprint
    )
    assert {reply.partition(" ")[0] for reply in answers(played).values()} == set(
        "123456"
    )
    assert not any(one.alone for one in record.transcript)


@pytest.mark.slow
def test_a_run_with_questions_alone_is_scored_again_alike(played: Project) -> None:
    locomo(played, agent="bots:Resets")
    before = answers(played)
    result = locomo(played, "--ltm-rescore=latest")

    assert answers(played) == before
    result.stdout.re_match_lines(
        [".*7 verdicts.* same.*|.*nothing moved.*|.*0 moved.*|.*verdict.*unchanged.*"]
    )


def test_a_state_that_cannot_be_loaded_ends_the_talk_with_its_reason_and_keeps_what_was_said(
    played: Project,
) -> None:
    result = locomo(played, "-k", "conv_1", agent="bots:Broken")

    assert len(answers(played)) == 1
    text = " ".join(result.stdout.str().split())
    assert "the agent cannot be restored to where it was" in text
    assert "ValueError: the state is of another machine" in text


def test_a_dry_run_says_how_often_all_is_told_again(played: Project) -> None:
    result = locomo(
        played, "-k", "conv_1", "--ltm-dry-run", agent="bots:Resets,bots:Answers"
    )

    # six questions, after an opening and five turns
    result.stdout.re_match_lines([r"told again, at most +36 +0"])


BUNDLED = (
    "full",
    "bm25:top2",
    "bm25:2k",
    "window:2k",
    "forgetful:0.1",
    "length-bias:1k",
    "length-bias:1k:full",
    "padded:20:full",
    "ts:full",
    "ts:bots:Answers",
    "cost:1/1",
    "memory:rules",
    "memory:rules?preset=memgpt",
    "memory:rules?preset=ltm-1",
    "memory:rules?preset=memorybank",
    "memory:rules?preset=locomo-observations",
)


@pytest.mark.slow
def test_bundled_agents_answer_alike_whatever_was_asked_before(played: Project) -> None:
    locomo(played, "-k", "conv_1", agent=",".join(BUNDLED))
    whole = answers(played)
    assert all("asked_together" not in column for column in summary(played))
    for question in ("temporal", "adversarial"):
        locomo(played, "-k", f"{question} and conv_1", agent=",".join(BUNDLED))
        single = answers(played)
        assert len(single) == len(BUNDLED)
        assert single == {one: whole[one] for one in single}


# --- Several reading parameters of a memory: one ingestion, a column for each; and
# other bundled agents.

STORE = """
import pathlib

class Store:
    def __init__(self):
        self.rows = []
    def add(self, text, **_):
        with open(pathlib.Path(__file__).with_name("added.txt"), "a", encoding="utf-8") as file:
            file.write(text.replace("\\n", " ") + "\\n")
        self.rows.append(text)
    def search(self, query, *, k):
        words = set(query.lower().split())
        return sorted(self.rows, key=lambda row: -len(words & set(row.lower().split())))[:k]
    def close(self):
        with open(pathlib.Path(__file__).with_name("added.txt"), "a", encoding="utf-8") as file:
            file.write("closed\\n")
        del self.rows

class AsyncStore(Store):
    async def add(self, text, **known):
        super().add(text, **known)
    async def search(self, query, *, k):
        return super().search(query, k=k)
"""


@pytest.mark.slow
@pytest.mark.parametrize("store", ["Store", "AsyncStore"])
def test_a_store_takes_a_history_in_once_for_several_k(
    played: Project, store: str
) -> None:
    played.file(STORE, "stores.py")
    locomo(played, "--ltm-no-probe", agent=f"S=store:stores:{store}?k=1,3")
    several = answers(played)
    added = (played.path / "added.txt").read_text("utf-8").splitlines()
    locomo(
        played,
        "--ltm-no-probe",
        agent=f"S.k1=store:stores:{store}?k=1,S.k3=store:stores:{store}?k=3",
    )

    assert sum("Last Friday I played the Elgar" in line for line in added) == 1
    # two stores that were read, and two that were not needed
    assert added.count("closed") == 4
    assert several == answers(played)
    assert [column["agent"] for column in summary(played)] == ["S.k1", "S.k3"]


@pytest.mark.slow
def test_several_k_of_a_memory_answer_as_each_does_by_itself(played: Project) -> None:
    query = "preset=retrieval&reading.k"
    locomo(played, agent=f"M=memory:rules?{query}=1,2,10")
    several = answers(played)
    singles = ",".join(f"M.k{k}=memory:rules?{query}={k}" for k in (1, 2, 10))
    locomo(played, agent=singles)

    assert len(several) == 21
    assert several == answers(played)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [["?questions=together"], ["?after=0"], ["--ltm-trials=2"]],
)
def test_what_cannot_be_shared_is_taken_in_by_each(
    played: Project, options: list[str]
) -> None:
    played.file(STORE, "stores.py")
    locomo(played, *options, agent="S=store:stores:Store?k=1,3")
    several = answers(played)
    locomo(
        played,
        *options,
        agent="S.k1=store:stores:Store?k=1,S.k3=store:stores:Store?k=3",
    )

    assert several == answers(played)


@pytest.mark.slow
def test_killed_in_the_second_of_several_k_a_run_is_resumed_and_ends_alike(
    played: Project,
) -> None:
    played.file(STORE, "stores.py")
    agent = "S=store:stores:Store?k=1,3"
    locomo(played, agent=agent)
    undisturbed = answers(played)
    dying = """\
        if pathlib.Path(__file__).with_name("kill.txt").exists() and k == 3 and "Lisbon" in query:
            import os; os._exit(9)
        words ="""
    played.file(STORE.replace("        words =", dying), "stores.py")
    (played.path / "kill.txt").touch()
    locomo(played, agent=agent, subprocess=True)
    (played.path / "kill.txt").unlink()
    locomo(played, "--ltm-resume=latest", subprocess=True)

    assert answers(played) == undisturbed


KILLER = """
import os, pathlib

LEFT = pathlib.Path(__file__).with_name("left.txt")

def pytest_runtest_logreport(report):
    if report.when == "call" and LEFT.exists():
        left = int(LEFT.read_text()) - 1
        LEFT.write_text(str(left)) if left else LEFT.unlink()
        if not left:
            os._exit(9)
"""
SERVER = shlex.join(
    [sys.executable, str(Path(__file__).parents[1] / "servers" / "memory_server.py")]
)
FOREIGN = (
    "full",
    "bm25:top2",
    "memory:rules",
    "memory:rules?preset=memgpt",
    "memory:rules?preset=memorybank",
    "store:stores:Store?k=3",
    "store:stores:AsyncStore?k=3",
    "openai:any@URL",
    pytest.param(
        f"mcp:{SERVER}",
        marks=pytest.mark.skipif(
            find_spec("mcp") is None, reason="needs the extra mcp"
        ),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("agent", FOREIGN)
def test_bundled_agents_go_on_after_a_kill_between_two_questions(
    played: Project, agent: str, chat_server: ChatServer
) -> None:
    played.file(STORE, "stores.py")
    played.file(KILLER, "killer.py")  # with a suite alone, pytest loads no conftest
    chat_server.default = lambda request: (
        f"{len(request.messages)} messages before {request.last}"
    )
    options = [
        "--ltm-no-probe",
        f"--ltm-agent=M={agent.replace('URL', chat_server.url)}",
    ]
    locomo(played, *options)
    undisturbed, requests = answers(played), len(chat_server.requests)
    (played.path / "left.txt").write_text("2", "utf-8")
    locomo(played, "-p", "killer", *options, subprocess=True)
    assert not (played.path / "left.txt").exists()
    assert 0 < len(answers(played)) < len(undisturbed)
    locomo(played, "--ltm-resume=latest", subprocess=True)

    assert answers(played) == undisturbed
    assert len(chat_server.requests) == 2 * requests  # nothing is asked twice
    shown = [
        sum("that you have read" in message["content"] for message in each.messages)
        for each in chat_server.requests
    ]
    assert max(shown, default=0) <= 1  # no question precedes another


def test_of_wrong_answers_each_report_says_by_category_whether_the_evidence_was_found(
    played: Project,
) -> None:
    played.file(STORE, "stores.py")
    result = locomo(
        played,
        "-k",
        "conv_1",
        "--ltm-summary=page.md",
        agent="S=store:stores:Store?k=3",
    )
    held = json.loads((latest_run(played.path) / "summary.json").read_text("utf-8"))[
        "conversations"
    ]
    rows = [row for one in held for row in one["examples"]]
    wrong = [row for row in rows if row["ltm_score"] < 0.5]

    assert wrong
    assert all(("ltm_metric_wrong_but_found" in row) == (row in wrong) for row in rows)
    for text in (result.stdout.str(), (played.path / "page.md").read_text("utf-8")):
        assert "found" in text
        assert "wrong" in text

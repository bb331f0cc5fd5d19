"""Dry runs forecast the schedule, tokens and cost of a run, without calling anyone or writing anything."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from chat_server import ChatServer
from run_folders import latest_run

from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.session import LANE
from pytest_ltm.figures.forecast import Forecast
from pytest_ltm.modes import dry_run as _dry_run
from pytest_ltm.reports import forecast_lines as _forecast

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

AGENTS = """
from pathlib import Path
from pytest_ltm import Reply

class Costly:
    max_message_tokens = 500

    def __init__(self):
        Path("made.txt").write_text("made")

    def reply(self, message):
        return "x"

class Told(Costly):
    def accept(self, message, reply):
        pass
"""
TALK = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.5)
    ltm.check("knows", "Kelvin" in ltm.ask("What is my cat called?"))

def test_dog(ltm):
    ltm.say("My dog is called Celsius.")
    ltm.wait(span=0.9)
    assert "Celsius" in ltm.ask("What is my dog called?")
    ltm.ask("Never asked.")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(bots=AGENTS, test_talk=TALK)
    pytester.syspathinsert()
    return pytester


@pytest.fixture
def forecasts(monkeypatch: pytest.MonkeyPatch) -> list[Forecast]:
    """The forecasts of dry runs, in addition to their output."""
    found: list[Forecast] = []
    show = _forecast.forecast_lines

    def shown(each: list[Forecast], *words: Any, **more: Any) -> list[str]:
        found.extend(each)
        return show(each, *words, **more)

    monkeypatch.setattr(_dry_run, "forecast_lines", shown)
    return found


def run(project: pytest.Pytester, *words: str, agent: str = "full") -> pytest.RunResult:
    return project.runpytest_inprocess(f"--ltm-agent={agent}", *words)


def test_nothing_is_written_nobody_is_made_and_everything_is_skipped(
    project: pytest.Pytester,
) -> None:
    before = {path.name for path in project.path.iterdir()}
    result = run(project, "--ltm-dry-run", "test_talk.py", "-rs", agent="bots:Costly")
    assert result.ret == 0
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(
        ["ltm: dry run: no agent or judge is called*", "*dry run: no agent was called*"]
    )
    made = {path.name for path in project.path.iterdir()} - before
    assert not {name for name in made if name == "made.txt" or name.startswith(".ltm")}


@pytest.mark.parametrize("columns", [80, 200])
def test_no_line_is_wider_than_the_terminal(
    project: pytest.Pytester, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = run(
        project,
        "--ltm-dry-run",
        "--ltm-suite=standard",
        "--ltm-span=2k,isolated",
        "--ltm-examples=1",
        agent="full,window:8k",
    )
    start = next(n for n, line in enumerate(result.outlines) if " dry run " in line)
    shown = result.outlines[start:-1]
    assert max(map(len, shown)) <= columns
    assert any(re.match(r"colours +#-+#", line) for line in shown)


def test_what_is_told_costs_nothing_and_what_is_asked_does(
    project: pytest.Pytester, forecasts: list[Forecast]
) -> None:
    for agent in ("bots:Costly", "bots:Told"):
        run(project, "--ltm-dry-run", "--ltm-span=4k", "test_talk.py", agent=agent)
    asked, told = forecasts
    assert (asked.told, told.filler.messages) == (0, 0)
    assert told.told > 0
    # it takes in 500 tokens at once, and outputs about as many
    assert asked.filler.messages >= 4_000 * 0.8 / 1_000
    assert asked.filler.tokens_in > 1_000


def test_the_expected_cost_is_that_of_the_price(
    project: pytest.Pytester, forecasts: list[Forecast]
) -> None:
    run(
        project,
        "--ltm-dry-run",
        "--ltm-price=100/200",
        "--ltm-price=full=10/20/1",
        "test_talk.py",
    )
    [found] = forecasts
    use = found.agent_use
    dollars = (10 * use.tokens_in + 20 * use.tokens_out) / 1e6
    result = run(
        project,
        "--ltm-dry-run",
        "--ltm-price=100/200",
        "--ltm-price=full=10/20/1",
        "test_talk.py",
    )
    result.stdout.fnmatch_lines(
        [
            f"USD: agent *{dollars:.4f}",
            "best use of cache *",
            f"expected in total: *${dollars:.4f}",
        ]
    )


def test_without_a_price_the_way_to_give_one_is_told(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-dry-run", "test_talk.py", agent="bots:Costly")
    assert "give --ltm-price=bots_Costly=IN/OUT" in " ".join(
        result.stdout.str().split()
    )


def test_a_chat_model_needs_no_key_and_is_priced_by_the_list(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    words = ("--ltm-dry-run", "--ltm-judge=openai:gpt-4o-mini", "test_talk.py")
    result = run(project, *words, agent="chat=openai:gpt-4o-2024-08-06")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*dollars per million tokens*chat 2.5/10/1.25 (list price of 2025-08)*judge 0.15*"
        ]
    )


@pytest.mark.parametrize(
    "spec",
    ["openai:m@http://127.0.0.1:9/v1?{}", "memory:openai:m@http://127.0.0.1:9/v1?{}"],
)
def test_no_reply_is_expected_to_be_longer_than_max_tokens(
    project: pytest.Pytester, forecasts: list[Forecast], spec: str
) -> None:
    result = run(
        project,
        "--ltm-dry-run",
        "--ltm-no-probe",
        "test_talk.py",
        agent=spec.format("max_tokens=7"),
    )
    use = forecasts[0].agent_use
    assert use.tokens_out == 7 * use.messages
    assert "out: at most 7 for each reply" in " ".join(result.stdout.str().split())


def test_an_example_that_gives_up_at_a_wrong_answer_is_told_of(
    project: pytest.Pytester,
) -> None:
    result = run(project, "--ltm-dry-run", "test_talk.py", agent="echo")
    assert "1 example stopped at a simulated answer" in " ".join(
        result.stdout.str().split()
    )


@pytest.mark.parametrize("agent", ["full", "window:8k", "bm25:8k"])
def test_the_tokens_are_within_five_percent_of_the_run(
    project: pytest.Pytester, forecasts: list[Forecast], agent: str
) -> None:
    words = ("--ltm-span=32k", "--ltm-suite=standard", "--ltm-examples=1")
    run(project, *words, "--ltm-dry-run", agent=agent)
    run(project, *words, agent=agent)
    [found] = forecasts
    tokens_in, tokens_out = read_by(project, agent)
    assert found.agent_use.tokens_in == pytest.approx(tokens_in, rel=0.05)
    assert found.agent_use.tokens_out == pytest.approx(tokens_out, rel=0.05)


def read_by(project: pytest.Pytester, agent: str) -> tuple[int, int]:
    """Return the tokens shown to the agent in the last run, and those of its replies."""
    reads = profile_of(find_agent(agent)).reads()
    [path] = latest_run(project.path).glob("*/journal.jsonl")
    shown = said = 0
    message = ""
    for event in map(json.loads, path.read_text().splitlines()):
        if event["event"] == "message":
            message = event["text"]
        elif event["event"] == "filler":
            reads.tell(event["message"], event["reply"])
        elif event["event"] == "reply":
            shown += reads.ask(message, event["text"])[0]
            said += event["tokens"]
    return shown, said


def test_the_tokens_of_a_chat_model_with_a_context_are_those_that_its_server_counts(
    project: pytest.Pytester, forecasts: list[Forecast], chat_server: ChatServer
) -> None:
    from pytest_ltm.api.model import token_counter

    chat_server.reads("window", "2k")
    chat_server.count = token_counter("o200k_base").count
    # An agent that forgets ends Restaurant sooner than the forecast assumes, with fewer
    # messages, though counted alike.
    words = (
        "--ltm-span=5k",
        "--ltm-suite=standard",
        "--ltm-examples=1",
        "-k",
        "not restaurant",
        # Spans then end where replies take them, as in the forecast.
        "--ltm-count=capped",
    )
    spec = f"chat=openai:some-model@{chat_server.url}?context=3000&max_tokens=500"
    run(project, *words, "--ltm-dry-run", agent=spec)
    assert not chat_server.requests
    run(project, *words, agent=spec)
    [path] = latest_run(project.path).glob("*/results.json")
    counted = json.loads(path.read_text())["input_tokens"]
    assert forecasts[0].agent_use.tokens_in == pytest.approx(counted, rel=0.05)


def test_a_dry_run_is_of_a_whole_run(project: pytest.Pytester) -> None:
    run(project, "test_talk.py")
    result = run(project, "--ltm-dry-run", "--ltm-resume=latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ltm-dry-run: not with --ltm-resume*"])


def test_time_that_would_really_pass_is_expected_and_does_not_pass(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_talk="""
        def test_tea(ltm):
            ltm.say("The tea is in the red tin.")
            ltm.wait(time="3h")
            ltm.ask("Where is the tea?")
        """
    )
    for mode, expected in (("sleep", "3h"), ("simulated", "6s")):
        result = run(
            project,
            "--ltm-dry-run",
            f"--ltm-time={mode}",
            "test_talk.py",
            "--ltm-latency=2",
        )
        result.stdout.fnmatch_lines([f"expected time * {expected}"])


def test_workers_are_left_out(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-dry-run", "-n2", "test_talk.py")
    assert (result.ret, "2 workers" in result.stdout.str()) == (0, False)
    result.stdout.fnmatch_lines(["*dry run*", "expected in total: *"])


def test_of_an_example_that_was_reported_only_its_item_is_kept(
    project: pytest.Pytester,
) -> None:
    kept = Counter[str]()

    class Look:
        def pytest_sessionfinish(self, session: pytest.Session) -> None:
            terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
            skipped = terminal.stats["skipped"]
            kept.update(reports=len({id(one) for one in skipped}), counted=len(skipped))
            kept["sides"] = sum(LANE in item.stash for item in session.items)
            kept["properties"] = sum(
                len(item.user_properties) for item in session.items
            )

    words = (
        "--ltm-dry-run",
        "--ltm-agent=full",
        "--ltm-span=isolated",
        "--ltm-examples=9",
        "-k",
        "cat",
        "-rs",
    )
    result = project.runpytest_inprocess(*words, "test_talk.py", plugins=[Look()])

    result.stdout.fnmatch_lines(
        ["SKIPPED [[]9[]] *: dry run: no agent was called", "* 9 skipped*"]
    )
    assert kept == {"reports": 1, "counted": 9, "sides": 0, "properties": 0}

"""`ltm mcp`, called by a real MCP client over stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest
from run_folders import held, played, write_run

pytestmark = [
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
    pytest.mark.skipif(
        find_spec("mcp") is None, reason="pip install 'pytest-ltm[mcp]'"
    ),
    pytest.mark.slow,
]
Call = tuple[str, dict[str, Any]]


def ask(
    folder: Path, *calls: Call, options: Sequence[str] = ()
) -> list[tuple[bool, str]]:
    """Call the tools of a server in a folder; return for each whether it refused, and its text."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def talk() -> list[tuple[bool, str]]:
        words = ["-m", "pytest_ltm", "mcp", *options]
        server = StdioServerParameters(command=sys.executable, args=words, cwd=folder)
        async with (
            stdio_client(server) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            if not calls:
                tools = (await session.list_tools()).tools
                return [
                    (not tool.annotations.read_only_hint, tool.name)
                    for tool in tools
                    if tool.annotations
                ]
            answers = [
                await session.call_tool(name, arguments) for name, arguments in calls
            ]
            return [
                (
                    bool(answer.is_error),
                    "".join(getattr(part, "text", "") for part in answer.content),
                )
                for answer in answers
            ]

    return anyio.run(talk)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with two runs, the second of which has lost a mark."""
    write_run(
        tmp_path / ".ltm" / "runs" / "r1", held([played(), played("jokes", first=4)])
    )
    write_run(
        tmp_path / ".ltm" / "runs" / "r2",
        held(
            [
                played(score=0.0, reason="does not name 'ochre'"),
                played("jokes", first=4),
            ]
        ),
    )
    return tmp_path


def test_the_tools_that_start_an_agent_are_marked_as_not_reading_only(
    project: Path,
) -> None:
    assert sorted(ask(project)) == [
        *((False, name) for name in ("compare", "explain", "runs", "show")),
        *((True, name) for name in ("check_agent", "run")),
    ]


def test_a_run_with_many_examples_is_shown_as_whole_json(tmp_path: Path) -> None:
    rows = [
        played(str(n), nodeid=f"ltm/colours::test_colours[full-2k-0-{n}]", score=0.0)
        for n in range(300)
    ]
    write_run(tmp_path / ".ltm" / "runs" / "r1", held(rows))
    [(_, text)] = ask(tmp_path, ("show", {"run": "r1"}))
    shown = json.loads(text)
    left_out = f"{300 - len(shown['examples']):,} more examples are left out"
    assert 100 < len(shown["examples"]) < 300
    assert shown["notes"][-1].startswith(left_out)
    assert len(text) <= 40_000


def test_runs_are_listed_shown_explained_and_compared(project: Path) -> None:
    runs, shown, explained, compared = ask(
        project,
        ("runs", {}),
        ("show", {"run": "r2"}),
        ("explain", {"run": "r2", "item": "colours/0"}),
        ("compare", {"before": "r1", "after": "r2"}),
    )
    assert {run["run"] for run in json.loads(runs[1])} == {"r1", "r2"}
    assert [row["reason"] for row in json.loads(shown[1])["examples"]] == [
        "does not name 'ochre'"
    ]
    reason = json.loads(explained[1])
    assert (reason["score"], [each["kind"] for each in reason["exchanges"]]) == (
        0.0,
        ["needle", "question"],
    )
    assert "| colours | 1.00 | 0.00 | -1.00 |" in compared[1]


def test_what_cannot_be_answered_is_refused_with_the_way_out(project: Path) -> None:
    (refused, text), (also_refused, other) = ask(
        project,
        ("show", {"run": "--help"}),
        ("explain", {"run": "r1", "item": "colors"}),
    )
    assert refused
    assert also_refused
    assert "--help" in text
    assert "Did you mean" in other


def test_without_allow_runs_no_agent_is_started(project: Path) -> None:
    (project / "bot.py").write_text(
        "open('started', 'w').close()\ndef reply(message):\n    return message\n"
    )
    answers = ask(
        project,
        ("run", {"agent": "bot:reply"}),
        ("check_agent", {"agent": "bot:reply"}),
    )
    assert [refused for refused, _ in answers] == [True, True]
    assert all("ltm mcp --allow-runs" in text for _, text in answers)
    assert not (project / "started").exists()


def test_an_agent_is_checked_and_played_with_a_limit_of_tokens(tmp_path: Path) -> None:
    asked = {"agent": "full", "suite": "standard"}
    checked, played_whole, stopped = ask(
        tmp_path,
        ("check_agent", {"agent": "full"}),
        ("run", asked),
        ("run", {**asked, "max_tokens": 300}),
        options=["--allow-runs"],
    )
    assert json.loads(checked[1])["unusable"] == ""
    assert "| full at 2k | 10.00 of 10 |" in played_whole[1]
    assert "unmeasurable (exit status 75)" in stopped[1]
    assert len(list((tmp_path / ".ltm" / "runs").iterdir())) == 2


def test_a_run_that_takes_too_long_ends_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pytest_ltm.commands import mcp_server

    monkeypatch.setattr(mcp_server, "_ENDING_SECONDS", 0.1)
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('begun', flush=True); time.sleep(60)"
    )
    output, _ = mcp_server._run_python(["-c", code], 1)
    assert output == "begun\n\nended after 1 seconds, the most that this server allows"

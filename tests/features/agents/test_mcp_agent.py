"""`mcp:COMMAND`: a memory server on stdio is a store."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.registry import find_agent, split_specs
from pytest_ltm.api.storage import AgentError, AgentFault, DefinitionError

# slow to import
pytestmark = pytest.mark.skipif(
    find_spec("mcp") is None, reason="pip install 'pytest-ltm[mcp]'"
)
NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)
SERVER = f"mcp:{shlex.join([sys.executable, str(Path(__file__).parents[2] / 'servers' / 'memory_server.py')])}"
TRAIN = "My train to Ghent leaves from platform 14."
QUESTION = "From which platform does my train leave?"
PLAIN = """
agent: {agent}
parameters:
  add: {{tool: remember, arguments: {{content: text}}}}
  search: {{tool: recall, arguments: {{about: query, limit: k}}}}
"""


def told(spec: str) -> Any:
    agent: Any = find_agent(spec).make()
    agent.tell_time(NOON)
    return agent


@pytest.mark.slow
def test_a_server_keeps_and_finds_and_what_it_refuses_is_a_fault() -> None:
    with closing(told(SERVER)) as agent:
        agent.accept(TRAIN, "Noted.")
        assert "14" in agent.reply(QUESTION).text
        assert agent.retrieved() == [TRAIN, "Noted."]
        assert "14" in agent.answer_alone("Which platform, please?").text
        assert "Which platform, please?" not in "".join(agent.retrieved())
        agent.answer_alone("Which platform, I ask again?")
        assert "Which platform, please?" not in "".join(agent.retrieved())
        with pytest.raises(
            AgentFault, match="the MCP tool 'search' refused: Error executing tool"
        ):
            agent.reply("broken")


@pytest.mark.slow
def test_a_server_may_take_sessions_say_what_it_wrote_and_be_settled() -> None:
    with closing(told(f"{SERVER} --sessions")) as agent:
        agent.accept(TRAIN, "Noted.")
        agent.reply(QUESTION)
        assert f"1: {TRAIN.upper()}\n{TRAIN}\nNoted." in agent.retrieved()
        rows = agent.written()
        assert rows[:2] == [
            ("added", "m0", f"1: {TRAIN.upper()}"),
            ("added", "m1", "1: NOTED."),
        ]
        assert {what for what, _, _ in rows[2:]} == {"found"}
        agent.delete("m0")
        agent.reply(QUESTION)
        assert "m0" not in {key for what, key, _ in agent.written() if what == "found"}


@pytest.mark.slow
def test_a_file_says_which_tools_add_and_search(tmp_path: Path) -> None:
    (tmp_path / "bot.yml").write_text(PLAIN.format(agent=f"{SERVER} --plain"))
    with closing(told(str(tmp_path / "bot.yml"))) as agent:
        agent.accept(TRAIN, "Noted.")
        assert "14" in agent.reply(QUESTION).text
        assert agent.retrieved()[0] == TRAIN


@pytest.mark.slow
def test_tools_that_are_not_there_are_told_with_those_that_are() -> None:
    with pytest.raises(
        AgentError, match=r"has no tool 'add'\. It has remember, recall; a file says"
    ):
        told(f"{SERVER} --plain")


@pytest.mark.slow
def test_a_server_that_does_not_start_is_told_with_its_last_words() -> None:
    with pytest.raises(AgentError, match=r"(?s)did not start: .*no database"):
        told(f"{SERVER} --dies")


def test_a_wrong_name_of_what_we_give_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bot.yml").write_text(
        PLAIN.format(agent=SERVER).replace("content: text", "content: txt")
    )
    with pytest.raises(
        (AgentError, DefinitionError), match=r"bot.yml:4: .*'text' or 'role'"
    ):
        find_agent(str(tmp_path / "bot.yml"))


def test_a_command_may_hold_commas() -> None:
    assert split_specs(["mcp:server --tags=a,b"]) == [(None, "mcp:server --tags=a,b")]


def test_no_command_is_no_server() -> None:
    with pytest.raises(AgentError, match="names no command"):
        find_agent("mcp:")


PARENT = """
import runpy, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open("child.txt", "w").write(str(child.pid))
runpy.run_path(sys.argv.pop(), run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux",
    reason="elsewhere a process in another session cannot be found",
)
def test_what_a_server_has_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parent.py").write_text(PARENT)
    server = Path(__file__).parents[2] / "servers" / "memory_server.py"
    with closing(
        told(f"mcp:{shlex.join([sys.executable, 'parent.py', str(server)])}")
    ) as agent:
        agent.accept(TRAIN, "Noted.")
        child = Path("/proc") / (tmp_path / "child.txt").read_text()
        assert child.exists()
    assert not child.exists()


@pytest.mark.slow
def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(
        AgentError, match="did not start: no command 'nowhere-to-be-seen'"
    ):
        told("mcp:nowhere-to-be-seen")

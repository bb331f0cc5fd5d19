from __future__ import annotations

import os
import pathlib
import signal
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents import Reply, Usage, line_process
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.line_process import STDERR
from pytest_ltm.agents.registry import find_agent, source_of_kind
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentError, AgentFault, DefinitionError, Field

LOOP = """
import json, os, sys, time
def say(**answer):
    print(json.dumps(answer), flush=True)
for line in sys.stdin:
    request = json.loads(line)
"""
Bot = "Callable[..., Any]"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow busy machines more time to end a process."""
    monkeypatch.setattr(line_process, "GRACE_SECONDS", 30.0)


@pytest.fixture
def bot(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Create an agent from a script: the body of a loop over requests, in a process with `parameters`."""

    def make(body: str, *, before: str = "", **parameters: Any) -> Any:
        script = tmp_path / f"bot{len(list(tmp_path.glob('*.py')))}.py"
        script.write_text(
            before + LOOP + textwrap.indent(textwrap.dedent(body), "    ")
        )
        field = Field(parameters, "bot.yml", "parameters")
        agent: Any = source_of_kind(
            agent_kinds()["cmd"], f"{sys.executable} {script}", field
        ).make(folder=tmp_path)
        request.addfinalizer(agent.close)
        return agent

    return make


def fault(agent: Any, message: str = "a") -> Any:
    with pytest.raises(AgentError) as caught:
        agent.reply(message)
    return caught.value


def until(happened: Callable[[], bool]) -> None:
    """Wait for an event in another process."""
    for _ in range(2000):
        if happened():
            return
        threading.Event().wait(0.02)
    pytest.fail("it never happened")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        # a zombie counts as dead
        return (
            pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            != "Z"
        )
    except FileNotFoundError:  # no /proc on this system
        return True


# --- talking


def test_a_process_answers_line_by_line_and_remembers(bot: Any) -> None:
    agent = bot(
        "seen = globals().setdefault('seen', []); seen.append(request['message']); say(reply=' '.join(seen))"
    )
    assert [agent.reply(text).text for text in ("a", "b\nc", "d")] == [
        "a",
        "a b\nc",
        "a b\nc d",
    ]


def test_a_question_alone_says_so_and_is_not_told_again(bot: Any) -> None:
    body = """
    seen = globals().setdefault('seen', [])
    if 'accept' in request:
        seen.append(request['accept']['message']); say(ok=True)
    elif request.get('alone'):
        say(reply=' '.join([*seen, request['message']]))
    """
    agent = bot(body, capabilities=["AcceptsHistory", "AnswersAlone"])
    agent.accept("a", "b")
    assert [agent.answer_alone(text).text for text in ("x?", "y?")] == ["a x?", "a y?"]
    agent._process.kill()
    assert agent.answer_alone("z?").text == "a z?"


def test_usage_and_cost_come_with_the_reply(bot: Any) -> None:
    agent = bot(
        "say(reply='x', usage={'input_tokens': 3, 'output_tokens': 1}, cost_usd=0.5)"
    )
    assert agent.reply("a") == Reply("x", Usage(input_tokens=3, output_tokens=1), 0.5)


@pytest.mark.slow
def test_each_conversation_has_a_process_of_its_own() -> None:
    command = f'{sys.executable} -c "import os, json; input(); print(json.dumps(dict(reply=str(os.getpid()))))"'
    found = find_agent(f"cmd:{command}")
    with closing(found.make()) as one, closing(found.make()) as other:  # type: ignore[type-var]
        assert one.reply("a") != other.reply("a")


@pytest.mark.slow
def test_big_messages_pass_both_ways_at_once(bot: Any) -> None:
    big = "ü" * 1_000_000
    agent = bot(
        "sys.stderr.write('e' * 200_000 + '\\n'); say(reply=request['message'])",
        before="",
    )
    assert agent.reply(big).text == big


@pytest.mark.slow
def test_a_process_that_writes_before_it_reads_does_not_lock_up(bot: Any) -> None:
    agent = bot(
        "say(reply='x')",
        before="import sys; sys.stderr.write('warming up\\n' * 20_000)\n",
    )
    assert agent.reply("m" * 500_000).text == "x"


# --- faults


def test_an_end_is_noticed_at_once_and_stderr_told(bot: Any, tmp_path: Path) -> None:
    agent = bot("print('out of memory', file=sys.stderr); sys.exit(3)")
    text = str(fault(agent))
    assert "ended with status 3" in text
    assert "out of memory" in text
    assert f"all of it is in {STDERR}" in text
    assert str(tmp_path) not in text
    assert "out of memory" in (tmp_path / STDERR).read_text()


def test_an_end_is_noticed_although_a_child_still_holds_stdout(
    bot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # its stderr is captured as well
    monkeypatch.setattr(line_process, "GRACE_SECONDS", 0.2)
    agent = bot("import subprocess; subprocess.Popen(['sleep', '60']); os._exit(4)")
    assert "ended with status 4" in str(fault(agent))


def test_a_process_that_was_killed_is_told_by_the_signal(bot: Any) -> None:
    assert "was ended by SIGKILL" in str(fault(bot("os.kill(os.getpid(), 9)")))


def test_an_end_takes_the_memory_along_so_the_conversation_is_over(bot: Any) -> None:
    agent = bot("say(reply='x') if request['message'] != 'die' else sys.exit(1)")
    agent.reply("a")
    assert fault(agent, "die").fatal
    assert "its memory was lost" in str(fault(agent, "b"))


@pytest.mark.slow
def test_an_end_before_anything_was_said_loses_nothing(
    bot: Any, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    agent = bot(f"say(reply='x') if os.path.exists({str(flag)!r}) else sys.exit(1)")
    assert not fault(agent).fatal
    flag.touch()
    assert agent.reply("a").text == "x"


@pytest.mark.slow
@pytest.mark.parametrize("line", ["Loading the model...", "42", "[1]", '"text"'])
def test_what_is_no_json_object_on_stdout_is_an_error_that_says_where_to_print(
    bot: Any, line: str
) -> None:
    text = str(fault(bot(f"print({line!r}, flush=True); say(reply='x')")))
    assert "not a JSON object" in text
    assert "Let it print to stderr" in text


def test_a_line_that_nobody_asked_for_is_never_taken_for_an_answer(bot: Any) -> None:
    agent = bot("say(reply='x'); say(reply='late')")
    agent.reply("a")
    until(lambda: not agent._process._incoming.empty())
    assert "before it was asked" in str(fault(agent, "b"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"answer": 1}, "answered without 'reply'"),
        ({"reply": 1}, "its 'reply' is '1', not a text"),
        ({"reply": "x", "usage": {"tokens": 1}}, "its 'usage' has other fields"),
        ({"error": "no key"}, "reported an error: 'no key'"),
    ],
)
def test_a_wrong_answer_is_a_fault(bot: Any, answer: Any, says: str) -> None:
    assert says in str(fault(bot(f"say(**{answer!r})")))


def test_an_error_that_the_process_tells_leaves_it_running(bot: Any) -> None:
    agent = bot("say(error='busy') if request['message'] == 'a' else say(reply='x')")
    fault(agent)
    assert agent.reply("b").text == "x"


@pytest.mark.slow
def test_a_limit_of_its_own_ends_a_process_that_says_nothing(bot: Any) -> None:
    assert "no answer within 0.2 s" in str(fault(bot("time.sleep(60)", timeout=0.2)))


@pytest.mark.slow
def test_after_the_reply_timeout_no_late_answer_is_taken_for_the_next(bot: Any) -> None:
    agent = bot(
        "time.sleep(60 if request['message'] == 'slow' else 0); say(reply=request['message'])"
    )
    speaker = AgentCaller(agent, timeout=0.5)
    with pytest.raises(AgentFault, match="did not return"):
        speaker.ask("slow")
    patient = AgentCaller(agent, timeout=60)
    assert patient.ask("quick").text == "quick"
    patient.close()


def test_a_secret_in_stderr_is_not_kept(
    bot: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("LTM_PROBE_API_KEY", "planted-in-a-process-0123")
    text = str(
        fault(
            bot("print(os.environ['LTM_PROBE_API_KEY'], file=sys.stderr); sys.exit(1)")
        )
    )
    assert "planted" not in text + (tmp_path / STDERR).read_text()


# --- ending


def test_closing_ends_the_process_and_its_children(bot: Any) -> None:
    agent = bot(
        "import subprocess; say(reply=str(subprocess.Popen(['sleep', '60']).pid))"
    )
    child, process = int(agent.reply("a").text), agent._process._process
    agent.close()
    assert process.returncode == 0
    until(lambda: not is_alive(child))


@pytest.mark.slow
def test_a_process_that_will_not_go_is_killed(bot: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(line_process, "GRACE_SECONDS", 0.1)
    stubborn = f"import signal; signal.signal({int(signal.SIGTERM)}, signal.SIG_IGN)\n"
    agent = bot("say(reply='x'); time.sleep(60)", before=stubborn)
    agent.reply("a")
    process = agent._process._process
    agent.close()
    assert process.returncode == -signal.SIGKILL


def test_a_process_that_was_never_needed_is_never_started(bot: Any) -> None:
    agent = bot("say(reply='x')")
    agent.close()
    assert agent._process is None


# --- capabilities

MEMORY = """
notes = globals().setdefault('notes', [])
if 'accept' in request:
    notes.append(request['accept']['message']); say(ok=True)
elif 'save' in request:
    say(state=notes)
elif 'load' in request:
    notes[:] = request['load']; say(ok=True)
elif 'reset' in request:
    notes.clear(); say(ok=True)
elif request['message'] == 'die':
    sys.exit(1)
else:
    notes.append(request['message']); say(reply=' '.join(notes) + request.get('now', ''))
"""


def test_a_process_has_the_capabilities_that_its_settings_name(bot: Any) -> None:
    assert capabilities_of(bot(MEMORY)) == {"Configured"}
    named = ["Resettable", "AcceptsHistory", "Checkpointable", "TimeAware"]
    assert capabilities_of(bot(MEMORY, capabilities=named, max_message_tokens=9)) == {
        *named,
        "Configured",
        "LimitsMessages",
    }


@pytest.mark.slow
def test_a_process_can_be_saved_and_another_one_go_on(bot: Any) -> None:
    one, other = (bot(MEMORY, capabilities=["Checkpointable"]) for _ in range(2))
    one.reply("a")
    other.load(one.save())
    assert other.reply("b").text == "a b"


def test_a_process_can_be_told_reset_and_told_the_time(bot: Any) -> None:
    agent = bot(MEMORY, capabilities=["Resettable", "AcceptsHistory", "TimeAware"])
    agent.accept("x", "y")
    agent.tell_time(datetime(2024, 5, 6, tzinfo=timezone.utc))
    assert agent.reply("a").text == "x a2024-05-06T00:00:00+00:00"
    agent.reset()
    assert agent.reply("b").text.startswith("b2024")


@pytest.mark.slow
def test_a_process_that_accepts_history_is_started_again_and_told_all_of_it(
    bot: Any,
) -> None:
    agent = bot(MEMORY, capabilities=["AcceptsHistory"])
    agent.reply("a")
    assert not fault(agent, "die").fatal
    assert agent.reply("b").text == "a b"


@pytest.mark.slow
def test_a_process_that_was_saved_last_is_started_again_from_there(bot: Any) -> None:
    agent = bot(MEMORY, capabilities=["Checkpointable"])
    agent.reply("a")
    agent.save()
    assert not fault(agent, "die").fatal
    assert agent.reply("b").text == "a b"


# --- settings


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"capability": []}, "unknown field"),
        ({"capabilities": ["Flying"]}, "expected one of Resettable"),
        ({"timeout": -1}, "expected seconds"),
        ({"variables": ["A"]}, "expected a mapping"),
    ],
)
def test_wrong_settings_say_where(parameters: Any, says: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        source_of_kind(
            agent_kinds()["cmd"],
            "python bot.py",
            Field(parameters, "bot.yml", "parameters"),
        )
    assert says in str(caught.value)
    assert str(caught.value).startswith("bot.yml: parameters")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("cmd:", "names no command"),
        ("cmd:ltm-no-such-program x", "there is no program"),
        ("cmd:'", "No closing"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused_before_the_run(
    spec: str, says: str
) -> None:
    with pytest.raises(AgentError, match=says):
        find_agent(spec)


def test_variables_and_folder_are_the_processes_own(bot: Any, tmp_path: Path) -> None:
    agent = bot(
        "say(reply=os.environ['SIZE'] + os.getcwd())",
        variables={"SIZE": "9"},
        folder=str(tmp_path),
    )
    assert agent.reply("a").text == f"9{tmp_path}"
    assert agent.configuration()["cmd"]["variables"] == {"SIZE": "9"}


def test_a_source_gives_no_folder_to_agents_of_others(tmp_path: Path) -> None:
    assert agent_source(lambda: "not an agent", spec="x").spec == "x"
    assert (
        agent_source(lambda message: message, spec="x").make(folder=tmp_path).reply("a")
        == "a"
    )


def test_of_endless_stderr_head_and_tail_are_kept(
    bot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_process, "LONGEST_STDERR", 2_000)
    agent = bot(
        "for number in range(5_000): sys.stderr.write(f'line {number}\\n')\nsys.stderr.flush(); say(reply='x')"
    )
    agent.reply("a")
    agent.close()
    kept = (tmp_path / STDERR).read_text()
    assert kept.startswith("line 0\nline 1\n")
    assert kept.endswith("line 4998\nline 4999\n")
    assert "characters are left out here" in kept
    assert len(kept) < 2_200


def test_a_process_says_what_its_memory_did_settles_and_deletes(
    bot: Callable[..., Any],
) -> None:
    agent = bot(
        """
        if "message" in request: say(reply="hi")
        elif "written" in request: say(written=[dict(what="added", id="m1", text="likes tea")])
        else: deleted = request.get("delete", "settled"); print(deleted, file=sys.stderr, flush=True); say(ok=True)
        """,
        capabilities=["ShowsWrites", "Settles", "DeletesRecords"],
    )
    assert agent.written() == []
    agent.reply("a")
    assert agent.written() == [("added", "m1", "likes tea")]
    agent.settle()
    agent.delete("m1")
    agent.close()

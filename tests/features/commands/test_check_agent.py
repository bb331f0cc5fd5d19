from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_ltm.commands import main
from pytest_ltm.commands.check_agent import FINDS, UNUSABLE

Check = Callable[..., tuple[int, str]]

NOTES = """\
class Bot:
    def __init__(self):
        self.notes = []

    def reply(self, message):
        self.notes.append(message)
        return " ".join(self.notes)
"""
SHARED = """\
NOTES = []

class Bot:
    def reply(self, message):
        NOTES.append(message)
        return " ".join(NOTES)
"""


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def checked(
        text: str, *words: str, spec: str = "checked_bot:Bot"
    ) -> tuple[int, str]:
        (tmp_path / "checked_bot.py").write_text(textwrap.dedent(text))
        monkeypatch.delitem(sys.modules, "checked_bot", raising=False)
        status = main(["check-agent", spec, *words])
        return status, " ".join(capsys.readouterr().out.split())

    return checked


def test_an_agent_that_remembers_and_keeps_conversations_apart(check: Check) -> None:
    status, told = check(NOTES)
    assert status == 0
    assert "recalls a fact from three messages earlier: yes" in told
    assert "does not know it in another conversation" in told
    assert told.endswith("first score: pytest --ltm-agent=checked_bot:Bot")


def test_a_spec_that_a_shell_would_take_apart_is_quoted_in_the_command(
    check: Check,
) -> None:
    _, told = check("", spec="memory:rules?preset=ltm-2&recent=0")
    assert told.endswith(
        "first score: pytest --ltm-agent='memory:rules?preset=ltm-2&recent=0'"
    )


@pytest.mark.parametrize(("kept", "finds"), [("self.notes", 0), ("[]", FINDS)])
def test_what_is_left_in_the_next_session(check: Check, kept: str, finds: int) -> None:
    saves = f"    def save(self):\n        return ' '.join({kept}).encode()\n"
    status, told = check(
        f"{NOTES}{saves}    def load(self, state):\n        self.notes = [state.decode()]\n"
    )
    assert status == finds
    assert (
        "knows it in the next session, too"
        if not finds
        else "it does not know a fact from the first"
    ) in told


def test_the_method_that_was_taken_is_named(check: Check) -> None:
    _, told = check(NOTES.replace("def reply", "def chat"))
    assert told.startswith(
        "checked_bot:Bot: a new agent for each conversation, which replies by chat()"
    )


def test_one_store_for_all_conversations_is_found(check: Check) -> None:
    status, told = check(SHARED)
    assert status == FINDS
    assert "in another conversation it knows a fact from the first" in told


def test_one_object_that_forgets_when_reset(check: Check) -> None:
    status, told = check(
        NOTES + "    def reset(self):\n        self.notes.clear()\nbot = Bot()\n",
        spec="checked_bot:bot",
    )
    assert (status, "does not know it in another conversation" in told) == (0, True)


def test_one_object_that_cannot_be_reset_serves_one_conversation(check: Check) -> None:
    status, told = check(NOTES + "bot = Bot()\n", spec="checked_bot:bot")
    assert status == FINDS
    assert "can serve one conversation only" in told


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (
            "def acept(self, message, reply): ...",
            "it has acept(), which nothing calls. Did you mean accept() of AcceptsHistory?",
        ),
        ("def tell_times(self, now): ...", "Did you mean tell_time() of TimeAware?"),
        (
            "def save(self, path): ...",
            "the agent is not Checkpointable: its save() cannot be called with no arguments",
        ),
        (
            "stateless = 'yes'",
            "the agent is not Stateless: stateless is 'yes', not True",
        ),
    ],
)
def test_what_nearly_is_a_capability(check: Check, method: str, told: str) -> None:
    status, said = check(f"{NOTES}    {method}\n")
    assert status == FINDS
    assert told in said


def test_methods_of_its_own_are_no_slips(check: Check) -> None:
    status, told = check(
        f"{NOTES}    def search(self): ...\n    def replies(self): ...\n    def accept(self, message, reply): ...\n"
    )
    assert (status, "Did you mean" in told) == (0, False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "class Bot:\n    def reply(self, message):\n        raise RuntimeError('no key')",
            "RuntimeError: no key",
        ),
        ("class Bot:\n    def reply(self, message):\n        return 7", "7 (an int)"),
        (
            "class Bot:\n    def chat(self, message, key):\n        return 'x'",
            "It has chat(message, key)",
        ),
        (
            "class Bot:\n    def __init__(self, key): ...\n    def reply(self, message): ...",
            "making a Bot needs 'key'",
        ),
        ("import nowhere_to_be_found", "nowhere_to_be_found"),
        ("class Bot:\n    def reply(self", "checked_bot.py"),
    ],
)
def test_an_agent_that_no_run_could_use(check: Check, text: str, told: str) -> None:
    status, said = check(text)
    assert status == UNUSABLE
    assert told in said


def test_a_constructor_that_raises_shows_its_traceback_and_none_of_our_frames(
    check: Check,
) -> None:
    status, told = check(
        "class Bot:\n    def __init__(self):\n        self.x = {}['key']\n    def reply(self, message): ..."
    )
    assert status == UNUSABLE
    assert "self.x = {}['key']" in told
    assert "pytest_ltm" not in told


@pytest.mark.slow
def test_a_reply_that_never_comes_ends_at_the_limit(check: Check) -> None:
    status, told = check(
        "import time\nclass Bot:\n    def reply(self, message):\n        time.sleep(60)",
        "--timeout=0.2",
    )
    assert status == UNUSABLE
    assert "0.2" in told


def test_an_empty_reply_is_worth_a_look(check: Check) -> None:
    status, told = check("class Bot:\n    def reply(self, message):\n        return ''")
    assert (status, "an empty reply to" in told) == (FINDS, True)


ENDS = """\
from pytest_ltm import Reply

ENDS = ["stop", "length", "handoff", "content_filter"]

class Bot:
    def reply(self, message):
        return Reply("You live in Riga.", finish_reason=ENDS.pop(0))
"""


def test_the_account_of_each_reply_is_shown_and_what_settles_an_unknown_end(
    check: Check,
) -> None:
    status, told = check(ENDS)
    assert status == UNUSABLE
    assert "1 whole, 1 cut (length), 1 unknown (handoff), 1 kept back" in told

    status, told = check(ENDS.replace("ENDS.pop(0)", "ENDS[2]"))
    assert status == FINDS
    assert told.count("ends=handoff") == 1


def test_json_holds_the_same(check: Check) -> None:
    status, told = check(NOTES, "--json")
    found = json.loads(told)
    assert (status, found["finds"], len(found["seconds"]), found["tokens"]) == (
        0,
        [],
        5,
        None,
    )


def test_a_silent_key_does_not_leave(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_API_KEY", "sk-abcdefghijklmnop1234")
    status, told = check(
        "import os\nclass Bot:\n    def reply(self, message):\n        raise OSError(os.environ['BOT_API_KEY'])"
    )
    assert status == UNUSABLE
    assert "abcdefghijklmnop" not in told


def test_without_a_spec_it_checks_the_only_bot_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "lone_bot.py").write_text(NOTES)
    assert main(["check-agent", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["spec"] == "lone_bot:Bot"
    assert "found a class with reply(message): lone_bot:Bot" in shown.err


def test_without_a_spec_and_a_bot_it_asks_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check-agent"]) == 2
    assert "ltm check-agent mypkg.bot:Bot" in capsys.readouterr().err

"""`ltm try`: six conversations with any kind of bot, findings in words, and the reach of its memory."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.commands import main
from pytest_ltm.commands.try_agent import PROBES

NOTES = """
import re
class Notes:
    def __init__(self): self.notes = []
    def take(self, message):
        if not message.endswith("?"):
            self.notes.insert(0, message)
            return "Noted."
        asked = set(re.findall(r"\\w{5,}", message.lower()))
        known = (note for note in self.notes if asked & set(re.findall(r"\\w{5,}", note.lower())))
        return next(known, "I do not know.")
"""
BOTS = {
    "a class": "class Bot(Notes):\n    def reply(self, message): return self.take(message)",
    "another method": "class Bot(Notes):\n    def send(self, text): return self.take(text)",
    "async": "class Bot(Notes):\n    async def chat(self, m): return self.take(m)",
    "a reply object": "class Bot(Notes):\n    def ask(self, m): return {'content': self.take(m)}",
    "a factory": "def make_bot():\n    bot = Notes()\n    bot.reply = bot.take\n    return bot",
    "an object": "bot = Notes()\nbot.reply = bot.take",
    "a function": "notes = Notes()\ndef bot(message: str): return notes.take(message)",
    "messages": (
        "def bot(messages):\n    notes = Notes()\n"
        "    return [notes.take(m['content']) for m in messages if m['role'] == 'user'][-1]"
    ),
}
NAMES = {
    "a class": "bots:Bot",
    "another method": "bots:Bot",
    "async": "bots:Bot",
    "a reply object": "bots:Bot",
    "a factory": "bots:make_bot",
    "an object": "bots:bot",
    "a function": "bots:bot",
    "messages": "bots:bot",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def tried(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return the findings by topic."""
    capsys.readouterr()
    assert main(["try", "--json", *words]) == 0
    out = capsys.readouterr().out
    found = json.loads(out[out.index("{") :])
    return {finding["topic"]: finding for finding in found["findings"]}


@pytest.mark.parametrize("kind", BOTS)
def test_it_answers_for_each_kind_of_bot(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    (folder / "bots.py").write_text(f"{NOTES}\n{BOTS[kind]}\n")
    monkeypatch.delitem(sys.modules, "bots", raising=False)
    findings = tried(capsys, NAMES[kind])
    del sys.modules["bots"]
    assert len(findings) == 6
    assert findings["newest value"]["good"] is True
    assert findings["distance"]["tokens"] > 3_000


@pytest.mark.parametrize("spec", ["cmd", "yml", "store"])
def test_it_answers_for_bots_outside_and_for_stores(
    folder: Path, capsys: pytest.CaptureFixture[str], spec: str
) -> None:
    (folder / "program.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n"
        "    print(json.dumps({'reply': json.loads(line)['message']}), flush=True)\n"
    )
    (folder / "bot.yml").write_text("agent: window:4k\n")
    (folder / "words_of.py").write_text(
        "class Store:\n    def __init__(self): self.texts = []\n"
        "    def add(self, text, **_): self.texts.append(text)\n"
        "    def search(self, query, **_): return self.texts[::-1][:5]\n"
    )
    specs = {
        "cmd": f"cmd:{sys.executable} program.py",
        "yml": "bot.yml",
        "store": "store:words_of:Store",
    }
    findings = tried(capsys, specs[spec])
    assert len(findings) == 6
    assert all("failed" not in finding["text"] for finding in findings.values())


@pytest.mark.parametrize("window", [1_000, 3_000, 8_000])
@pytest.mark.usefixtures("folder")
def test_it_finds_how_far_back_a_window_reaches(
    capsys: pytest.CaptureFixture[str], window: int
) -> None:
    findings = tried(capsys, f"window:{window}", "--to=8k")
    assert findings["distance"]["tokens"] == pytest.approx(window, rel=0.15)


@pytest.mark.parametrize("spec", ["echo", "silent", "dump", "fixed:1", "agree"])
@pytest.mark.usefixtures("folder")
def test_a_bot_without_a_memory_of_its_own_is_not_praised(
    capsys: pytest.CaptureFixture[str], spec: str
) -> None:
    findings = tried(capsys, spec)
    for topic in ("newest value", "order", "distance"):
        assert findings[topic]["good"] is not True, findings[topic]["text"]


def test_a_bot_that_shares_what_it_hears_mixes_users(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shared_bot.py").write_text(
        f"{NOTES}\nnotes = []\nclass Bot(Notes):\n"
        "    def __init__(self): self.notes = notes\n"
        "    def reply(self, message): return self.take(message)\n"
    )
    findings = tried(capsys, "shared_bot:Bot")
    assert findings["other users"]["text"].startswith("mixes users")
    assert findings["a restart"]["text"].startswith("still knows")


def test_price_and_time_come_before_the_first_message_and_the_next_steps_last(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bot_alone.py").write_text(
        f"{NOTES}\nclass Bot(Notes):\n    chat = Notes.take\n"
    )
    assert main(["try", "window:2k", "--price=3/15", "--show=1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "a second a reply, at most 60 s; free" in " ".join(map(str.strip, lines[:2]))
    assert any(line.startswith("you:   My sister lives in") for line in lines)
    assert lines[-2].startswith("next: pytest --ltm-agent=window:2k")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("folder")
def test_a_person_may_look_at_transcripts_and_end_the_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("2\n"))
    monkeypatch.setattr(sys, "stdout", screen)
    assert main(["try", "window:2k"]) == 0
    asked, _, told = screen.getvalue().partition("transcript (1, 2, ")
    assert "\n--- " not in asked
    assert told.count("\n--- 2 other users: ") == 1
    assert told.count("Enter: none") == 2


def test_without_a_spec_it_tries_the_only_bot_of_the_project(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own_bot.py").write_text(
        "class Bot:\n    def chat(self, message): return 'Noted.'\n"
    )
    assert main(["try"]) == 0
    assert capsys.readouterr().out.startswith(
        "found a class with chat(message): own_bot:Bot"
    )


@pytest.mark.parametrize("seconds", ["nan", "0", "-1"])
def test_its_time_is_a_number_of_seconds(
    capsys: pytest.CaptureFixture[str], seconds: str
) -> None:
    with pytest.raises(SystemExit):
        main(["try", "full", f"--seconds={seconds}"])
    assert "expected a number of at least 1" in capsys.readouterr().err


def test_a_bot_that_cannot_be_asked_is_named_before_anything(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken_bot.py").write_text(
        "class Bot:\n    def reply(self, message): raise ValueError('no key')\n"
    )
    assert main(["try", "broken_bot:Bot"]) == 2
    assert "no key" in capsys.readouterr().err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_exit_status_is_1_if_an_error_ended_a_conversation(
    folder: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    (folder / "odd_bot.py").write_text(
        "class Bot:\n    def reply(self, message):\n"
        "        if 'phoned' in message: raise ValueError('no phones')\n"
        "        return 'Noted.'\n"
    )
    assert main(["try", "odd_bot:Bot", *form]) == 1
    assert "no phones" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("folder")
def test_a_bot_that_recites_everything_is_not_said_to_have_forgotten(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = tried(capsys, "dump")["distance"]["text"]
    assert text.startswith("names a code it was told")
    assert text.endswith("tokens before only among others")


def test_it_ends_when_its_time_is_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "late_bot.py").write_text(
        "import time\nclass Bot:\n"
        "    def reply(self, message):\n        time.sleep(0.15)\n        return 'Noted.'\n"
    )
    findings = tried(capsys, "late_bot:Bot", "--seconds=1")
    assert "not finished within 1 s" in findings["order"]["text"]
    assert list(findings) == list(PROBES)

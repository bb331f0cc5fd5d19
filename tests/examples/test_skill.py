"""The skill for coding agents: every command in it, in order, has the effect that the skill describes."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from _commands import ROOT, run

SKILL = ROOT / "pytest_ltm" / "commands" / "SKILL.md"
BOT = """
class Bot:
    def __init__(self):
        self.notes = []

    def reply(self, message):
        self.notes.append(message)
        return self.notes[-2] if message.endswith("?") and len(self.notes) > 1 else "Noted."
"""


@pytest.mark.slow
def test_the_commands_of_the_skill_do_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(BOT)
    printed = {}
    for language, file, text in re.findall(
        r"^ *```(\w+) ?(\S*)\n(.*?)^ *```$",
        SKILL.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    ):
        if file:
            (tmp_path / file).write_text(dedent(text))
        for command in dedent(text).splitlines() if language == "sh" else ():
            output = run(command, tmp_path)
            assert output.status in {0, 1}, f"$ {command}\n" + "\n".join(output.printed)
            printed[command] = "\n".join(output.printed)
    checked, _, played, _, explained, unfair, fair, *_ = printed.values()
    assert '"unusable": ""' in checked
    assert "| full at 2k | 10.00 of 10 |" in played
    assert '"exchanges"' in explained
    assert "| oracle (control) at 2k | 1.00 of 1 |" in unfair
    assert "| silent at 2k | 0.50 of 1 |" in unfair
    assert "| oracle (control) at 2k | 1.00 of 1 |" in fair
    assert "| silent at 2k | 0.00 of 1 |" in fair


def test_init_drops_the_skill_into_a_folder_once(tmp_path: Path) -> None:
    assert run("ltm init --skill .agents/skills", tmp_path).printed == (
        "wrote .agents/skills/agent-memory/SKILL.md",
    )
    assert (tmp_path / ".agents/skills/agent-memory/SKILL.md").read_text(
        "utf-8"
    ) == SKILL.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == [".agents"]
    again = run("ltm init --skill .agents/skills", tmp_path)
    assert again.status == 2
    assert "remove it to get the current one" in again.printed[0]

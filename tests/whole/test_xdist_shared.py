"""Values on disk that workers share and change together; keys are never written there."""

from __future__ import annotations

import json

import pytest
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

pytest.importorskip("xdist")

KEY = "sk-0123456789abcdef-not-to-be-written"


def test_workers_change_one_value_together(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYBOT_API_KEY", KEY)
    project.file(
        """
from pathlib import Path
from pytest_ltm._core.storage.locks import Shared
from ticks import tick

SPENT = Shared(Path(__file__).with_name("spent.json"))

class Bot:
    stateless = True
    def reply(self, message):
        tick("asked")
        SPENT.change(lambda value: {"messages": value.get("messages", 0) + 1})
        return "all right"
""",
        "bots.py",
    )
    project.file(
        "def test_a(ltm):\n    for number in range(40):\n        ltm.say(str(number))\n    assert ltm.ask('hm?')\n"
    )

    project.ltm("-n3", agent="a=bots:Bot,b=bots:Bot,c=bots:Bot").assert_outcomes(
        passed=3
    )

    spent = json.loads((project.path / "spent.json").read_text(encoding="utf-8"))
    assert spent == {"messages": len(project.ticks)}
    assert len(project.ticks) > 120
    written = [
        path
        for path in project.path.rglob("*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert written == []

"""A workspace: changes by commands and by the agent itself are recorded, checked, and restored from the record."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm import Call, Ltm, Reply, Tools
from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.journal import Journal
from pytest_ltm.api.storage import Field, ScenarioError
from pytest_ltm.testing import Played, run_conversation

TOLD = "We indent with tabs, never with spaces."
TASK = "Write style.md for newcomers."


def scenario(check: Callable[[Ltm], object]) -> Callable[[Ltm], None]:
    def writes(ltm: Ltm) -> None:
        (ltm.workspace / "README.md").write_text("A project.")
        ltm.say(TOLD)
        ltm.wait(tokens=200)
        ltm.ask(TASK)
        check(ltm)

    return writes


class Writer:
    """Writes what it was told to the file, through the tool or directly into the folder."""

    def __init__(self, text: str = "Use tabs.", *, itself: bool = False) -> None:
        self.text, self.itself = text, itself

    def reply(self, message: str, tools: Tools | None = None) -> str | Reply:
        if message != TASK or tools is None or tools.results:
            return "Done."
        if self.itself:
            assert tools.workspace is not None
            (tools.workspace / "style.md").write_text(self.text)
            (tools.workspace / "README.md").unlink()
            return "Done."
        create = {"command": "create", "path": "style.md", "file_text": self.text}
        return Reply("", calls=[Call("workspace", create)])


def play(check: Callable[[Ltm], object], agent: object, **options: Any) -> Played:
    return run_conversation({"s": scenario(check)}, agent, span=1_000, **options)


def says_tabs(ltm: Ltm) -> None:
    ltm.check_file("style.md", "TABS", lambda text: len(text) < 80, without=["spaces"])


@pytest.mark.parametrize("itself", [False, True])
def test_the_content_of_a_file_is_checked(*, itself: bool) -> None:
    right = play(says_tabs, Writer(itself=itself)).endings["s/0"].verdict
    wrong = play(says_tabs, Writer("Use spaces.", itself=itself)).endings["s/0"].verdict
    assert getattr(right, "value", None) == 1.0
    assert getattr(wrong, "value", None) == 0.0
    reason = str(getattr(wrong, "reason", ""))
    assert "'Use spaces.'; told 2" in reason
    assert reason.endswith(TOLD)


def test_a_file_that_is_not_there_fails_with_those_that_are() -> None:
    def check(ltm: Ltm) -> None:
        ltm.check_file("other.md")

    verdict: Any = play(check, Writer()).endings["s/0"].verdict
    assert "other.md is there: there is README.md, style.md" in verdict.reason


@pytest.mark.parametrize("itself", [False, True])
def test_a_conversation_that_is_played_again_from_its_journal_has_the_same_files(
    *, itself: bool
) -> None:
    found: list[dict[str, str]] = []

    def check(ltm: Ltm) -> None:
        found.append(dict(ltm.files))
        says_tabs(ltm)

    file = io.StringIO()
    play(check, Writer(itself=itself), journal=Journal(file))
    lines = file.getvalue().encode().splitlines(keepends=True)
    play(check, Writer("wrong"), journal=Journal(io.StringIO(), iter(lines)))
    assert found[0] == found[1]
    assert found[0]["style.md"] == "Use tabs."


def test_what_a_scenario_writes_is_no_call_of_the_agent() -> None:
    calls: list[Any] = []
    play(lambda ltm: calls.extend(ltm.calls), Writer(itself=True))
    assert [(call.name, call.arguments["path"]) for call in calls] == [
        ("workspace", "README.md"),
        ("workspace", "style.md"),
    ]


def test_a_workspace_is_gone_once_nobody_has_it() -> None:
    paths: list[Path] = []
    played = play(lambda ltm: paths.append(ltm.workspace), Writer())
    assert paths[0].is_dir()
    del played
    import gc

    gc.collect()
    assert not paths[0].exists()


def test_a_workspace_needs_the_markers_word() -> None:
    ltm = Ltm(
        lambda _: "",
        now=lambda: None,  # type: ignore[arg-type,return-value]
        example=0,
        span=None,
        rng=lambda: None,  # type: ignore[arg-type,return-value]
        offers=False,
    )
    with pytest.raises(ScenarioError, match="requires=\\['TakesTools'\\]"):
        _ = ltm.workspace


PROCESS = """
import json, pathlib, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["message"].startswith("Write"):
        pathlib.Path(asked["workspace"], "style.md").write_text("Use tabs.")
    print(json.dumps({"reply": "Done."}), flush=True)
"""


def test_a_process_is_told_where_the_workspace_is(tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text(PROCESS)
    field = Field({"capabilities": ["TakesTools"]}, "bot.yml", "parameters")
    agent: Any = source_of_kind(
        agent_kinds()["cmd"], f"{sys.executable} {script}", field
    ).make()
    with closing(agent):
        verdict: Any = play(says_tabs, agent).endings["s/0"].verdict
    assert verdict.value == 1.0

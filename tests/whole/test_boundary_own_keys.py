"""Keys that an agent sets itself, and streams that a logger has held since its import."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Project

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

KEY = "Zq7late-Secret-0042-value"
TALK = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    assert "Kelvin" in ltm.ask("What is my cat called?")
"""


def files_with(key: str, folder: Path) -> list[str]:
    """Return the files below a folder that contain a key, except the project's own code."""
    written = [path for path in folder.rglob("*") if path.is_file()]
    return [
        path.name
        for path in written
        if path.suffix not in {".py", ".pyc"} and key.encode() in path.read_bytes()
    ]


@WHOLE_RUN
@pytest.mark.parametrize("where", [(), ("--ltm-agent-process",)])
def test_a_key_that_an_agent_sets_itself_is_in_no_output(
    project: Project, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    project.file(
        f"""
import os
class Bot:
    def __init__(self): os.environ["ACME_API_KEY"] = "{KEY}"
    def reply(self, message): raise RuntimeError("401 for " + os.environ["ACME_API_KEY"])
""",
        "bot.py",
    )
    project.file(TALK)
    page = ("--ltm-report=page.html", "--junitxml=units.xml")

    result = project.ltm(*where, *page, agent="bot:Bot", subprocess=True)

    assert result.ret == 75
    assert KEY not in result.stdout.str() + result.stderr.str()
    assert files_with(KEY, project.path) == []
    result.stdout.fnmatch_lines(["*401 for [[]redacted $ACME_API_KEY]*"])


@WHOLE_RUN
@pytest.mark.parametrize("capture", ["fd", "sys", "no"])
def test_what_is_logged_to_a_stream_kept_from_import_is_shown_without_keys(
    project: Project, capture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    project.file(
        """
import logging, os
logging.basicConfig(level=logging.INFO)
class Bot:
    def reply(self, message): return "Kelvin"
    def close(self): logging.info("closing %s \\x1b]52;c;aGk=\\x07", os.environ["ACME_API_KEY"])
""",
        "bot.py",
    )
    project.file(TALK)

    result = project.ltm(f"--capture={capture}", agent="bot:Bot", subprocess=True)

    said = result.stdout.str() + result.stderr.str()
    assert result.ret == 0
    assert "closing [redacted $ACME_API_KEY]" in said
    assert KEY not in said
    assert "\x1b]52" not in said

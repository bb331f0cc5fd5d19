"""`init --skill FOLDER`: how a coding agent uses pytest-ltm, as a skill of the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._storage.errors import ConfigurationError

if TYPE_CHECKING:
    from argparse import ArgumentParser


NAME = "agent-memory"
TEXT = Path(__file__).with_name("SKILL.md")


def add_skill(parser: ArgumentParser) -> None:
    """Add --skill."""
    text = "write only a skill for coding agents, into the folder of skills, such as .agents/skills"
    parser.add_argument("--skill", type=Path, metavar="FOLDER", help=text)


def write_skill(skills: Path) -> int:
    """Write the skill into a folder of skills, and say so. ConfigurationError if it is there already."""
    path = skills / NAME / TEXT.name
    if path.exists():
        raise ConfigurationError(f"there already: {path}. No file is overwritten: remove it to get the current one")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"wrote {path}")
    return 0

"""`init`: the files of a first score: an agent to replace, a scenario, a workflow, and what git is to ignore."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.skill import add_skill, write_skill
from pytest_ltm._storage.errors import ConfigurationError
from pytest_ltm._storage.schema import load_packaged_yaml

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping


FILES: Mapping[str, Any] = load_packaged_yaml(__file__, "init.yml")
STUB = "ltm_agent:Agent"
"""What the agent stub is called."""
IGNORE = ".gitignore"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the folder and the agent."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), metavar="FOLDER", help="(default: this one)")
    add_skill(parser)
    parser.add_argument("--agent", metavar="SPEC", help="your agent, as for --ltm-agent: then no stub is written")


def write_first_files(given: Namespace) -> int:
    """Write what a first score needs, and say what comes next.

    That is an agent stub (ltm_agent.py), a scenario (test_ltm_appointment.py), a workflow for GitHub Actions and two
    lines for .gitignore. No file is overwritten.
    """
    if given.skill is not None:
        return write_skill(given.folder / given.skill)
    folder: Path = given.folder
    agent = given.agent or STUB
    texts = {path: text.format(agent=agent) for path, text in FILES["always"].items()}
    if not given.agent:
        texts = {**FILES["stub"], **texts}
    # looked for before anything is written: half of the files would be worse than none
    here = [path for path in texts if (folder / path).exists()]
    if here:
        raise ConfigurationError(
            f"there already: {', '.join(here)}. No file is overwritten. Move them, or name another "
            "folder: ltm init FOLDER"
        )
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    added = _extend_gitignore(folder / IGNORE)
    if added:
        print(f"wrote {IGNORE}: {', '.join(added)}")
    there = [] if folder.resolve() == Path.cwd() else [f"cd {shlex.quote(str(folder))}"]
    print(
        "\n".join(
            [
                "",
                "next:",
                *(f"  {line}" for line in (*there, f"ltm check-agent {agent}", f"pytest --ltm-agent={agent}")),
            ]
        )
    )
    return 0


def _extend_gitignore(path: Path) -> list[str]:
    """Add the lines that are missing to a `.gitignore`; return them."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    missing = [line for line in FILES["ignored"] if line not in text.splitlines()]
    if missing:
        # a last line without its end must not swallow our first
        gap = "" if not text or text.endswith("\n") else "\n"
        path.write_text(text + gap + "\n".join(missing) + "\n", encoding="utf-8")
    return missing

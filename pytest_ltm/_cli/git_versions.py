"""The versions of a file that were committed, from git; none where there is no git, or no repository."""

from __future__ import annotations

import subprocess
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Version(NamedTuple):
    """What a commit made of a file."""

    commit: str
    at: datetime
    content: bytes


MOST = 200
"""So many versions of a file are looked at, the last ones."""
_SECONDS = 30


def versions(path: Path) -> list[Version]:
    """Return what the commits that led here made of a file, newest first."""
    name = f"./{path.name}"
    listed = _git(path.parent, "log", f"-n{MOST}", "--format=%H %ct", "--", name).decode().split("\n")
    commits = [line.split() for line in listed if line]
    asked = "".join(f"{commit}:{name}\n" for commit, _ in commits)
    answer = _git(path.parent, "cat-file", "--batch", said=asked.encode()) if commits else b""
    found = []
    for commit, seconds in commits:
        head, _, answer = answer.partition(b"\n")
        if head.split()[1:2] != [b"blob"]:  # the commit that took the file away
            continue
        size = int(head.split()[2])
        found.append(Version(commit, datetime.fromtimestamp(int(seconds), timezone.utc), answer[:size]))
        answer = answer[size + 1 :]
    return found


def _git(folder: Path, *words: str, said: bytes = b"") -> bytes:
    safe: Sequence[str] = ("-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "--no-pager")
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, and the name of a file behind --
            ["git", *safe, *words],  # noqa: S607 - the git that the user has
            cwd=folder, input=said, capture_output=True, check=False, timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""

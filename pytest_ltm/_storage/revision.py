"""The commit that is tested, read from the files of `.git` and from a CI job's environment: git itself is never run."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class SourceRevision(Struct, frozen=True, omit_defaults=True):
    """Which version of the code was tested. Who made it, and what else its repository says, is not kept."""

    commit: str = ""
    """The hash of the commit that was checked out; changes that were not committed are not in it."""
    branch: str = ""


_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Bytes of `packed-refs` that are looked at.
_MOST = 1_000_000
# Of a branch's name, in characters.
_LONGEST = 200
# By CI system: the variable with the commit, and those with its branch, the first that is set.
_CI = (
    ("GITHUB_SHA", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME")),
    ("CI_COMMIT_SHA", ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME")),
    ("BUILD_SOURCEVERSION", ("BUILD_SOURCEBRANCHNAME",)),
    ("CIRCLE_SHA1", ("CIRCLE_BRANCH",)),
    ("GIT_COMMIT", ("GIT_BRANCH",)),
)


def source_revision(folder: Path, environment: Mapping[str, str] = os.environ) -> SourceRevision | None:
    """Return what is checked out in a folder; None if that is unknown. It raises nothing.

    A CI job says which branch its commit belongs to, because it checks out no branch, and both where the code was
    copied without its repository.
    """
    result = _checked_out(folder)
    if result and result.branch:
        return result
    for variable, branches in _CI:
        commit = environment.get(variable, "")
        if _HASH.fullmatch(commit) and (result is None or result.commit == commit):
            branch = next((name for each in branches if (name := environment.get(each))), "")
            return SourceRevision(commit, branch[:_LONGEST])
    return result


def _checked_out(folder: Path) -> SourceRevision | None:
    try:
        git = next(path / ".git" for path in (folder, *folder.parents) if (path / ".git").exists())
        if git.is_file():  # of a worktree or a submodule
            git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return SourceRevision(head) if _HASH.fullmatch(head) else None
        ref = head.removeprefix("ref:").strip()
        common = git / _read_text(git / "commondir") if (git / "commondir").exists() else git
        commit = _read_text(git / ref) or _read_text(common / ref) or _packed_ref(common / "packed-refs", ref)
    except (StopIteration, OSError, ValueError):
        return None
    return SourceRevision(commit, ref.removeprefix("refs/heads/")[:_LONGEST]) if _HASH.fullmatch(commit) else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _packed_ref(path: Path, ref: str) -> str:
    with path.open(encoding="utf-8") as file:
        lines = (line.split() for line in file.read(_MOST).splitlines())
        return next((words[0] for words in lines if words[1:] == [ref]), "")

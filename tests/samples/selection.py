"""Which tests a change has run: `--merge` leaves out nightly tests that it does not touch, `--changed` all but its own.

The change is everything since the branch left main, with what is not committed; on main
itself, since the commit before (of a merge: since main as it was). If that cannot be
told, as in a clone without history, everything is run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

Rules = Mapping[str, Collection[str]]
"""By pattern of a path, of which the first counts: patterns of the tests that a change there touches.

PATH stands for the path, FOLDER for the second part of it, ROOM for the third.
"""
EVERYTHING = ("*",)


class Change(NamedTuple):
    """What is to be merged."""

    commit: str
    """The hash of the last commit, "" if there is none."""
    paths: tuple[str, ...] | None
    """What differs from main, sorted; None: unknown."""


def read_change(root: Path) -> Change:
    """Return what a checkout would bring to main."""
    try:
        head = git(root, "rev-parse", "HEAD")
        base = choose_base(root, head)
        changed = git(root, "diff", "--name-only", "--no-renames", "-z", base)
        added = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    except (OSError, subprocess.CalledProcessError):
        return Change("", None)
    return Change(
        head, tuple(sorted({*changed.split("\0"), *added.split("\0")} - {""}))
    )


def choose_base(root: Path, head: str) -> str:
    """Return the commit that the change begins after; CalledProcessError if there is none, as for a first commit."""
    # a pull request into another branch
    target = os.environ.get("GITHUB_BASE_REF") or "main"
    for branch in (f"origin/{target}", target):
        try:
            base = git(root, "merge-base", "HEAD", branch)
        except subprocess.CalledProcessError:
            continue
        if base != head:
            return base
    return git(root, "rev-parse", "--verify", "--quiet", "HEAD^1")


def git(root: Path, *words: str) -> str:
    """Return what git says in a checkout."""
    done = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def find_touched(
    paths: Iterable[str] | None,
    rules: Rules,
    otherwise: Collection[str] = EVERYTHING,
) -> Iterator[str]:
    """Yield patterns of the tests that a change touches; all of them, where it is unknown.

    A path that no rule knows touches `otherwise`.
    """
    if paths is None:
        yield from EVERYTHING
        return
    for path in paths:
        tests = next(
            (tests for pattern, tests in rules.items() if fnmatchcase(path, pattern)),
            otherwise,
        )
        parts = dict(enumerate(path.split("/")))
        for test in tests:
            named = test.replace("PATH", path).replace("FOLDER", parts.get(1, ""))
            yield named.replace("ROOM", parts.get(2, ""))


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name is like one of the patterns, in which brackets are just brackets."""
    return any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)


def read_watched(path: Path) -> list[str]:
    """Return patterns of the nightly tests that have failed, and are run before each merge until they are mended."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{line.strip()}*"
        for line in lines
        if line.strip() and not line.startswith("#")
    ]


def choose_left_out(
    items: Iterable[pytest.Item], commit: str, patterns: Collection[str]
) -> list[pytest.Item]:
    """Return the nightly tests like none of the patterns, but for one of every `every`.

    They are counted among all tests with that number. The commit decides which have
    their turn, so that each has it within days.
    """
    left_out: list[pytest.Item] = []
    turns: dict[int, list[tuple[bytes, pytest.Item]]] = {}
    for item in items:
        marker = item.get_closest_marker("nightly")
        if marker is None or matches(item.nodeid, patterns):
            continue
        every = marker.kwargs.get("every")
        if every is None:
            left_out.append(item)
        else:
            turn = hashlib.sha256(f"{commit}{item.nodeid}".encode()).digest()
            turns.setdefault(every, []).append((turn, item))
    for every, members in turns.items():
        members.sort(key=itemgetter(0))
        run_now = -(-len(members) // every)
        left_out += [item for _, item in members[run_now:]]
    return left_out


class Selection:
    """The plugin that leaves tests out, to the nightly run or to the merge."""

    def __init__(
        self, config: pytest.Config, own: Rules, touched_by: Rules, watched: Path
    ) -> None:
        """Find out what has changed, unless xdist's controller has told this worker: all must collect the same."""
        self._is_for_merge = config.getoption("merge")
        self._only_own = config.getoption("changed")
        told = getattr(config, "workerinput", {}).get("ltm_change")
        self._change = Change("", ())
        if told:
            self._change = Change(*told)
        elif self._is_for_merge or self._only_own:
            self._change = read_change(config.rootpath)
        paths = self._change.paths
        self._patterns = [*find_touched(paths, own, otherwise=())]
        if self._is_for_merge:
            self._patterns += find_touched(paths, touched_by)
            self._patterns += read_watched(watched)
        self.collected: list[pytest.Item] = []
        self.nightly: list[pytest.Item] = []
        """Those of them that are left out where nothing is touched."""

    @property
    def leaves_some_to_the_night(self) -> bool:
        """Whether nightly tests are left out, so that properties may do with fewer examples than at night."""
        return self._is_for_merge and "*" not in self._patterns

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["ltm_change"] = tuple(self._change)

    def pytest_report_header(self) -> str | None:
        if not (self._is_for_merge or self._only_own):
            return None
        name = "merge" if self._is_for_merge else "changed"
        if self._change.paths is None:
            return f"{name}: what has changed is not known, so all tests are run"
        return f"{name}: {len(self._change.paths)} files, commit {self._change.commit[:12]}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        self.collected = [*items]
        self.nightly = choose_left_out(items, self._change.commit, ())
        left_out: set[pytest.Item] = set()
        if self._is_for_merge:
            left_out.update(choose_left_out(items, self._change.commit, self._patterns))
        if self._only_own:
            left_out.update(
                item for item in items if not matches(item.nodeid, self._patterns)
            )
        if left_out:
            config.hook.pytest_deselected(items=[*left_out])
            items[:] = [item for item in items if item not in left_out]

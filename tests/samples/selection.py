"""Test selection by changed files: `--merge` omits untouched nightly tests, `--changed` runs only a change's own tests.

The change is everything since the branch left main, uncommitted files included; on main
itself, everything since the previous commit (for a merge: since main before it). If it
cannot be determined, as in a clone without history, all tests run.
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
"""By path pattern, of which the first match counts: patterns of the tests that a change there touches.

PATH stands for the path, FOLDER for its second part, ROOM for its third.
"""
EVERYTHING = ("*",)


class Change(NamedTuple):
    """The change to be merged."""

    commit: str
    """The hash of the last commit, "" if there is none."""
    paths: tuple[str, ...] | None
    """Paths that differ from main, sorted; None if unknown."""


def read_change(root: Path) -> Change:
    """Return the change that a checkout would bring to main."""
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
    """Return the commit on which the change is based; CalledProcessError if there is none, as for a first commit."""
    # the target of a pull request may be another branch
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
    """Return git's output in a checkout, stripped."""
    done = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def find_touched(
    paths: Iterable[str] | None,
    rules: Rules,
    otherwise: Collection[str] = EVERYTHING,
) -> Iterator[str]:
    """Yield patterns of the tests that a change touches; `*` if the change is unknown.

    A path that matches no rule touches `otherwise`.
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
    """Return whether a name matches one of the patterns, in which brackets are literal."""
    return any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)


def read_watched(path: Path) -> list[str]:
    """Return patterns of the nightly tests that have failed; they run before each merge until fixed."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{line.strip()}*"
        for line in lines
        if line.strip() and not line.startswith("#")
    ]


def choose_left_out(
    items: Iterable[pytest.Item], commit: str, patterns: Collection[str]
) -> list[pytest.Item]:
    """Return the nightly tests to omit: those matching no pattern, except one out of every `every`.

    The share is taken of all tests with the same `every`. The commit decides which
    tests have their turn, so that each runs within days.
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
    """The plugin that deselects tests, leaving them to the nightly run or to the merge."""

    def __init__(
        self, config: pytest.Config, own: Rules, touched_by: Rules, watched: Path
    ) -> None:
        """Determine the change, or take it from xdist's controller in a worker: all must collect the same tests."""
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
        """Those of them that are omitted if nothing is touched."""

    @property
    def leaves_some_to_the_night(self) -> bool:
        """Whether nightly tests are omitted, so that property tests may use fewer examples."""
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

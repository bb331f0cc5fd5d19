"""The selection before a merge: all but the nightly tests, plus those of them that are touched or have their turn."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from selection import (
    Change,
    Selection,
    choose_left_out,
    find_touched,
    matches,
    read_change,
    read_watched,
)

ROOT = Path(__file__).parents[2]
FOLDERS = {"browser", "core", "examples", "features", "project", "whole"}
MOST_NIGHTLY = 0.08
EVERYTHING = {
    "pyproject.toml",
    "setup.py",
    "tests/conftest.py",
    "tests/samples",
    "tests/servers",
}
"""Paths that touch all nightly tests, and so need no rule."""
has_git = pytest.mark.skipif(shutil.which("git") is None, reason="asks git")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run git in a repository whose main has two commits."""
    for name in (
        "GITHUB_BASE_REF",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
    ):
        # a git hook sets the other variables
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "main").mkdir()
    identity = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
    ]

    def git(*words: str, folder: str = "main") -> None:
        subprocess.run(
            ["git", *identity, *words],
            cwd=tmp_path / folder,
            check=True,
            capture_output=True,
        )

    git("init", "--initial-branch=main")
    for name in ("a", "b"):
        (tmp_path / "main" / name).touch()
        git("add", "--all")
        git("commit", "--message", name)
    return git


@has_git
@pytest.mark.slow
def test_a_fresh_clone_of_main_brings_its_last_commit(
    repository: Callable[..., None], tmp_path: Path
) -> None:
    repository("clone", ".", "../clone")
    assert read_change(tmp_path / "clone").paths == ("b",)


@has_git
@pytest.mark.slow
def test_a_branch_brings_all_since_it_left_main_and_what_is_not_committed(
    repository: Callable[..., None], tmp_path: Path
) -> None:
    repository("clone", ".", "../clone")
    repository("switch", "--create", "mine", folder="clone")
    for name in ("c", "d ü"):
        (tmp_path / "clone" / name).touch()
        repository("add", "--all", folder="clone")
        repository("commit", "--message", name, folder="clone")
    (tmp_path / "clone" / "new").touch()
    (tmp_path / "clone" / "a").write_text("changed", encoding="utf-8")
    assert read_change(tmp_path / "clone").paths == ("a", "c", "d ü", "new")


@has_git
@pytest.mark.slow
def test_a_merge_brings_to_main_what_the_branch_did(
    repository: Callable[..., None], tmp_path: Path
) -> None:
    repository("switch", "--create", "mine", "HEAD^1")
    for name in ("c", "d"):
        (tmp_path / "main" / name).touch()
        repository("add", "--all")
        repository("commit", "--message", name)
    repository("switch", "main")
    repository("merge", "mine", "--message", "a merge")
    assert read_change(tmp_path / "main").paths == ("c", "d")


@has_git
@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["clone", "--depth=1", "file://{0}/main", "../clone"], ["init", "../clone"]],
)
def test_what_a_checkout_without_history_brings_is_unknown(
    repository: Callable[..., None], tmp_path: Path, words: list[str]
) -> None:
    repository(*(word.format(tmp_path) for word in words))
    assert read_change(tmp_path / "clone") == Change("", None)


def test_what_a_folder_that_is_no_checkout_brings_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert read_change(tmp_path) == Change("", None)


RULES = {
    "tests/*/test_*.py": ("PATH*",),
    "docs/changes/*": (),
    "docs/*.md": ("pages[PATH]",),
    "examples/*": ("FOLDER",),
    "package/*": ("tests/FOLDER/ROOM/*",),
}


@pytest.mark.parametrize(
    ("paths", "touched"),
    [
        ((), []),
        (None, ["*"]),
        (("new/room.py",), ["*"]),
        (("docs/changes/1.md",), []),
        (("docs/a.md", "docs/b/c.md"), ["pages[docs/a.md]", "pages[docs/b/c.md]"]),
        (("tests/core/model/test_a.py",), ["tests/core/model/test_a.py*"]),
        (("examples/mine/deep/er.py",), ["mine"]),
        (("package/core/model/plan.py",), ["tests/core/model/*"]),
    ],
)
def test_the_first_rule_of_a_path_counts_and_a_path_without_one_touches_everything(
    paths: tuple[str, ...] | None, touched: list[str]
) -> None:
    assert list(find_touched(paths, RULES)) == touched


def test_a_path_without_a_rule_may_touch_nothing() -> None:
    assert list(find_touched(("new/room.py",), RULES, otherwise=())) == []


@has_git
@pytest.mark.slow
def test_only_the_tests_that_stand_where_the_change_stands_are_run_when_asked(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini(f"[pytest]\npythonpath = {ROOT / 'tests' / 'samples'}")
    pytester.makeconftest(
        "from pathlib import Path\n"
        "from selection import Selection\n"
        "def pytest_addoption(parser):\n"
        "    for name in ('--merge', '--changed'):\n"
        "        parser.addoption(name, action='store_true')\n"
        "def pytest_configure(config):\n"
        "    own = {'rooms/*': ('test_FOLDER.py*',)}\n"
        "    watched = Path('watched.txt')\n"
        "    config.pluginmanager.register(Selection(config, own, {}, watched))\n"
    )
    pytester.makepyfile(
        test_model="def test_it(): pass", test_journal="def test_it(): pass"
    )
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (
        ("init", "--initial-branch=main"),
        ("add", "--all"),
        ("commit", "--message=first"),
        ("commit", "--allow-empty", "--message=second"),
    ):
        subprocess.run(["git", *identity, *words], cwd=pytester.path, check=True)
    (pytester.path / "rooms" / "model").mkdir(parents=True)
    (pytester.path / "rooms" / "model" / "plan.py").touch()

    result = pytester.runpytest_subprocess("--changed", "-v", "-p", "no:randomly")

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["changed: * files, commit *", "test_model.py::*"])


def test_brackets_of_a_pattern_are_just_brackets() -> None:
    assert matches("test_docs.py::test_page[docs/a.md]", ["test_docs.py*[docs/a.md]"])
    assert not matches("test_docs.py::test_pagea", ["test_docs.py*[docs/a.md]"])


def item(nodeid: str, *reason: str, **share: int) -> Any:
    """Return a test item, with the nightly mark if a reason is given."""
    marker = SimpleNamespace(args=reason, kwargs=share) if reason else None
    return SimpleNamespace(
        nodeid=nodeid,
        get_closest_marker=lambda name: marker if name == "nightly" else None,
    )


def left_out(
    items: list[Any], commit: str = "", patterns: Collection[str] = ()
) -> list[str]:
    return sorted(test.nodeid for test in choose_left_out(items, commit, patterns))


def test_nightly_tests_are_left_out_unless_they_are_touched() -> None:
    items = [item("a::usual"), item("a::late", "slow"), item("b::late", "slow")]
    assert left_out(items) == ["a::late", "b::late"]
    assert left_out(items, patterns=["a::*"]) == ["b::late"]
    assert left_out(items, patterns=["*"]) == []


def test_of_several_cases_each_has_its_turn_and_one_commit_always_chooses_the_same() -> (
    None
):
    items = [item(f"a::late[{number}]", "slow", every=3) for number in range(7)]
    names = {test.nodeid for test in items}
    turns = Counter(
        name for commit in range(60) for name in names - {*left_out(items, str(commit))}
    )
    assert turns.keys() == names
    assert turns.total() == 3 * 60
    assert left_out(items, "x") == left_out(items[::-1], "x")


def test_tests_of_all_modules_with_the_same_number_take_turns() -> None:
    items = [item(f"{module}.py::late", "slow", every=4) for module in "abcdefgh"]
    assert len(left_out(items, "x")) == 6
    assert len(left_out([*items, item("a.py::own", "slow", every=1)], "x")) == 6
    assert len(left_out([*items, item("a.py::own", "slow", every=2)], "x")) == 6


def test_what_is_watched_is_run_with_all_its_cases(tmp_path: Path) -> None:
    (tmp_path / "watched.txt").write_text("# why\n\na::late\n", encoding="utf-8")
    items = [
        item("a::late[1]", "slow"),
        item("a::late[2]", "slow"),
        item("a::other", "slow"),
    ]
    assert left_out(items, patterns=read_watched(tmp_path / "watched.txt")) == [
        "a::other"
    ]


# --- this project's own


@pytest.fixture
def rules(pytestconfig: pytest.Config) -> Mapping[str, Collection[str]]:
    plugin = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    found: Mapping[str, Collection[str]] = plugin.TOUCHED_BY  # type: ignore[union-attr]
    return found


@pytest.fixture
def files() -> list[str]:
    """The files of the project."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout")
    return [
        name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()
    ]


@pytest.mark.slow
def test_every_rule_is_about_files_that_there_are_and_names_tests_that_there_are(
    rules: Mapping[str, Collection[str]], files: list[str]
) -> None:
    assert [
        pattern
        for pattern in rules
        if not any(matches(name, [pattern]) for name in files)
    ] == []
    tests = [name for name in files if matches(name, ["tests/*/test_*.py"])]
    beginnings = {
        pattern.partition("*")[0] for row in rules.values() for pattern in row
    } - {"PATH"}
    assert [
        beginning
        for beginning in sorted(beginnings)
        if not any(name.startswith(beginning) for name in tests)
    ] == []


def test_every_room_of_the_package_has_tests_of_its_own() -> None:
    package = ROOT / "pytest_ltm"
    rooms = [
        *((f"features/{room.name}", room) for room in package.iterdir()),
        *((f"core/{room.name}", room) for room in (package / "_core").iterdir()),
    ]
    assert [
        tests
        for tests, room in rooms
        if (room / "__init__.py").is_file() and room.name != "_core"
        if not [*(ROOT / "tests" / tests).glob("test_*.py")]
    ] == []


@pytest.mark.slow
def test_every_file_has_a_rule_or_touches_everything(
    rules: Mapping[str, Collection[str]], files: list[str]
) -> None:
    without = {name for name in files if not matches(name, rules)}
    assert {
        name if name in EVERYTHING else name.rpartition("/")[0] for name in without
    } == EVERYTHING


def test_at_most_eight_of_a_hundred_tests_are_left_to_the_night_each_with_the_reason(
    pytestconfig: pytest.Config,
) -> None:
    selection = pytestconfig.pluginmanager.get_plugin("selection")
    assert isinstance(selection, Selection)
    reasons = [
        marker.args
        for item in selection.collected
        if (marker := item.get_closest_marker("nightly"))
    ]
    assert [
        reason for reason in reasons if len(reason) != 1 or len(reason[0].split()) < 3
    ] == []
    if {Path(item.location[0]).parts[1] for item in selection.collected} != FOLDERS:
        pytest.skip("counts where the tests of all folders are collected")
    assert len(selection.nightly) <= MOST_NIGHTLY * len(selection.collected)

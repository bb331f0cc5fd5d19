"""Fixtures of every scope behave as in any pytest run, with several scenarios in progress at once."""

from __future__ import annotations

import pytest
from conftest import Project
from lane_sources import SCOPES, TALK, ups_and_downs

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)


def test_a_function_scoped_fixture_is_each_items_own(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def box(request):
    box = [request.node.name]
    tick("up", request.node.name)
    yield box
    assert box == [request.node.name, "mine"]
    tick("down", request.node.name)

def own(ltm, box, request):
    talk(ltm, "A")
    assert box == [request.node.name]
    box.append("mine")

def test_a(ltm, box, request):
    own(ltm, box, request)

def test_b(ltm, box, request):
    own(ltm, box, request)
"""
    )

    project.ltm().assert_outcomes(passed=2)

    a, b = "test_a[echo-300-0-0]", "test_b[echo-300-0-0]"
    assert project.ticks == [f"up {a}", f"up {b}", f"down {a}", f"down {b}"]


def test_a_class_scoped_fixture_is_shared_in_its_class_only(project: Project) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK
        + """
seen = {}

class TestOne:
    def test_a(self, ltm, for_class):
        seen.setdefault("one", for_class)
        talk(ltm, "A")
        assert seen["one"] is for_class

    def test_b(self, ltm, for_class):
        seen.setdefault("one", for_class)
        talk(ltm, "B")
        assert seen["one"] is for_class

class TestTwo:
    def test_c(self, ltm, for_class):
        talk(ltm, "C", span=0.7)
        assert seen["one"] is not for_class
"""
    )

    project.ltm().assert_outcomes(passed=3)

    assert ups_and_downs(project, "class") == [
        "up TestOne",
        "up TestTwo",
        "down TestOne",
        "down TestTwo",
    ]


def test_a_class_scoped_fixture_is_each_items_own_where_there_is_no_class(
    project: Project,
) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK
        + "def test_a(ltm, for_class): talk(ltm, 'A')\ndef test_b(ltm, for_class): talk(ltm, 'B')"
    )

    project.ltm().assert_outcomes(passed=2)

    assert [tick.split("[")[0] for tick in ups_and_downs(project, "class")] == [
        "up test_a",
        "up test_b",
        "down test_a",
        "down test_b",
    ]


def test_module_scoped_fixtures_of_two_modules_are_up_at_once(project: Project) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK
        + "def test_a(ltm, for_module): talk(ltm, 'A')\ndef test_c(ltm, for_module): talk(ltm, 'C')"
    )
    project.file(
        TALK
        + "def test_b(ltm, for_module): talk(ltm, 'B', 0.7)\ndef test_d(ltm, for_module): talk(ltm, 'D', 0.7)",
        "test_other.py",
    )

    project.ltm().assert_outcomes(passed=4)

    assert ups_and_downs(project, "module") == [
        "up test_it.py",
        "up test_other.py",
        "down test_it.py",
        "down test_other.py",
    ]


def test_a_package_scoped_fixture_is_shared_by_the_modules_of_its_package(
    project: Project,
) -> None:
    for package, names in {"one": "ab", "two": "cd"}.items():
        project.file("", f"{package}/__init__.py")
        project.file(SCOPES, f"{package}/conftest.py")
        for name in names:
            source = f"def test_{name}(ltm, for_package):\n    talk(ltm, '{name}')\n    tick('saw', id(for_package))\n"
            project.file(TALK + source, f"{package}/test_{name}.py")

    project.ltm().assert_outcomes(passed=4)

    ticks = ups_and_downs(project, "package")
    assert [tick.split()[0] for tick in ticks] == ["up", "up", "down", "down"]
    saw = ups_and_downs(project, "saw")
    assert saw[0] == saw[1] != saw[2] == saw[3]


def test_a_session_scoped_fixture_is_set_up_once_for_all_conversations(
    project: Project,
) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK
        + "def test_a(ltm, for_session): talk(ltm, 'A', 0.9)\ndef test_b(ltm, for_session): talk(ltm, 'B', 0.2)"
    )

    project.ltm(agent="echo,silent", span="300,400").assert_outcomes(passed=8)

    assert [tick.split()[0] for tick in ups_and_downs(project, "session")] == [
        "up",
        "down",
    ]


def test_a_module_scoped_fixture_is_set_up_once_for_each_conversation_at_most(
    project: Project,
) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK
        + "def test_a(ltm, for_module): talk(ltm, 'A', 0.9)\ndef test_b(ltm, for_module): talk(ltm, 'B', 0.2)"
    )
    project.file(
        TALK + "def test_c(ltm, for_module): talk(ltm, 'C', 0.1)", "test_other.py"
    )

    project.ltm(agent="echo,silent").assert_outcomes(passed=6)

    for module in ("test_it.py", "test_other.py"):
        changes = [
            tick.split()[0]
            for tick in ups_and_downs(project, "module")
            if tick.endswith(module)
        ]
        assert changes in (["up", "down"], ["up", "down"] * 2)


def test_wider_fixtures_come_before_and_go_after_narrower_ones(
    project: Project,
) -> None:
    project.conftest(SCOPES)
    needs = "for_function, for_class, for_module, for_package, for_session"
    project.file(
        TALK
        + f"class TestIt:\n    def test_a(self, ltm, {needs}): talk(ltm, 'A')\n"
        + f"    def test_b(self, ltm, {needs}): talk(ltm, 'B')\n"
    )

    project.ltm().assert_outcomes(passed=2)

    scopes = [tick.split()[:2] for tick in project.ticks]
    wide = ["session", "package", "module", "class", "function"]
    assert scopes == [
        *([scope, "up"] for scope in wide),
        ["function", "up"],
        ["function", "down"],
        *([scope, "down"] for scope in reversed(wide)),
    ]

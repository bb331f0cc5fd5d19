"""Fixtures of every scope, each as in any pytest run, with several scenarios in progress at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

SCOPES = """
import pytest
from ticks import tick

def noted(scope):
    @pytest.fixture(scope=scope)
    def fixture(request):
        tick(scope, "up", request.node.name)
        yield object()
        tick(scope, "down", request.node.name)
    return fixture

for_session, for_package, for_module, for_class, for_function = map(
    noted, ["session", "package", "module", "class", "function"]
)
"""
TALK = """
import pytest
from ticks import tick

def talk(ltm, name, span=0.5):
    ltm.say(f"{name} speaks")
    ltm.wait(span=span)
    ltm.ask(f"{name} asks")

"""


def ups_and_downs(project: Project, scope: str) -> list[str]:
    return [tick.removeprefix(f"{scope} ") for tick in project.ticks if tick.startswith(f"{scope} ")]


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

    assert ups_and_downs(project, "class") == ["up TestOne", "up TestTwo", "down TestOne", "down TestTwo"]


def test_a_class_scoped_fixture_is_each_items_own_where_there_is_no_class(project: Project) -> None:
    project.conftest(SCOPES)
    project.file(TALK + "def test_a(ltm, for_class): talk(ltm, 'A')\ndef test_b(ltm, for_class): talk(ltm, 'B')")

    project.ltm().assert_outcomes(passed=2)

    assert [tick.split("[")[0] for tick in ups_and_downs(project, "class")] == [
        "up test_a", "up test_b", "down test_a", "down test_b",
    ]  # fmt: skip


def test_module_scoped_fixtures_of_two_modules_are_up_at_once(project: Project) -> None:
    project.conftest(SCOPES)
    project.file(TALK + "def test_a(ltm, for_module): talk(ltm, 'A')\ndef test_c(ltm, for_module): talk(ltm, 'C')")
    project.file(
        TALK + "def test_b(ltm, for_module): talk(ltm, 'B', 0.7)\ndef test_d(ltm, for_module): talk(ltm, 'D', 0.7)",
        "test_other.py",
    )

    project.ltm().assert_outcomes(passed=4)

    assert ups_and_downs(project, "module") == [
        "up test_it.py",
        "up test_other.py",
        "down test_it.py",
        "down test_other.py",
    ]


def test_a_package_scoped_fixture_is_shared_by_the_modules_of_its_package(project: Project) -> None:
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


def test_a_session_scoped_fixture_is_set_up_once_for_all_conversations(project: Project) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK + "def test_a(ltm, for_session): talk(ltm, 'A', 0.9)\ndef test_b(ltm, for_session): talk(ltm, 'B', 0.2)"
    )

    project.ltm(agent="echo,silent", span="300,400").assert_outcomes(passed=8)

    assert [tick.split()[0] for tick in ups_and_downs(project, "session")] == ["up", "down"]


def test_a_module_scoped_fixture_is_set_up_once_for_each_conversation_at_most(project: Project) -> None:
    project.conftest(SCOPES)
    project.file(
        TALK + "def test_a(ltm, for_module): talk(ltm, 'A', 0.9)\ndef test_b(ltm, for_module): talk(ltm, 'B', 0.2)"
    )
    project.file(TALK + "def test_c(ltm, for_module): talk(ltm, 'C', 0.1)", "test_other.py")

    project.ltm(agent="echo,silent").assert_outcomes(passed=6)

    for module in ("test_it.py", "test_other.py"):
        changes = [tick.split()[0] for tick in ups_and_downs(project, "module") if tick.endswith(module)]
        assert changes in (["up", "down"], ["up", "down"] * 2)


def test_wider_fixtures_come_before_and_go_after_narrower_ones(project: Project) -> None:
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


def test_a_parametrized_module_fixture_has_one_instance_for_each_parameter(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module", params=["p", "q"])
def server(request):
    tick("up", request.param)
    yield [request.param]
    tick("down", request.param)

@pytest.fixture(scope="module")
def client(server):
    return ("client of", server)

def test_a(ltm, server, client, request):
    talk(ltm, "A")
    assert server == [request.node.callspec.params["server"]]
    assert client == ("client of", server)

def test_b(ltm, client, request):
    talk(ltm, "B", 0.7)
    assert client[1] == [request.node.callspec.params["server"]]
    client[1].append("touched")
"""
    )

    project.ltm("-k", "test_a").assert_outcomes(passed=2, deselected=2)
    (project.path / "ticks.txt").unlink()
    project.ltm().assert_outcomes(passed=4)

    assert sorted(project.ticks) == ["down p", "down q", "up p", "up q"]
    assert project.ticks[:2] == ["up p", "up q"]


def test_a_parameter_of_module_scope_reaches_the_fixtures_that_ask_for_it(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module")
def doubled(number):
    tick("doubled", number)
    return 2 * number

@pytest.mark.parametrize("number", [1, 2], scope="module")
def test_a(ltm, number, doubled):
    talk(ltm, "A")
    assert doubled == 2 * number
"""
    )

    project.ltm().assert_outcomes(passed=2)

    assert project.ticks == ["doubled 1", "doubled 2"]


def test_indirect_parameters_reach_their_fixture(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def person(request):
    return request.param.upper()

@pytest.mark.parametrize("person", ["ada", "ben"], indirect=True)
def test_a(ltm, person, request):
    talk(ltm, person)
    assert request.node.callspec.params["person"].upper() == person
"""
    )

    project.ltm().assert_outcomes(passed=2)


def test_autouse_fixtures_run_for_every_scenario(project: Project) -> None:
    project.conftest(
        """
import pytest
from ticks import tick

@pytest.fixture(autouse=True)
def around(request):
    tick("up", request.node.originalname)
    yield
    tick("down", request.node.originalname)
"""
    )
    project.file(TALK + "def test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')")

    project.ltm().assert_outcomes(passed=2)

    assert project.ticks == ["up test_a", "up test_b", "down test_a", "down test_b"]


def test_xunit_methods_run_for_every_scenario_on_its_own_instance(project: Project) -> None:
    project.file(
        TALK
        + """
def setup_module():
    tick("module up")

def teardown_module():
    tick("module down")

class TestIt:
    @classmethod
    def setup_class(cls):
        tick("class up")

    @classmethod
    def teardown_class(cls):
        tick("class down")

    def setup_method(self, method):
        self.name = method.__name__
        tick("up", self.name)

    def teardown_method(self):
        tick("down", self.name)

    def test_a(self, ltm):
        talk(ltm, "A")
        assert self.name == "test_a"

    def test_b(self, ltm):
        talk(ltm, "B")
        assert self.name == "test_b"
"""
    )

    project.ltm().assert_outcomes(passed=2)

    assert project.ticks == [
        "module up", "class up", "up test_a", "up test_b", "down test_a", "down test_b", "class down", "module down",
    ]  # fmt: skip


def test_getfixturevalue_in_a_body_gives_what_the_item_would_have_been_given(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module")
def shared():
    tick("shared up")
    yield object()
    tick("shared down")

@pytest.fixture
def late(request, shared):
    tick("late up", request.node.originalname)
    yield request.node.name, shared
    tick("late down", request.node.originalname)

def late_in(ltm, request):
    talk(ltm, "A")
    assert request.getfixturevalue("late") is request.getfixturevalue("late")
    assert request.getfixturevalue("late") == (request.node.name, request.getfixturevalue("shared"))
    return request.getfixturevalue("shared")

def test_a(ltm, request):
    late_in(ltm, request)

def test_b(ltm, request):
    late_in(ltm, request)

def test_c(ltm, request, shared):
    assert late_in(ltm, request) is shared
"""
    )

    project.ltm().assert_outcomes(passed=3)

    assert project.ticks == [
        "shared up",
        "late up test_a", "late down test_a",
        "late up test_b", "late down test_b",
        "late up test_c", "late down test_c",
        "shared down",
    ]  # fmt: skip


def test_a_fixture_can_extend_the_one_it_overrides(project: Project) -> None:
    project.conftest("import pytest\n@pytest.fixture\ndef names(): return ['conftest']")
    project.file(
        TALK
        + """
@pytest.fixture
def names(names):
    return [*names, "module"]

def test_a(ltm, names):
    talk(ltm, "A")
    assert names == ["conftest", "module"]

class TestIt:
    @pytest.fixture
    def names(self, names):
        return [*names, "class"]

    def test_b(self, ltm, names):
        talk(ltm, "B")
        assert names == ["conftest", "module", "class"]
"""
    )

    project.ltm().assert_outcomes(passed=2)


def test_usefixtures_and_finalizers_work(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def noted(request):
    request.addfinalizer(lambda: tick("first added, last run"))
    request.addfinalizer(lambda: tick("last added, first run"))

@pytest.mark.usefixtures("noted")
def test_a(ltm):
    talk(ltm, "A")
    tick("body")
"""
    )

    project.ltm().assert_outcomes(passed=1)

    assert project.ticks == ["body", "last added, first run", "first added, last run"]


def test_tmp_path_is_each_items_own(project: Project) -> None:
    project.file(
        TALK
        + """
def own(ltm, tmp_path, name):
    (tmp_path / name).touch()
    talk(ltm, name)
    assert [path.name for path in tmp_path.iterdir()] == [name]

def test_a(ltm, tmp_path): own(ltm, tmp_path, "a")
def test_b(ltm, tmp_path): own(ltm, tmp_path, "b")
@pytest.mark.ltm(examples=2)
def test_c(ltm, tmp_path): own(ltm, tmp_path, f"c{ltm.example}")
"""
    )

    project.ltm().assert_outcomes(passed=4)


def test_an_error_in_a_setup_ends_only_its_own_scenario_before_it_speaks(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def before():
    yield
    tick("before down")

@pytest.fixture
def broken(before):
    raise ValueError("broken fixture")

def test_a(ltm): talk(ltm, "A")
def test_b(ltm, broken): tick("never")
def test_c(ltm): talk(ltm, "C")
"""
    )

    result = project.ltm()

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at setup of test_b*", "E *ValueError: broken fixture"])
    assert project.ticks == ["before down"]


def test_an_error_in_a_module_fixture_is_told_by_each_scenario_that_needs_it(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module")
def broken():
    tick("tried")
    raise ValueError("broken fixture")

def test_a(ltm, broken): pass
def test_b(ltm, broken): pass
def test_c(ltm): talk(ltm, "C")
"""
    )

    project.ltm().assert_outcomes(passed=1, errors=2)

    assert project.ticks == ["tried"]


def test_an_error_in_a_teardown_is_told_by_its_own_scenario_only(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_a(ltm, bad_end): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    result = project.ltm("-v")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_a*", "E *ValueError: bad teardown"])


def test_an_error_in_a_module_fixtures_teardown_is_told_by_the_last_scenario_that_needed_it(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.fixture(scope="module")
def bad_end():
    yield
    raise ValueError("bad teardown")

def test_a(ltm, bad_end): talk(ltm, "A", 0.9)
def test_b(ltm, bad_end): talk(ltm, "B", 0.2)
"""
    )
    project.file(TALK + "def test_c(ltm): talk(ltm, 'C', 0.1)", "test_other.py")

    result = project.ltm()

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_a[[]echo-*", "E *ValueError: bad teardown"])


def test_a_fixture_may_hand_the_conversation_on(project: Project) -> None:
    project.file(
        """
import pytest

@pytest.fixture
def introduce(ltm):
    return lambda name: ltm.say(f"I am {name}.")

def test_a(ltm, introduce):
    assert introduce("Ada") == "I am Ada."
    ltm.wait(span=0.4)
    assert ltm.ask("Who am I?")
"""
    )

    project.ltm().assert_outcomes(passed=1)


@pytest.mark.parametrize("where", ["setup", "teardown"])
def test_nobody_speaks_in_a_fixture(project: Project, where: str) -> None:
    body = {"setup": "ltm.say('hello'); yield", "teardown": "yield; ltm.say('bye')"}[where]
    project.file(
        TALK
        + f"""
@pytest.fixture
def chatty(ltm):
    {body}

def test_a(ltm, chatty): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    result = project.ltm()

    result.assert_outcomes(passed=1 if where == "setup" else 2, errors=1)
    result.stdout.fnmatch_lines(
        [
            f"*ERROR at {where} of test_a*",
            "E *ScenarioError: the conversation can only be used in the body of the test*",
        ]
    )


def test_ltm_is_of_function_scope(project: Project) -> None:
    project.file("import pytest\n@pytest.fixture(scope='module')\ndef wide(ltm): pass\ndef test_a(ltm, wide): pass")

    result = project.ltm()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ScopeMismatch*"])

"""Fixtures of every kind (parametrized, autouse, overridden) with several scenarios in progress at once."""

from __future__ import annotations

from conftest import Project
from lane_sources import TALK


def test_a_parametrized_module_fixture_has_one_instance_for_each_parameter(
    project: Project,
) -> None:
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


def test_a_parameter_of_module_scope_reaches_the_fixtures_that_ask_for_it(
    project: Project,
) -> None:
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
    project.file(
        TALK + "def test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    project.ltm().assert_outcomes(passed=2)

    assert project.ticks == ["up test_a", "up test_b", "down test_a", "down test_b"]


def test_xunit_methods_run_for_every_scenario_on_its_own_instance(
    project: Project,
) -> None:
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
        "module up",
        "class up",
        "up test_a",
        "up test_b",
        "down test_a",
        "down test_b",
        "class down",
        "module down",
    ]


def test_getfixturevalue_in_a_body_gives_what_the_item_would_have_been_given(
    project: Project,
) -> None:
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
        "late up test_a",
        "late down test_a",
        "late up test_b",
        "late down test_b",
        "late up test_c",
        "late down test_c",
        "shared down",
    ]


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

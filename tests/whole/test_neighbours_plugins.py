"""Other plugins in an LTM run, and their effects on scenarios."""

from __future__ import annotations

import json

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "`.ci/lanes oldest` runs these before each merge, on the oldest pytest"
)
TALK = """
import pytest
from ticks import tick

def talk(ltm, name, expected=""):
    tick(name, "begins")
    ltm.say(f"{name} speaks")
    ltm.wait(span=0.5)
    tick(name, "goes on")
    assert expected in ltm.ask(f"{name} asks")

"""


@pytest.mark.parametrize(
    "config", ["", "concurrency = greenlet", "concurrency = greenlet, thread"]
)
def test_coverage_sees_the_lines_of_bodies_that_take_turns(
    project: Project, config: str
) -> None:
    pytest.importorskip("pytest_cov")
    project.invite("pytest_cov")
    project.file(f"[run]\n{config}\n", "cover.cfg")
    project.file(
        "def first():\n    return 1\n\ndef second():\n    return 2\n\ndef never():\n    return 3\n",
        "product.py",
    )
    project.file(
        """
import product

def test_a(ltm):
    product.first()
    ltm.say("A")
    ltm.wait(span=0.5)
    product.second()
    ltm.ask("A?")

def test_b(ltm):
    ltm.say("B")
    ltm.wait(span=0.4)
    ltm.ask("B?")
"""
    )

    result = project.ltm(
        "--cov=product",
        "--cov-config=cover.cfg",
        "--cov-report=term-missing",
        "--cov-report=json",
        subprocess=True,
    )

    result.assert_outcomes(passed=2)
    (found,) = json.loads((project.path / "coverage.json").read_text())[
        "files"
    ].values()
    assert found["missing_lines"] == [8]


def test_asyncio_in_auto_mode_leaves_scenarios_alone_and_async_fixtures_work(
    project: Project,
) -> None:
    pytest.importorskip("pytest_asyncio")
    project.invite("asyncio")
    project.file("[pytest]\nasyncio_mode = auto\n", "pytest.ini")
    project.file(
        TALK
        + """
import asyncio

@pytest.fixture
async def five():
    await asyncio.sleep(0)
    yield 5
    tick("five down")

def test_a(ltm): talk(ltm, "A")
def test_b(ltm, five):
    talk(ltm, "B")
    assert five == 5
async def test_ordinary(five): assert five == 5
"""
    )

    project.ltm(subprocess=True).assert_outcomes(passed=2, deselected=1)
    project.pytest(subprocess=True).assert_outcomes(passed=1, skipped=2)


def test_asyncio_in_strict_mode_leaves_scenarios_alone(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    project.invite("asyncio")
    project.file(
        TALK
        + """
import asyncio
import pytest_asyncio

@pytest_asyncio.fixture
async def five():
    return 5

def test_a(ltm, five):
    talk(ltm, "A")
    assert five == 5
def test_b(ltm): talk(ltm, "B")

@pytest.mark.asyncio
async def test_ordinary(): await asyncio.sleep(0)
"""
    )

    project.ltm("--asyncio-mode=strict", subprocess=True).assert_outcomes(
        passed=2, deselected=1
    )
    project.pytest("--asyncio-mode=strict", subprocess=True).assert_outcomes(
        passed=1, skipped=2
    )


def test_async_scenarios_of_asyncio_take_turns(project: Project) -> None:
    pytest.importorskip(
        "pytest_asyncio",
        "1.0",
        reason="older ones close whichever event loop was made last",
    )
    project.invite("asyncio")
    project.file("[pytest]\nasyncio_mode = auto\n", "pytest.ini")
    project.file(
        """
import asyncio
from ticks import tick

async def talk(ltm, name):
    loop = asyncio.get_running_loop()
    tick(name, "begins")
    ltm.say(f"{name} speaks")
    await asyncio.sleep(0)
    ltm.wait(span=0.5)
    assert asyncio.get_running_loop() is loop
    await asyncio.sleep(0)
    tick(name, "goes on")
    assert ltm.ask(f"{name} asks")

async def test_a(ltm): await talk(ltm, "A")
async def test_b(ltm): await talk(ltm, "B")
"""
    )

    project.ltm(subprocess=True).assert_outcomes(passed=2)

    assert project.ticks == ["A begins", "B begins", "A goes on", "B goes on"]


def test_an_async_agent_works_for_async_and_plain_scenarios(project: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    project.invite("asyncio")
    project.file("[pytest]\nasyncio_mode = auto\n", "pytest.ini")
    project.file(
        """
import asyncio

class Bot:
    loops = set()
    async def reply(self, message):
        self.loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        assert len(self.loops) == 1
        return message
""",
        "bot.py",
    )
    project.file(
        """
async def test_a(ltm):
    assert ltm.say("A speaks") == "A speaks"
    ltm.wait(span=0.5)
    assert ltm.ask("A asks") == "A asks"

def test_b(ltm):
    assert ltm.say("B speaks") == "B speaks"
    ltm.wait(span=0.5)
    assert ltm.ask("B asks") == "B asks"
"""
    )

    project.ltm(agent="bot:Bot", subprocess=True).assert_outcomes(passed=2)


def test_anyio_leaves_scenarios_alone(project: Project) -> None:
    pytest.importorskip("anyio")
    project.invite("anyio")
    project.file(
        TALK
        + """
import anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_ordinary(): await anyio.sleep(0)
def test_a(ltm, anyio_backend): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    project.ltm(subprocess=True).assert_outcomes(passed=2, deselected=1)
    project.pytest(subprocess=True).assert_outcomes(passed=1, skipped=2)


def test_randomly_changes_neither_order_nor_outcome(project: Project) -> None:
    pytest.importorskip("pytest_randomly")
    project.invite("randomly")
    project.file(
        TALK
        + "".join(f"def test_{name}(ltm): talk(ltm, '{name}')\n" for name in "abcdef")
    )
    journals = []

    for seed in ("1", "2"):
        project.ltm(
            "-p", "randomly", f"--randomly-seed={seed}", subprocess=True
        ).assert_outcomes(passed=6)
        (journal,) = latest_run(project.path).glob("*/journal.jsonl")
        journals.append(journal.read_bytes())

    assert [tick[0] for tick in project.ticks if "begins" in tick] == list("abcdef") * 2
    assert journals[0] == journals[1]


def test_timeouts_timer_is_off_for_scenarios(project: Project) -> None:
    pytest.importorskip("pytest_timeout")
    project.invite("timeout")
    project.file(
        "import time\nclass Bot:\n    def reply(self, message):\n        time.sleep(0.2)\n        return message",
        "bot.py",
    )
    project.file(
        TALK
        + """
@pytest.mark.timeout(0.1)
def test_a(ltm): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""
    )

    for method in ("signal", "thread"):
        result = project.ltm(
            "--timeout=0.3",
            f"--timeout-method={method}",
            agent="bot:Bot",
            subprocess=True,
        )
        result.assert_outcomes(passed=2)


def test_timeout_works_for_ordinary_tests_as_ever(project: Project) -> None:
    pytest.importorskip("pytest_timeout")
    project.invite("timeout")
    project.file("import time\ndef test_slow(): time.sleep(60)\ndef test_a(ltm): pass")

    result = project.pytest("--timeout=2", subprocess=True)

    result.assert_outcomes(failed=1, skipped=1)


def test_our_own_limit_ends_a_reply(project: Project) -> None:
    project.file(
        "import time\nclass Bot:\n    def reply(self, message):\n"
        "        time.sleep(60 * ('B' in message))\n        return message",
        "bot.py",
    )
    project.file(
        TALK + "def test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    result = project.ltm("--ltm-reply-timeout=2", agent="bot:Bot", subprocess=True)

    result.assert_outcomes(errors=1, skipped=1)
    assert result.ret == 75


@pytest.mark.parametrize("how", ["option", "marker"])
def test_rerunfailures_never_reruns_a_scenario_and_the_header_says_so(
    project: Project, how: str
) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.invite("rerunfailures")
    mark = "@pytest.mark.flaky(reruns=2)\n" if how == "marker" else ""
    project.file(
        TALK
        + mark
        + "def test_a(ltm): talk(ltm, 'A', expected='never')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    # the plugin never closes its server
    result = project.ltm(*(["--reruns=2"] if how == "option" else []), subprocess=True)

    result.assert_outcomes(passed=1, failed=1)
    assert project.ticks.count("A begins") == 1
    if how == "option":
        result.stdout.fnmatch_lines(["ltm: scenarios are never rerun*"])
    result.stdout.no_fnmatch_line("*rerun*in *s*")


def test_rerunfailures_reruns_ordinary_tests_as_ever(project: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.invite("rerunfailures")
    project.file(
        "import pathlib\nfrom ticks import tick\ndef test_flaky():\n    tick('try')\n"
        "    assert len(pathlib.Path('ticks.txt').read_text().splitlines()) > 1"
    )

    project.pytest("--reruns=2", subprocess=True).assert_outcomes(passed=1)

    assert project.ticks == ["try", "try"]


STATEFUL = """
import contextvars
import pytest
from ticks import tick

RUNNING = contextvars.ContextVar("running", default="nobody")

class Old:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.phases = []
        yield
        tick(item.originalname, *item.phases, "before", getattr(nextitem, "originalname", "nothing"))
        del item.phases

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        item.phases.append("set up")
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item):
        item.phases.append("down")
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        yield
        assert item.phases

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    token = RUNNING.set(item.originalname)
    try:
        return (yield)
    finally:
        assert RUNNING.get() == item.originalname
        RUNNING.reset(token)

def pytest_configure(config):
    config.pluginmanager.register(Old())
"""


@pytest.mark.parametrize("options", [[], ["-n1"]])
def test_what_others_wrap_around_the_protocol_goes_around_each_item_by_itself(
    project: Project, options: list[str]
) -> None:
    project.conftest(STATEFUL)
    project.file(
        TALK
        + """
from conftest import RUNNING

@pytest.fixture
def running(request):
    assert RUNNING.get() == request.node.originalname
    yield
    assert RUNNING.get() == request.node.originalname

def test_a(ltm, running):
    talk(ltm, "A")
    assert RUNNING.get() == "test_a"

def test_b(ltm, running):
    talk(ltm, "B", expected="never")

@pytest.mark.ltm(requires=["AcceptsImages"])
def test_c(ltm): pass
"""
    )

    result = project.ltm(*options, subprocess=bool(options))

    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert sorted(tick for tick in project.ticks if "set up" in tick) == [
        "test_a set up down before test_b",
        "test_b set up down before test_c",
        "test_c set up down before nothing",
    ]


def test_what_others_wrap_around_the_protocol_is_left_when_the_session_stops(
    project: Project,
) -> None:
    project.conftest(STATEFUL)
    project.file(
        TALK
        + "def test_a(ltm): talk(ltm, 'A', expected='never')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    project.ltm("-x").assert_outcomes(failed=1)

    assert [tick.split()[0] for tick in project.ticks if "set up" in tick] == [
        "test_a",
        "test_b",
    ]


def test_an_ordinary_run_calls_wrappers_as_ever(project: Project) -> None:
    project.conftest(STATEFUL)
    project.file("def test_a(): pass\ndef test_b(): pass")

    project.pytest().assert_outcomes(passed=2)

    assert project.ticks == [
        "test_a set up down before test_b",
        "test_b set up down before nothing",
    ]


@pytest.mark.parametrize("options", ["--retries=2", "--force-flaky"])
def test_no_plugin_reruns_a_scenario(project: Project, options: str) -> None:
    name = {"--retries=2": "pytest-retry", "--force-flaky": "flaky"}[options]
    pytest.importorskip(name.replace("-", "_"))
    project.invite(name)
    project.file(
        TALK
        + "@pytest.mark.flaky\ndef test_a(ltm): talk(ltm, 'A', expected='never')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    result = project.ltm(options)

    result.assert_outcomes(passed=1, failed=1)
    assert project.ticks.count("A begins") == 1
    result.stdout.fnmatch_lines(["ltm: scenarios are never rerun*"])


@pytest.mark.parametrize(
    ("name", "module", "options", "told"),
    [
        (
            "repeat",
            "pytest_repeat",
            ["--count=2"],
            "ltm: --count repeats scenarios within a conversation; *",
        ),
        (
            "pytest-split",
            "pytest_split",
            ["--splits=2", "--group=1"],
            "ltm: --splits takes scenarios out of *",
        ),
    ],
)
def test_the_header_names_what_repeats_and_divides_conversations(
    project: Project, name: str, module: str, options: list[str], told: str
) -> None:
    pytest.importorskip(module)
    project.invite(name)
    project.file(
        TALK + "def test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    project.ltm(*options).stdout.fnmatch_lines([told])
    project.ltm().stdout.no_fnmatch_line(told)


UNASKED = """
import pytest

@pytest.fixture(autouse=True)
def prepared(monkeypatch): pass
"""


@pytest.mark.parametrize("where", ["an installed plugin", "a conftest"])
def test_only_what_a_project_patches_itself_keeps_scenarios_apart(
    project: Project, where: str
) -> None:
    if where == "a conftest":
        project.conftest(UNASKED)
    else:
        project.file(UNASKED, "patching.py")
        project.file(
            "[pytest11]\npatching = patching\n", "patching-1.dist-info/entry_points.txt"
        )
        project.file(
            "Metadata-Version: 2.1\nName: patching\nVersion: 1\n",
            "patching-1.dist-info/METADATA",
        )
    project.invite("patching")
    project.file(
        TALK + "def test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    project.ltm(subprocess=True).assert_outcomes(passed=2)

    apart = ["A begins", "A goes on", "B begins", "B goes on"]
    assert project.ticks == (
        apart
        if where == "a conftest"
        else ["A begins", "B begins", "A goes on", "B goes on"]
    )


def test_html_has_one_row_for_each_scenario(project: Project) -> None:
    pytest.importorskip("pytest_html")
    project.invite("html", "html_fixtures", "metadata")
    project.file(
        TALK
        + "def test_a(ltm): talk(ltm, 'A', expected='never')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    project.ltm("--html=report.html", "--self-contained-html").assert_outcomes(
        passed=1, failed=1
    )

    page = (project.path / "report.html").read_text(encoding="utf-8")
    assert page.count("test_it.py::test_a[echo-300-0-0]") >= 1
    assert page.count("test_it.py::test_b[echo-300-0-0]") >= 1


def test_all_neighbours_together_change_nothing(project: Project) -> None:
    project.invite()
    project.file("[pytest]\nasyncio_mode = auto\n", "pytest.ini")
    project.file(
        TALK
        + "def test_a(ltm, capsys): talk(ltm, 'A')\ndef test_b(ltm, caplog): talk(ltm, 'B', expected='never')"
    )

    result = project.ltm("-n2", "-v", subprocess=True)

    result.assert_outcomes(passed=1, failed=1)
    assert project.ticks == ["A begins", "B begins", "A goes on", "B goes on"]


def test_what_a_plugin_deselects_need_not_be_an_item(project: Project) -> None:
    project.conftest(
        "class Fake:\n"
        "    nodeid = 'test_it.py::test_gone'\n"
        "def pytest_collection_modifyitems(config, items):\n"
        "    config.hook.pytest_deselected(items=[Fake()])"
    )
    project.file(TALK + "def test_a(ltm): talk(ltm, 'A')")

    project.ltm().assert_outcomes(passed=1)


def test_scenarios_are_marked_for_plugins_that_run_tests_in_threads(
    project: Project,
) -> None:
    project.conftest(
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'thread_unsafe: keep in one thread')\n"
        "def pytest_itemcollected(item):\n"
        "    print(item.name, [mark.name for mark in item.iter_markers()])"
    )
    project.file(TALK + "def test_a(ltm): talk(ltm, 'A')")

    result = project.ltm("-s")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_a*thread_unsafe*"])

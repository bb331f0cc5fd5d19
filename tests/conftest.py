"""Setup of all tests: Hypothesis profiles, equal output on every machine, and a check for what a test leaves behind."""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import os
import random
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selection import Rules, Selection
from turned import turn_collection

if TYPE_CHECKING:  # some tests run a copy of this file without the servers folder
    from chat_server import ChatServer

# With any of these set pytest prints untruncated summary lines; the output of runs
# inside the tests must not depend on it.
for name in ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(name, None)

# A plain install lacks Hypothesis, and pytest also loads this file when `--ltm-suite`
# points into this folder.
if importlib.util.find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings
    from hypothesis.database import DirectoryBasedExampleDatabase

    # Nearly the same examples each time (Hypothesis takes some from the loaded
    # modules), and no deadline: machines that run several jobs can be slow.
    # `--hypothesis-profile=random` draws new examples each time.
    settings.register_profile(
        "steady",
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile(
        "random", settings.get_profile("steady"), derandomize=False, database=None
    )
    settings.register_profile(  # .ci/fuzz: failing examples are kept
        "fuzz",
        settings.get_profile("random"),
        database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
        max_examples=2_000,
    )
    # a tenth of the examples
    settings.register_profile("merge", settings.get_profile("steady"), max_examples=10)
    settings.load_profile("steady")

OWN_TESTS: Rules = {
    "tests/*/test_*.py": ("PATH*",),
    "pytest_ltm/_core/*/*": ("tests/core/ROOM/*",),
    "pytest_ltm/*/*": ("tests/features/FOLDER/*",),
    "scenarios/*": ("tests/features/scenarios/*",),
    "benchmarks/*": ("tests/project/test_benchmark*",),
    "conftest_examples/*/*": ("tests/examples/*[FOLDER]",),
    "docs/*.md": ("tests/examples/test_docs.py*[PATH]",),
    "README.md": (
        "tests/examples/test_docs.py*[PATH]",
        "tests/examples/test_docs.py*readme*",
    ),
}
"""By pattern of a changed path: the tests in the matching folder. `--changed` runs these and no others."""

RUNS = ("tests/whole/*", "tests/features/commands/test_init.py*")
VERDICTS = (
    "tests/features/evaluators/test_recorded_verdicts.py*",
    "tests/features/datasets/test_unseen_asides.py*",
    "tests/features/scenarios/*",
    "tests/whole/test_cheats_run.py*",
    "tests/whole/test_calibrate_run.py*",
    "tests/whole/test_languages_run.py*",
    "tests/whole/test_rescore.py*",
    "tests/*_properties.py*",
)
GENERATORS = (
    "tests/features/lab/test_generated_files.py*",
    "tests/features/lab/test_longmemeval_generate.py*",
    "tests/whole/test_calibrate_run.py*",
)
PAGES = ("tests/examples/*",)
RESULTS = (
    *PAGES,
    "tests/features/figures/*",
    "tests/whole/test_gate.py*",
    "tests/whole/test_verify.py*",
    "tests/whole/test_re*",
    "tests/browser/*",
)
NOTHING_ELSE: tuple[str, ...] = ()
TOUCHED_BY: Rules = {
    "tests/*/test_*.py": NOTHING_ELSE,
    "tests/golden/*": ("tests/features/evaluators/test_recorded_verdicts.py*",),
    "tests/labelled/unseen_asides/*": (
        "tests/features/datasets/test_unseen_asides.py*",
    ),
    "tests/labelled/*": NOTHING_ELSE,
    "docs/bundles/*": ("tests/whole/test_verify.py*", "tests/examples/test_docs.py*"),
    "tests/watched.txt": NOTHING_ELSE,
    "tests/browser/*": ("tests/browser/*",),
    "tests/examples/*": PAGES,
    "tests/whole/*": ("tests/whole/*",),
    "tests/features/reports/snapshots/*": ("tests/features/reports/*",),
    "tests/features/scenarios/*.json": ("tests/features/scenarios/*",),
    "tests/features/lab/*.txt": ("tests/features/lab/*",),
    "tests/features/trust/*.yml": ("tests/features/trust/*",),
    "benchmarks/*": ("tests/whole/test_benchmark*",),
    "scenarios/*": VERDICTS,
    "pytest_ltm/lab/loc*": GENERATORS,
    "pytest_ltm/lab/long*": GENERATORS,
    "pytest_ltm/lab/*": (
        "tests/whole/test_cheats_run.py*",
        "tests/whole/test_calibrate_run.py*",
    ),
    "pytest_ltm/language/*": VERDICTS,
    "pytest_ltm/evaluators/*": VERDICTS,
    "pytest_ltm/locales/*": VERDICTS,
    "pytest_ltm/datasets/*": (
        *VERDICTS,
        *GENERATORS,
        "tests/whole/test_questions_alone.py*",
        "tests/whole/test_lo*",
    ),
    "pytest_ltm/agents/reader/*": VERDICTS,
    "pytest_ltm/commands/*": (*PAGES, "tests/features/commands/test_init.py*"),
    "pytest_ltm/figures/*": RESULTS,
    "pytest_ltm/gate/*": RESULTS,
    "pytest_ltm/reports/*": RESULTS,
    "pytest_ltm/judges/*": ("tests/whole/test_judge_run.py*",),
    "pytest_ltm/users/*": ("tests/whole/test_user_run.py*",),
    "pytest_ltm/web/*": ("tests/browser/*", "tests/whole/test_human*"),
    "pytest_ltm/fillers/*": ("tests/whole/test_calibrate_run.py*",),
    "pytest_ltm/*/*": RUNS,
    "pytest_ltm/*": NOTHING_ELSE,
    "conftest_examples/*": NOTHING_ELSE,
    "docs/*": NOTHING_ELSE,
    ".ci/package": ("tests/whole/test_installs.py*",),
    "MANIFEST.in": ("tests/whole/test_installs.py*",),
    **dict.fromkeys(
        (
            ".ci/*",
            ".git*",
            ".pre-commit-config.yaml",
            "*.md",
            "CITATION.cff",
            "LICENSE",
        ),
        NOTHING_ELSE,
    ),
}
"""By pattern of a changed path: the other nightly tests to run before the merge. A path that is not listed, such as
pyproject.toml or a file that several test folders share, runs all of them.
"""

PROCESS = "/proc/self"
PATIENCE = 60.0
"""Seconds that threads, processes and ports may take to end after their test."""
STAYING = {"tqdm_monitor", "OtelBatchSpanRecordProcessor"}
"""Threads that live as long as the process. The first progress bar starts one, shown or not (bm25s creates some),
and so does the telemetry of an imported CrewAI.
"""


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test that leaves a thread, a child process or a listening port behind."""
    threads = set(threading.enumerate())
    processes = child_processes()
    sockets = open_sockets()
    yield
    deadline = time.monotonic() + PATIENCE
    while leftovers := [
        *new_threads(threads),
        *(f"process {pid}" for pid in child_processes() - processes),
        *(f"port {port}" for port in ports(open_sockets() - sockets)),
    ]:
        if time.monotonic() > deadline:
            pytest.fail(f"left behind: {', '.join(leftovers)}")
        time.sleep(0.01)


def new_threads(known: set[threading.Thread]) -> Iterator[str]:
    """Yield a description of each thread that is not known and does not stay for good."""
    for thread in threading.enumerate():
        if thread not in known and thread.name not in STAYING:
            yield f"thread {thread.name}"


def child_processes() -> set[str]:
    """Return the ids of this process's children that have not been waited for; none on systems without /proc."""
    pids: set[str] = set()
    for task in entry_names(f"{PROCESS}/task"):
        with suppress(OSError):  # the thread has ended
            pids.update(Path(f"{PROCESS}/task/{task}/children").read_text().split())
    return pids


def open_sockets() -> set[tuple[int, int]]:
    """Return each open socket as its file descriptor and inode; none on systems without /proc."""
    sockets: set[tuple[int, int]] = set()
    for name in entry_names(f"{PROCESS}/fd"):
        with suppress(OSError):  # the listing's own descriptor is already closed
            status = os.fstat(int(name))
            if stat.S_ISSOCK(status.st_mode):
                sockets.add((int(name), status.st_ino))
    return sockets


def entry_names(folder: str) -> list[str]:
    """Return the names in a folder, or none if it is missing; called four times per test, and paths are slow."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return [entry.name for entry in entries]
    return []


def ports(sockets: set[tuple[int, int]]) -> Iterator[int]:
    """Yield the ports of those sockets that are listening."""
    for descriptor, _ in sockets:
        # another thread may have closed it
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
            if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                yield copy.getsockname()[1]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that select tests by changed files."""
    parser.addoption(
        "--merge",
        action="store_true",
        help="leave out tests marked `nightly`, except those that the change touches",
    )
    parser.addoption(
        "--changed",
        action="store_true",
        help="run only the tests of the changed files",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Select tests, and have the runs inside them share bytecode: compiling takes a second or more.

    With PYTHONDONTWRITEBYTECODE set, bytecode goes to a temporary folder that this
    session's workers share.
    """
    watched = Path(__file__).with_name("watched.txt")
    selection = Selection(config, OWN_TESTS, TOUCHED_BY, watched)
    config.pluginmanager.register(selection, "selection")
    turn_collection(config)
    if selection.leaves_some_to_the_night:
        settings.load_profile("merge")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        folder = os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(
            prefix="ltm-bytecode-"
        )
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Disable garbage collection while collecting: ten thousand items and all modules are live."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest tests first, and skip tests whose published data is missing."""
    # workers that are done take tests from the end of another's list
    for marker in ("long", "packaging"):
        items.sort(key=lambda item: item.get_closest_marker(marker) is None)
    published = [item for item in items if item.get_closest_marker("published")]
    if published:
        from benchmark_data import ABSENT, DATA

        if not DATA.is_dir():
            for item in published:
                item.add_marker(pytest.mark.skip(reason=ABSENT))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze what lives until the end (ten thousand items, all modules), so that the garbage collector skips it."""
    if any("pytester" in getattr(item, "fixturenames", ()) for item in session.items):
        importlib.import_module("preloaded")
    gc.freeze()
    session.config.pluginmanager.register(GarbageShrinker(), "garbage-shrinker")


class GarbageShrinker:
    """Freezes objects that tests have loaded since collection, at ever longer intervals.

    Each run inside this process ends with a garbage collection, which would otherwise
    traverse all modules and cached tables.
    """

    def __init__(self) -> None:
        self._tests = 0
        self._next = 1

    def pytest_runtest_logfinish(self) -> None:
        """Count a test; after the first, second, fourth, eighth, … freeze all surviving objects."""
        self._tests += 1
        if self._tests == self._next:
            self._next *= 2
            gc.collect()
            gc.freeze()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pyfunc_call() -> Iterator[None]:
    """Fail a test during which the module-level `random` was used: randomness must come from a seeded generator."""
    before = random.getstate()
    result = yield
    if random.getstate() != before:
        pytest.fail(
            "something drew from the module-level `random`, or seeded it: pass a `random.Random` instead"
        )
    return result


@pytest.fixture(scope="session")
def everything(pytestconfig: pytest.Config) -> bool:
    """Whether to try everything, as at night; before a merge, long tests try the fixed part their docstrings name."""
    return not pytestconfig.getoption("merge")


@pytest.fixture
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load only pytest's plugins, xdist and pytest-ltm in the sessions that a test starts; others slow them down."""
    from alone import alone

    for name in (
        "PYTEST_ADDOPTS",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "PYTEST_XDIST_TESTRUNUID",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, value in alone().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def pytester(
    pytester: pytest.Pytester,
    few_plugins: None,  # noqa: ARG001 - for its effect
    monkeypatch: pytest.MonkeyPatch,
) -> pytest.Pytester:
    """pytest's `pytester`, with few plugins in the sessions it runs."""
    from alone import find_distributions

    # for runs inside this process
    monkeypatch.setattr(importlib.metadata, "distributions", find_distributions)
    return pytester


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """An OpenAI-compatible server on loopback, with proxies and other base URLs unset; see servers/chat_server.py."""
    from chat_server import serving

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serving() as server:
        yield server

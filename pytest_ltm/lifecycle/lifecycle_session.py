"""The suite in pytest: an item per agent and test, and the matrix at the end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.memory.pace import pace_of_run
from pytest_ltm.api.features import use_session_hooks
from pytest_ltm.api.journal import Section
from pytest_ltm.api.session import option_or_ini, option_value, read_option
from pytest_ltm.api.storage import (
    ConfigurationError,
    LtmError,
    did_you_mean,
    for_screen,
    from_record,
    make_private,
    to_record,
    write_output,
    write_whole,
)
from pytest_ltm.lifecycle.bench import CAPACITY, Bench
from pytest_ltm.lifecycle.matrix import Line, matrix_lines, usage_record
from pytest_ltm.lifecycle.report import LifecycleReport, lifecycle_sections
from pytest_ltm.lifecycle.row import NoControl
from pytest_ltm.lifecycle.store_suite import TESTS, LifeTest
from pytest_ltm.lifecycle.stores_of_spec import store_maker
from pytest_ltm.lifecycle.subject import NotSupported, StoreRaised, Subject

ROOT = "ltm/lifecycle"
FILE = "lifecycle.json"
_MOST_FACTS = 1_000_000
_PROPERTY = "ltm_lifecycle"
# Options that have a meaning without conversations.
_TAKEN = frozenset(
    {
        "--ltm-agent",
        "--ltm-suite",
        "--ltm-seed",
        "--ltm-dir",
        "--ltm-pace",
        "--ltm-report",
        "--ltm-summary",
        "--ltm-no-probe",
    }
)


class Finding(Exception):
    """A fault found by a test."""


def begin_lifecycle(config: pytest.Config) -> None:
    """Start a session that tests stores; UsageError for an option or an agent that cannot be used."""
    config.add_cleanup(use_session_hooks(config.hook))
    _refuse_options(config)
    facts = read_option(config, "--ltm-suite", partial(_read_facts, config))
    config.hook.pytest_ltm_start(config=config)
    config.pluginmanager.register(LifecycleSession(config, facts), "ltm-lifecycle")


def _read_facts(config: pytest.Config) -> int:
    """Return the number of facts in the suite's parameter `facts`; ConfigurationError for anything else."""
    query = (option_or_ini(config, "ltm_suite") or "").partition("?")[2]
    name, equals, text = query.partition("=")
    if not query:
        return CAPACITY
    is_number = text.isdecimal() and 1 <= int(text) <= _MOST_FACTS
    if name != "facts" or not equals or not is_number:
        raise ConfigurationError(
            f"lifecycle has the parameter facts, a number up to {_MOST_FACTS:,}, as in 'lifecycle?facts=10000'; got "
            f"{query!r}"
        )
    return int(text)


def _refuse_options(config: pytest.Config) -> None:
    words = [str(word).partition("=")[0] for word in config.invocation_params.args]
    for word in words:
        if word.startswith("--ltm-") and word not in _TAKEN:
            raise pytest.UsageError(
                f"--ltm-suite=lifecycle holds no conversation, so {word} means nothing here. It takes "
                f"{', '.join(sorted(_TAKEN - {'--ltm-no-probe'}))}"
            )


class LifecycleSession:
    """Collects the tests of the suite, and reports their results."""

    def __init__(self, config: pytest.Config, facts: int) -> None:
        self._config = config
        self._facts = facts
        self._dir: Path = option_value(config, "ltm_dir")
        self._seed = option_value(config, "ltm_seed").value
        self._wanted = _take_ids(config)
        self._refuse_unknown()
        self._lines: list[Line] = []
        self._written: list[str] = []
        """Sentences on the reports that were written, or why not."""
        choices = read_option(config, "--ltm-agent", self._choices)
        self._specs: dict[str, str] = {}
        self.makers: dict[str, Callable[[], Any]] = {}
        for choice in choices:
            find_maker = partial(_find_maker, config, choice.spec)
            self._specs[choice.label] = choice.spec
            self.makers[choice.label] = read_option(config, "--ltm-agent", find_maker)

    def _refuse_unknown(self) -> None:
        names = [test.name for test in TESTS]
        for test_id in self._wanted:
            if test_id.partition("[")[0] not in names:
                hint = did_you_mean(test_id, names)
                raise pytest.UsageError(f"not found: {ROOT}::{test_id}.{hint}")

    def _choices(self) -> Iterable[Any]:
        choices: Iterable[Any] = self._config.hook.pytest_ltm_choose_agents(
            config=self._config, ltm_dir=self._dir
        )
        return choices

    def pytest_report_header(self) -> list[str]:
        """Return the header line with the tested agents."""
        return [f"ltm: lifecycle of {', '.join(self.makers)}: {len(TESTS)} tests each"]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, Any, Any]:
        """Collect the suite instead of the project's tests."""
        report = yield
        if isinstance(collector, pytest.Session):
            suite = LifeSuite.from_parent(
                collector, name=ROOT, nodeid=ROOT, session_of_suite=self
            )
            report.result = [*(report.result or ()), suite]
        return report

    def items_of(self, parent: pytest.Collector) -> Iterator[LifeItem]:
        """Yield the items of all agents."""
        for label, make in self.makers.items():
            for test in TESTS:
                name = f"{test.name}[{label}]"
                if self._wanted and not _is_wanted(name, self._wanted):
                    continue
                yield LifeItem.from_parent(
                    parent,
                    name=name,
                    nodeid=f"{ROOT}::{name}",
                    test=test,
                    agent=label,
                    make=make,
                    seed=self._seed,
                    facts=self._facts,
                )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the row of a test, which may have run in another process."""
        for name, value in report.user_properties if report.when == "call" else ():
            if name == _PROPERTY:
                self._lines.append(from_record(Line, json.loads(str(value)), _PROPERTY))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the reports, if anything was tested."""
        del session
        order = {test.name: number for number, test in enumerate(TESTS)}
        self._lines.sort(key=lambda line: order[line.test])
        if not self._lines or hasattr(self._config, "workerinput"):
            return
        plan = {
            "suite": "lifecycle",
            "facts": self._facts,
            "pace": str(pace_of_run()),
            "agents": self._specs,
        }
        report = LifecycleReport(self._config, self._dir, plan)
        try:
            path = self._write(self._lines)
            reports = report.write(self._seed, int(exitstatus))
        except (LtmError, OSError) as error:
            # the matrix can still be shown
            written = f"this matrix is in no file: {error}"
            reports = []
        else:
            written = f"written to {path}"
        legend = "ok: as it should be; -: not supported"
        self._written = [f"{legend}; {written}", *reports]

    def pytest_ltm_report_sections(self) -> list[Section]:
        """Return a section with the matrix of each agent."""
        return list(lifecycle_sections(self._lines))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the matrix of each agent."""
        lines = self._lines
        if not lines:
            return
        terminalreporter.section("the life of a memory")
        width = min(self._config.get_terminal_writer().fullwidth, 120) - 1
        for agent in self.makers:
            terminalreporter.write_line(f"{agent}")
            agent_lines = [line for line in lines if line.agent == agent]
            for text in matrix_lines(agent_lines, width):
                terminalreporter.write_line(for_screen(text))
            terminalreporter.write_line("")
        for text in self._written:
            terminalreporter.write_line(for_screen(text))

    def _write(self, lines: list[Line]) -> Path:
        """Write the matrix to its file; return the path."""
        path = self._dir / FILE
        if not self._dir.exists():
            make_private(self._dir)
            write_whole(self._dir / ".gitignore", b"*\n")
        text = json.dumps(to_record(lines), indent=1, sort_keys=True)
        write_output(path, text.encode())
        return path


def _take_ids(config: pytest.Config) -> list[str]:
    """Return the test names on the command line; no file of the project is collected."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = []
        return []
    begin = f"{ROOT}::"
    names = [arg.removeprefix(begin) for arg in config.args if arg.startswith(begin)]
    config.args[:] = [arg for arg in config.args if not arg.startswith(ROOT)]
    return names


def _is_wanted(name: str, test_ids: list[str]) -> bool:
    return name in test_ids or name.partition("[")[0] in test_ids


def _find_maker(config: pytest.Config, spec: str) -> Callable[[], Any]:
    """Return the store factory of a spec."""
    from pytest_ltm.agents.registry import find_agent
    from pytest_ltm.agents.sources import examined_source

    target = config.hook.pytest_ltm_make_agent(config=config, spec=spec)
    if target is None:
        source = find_agent(spec, base=config.rootpath)
    else:
        source = examined_source(target, spec=spec)
    return store_maker(source)


class LifeSuite(pytest.Collector):
    """The tests of the suite."""

    def __init__(self, *, session_of_suite: LifecycleSession, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._session_of_suite = session_of_suite

    def collect(self) -> Iterable[pytest.Item]:
        """Collect an item for each agent and test."""
        return list(self._session_of_suite.items_of(self))


class LifeItem(pytest.Item):
    """One test of one agent's store."""

    def __init__(
        self,
        *,
        test: LifeTest,
        agent: str,
        make: Callable[[], Any],
        seed: int,
        facts: int,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self._test = test
        self._agent = agent
        self._make = make
        self._seed = seed
        self._facts = facts

    def runtest(self) -> None:
        """Run the test: raise Finding for a fault, skip for what the store lacks."""
        rng = random.Random(f"{self._seed}/{self._test.name}")
        subject = Subject(self._make, pace_of_run())
        bench = Bench(subject, rng, facts=self._facts)
        try:
            lack = run_test(self._test, bench)
        finally:
            subject.close()
            self._report(bench)
        if bench.row.failures:
            raise Finding("\n".join(bench.row.lines()))
        if lack:
            pytest.skip(f"not supported: {lack}")

    def _report(self, bench: Bench) -> None:
        line = Line(
            self._agent,
            self._test.group,
            self._test.name,
            tuple(bench.row.cells),
            usage_record(bench.subject.usage),
        )
        self.user_properties.append((_PROPERTY, json.dumps(to_record(line))))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Return the finding without a traceback into this module."""
        if not isinstance(excinfo.value, (Finding, LtmError)):
            return super().repr_failure(excinfo, style)
        text = for_screen(str(excinfo.value))
        return f"{text}\nwhat it tests: {self._test.proves}\na pass leaves open: {self._test.not_proven}"

    @property
    def location(self) -> tuple[str, int | None, str]:
        """The location that pytest shows."""
        return ROOT, None, self.name


def run_test(test: LifeTest, bench: Bench) -> str:
    """Run a test; return what the store lacks for the whole test, or "" if it could be checked."""
    try:
        test.run(bench)
    except NoControl:
        return ""
    except NotSupported as lack:
        bench.row.lacks("all" if not bench.row.cells else "the rest", str(lack))
        looks = [cell for cell in bench.row.cells if cell.state in {"ok", "note"}]
        return str(lack) if len(looks) <= 2 else ""
    except StoreRaised as error:
        bench.row.expect("calls", f"the store raised: {error}")
    return ""

"""The suite's reports: its section, `lifecycle-summary.json`, the page and the Markdown summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.api.journal import RunResult, Section, as_sections
from pytest_ltm.api.session import option_value
from pytest_ltm.api.storage import LtmError, to_record, write_output
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.lifecycle.matrix import Line, usage_lines
from pytest_ltm.lifecycle.row import State
from pytest_ltm.reports.section_tables import SectionTable, section_with_tables

SUMMARY = "lifecycle-summary.json"
LEGEND = (
    "What a memory store does with a fact, by rules alone. A look is as it should be, fails, is not supported, or is "
    "noted without being judged. There is no percentage: rows do not weigh the same."
)
_STATES: Mapping[State, str] = {
    "ok": "as it should be",
    "fails": "fails",
    "lacks": "not supported",
    "note": "noted",
}


def lifecycle_sections(lines: Sequence[Line]) -> Iterator[Section]:
    """Yield the matrix of each agent as a section."""
    for agent, agent_lines in group_by(lines, attrgetter("agent")).items():
        yield section_with_tables(
            f"The life of a memory: {agent}",
            (LEGEND, *usage_lines(agent_lines)),
            _tables(agent_lines),
            tests=[_test_record(line) for line in agent_lines],
        )


def _test_record(line: Line) -> dict[str, Any]:
    """Return a row as JSON values, without the durations."""
    record: dict[str, Any] = to_record(line)
    del record["usage"]
    return record


def _tables(lines: Sequence[Line]) -> Iterator[SectionTable]:
    failures: list[tuple[str, ...]] = []
    for line in lines:
        for cell in line.cells:
            if cell.state == "fails":
                failures.append((line.test, cell.look, cell.evidence))
    for group, group_lines in group_by(lines, attrgetter("group")).items():
        columns = ("test", *_STATES.values())
        yield SectionTable(group.capitalize(), columns, tuple(map(_row, group_lines)))
    if failures:
        columns = ("test", "look", "evidence")
        yield SectionTable("What fails", columns, tuple(failures))


def _row(line: Line) -> tuple[str, ...]:
    """Return a test with its checks, grouped into one cell per state."""
    cells = [", ".join(_looks(line, state)) for state in _STATES]
    return (line.test, *cells)


def _looks(line: Line, state: State) -> Iterator[str]:
    for cell in line.cells:
        if cell.state != state:
            continue
        is_whole = state == "lacks" and cell.look in {"all", "the rest"}
        if state == "note" or is_whole:
            yield f"{cell.look}: {cell.evidence.removeprefix('not supported: ')}"
        else:
            yield cell.look


class LifecycleReport:
    """Writes the suite's results into all requested reports."""

    def __init__(
        self, config: pytest.Config, folder: Path, plan: Mapping[str, Any]
    ) -> None:
        """`folder` receives the summary; `plan` describes what was tested, as JSON values."""
        self._config = config
        self._folder = folder
        self._plan = plan

    def write(self, seed: int, status: int) -> list[str]:
        """Write summary, page and Markdown; return a sentence on each."""
        from pytest_ltm.reports.summary import summary_json, write_summary
        from pytest_ltm.reports.summary_page import SummaryPage

        result = RunResult(run_id="lifecycle", conversations=(), suite="lifecycle")
        sections = self._sections(result, status)
        summary = summary_json(
            result,
            pytest_ltm_version=version("pytest-ltm"),
            seed=seed,
            plan=self._plan,
            added={"sections": [section.to_record() for section in sections]},
        )
        write_summary(self._folder / SUMMARY, summary)
        markdown = SummaryPage(option_value(self._config, "ltm_summary"))
        problems = markdown.write(result, (), sections)
        return [*problems, *self._write_page(sections), *markdown.shown.splitlines()]

    def _sections(self, result: RunResult, status: int) -> list[Section]:
        answers = self._config.hook.pytest_ltm_report_sections(
            result=result, status=status
        )
        return list(chain.from_iterable(map(as_sections, answers)))

    def _write_page(self, sections: Sequence[Section]) -> list[str]:
        path: Path | None = option_value(self._config, "ltm_report")
        if path is None:
            return []
        from pytest_ltm.reports.html.page import render_sections

        subtitle = f"{', '.join(self._plan['agents'])}; suite lifecycle"
        try:
            write_output(path, render_sections("Long-term memory", subtitle, sections))
        except LtmError as error:
            return [f"report: {error}"]
        return [f"report: {path}"]

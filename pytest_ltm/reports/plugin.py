"""Presents the results of a run to people and CI jobs: tables, pages and the exit status."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm.api import hookimpl, lazy

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.api import LtmRun, Option, ScenarioResult, Transcript
    from pytest_ltm.api.journal import MemoryLedger, MemoryResult, QuestionResult
    from pytest_ltm.reports.progress import Progress


# Formats of other tools, with the modules that write them.
_EXPORTS = (
    ("junit", "junit:outputs"),
    ("markdown", "papers:markdown_outputs"),
    ("latex", "papers:latex_outputs"),
    ("inspect", "inspect_ai:outputs"),
    ("mlflow", "mlflow:outputs"),
    ("eee", "every_eval_ever:outputs"),
)


def pytest_ltm_options(register: Callable[[Option], None]) -> None:
    """Register the options of reports."""
    from pytest_ltm.reports.options import OPTIONS

    for option in OPTIONS:
        register(option)


@hookimpl(wrapper=True)
def pytest_ltm_start(config: pytest.Config) -> Generator[None, None, None]:
    """Remove secrets and control characters from all output, from the start of the run on."""
    from pytest_ltm.reports.safe_output import keep_output_safe

    with keep_output_safe(config):
        yield


@hookimpl(trylast=True)
def pytest_ltm_begin(run: LtmRun) -> None:
    """Register the reporting plugins, after the deciding ones: pytest calls the last registered first."""
    manager = run.config.pluginmanager
    report = None
    if not run.is_worker:
        from pytest_ltm.reports.run_report import Brevity, LiveServer, Report

        report = Report(run)
        manager.register(Brevity(report), "ltm-brevity")
        manager.register(report, "ltm-report")
        if run.plays and run.config.option.ltm_live:
            manager.register(LiveServer(run), "ltm-live")
    page = getattr(run.config.option, "htmlpath", None)
    if page:
        from pytest_ltm.reports.html_rows import HtmlReport, HtmlRows

        manager.register(HtmlRows(), "ltm-html-rows")
        if report is not None:
            html = HtmlReport(report, Path(page))
            manager.register(html, "ltm-html-report")


@hookimpl(tryfirst=True)
def pytest_ltm_exporters(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Register the formats of other tools, and those for papers."""
    for name, function in _EXPORTS:
        register(name, lazy(f"pytest_ltm.reports.exports.{function}"))


@hookimpl
def pytest_ltm_progress(config: Any) -> Progress:
    """Return the self-updating lines below pytest's own."""
    from pytest_ltm.reports.progress import Progress

    return Progress(config)


@hookimpl
def pytest_ltm_properties(result: ScenarioResult) -> list[tuple[str, object]]:
    """Return the properties of an example for JUnit files and pytest-html."""
    from pytest_ltm.reports.summary import user_properties

    return user_properties(result)


@hookimpl(trylast=True)
def pytest_ltm_measure_memory_use(
    facts_told: Mapping[int, Mapping[str, str | None]],
    questions: Sequence[QuestionResult],
    ledger: MemoryLedger,
    exchanges: Collection[int],
    right_answers: Mapping[int, str],
    unchosen: Mapping[str, Collection[str]],
    is_lost: bool,
) -> MemoryResult:
    """Return which facts of an example the memory wrote, found and served."""
    from pytest_ltm.figures.memory_use import measure_memory_use

    return measure_memory_use(
        facts_told,
        questions,
        ledger,
        exchanges,
        right_answers,
        unchosen,
        is_lost=is_lost,
    )


@hookimpl(trylast=True)
def pytest_ltm_failure_text(
    result: ScenarioResult, transcript: Transcript, again: str
) -> str:
    """Return the conversation around the failed answer."""
    from pytest_ltm.reports.failure import failure_text

    return failure_text(result, transcript, again)

"""Studies: control agents play suites or definitions; their scores are collected and shown in tables."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.commands.pytest_runs import play_run
from pytest_ltm.figures.markdown import markdown_table

# An example with the spec of its agent: labels may be shortened, specs never are.
PlayedRow: TypeAlias = "tuple[str, ScenarioResult]"
# Scores by agent and scenario; 0 for an example without one.
Marks: TypeAlias = "Mapping[tuple[str, str], Sequence[float]]"
Table: TypeAlias = list[list[str]]
"""Rows of texts, starting with the head."""


def listed_specs(options: Sequence[str]) -> list[str]:
    """Return the distinct specs of a repeatable option, whose values may also be separated by commas."""
    return list(dict.fromkeys(",".join(options).split(",")))


@contextmanager
def study_folder(name: str) -> Iterator[Path]:
    """Yield a temporary folder for the runs of a study."""
    with tempfile.TemporaryDirectory(prefix=f"ltm-{name}-") as folder:
        # resolved, because pytest may be started elsewhere, and temporary folders on
        # macOS are behind a link
        yield Path(folder).resolve()


def play_rows(
    specs: Sequence[str],
    words: Sequence[str],
    folder: Path,
    cwd: Path | None = None,
    *,
    skipped: bool = False,
) -> list[PlayedRow]:
    """Return the examples of a run that count (lost ones as 0), optionally with `skipped` ones."""
    run = play_run(specs, words, folder, cwd=cwd)
    rows = []
    for conversation in run.result.conversations:
        rows += [(conversation.agent_spec, row) for row in conversation.scenarios]
    return rows if skipped else counting_rows(rows)


def counting_rows(rows: Iterable[PlayedRow]) -> list[PlayedRow]:
    """Return the examples that count (lost ones as 0): all but the skipped ones."""
    counting = []
    for spec, row in rows:
        if row.cause not in {"", "requires"} or row.scored:
            counting.append((spec, row))
    return counting


def earned_marks(rows: Iterable[PlayedRow]) -> Marks:
    """Return the scores by agent and scenario."""
    marks: dict[tuple[str, str], list[float]] = {}
    for spec, row in rows:
        marks.setdefault((spec, row.scenario), []).append(row.score or 0.0)
    return marks


def tell_progress(text: str) -> None:
    """Report on stderr what is played next: a study takes minutes, and stdout is for its tables."""
    sys.stderr.write(f"{text} ...\n")


def aligned_lines(table: Table) -> Iterator[str]:
    """Yield the lines of a table with columns of equal width, for a terminal."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def markdown_lines(table: Table) -> Iterator[str]:
    """Yield the lines of a table as Markdown."""
    yield from markdown_table(table[0], table[1:]).splitlines()

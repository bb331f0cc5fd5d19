"""SummaryPage: the Markdown summary of a run: to a file, the screen or a CI job's step summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pytest_ltm.api.journal import RunResult, Section
from pytest_ltm.api.storage import LtmError, for_file, write_output

# The environment variable with the path of a CI job's step summary.
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
_ON_SCREEN = "-"


class SummaryPage:
    """Writes the Markdown summary to its destinations."""

    def __init__(self, path: Path | None) -> None:
        """`path` is the value of `--ltm-summary`, which may be `-`."""
        self._is_shown = path is not None and path.name == _ON_SCREEN
        self.path = None if self._is_shown else path
        """The file to write."""
        self.shown = ""
        """The text printed in place of the tables."""

    def write(
        self, result: RunResult, sentences: Sequence[str], sections: Sequence[Section]
    ) -> list[str]:
        """Write the summary to all requested places; return the problems."""
        if not (self.path or self._is_shown or os.environ.get(STEP_SUMMARY)):
            return []
        from pytest_ltm.reports.run_markdown import add_to_step_summary, run_markdown

        text = run_markdown(result, sentences=sentences, sections=sections)
        if self._is_shown:
            self.shown = text
        problems = []
        if self.path:
            try:
                write_output(self.path, for_file(text))
            except LtmError as error:
                problems.append(f"--ltm-summary: {error}")
        return [*problems, *filter(None, [add_to_step_summary(text)])]

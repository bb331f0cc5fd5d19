"""Data sets ask thousands of questions: failures are listed on the screen only where there are few enough to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ltm.plugin._settings import Settings

LISTED = 25
"""So many questions below their pass mark are shown as pytest shows failures; of more only the number."""
_AUTO, _LISTING = "auto", "fE"
"""What `--tb` and `-r` say where nobody says anything."""


class Brevity:
    """In place of thousands of failures of a data set a sentence, unless -v, -r or --tb ask for them."""

    def __init__(self, settings: Settings) -> None:
        self._is_dataset = settings.dataset is not None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> Generator[None, None, None]:
        """Have pytest leave out what nobody could read."""
        failed = len(terminalreporter.stats.get("failed", ()))
        option = config.option
        said = option.tbstyle, terminalreporter.reportchars
        if not self._is_dataset or failed <= LISTED or config.get_verbosity() > 0:
            return (yield)
        if option.tbstyle == _AUTO:
            option.tbstyle = "no"
        if option.reportchars == _LISTING:
            terminalreporter.reportchars = terminalreporter.reportchars.replace("f", "")
        try:
            yield
        finally:
            option.tbstyle, terminalreporter.reportchars = said
        if said[0] == _AUTO and option.reportchars == _LISTING:
            ways = "-rf lists them, --tb=short shows them"
            terminalreporter.write_line(f"{counted(failed, 'question')} below the pass mark: {ways}")

"""TakingPart: names agents that cannot play some scenarios, before the first message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from pytest_ltm.api.model import NAMED_WHERE_NEEDED
from pytest_ltm.api.session import LTM_ITEM, LtmItem, LtmRun
from pytest_ltm.api.storage import first_and_rest, join_words, lazy, pluralize

_MOST_NAMED = 3
# Few runs have scenarios that some agents cannot play.
_find_lacking = lazy("pytest_ltm.prechecks.lacking:find_lacking")


class TakingPart:
    """Names the agents that lack tools or compaction where scenarios need them."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run

    def pytest_ltm_precheck(self, session: pytest.Session) -> None:
        """Write a line for each agent that cannot play some scenarios; nothing is refused."""
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or not self._run.plays:
            return
        items = [item.stash[LTM_ITEM] for item in session.items]
        for line in self._lines(items):
            terminal.ensure_newline()
            terminal.write_line(line)

    def _lines(self, items: Sequence[LtmItem]) -> Iterator[str]:
        wanting = []
        for item in items:
            if NAMED_WHERE_NEEDED & {*item.marks.requires}:
                wanting.append(item)
        for label in dict.fromkeys(item.place.agent for item in wanting):
            own_items = [item for item in wanting if item.place.agent == label]
            needed = set().union(*(item.marks.requires for item in own_items))
            lacking_names: set[str] = _find_lacking(
                self._run.sources[label], needed & NAMED_WHERE_NEEDED
            )
            left_out = []
            for item in own_items:
                if lacking_names & {*item.marks.requires}:
                    left_out.append(item)
            if left_out:
                names = list(dict.fromkeys(item.scenario for item in left_out))
                shown_names = ", ".join(first_and_rest(names, _MOST_NAMED, "{:,} more"))
                yield (
                    f"ltm: {label} takes no part in {pluralize(len(left_out), 'example')} ({shown_names}): "
                    f"not supported, as it is not {join_words(sorted(lacking_names))}"
                )

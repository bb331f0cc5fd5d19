"""TakingPart: names the agents that cannot play some scenarios, before the first message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from pytest_ltm.api.model import NAMED_WHERE_NEEDED
from pytest_ltm.api.session import LTM_ITEM, LtmItem, LtmRun
from pytest_ltm.api.storage import first_and_rest, join_words, lazy, pluralize

_MOST_NAMED = 3
# Few runs have scenarios that some agents cannot play.
_find_missing = lazy(
    "pytest_ltm.prechecks.missing_capabilities:find_missing_capabilities"
)


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
        items_by_agent: dict[str, list[LtmItem]] = {}
        for item in items:
            if NAMED_WHERE_NEEDED.intersection(item.marks.requires):
                items_by_agent.setdefault(item.place.agent, []).append(item)
        for label, agent_items in items_by_agent.items():
            needed = set().union(*(item.marks.requires for item in agent_items))
            missing: set[str] = _find_missing(
                self._run.sources[label], needed & NAMED_WHERE_NEEDED
            )
            unplayed = []
            for item in agent_items:
                if missing.intersection(item.marks.requires):
                    unplayed.append(item.scenario)
            if unplayed:
                names = list(dict.fromkeys(unplayed))
                scenarios = ", ".join(first_and_rest(names, _MOST_NAMED, "{:,} more"))
                yield (
                    f"ltm: {label} takes no part in {pluralize(len(unplayed), 'example')} ({scenarios}): "
                    f"not supported, as it is not {join_words(sorted(missing))}"
                )

"""Filter: what a worker that goes on with a conversation need not tell, because another has told it."""

from __future__ import annotations

from typing import Any


class Filter:
    """Knows the events of items that were reported before; played again, an item tells the same in the same order."""

    def __init__(self) -> None:
        self._reports: dict[str, int] = {}
        self._started: set[str] = set()
        self._finished: set[str] = set()

    def leave_out(self, told: dict[str, list[int]]) -> None:
        """Leave out so many reports of these items, and whether they have come to their end."""
        for nodeid, (reports, finished) in told.items():
            self._reports[nodeid] = reports
            if reports:
                self._started.add(nodeid)
            if finished:
                self._finished.add(nodeid)

    def is_known(self, event: str, values: dict[str, Any]) -> bool:
        """Return whether this event has been told before; each report is left out once."""
        if event == "testreport":
            return self._is_known_report(values["data"]["nodeid"])
        if event == "logstart":
            return values["nodeid"] in self._started
        if event in {"logfinish", "warning_recorded"}:
            return values["nodeid"] in self._finished
        return False

    def _is_known_report(self, nodeid: str) -> bool:
        left = self._reports.get(nodeid, 0)
        if left:
            self._reports[nodeid] = left - 1
        return bool(left)

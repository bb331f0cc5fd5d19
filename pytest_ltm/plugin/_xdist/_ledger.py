"""Ledger: what the controller has been told of each item, so that nothing is told twice and nothing gets lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.plugin._items import label

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from pytest_ltm.plugin._xdist._units import Unit


class Brief(NamedTuple):
    """What a worker tells of an item before it plays it: enough to account for it if it cannot be played."""

    nodeid: str
    folder: str
    """The name of its conversation's folder."""
    scenario: str
    example: str
    pass_mark: float
    pass_k: int | None
    skills: tuple[str, ...]
    path: str
    line: int
    name: str
    """With path and line its location, as pytest reports it."""

    @property
    def key(self) -> str:
        """The example's name in its conversation."""
        return f"{self.scenario}/{self.example}"


@dataclass(slots=True)
class _Account:
    reports: int = 0
    finished: bool = False


@dataclass(slots=True)
class _Page:
    """What is known of a unit that is being played."""

    briefs: tuple[Brief, ...] = ()
    rows: dict[str, str] = field(default_factory=dict)
    """The results of its examples as JSON, by node id."""


class Ledger:
    """Reports by item; briefs and results of the units that are being played."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._pages: dict[str, _Page] = {}

    def reported(self, report: pytest.TestReport) -> None:
        """A report has come from a worker."""
        account = self._accounts.setdefault(report.nodeid, _Account())
        account.reports += 1
        account.finished = account.finished or report.when == "teardown"

    def is_finished(self, nodeid: str) -> bool:
        """Return whether an item has been reported to its end."""
        return nodeid in self._accounts and self._accounts[nodeid].finished

    def told(self, unit: Unit) -> dict[str, list[int]]:
        """Return by item what need not be told again of a unit: the number of reports, and whether it has ended."""
        known = {nodeid: self._accounts[nodeid] for nodeid in unit.items if nodeid in self._accounts}
        return {nodeid: [account.reports, int(account.finished)] for nodeid, account in known.items()}

    def begun(self, unit: str, briefs: Iterable[Brief]) -> None:
        """A worker is about to play a unit."""
        self._pages.setdefault(unit, _Page()).briefs = tuple(briefs)

    def ended(self, unit: str, nodeid: str, row: str) -> None:
        """An example has its result."""
        self._pages.setdefault(unit, _Page()).rows[nodeid] = row

    def over(self, unit: str) -> None:
        """A unit has been played: the rest is on disk."""
        self._pages.pop(unit, None)

    def briefs(self, unit: Unit) -> tuple[Brief, ...]:
        """Return the briefs of a unit's items, made up from the node ids where no worker has begun it."""
        page = self._pages.get(unit.name)
        return page.briefs if page and page.briefs else tuple(_made_up(unit.name, nodeid) for nodeid in unit.items)

    def rows(self, unit: str) -> dict[str, str]:
        """Return the results of a unit's examples that are known, as JSON, by node id."""
        page = self._pages.get(unit)
        return dict(page.rows) if page else {}


def _made_up(unit: str, nodeid: str) -> Brief:
    """Return what the node id alone says of an item: `file::test_name[agent-span-trial-example...]`."""
    path, _, rest = nodeid.partition("::")
    function, _, labels = rest.partition("[")
    name = label(function.rpartition("::")[2].removeprefix("test_"))
    example, _, variant = labels.removesuffix("]").removeprefix(f"{unit}-").partition("-")
    scenario = f"{name}.{label(variant)}" if variant else name
    return Brief(nodeid, unit.replace("-", "~"), scenario, example, 1.0, None, (), path, 0, rest)

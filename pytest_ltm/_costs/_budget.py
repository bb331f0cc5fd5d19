"""Budget: what all conversations of a run may spend together, on every worker; the ledger is a file of the run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_ltm._errors import BudgetSpent, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_ltm._costs._bill import Tariff
    from pytest_ltm._shared import Shared

LEDGER = "budget.json"
"""The file in the run folder."""
Side: TypeAlias = Literal["agent", "judge"]

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([km]?)")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; None: as much as it takes."""

    usd: float | None = None
    tokens: int | None = None
    """In and out together, agent and judge."""

    def __bool__(self) -> bool:
        return self.usd is not None or self.tokens is not None

    def twice(self, spent: Spent) -> str:
        """Return the options of a budget twice as large as this one, or as what was spent if that is more."""
        words = [] if self.usd is None else [f"--ltm-max-cost={2 * max(self.usd, spent.usd) or 1:g}"]
        more = [] if self.tokens is None else [f"--ltm-max-tokens={2 * max(self.tokens, spent.tokens) or 1000}"]
        return " ".join([*words, *more])


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    """Replies of agent and judge."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def __str__(self) -> str:
        dollars = f"${self.usd:.4f}, " if self.usd else ""
        return f"{dollars}{self.tokens:,} tokens, {self.calls:,} replies"


class Budget:
    """The limits of one run, and the ledger in which its conversations write what they spend."""

    def __init__(self, limits: Limits, ledger: Shared) -> None:
        self.limits = limits
        self._ledger = ledger

    def account(self, conversation: str) -> Account:
        """Return where one conversation writes what it spends."""
        return Account(self, conversation)

    def spent(self) -> Spent:
        """Return what all have spent together."""
        rows = (row for side in self._ledger.read().values() for row in side.values())
        return sum((_from_row(row) for row in rows), Spent())

    def check(self) -> None:
        """Raise BudgetSpent if nothing may be spent any more."""
        spent, limits = self.spent(), self.limits
        over = []
        if limits.usd is not None and spent.usd >= limits.usd:
            over.append(f"--ltm-max-cost=${limits.usd:g}")
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            over.append(f"--ltm-max-tokens={limits.tokens:,}")
        if over:
            raise BudgetSpent(f"the budget is spent: {' and '.join(over)} ({spent})")

    def begin(self, known: Mapping[Side, Mapping[str, Spent]]) -> None:
        """Begin the ledger with what was spent before the run was resumed."""
        self._ledger.change(
            lambda _: {side: {key: _row(spent) for key, spent in of.items()} for side, of in known.items()}
        )

    def add(self, side: Side, conversation: str, spent: Spent) -> None:
        """Write down what was spent."""

        def alter(value: dict[str, Any]) -> dict[str, Any]:
            rows = value.setdefault(side, {})
            rows[conversation] = _row(_from_row(rows.get(conversation, (0.0, 0, 0))) + spent)
            return value

        self._ledger.change(alter)


class Account:
    """What one conversation may spend; the same limits hold for all, so each asks before each message."""

    def __init__(self, budget: Budget, conversation: str) -> None:
        self._budget, self._conversation = budget, conversation
        self.refused: BudgetSpent | None = None
        """Why nothing more was sent, if so."""

    def check(self) -> None:
        """Raise BudgetSpent if nothing may be spent any more."""
        if self.refused is not None:
            raise self.refused
        try:
            self._budget.check()
        except BudgetSpent as over:
            self.refused = over
            raise

    def add(self, side: Side, *, usd: float | None, tokens: int) -> None:
        """Write down one reply; without its dollars nobody can keep a budget of dollars: it is the last one."""
        self._budget.add(side, self._conversation, Spent(usd or 0.0, tokens, 1))
        if usd is None and self._budget.limits.usd is not None:
            label = "judge" if side == "judge" else self._conversation.partition("~")[0]
            self.refused = BudgetSpent(
                f"--ltm-max-cost: the {side} does not tell what its replies cost, and no price is known. Give "
                f"--ltm-price={label}=IN/OUT (dollars per million tokens), or limit tokens: --ltm-max-tokens=N"
            )


def read_dollars(text: str) -> float:
    """Return the dollars that `2.50` or `$2.50` says; ConfigurationError if it says none."""
    return _amount(text.removeprefix("$"), text, "number of dollars, as in 2.50")


def read_tokens(text: str) -> int:
    """Return the tokens that `200000`, `200k` or `1.5m` says; ConfigurationError if it says none."""
    return round(_amount(text, text, "number of tokens, as in 200k or 1.5m"))


def _amount(text: str, given: str, what: str) -> float:
    found = _AMOUNT.fullmatch(text.strip().lower().replace(",", "").replace("_", ""))
    if not found:
        raise ConfigurationError(f"{given!r} is no {what}")
    return float(found[1]) * _SCALE[found[2]]


def spent_in(journal: Path, timings: Path, *, agent: Tariff, judge: Tariff) -> dict[Side, Spent]:
    """Return what a recorded conversation has spent; broken lines count as not there."""
    sides: dict[Side, Spent] = {"agent": Spent(), "judge": Spent()}
    message = 0
    for event in _events(journal):
        if event.get("event") == "message":
            message = int(event.get("tokens", 0))
        elif event.get("event") == "reply" and not event.get("hypothetical"):
            usd, tokens = agent.spent(event, message_tokens=message)
            sides["agent"] += Spent(usd or 0.0, tokens, 1)
    for event in _events(timings):
        if event.get("event") == "judge" and not event.get("remembered"):
            usd, tokens = judge.spent(event)
            sides["judge"] += Spent(usd or 0.0, tokens, 1)
    return sides


def _events(path: Path) -> Iterable[dict[str, Any]]:
    if not path.is_file():
        return
    with path.open("rb") as file:
        for raw in file:
            try:
                event = json.loads(raw)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


def _row(spent: Spent) -> list[float]:
    return [spent.usd, spent.tokens, spent.calls]


def _from_row(row: Any) -> Spent:
    usd, tokens, calls = row
    return Spent(float(usd), int(tokens), int(calls))

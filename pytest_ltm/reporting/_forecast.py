"""What a dry run says: the schedule, then messages, tokens, time and expected cost of each agent and span."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_ltm._costs._forecast import Use
from pytest_ltm.reporting._gantt import SPEAKS, WAITS, gantt
from pytest_ltm.reporting._table import Row, Table, render
from pytest_ltm.reporting._text import amount, counted, one_line, span_of_time, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm._costs._forecast import Forecast
    from pytest_ltm._costs._prices import Price

MOST_SCHEDULES = 3
UNKNOWN = "?"
TYPICAL = (
    "replies are reckoned with 25 tokens to what is said, 45 to a question, 25 to opening and reset messages; to "
    "filler with the list that it asks for. Another length of replies changes tokens out, and little else"
)
BRIEF = "embedded agents cost nothing, so their replies are reckoned as they would really be"


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """What is known of an agent, or of the judge."""

    price: Price | None
    source: str
    """Where the price comes from."""
    free: bool
    """It costs nothing."""
    policy: str = ""
    """What is sent for a reply, in words."""
    brief: bool = False
    """It says as little as the embedded reader."""

    def dollars(self, use: Use) -> float | None:
        """Return what it would cost, None where nobody knows."""
        if self.price is None:
            return 0.0 if self.free or not use.messages else None
        return self.price.of(use.tokens_in, use.tokens_out)

    def least(self, use: Use) -> float | None:
        """Return the same with all from the cache that may come from there; None without a price for that."""
        if self.price is None or self.price.cached is None or not use.cached:
            return None
        return self.price.of(use.tokens_in, use.tokens_out, use.cached)


@dataclass(frozen=True, slots=True)
class _Column:
    held: Sequence[Forecast]
    priced: Priced
    judge: Priced
    latency: float
    waits: bool

    def of(self, part: Callable[[Forecast], Use]) -> Use:
        return sum(map(part, self.held), Use())

    def count(self, part: Callable[[Forecast], int]) -> int:
        return sum(map(part, self.held))

    @property
    def seconds(self) -> float:
        waited = sum(each.simulated_seconds for each in self.held) if self.waits else 0.0
        return waited + self.latency * (self.of(lambda f: f.agent_use) + self.of(lambda f: f.judge)).messages


def forecast_lines(
    found: Sequence[Forecast],
    priced: dict[str, Priced],
    judge: Priced,
    *,
    width: int,
    latency: float,
    waits_really: bool,
    color: bool,
) -> list[str]:
    """Return what the terminal says of a dry run, no line wider than `width`.

    `priced`: by agent. `latency`: seconds for a reply. `waits_really`: the conversations' time passes on the wall.
    """
    columns = [
        _Column(list(held), priced[agent], judge, latency, waits_really)
        for (agent, _), held in groupby(found, key=lambda each: (each.agent, each.span_label))
    ]
    lines = _schedules(columns, width)
    lines += render(_table(columns), width, color=color)
    lines += [""]
    for note in _notes(columns, judge, latency):
        lines += wrap(one_line(note), width, "  ")
    return lines


def _schedules(columns: Sequence[_Column], width: int) -> list[str]:
    lines: list[str] = []
    talks = [(column.held[0], len(column.held)) for column in columns if column.held[0].examples > 1]
    spans: dict[str, tuple[Forecast, int]] = {}
    for first, held in talks:
        spans.setdefault(first.span_label, (first, held))
    for first, held in list(spans.values())[:MOST_SCHEDULES]:
        which = f"one of {held} conversations" if held > 1 else "one conversation"
        title = f"schedule of {first.agent} at {first.span_label} ({which}); {SPEAKS} speaks, {WAITS} waits"
        lines += [*wrap(title, width), *gantt(first.bars, first.tokens, width), ""]
    return lines


def _table(columns: Sequence[_Column]) -> Table:
    heads = tuple((column.held[0].agent, one_line(column.held[0].span_label)) for column in columns)
    return Table(heads=heads, rows=tuple(_rows(columns)), label="memory span")


def _rows(columns: Sequence[_Column]) -> list[Row]:
    def row(label: str, text: Callable[[_Column], str], *, above: bool = False) -> Row:
        return Row(label=label, cells=tuple((text(column), "") for column in columns), above=above)

    def use(column: _Column) -> Use:
        return column.of(lambda f: f.agent_use)

    rows = [
        row("conversations", lambda c: amount(len(c.held))),
        row("examples", lambda c: amount(c.count(lambda f: f.examples))),
        row("messages", lambda c: amount(use(c).messages)),
        row("told, not answered", lambda c: amount(c.count(lambda f: f.told))),
        row("tokens said", lambda c: amount(c.count(lambda f: f.tokens))),
        row("of them filler", _filler_share),
        row("tokens in", lambda c: amount(use(c).tokens_in), above=True),
        row("tokens out", lambda c: amount(use(c).tokens_out)),
        row("longest gap", lambda c: amount(max(f.longest_gap for f in c.held))),
        row("simulated time", lambda c: span_of_time(sum(f.simulated_seconds for f in c.held))),
        row("expected time", lambda c: span_of_time(c.seconds)),
        row("USD: scenarios", lambda c: _usd(c, lambda f: f.scenarios), above=True),
        row("USD: filler", lambda c: _usd(c, lambda f: f.filler)),
        row("USD: harness", lambda c: _usd(c, lambda f: f.harness)),
        row("USD: agent", lambda c: _usd(c, lambda f: f.agent_use)),
    ]
    if any(column.priced.least(use(column)) is not None for column in columns):
        rows.append(row("best use of cache", lambda c: _least(c.priced.least(use(c)))))
    if any(column.of(lambda f: f.judge).messages for column in columns):
        rows.append(row("judge calls", lambda c: amount(c.of(lambda f: f.judge).messages), above=True))
        rows.append(row("USD: judge", lambda c: _money(c.judge.dollars(c.of(lambda f: f.judge)))))
    return rows


def _filler_share(column: _Column) -> str:
    tokens = column.count(lambda f: f.tokens)
    return f"{100 * column.count(lambda f: f.filler_tokens) / tokens:.0f}%" if tokens else "-"


def _usd(column: _Column, part: Callable[[Forecast], Use]) -> str:
    return _money(column.priced.dollars(column.of(part)))


def _least(dollars: float | None) -> str:
    return "-" if dollars is None else _money(dollars)


def _money(dollars: float | None) -> str:
    if dollars is None:
        return UNKNOWN
    return f"{dollars:,.2f}" if dollars >= 1 or not dollars else f"{dollars:.4f}"


def _notes(columns: Sequence[_Column], judge: Priced, latency: float) -> list[str]:
    notes = [_total(columns)]
    agents = {column.held[0].agent: column.priced for column in columns}
    for name, priced in agents.items():
        notes.append(f"{name}: tokens in: {priced.policy}; {_price(name, priced)}")
    if any(column.of(lambda f: f.judge).messages for column in columns):
        said = _price("judge", judge)
        notes.append(f"judge: as often as for these answers, and more often for wrong ones; {said}")
    notes.append(f"time: {latency:g} s for a reply (--ltm-latency), one conversation after the other")
    notes += [BRIEF] * any(priced.brief for priced in agents.values())
    notes += [TYPICAL] * any(not priced.brief for priced in agents.values())
    cut = sum(column.count(lambda f: f.cut_short) for column in columns)
    if cut:
        notes.append(
            f"{counted(cut, 'example')} gave up at an answer of the stand-in (a failed assert or an error): what would "
            "have followed is not counted"
        )
    skipped = dict.fromkeys(why for column in columns for each in column.held for why in each.unplayed)
    notes += [f"not played: {why}" for why in list(skipped)[:MOST_SKIPPED]]
    notes += [f"… and {len(skipped) - MOST_SKIPPED} more"] * (len(skipped) > MOST_SKIPPED)
    return notes


MOST_SKIPPED = 5


def _price(name: str, priced: Priced) -> str:
    if priced.price is not None:
        return f"${priced.price} per million tokens in/out ({priced.source})"
    if priced.free:
        return f"costs nothing (--ltm-price={name}=IN/OUT to see what it would)"
    return f"no price known, give --ltm-price={name}=IN/OUT"


def _total(columns: Sequence[_Column]) -> str:
    agents = [column.priced.dollars(column.of(lambda f: f.agent_use)) for column in columns]
    judges = [column.judge.dollars(column.of(lambda f: f.judge)) for column in columns]
    known = sum(dollars for dollars in [*agents, *judges] if dollars is not None)
    seconds = span_of_time(sum(column.seconds for column in columns))
    use = sum((column.of(lambda f: f.agent_use) for column in columns), Use())
    tokens = f"{amount(use.tokens_in)} tokens in and {amount(use.tokens_out)} out"
    parts = f"expected in all: {counted(use.messages, 'message')}, {tokens}, {seconds}"
    if None in agents or None in judges:
        return f"{parts}; what it costs is not known" + (f" beyond ${_money(known)}" if known else "")
    return f"{parts}, ${_money(known)}"

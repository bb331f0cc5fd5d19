"""The text of a dry run: the schedule, then messages, tokens, time and cost per agent and span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pytest_ltm.api.journal import Price, at_span
from pytest_ltm.api.storage import first_and_rest, one_line, pluralize
from pytest_ltm.figures.forecast import Bar, Forecast, TokenUse
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.table import Style, TableRow, TextTable, render_table
from pytest_ltm.figures.text import (
    NOTHING,
    clip_text,
    exact_dollars,
    pad_left,
    pad_right,
    short_count,
    span_of_time,
    wrap_text,
    wrap_texts,
)

MOST_LINES = 24
SPEAKS = "#"
WAITS = "-"


def gantt_lines(bars: Sequence[Bar], tokens: int, width: int) -> list[str]:
    """Return the schedule in at most `MOST_LINES` lines, one per example or else one per scenario.

    `#` marks stretches where the example speaks, `-` where it waits.
    """
    several = len({bar.scenario for bar in bars}) < len(bars) <= MOST_LINES
    rows = group_by(
        sorted(bars, key=lambda bar: bar.start),
        lambda bar: f"{bar.scenario}/{bar.example}" if several else bar.scenario,
    )
    label = min(26, max(map(len, rows), default=0))
    room = max(width - label - 1, 10)

    def cell_of(position: int) -> int:
        return min(position * room // max(tokens, 1), room - 1)

    lines = []
    for name, row_bars in rows.items():
        cells = [" "] * room
        # Draw waits first: where one example waits while another speaks, the cell shows
        # speech.
        for bar in row_bars:
            first = cell_of(bar.start)
            last = cell_of(max(bar.end - 1, bar.start))
            cells[first : last + 1] = [WAITS] * (last + 1 - first)
        for position in chain.from_iterable(bar.speaks for bar in row_bars):
            cells[cell_of(position)] = SPEAKS
        lines.append(
            f"{pad_right(clip_text(name, label), label)} {''.join(cells)}".rstrip()
        )
    more = len(lines) - MOST_LINES
    remark = [f"… and {pluralize(more, 'more scenario')}"] if more > 0 else []
    end = f"{short_count(tokens)} tokens"
    start = pad_right("0", room // 2) + short_count(tokens // 2)
    if room > len(end) + len(start):
        line = pad_right(start, room - len(end)) + end
    else:
        line = pad_left(end, room)
    return [*lines[:MOST_LINES], *remark, " " * (label + 1) + line]


MOST_SCHEDULES = 3
MOST_SKIPPED = 5
UNKNOWN = "?"
TYPICAL = (
    "assumed reply lengths: 25 tokens for a statement, 45 for a question, 25 for opening and reset messages; for "
    "filler, the list that it asks for. Other lengths change the output tokens and little else"
)
RETOLD = (
    "told again: the history, after each question asked alone; the cost depends on the agent. "
    "answer_alone(message), or save() and load(state), avoids it"
)
CUT_SHORT = "stopped at a simulated answer (a failed assert or an error): the rest is not counted"
EMBEDDED_AGENTS_NOTE = (
    "embedded agents cost nothing, so their actual replies are counted"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSource:
    """The known pricing of an agent or the judge."""

    price: Price | None
    source: str
    """Where the price comes from."""
    free: bool
    """Whether it costs nothing."""
    policy: str = ""
    """What is sent for a reply, in words."""
    brief: bool = False
    """Whether its replies are as short as the embedded reader's."""

    def dollars(self, use: TokenUse) -> float | None:
        """Return the cost in dollars, or None if unknown."""
        if self.price is None:
            # Without messages there is no cost, whatever the price.
            return 0.0 if self.free or not use.messages else None
        return self.price.cost_of_tokens(use.tokens_in, use.tokens_out)

    def least(self, use: TokenUse) -> float | None:
        """Return the cost if every cacheable token came from the cache; None without a cache price."""
        if self.price is None or self.price.cached is None or not use.cached:
            return None
        return self.price.cost_of_tokens(use.tokens_in, use.tokens_out, use.cached)


@dataclass(frozen=True, slots=True)
class _Column:
    whole: Forecast
    priced: PriceSource
    judge: PriceSource
    users: Mapping[str, PriceSource]
    """By the models of simulated users."""
    latency: float
    waits: bool

    @property
    def user_use(self) -> TokenUse:
        return sum(self.whole.users.values(), TokenUse())

    @property
    def user_dollars(self) -> float | None:
        uses = self.whole.users.items()
        costs = [self.users[name].dollars(use) for name, use in uses]
        known_costs = [dollars for dollars in costs if dollars is not None]
        # One unknown price makes the sum unknown: a partial sum would be read as the
        # total.
        if len(known_costs) == len(costs):
            return sum(known_costs)
        return None

    @property
    def seconds(self) -> float:
        # Messages are sequential: each needs the reply to the one before.
        waited = self.whole.simulated_seconds if self.waits else 0.0
        use = self.whole.agent_use + self.whole.judge + self.user_use
        return waited + self.latency * use.messages


@dataclass(frozen=True, slots=True)
class _Before:
    """Requests made once per run, before its first conversation."""

    name: str
    use: TokenUse
    priced: PriceSource
    of_judge: bool = False

    def __str__(self) -> str:
        use = self.use
        usd = self.priced.dollars(self.use)
        cost = "cost unknown" if usd is None else f"${_money_text(usd)}"
        count = pluralize(use.messages, "call" if self.of_judge else "message")
        return f"{self.name}, once in a run: {count}, {_token_use(use)}, {cost}"


def forecast_lines(
    forecasts: Sequence[Forecast],
    priced: dict[str, PriceSource],
    judge: PriceSource,
    *,
    users: Mapping[str, PriceSource],
    probes: Mapping[str, TokenUse],
    canaries: TokenUse,
    width: int,
    latency: float,
    waits_really: bool,
    color: bool,
) -> list[str]:
    """Return the terminal output of a dry run, no line wider than `width`.

    `forecasts`: one per agent and span. `priced`, `probes`: by agent.
    `users`: by the models of simulated users. `canaries`: what the judge is asked with
    known grades. `latency`: seconds for a reply. `waits_really`: the conversations'
    time passes on the wall.
    """
    columns: list[_Column] = []
    heads: list[tuple[str, str]] = []
    for forecast in forecasts:
        price = priced[forecast.agent]
        columns.append(_Column(forecast, price, judge, users, latency, waits_really))
        heads.append((forecast.agent, one_line(forecast.span_label)))
    table = TextTable(
        heads=tuple(heads), rows=tuple(_forecast_rows(columns)), label="memory span"
    )
    preliminaries: list[_Before] = []
    for name, use in probes.items():
        label = f"isolation probe of {name}"
        preliminaries.append(_Before(label, use, priced[name]))
    if canaries.messages:
        preliminaries.append(
            _Before("judge's canaries and checks", canaries, judge, of_judge=True)
        )
    notes = _forecast_notes(columns, preliminaries, judge, users, latency)
    lines: list[str] = []
    spans = group_by(
        [forecast for forecast in forecasts if forecast.schedule.examples > 1],
        lambda first_forecast: first_forecast.span_label,
    )
    # All agents have the same schedule at a span, so show only the first of them.
    for first_forecast, *_ in list(spans.values())[:MOST_SCHEDULES]:
        many = first_forecast.conversations
        schedule = first_forecast.schedule
        which = f"one of {many} conversations" if many > 1 else "one conversation"
        place = at_span(first_forecast.agent, first_forecast.span_label)
        title = f"schedule of {place} ({which}); {SPEAKS} speaks, {WAITS} waits"
        lines += [
            *wrap_text(title, width),
            *gantt_lines(schedule.bars, schedule.tokens, width),
            "",
        ]
    lines += [*render_table(table, width, color=color), ""]
    return lines + wrap_texts(map(one_line, notes), width, "  ")


def _forecast_rows(columns: Sequence[_Column]) -> list[TableRow]:
    def row(
        label: str,
        text: Callable[[_Column], str],
        *,
        above: bool = False,
        values: Iterable[object] = (True,),
    ) -> list[TableRow]:
        """Return the row if any column has a value to show in it."""
        if not any(values):
            return []
        cells: list[tuple[str, Style]] = [(text(column), "") for column in columns]
        return [TableRow(label=label, cells=tuple(cells), above=above)]

    def count(
        label: str, number: Callable[[Forecast], int], *, above: bool = False
    ) -> list[TableRow]:
        return row(label, lambda column: short_count(number(column.whole)), above=above)

    def usd(
        label: str, use: Callable[[Forecast], TokenUse], *, above: bool = False
    ) -> list[TableRow]:
        return row(
            label,
            lambda column: _money_text(column.priced.dollars(use(column.whole))),
            above=above,
        )

    def percent(part: int, total: int) -> str:
        return f"{100 * part / total:.0f}%" if total else NOTHING

    def least(column: _Column) -> str:
        dollars = column.priced.least(column.whole.agent_use)
        return NOTHING if dollars is None else _money_text(dollars)

    uses = [column.whole.agent_use for column in columns]
    judged = [column.whole.judge.messages for column in columns]
    users = [c.user_use.messages for c in columns]
    retold = [column.whole.retold for column in columns]
    return [
        *count("conversations", lambda forecast: forecast.conversations),
        *count("examples", lambda forecast: forecast.examples),
        *count("messages", lambda forecast: forecast.agent_use.messages),
        *count("told, not answered", lambda forecast: forecast.told),
        *row(
            "told again, at most", lambda c: short_count(c.whole.retold), values=retold
        ),
        *count("tokens said", lambda forecast: forecast.tokens),
        *row(
            "of which filler", lambda c: percent(c.whole.filler_tokens, c.whole.tokens)
        ),
        *count("tokens in", lambda forecast: forecast.agent_use.tokens_in, above=True),
        *row(
            "of which cached, at best",
            lambda c: percent(c.whole.agent_use.cached, c.whole.agent_use.tokens_in),
            values=[use.cached for use in uses],
        ),
        *count("tokens out", lambda forecast: forecast.agent_use.tokens_out),
        *count("longest gap", lambda forecast: forecast.longest_gap),
        *row("simulated time", lambda c: span_of_time(c.whole.simulated_seconds)),
        *row("expected time", lambda c: span_of_time(c.seconds)),
        *usd("USD: scenarios", lambda forecast: forecast.scenarios, above=True),
        *usd("USD: filler", lambda forecast: forecast.filler),
        *usd("USD: harness", lambda forecast: forecast.harness),
        *usd("USD: agent", lambda forecast: forecast.agent_use),
        *row(
            "best use of cache",
            least,
            values=[least(column) != NOTHING for column in columns],
        ),
        *row(
            "judge calls",
            lambda c: short_count(c.whole.judge.messages),
            above=True,
            values=judged,
        ),
        *row(
            "USD: judge",
            lambda c: _money_text(c.judge.dollars(c.whole.judge)),
            values=judged,
        ),
        *row(
            "user calls, at most",
            lambda c: short_count(c.user_use.messages),
            above=True,
            values=users,
        ),
        *row("USD: user", lambda c: _money_text(c.user_dollars), values=users),
    ]


def _money_text(dollars: float | None) -> str:
    return UNKNOWN if dollars is None else exact_dollars(dollars)


def _forecast_notes(
    columns: Sequence[_Column],
    preliminaries: Sequence[_Before],
    judge: PriceSource,
    users: Mapping[str, PriceSource],
    latency: float,
) -> list[str]:
    notes = [*map(str, preliminaries), _total_sentence(columns, preliminaries, latency)]
    agents = {column.whole.agent: column.priced for column in columns}
    for name, source in agents.items():
        price = _price_unknown(name, source)
        notes.append(f"{name}: tokens in: {source.policy}; {price}")
    if any(column.whole.judge.messages for column in columns):
        sentence = _price_unknown("judge", judge)
        notes.append(
            f"judge: as many calls as these answers need; wrong answers need more; {sentence}"
        )
    for name, source in users.items():
        price = _price_unknown("user", source)
        notes.append(
            f"simulated user {name}: one message for each of its turns; {price}"
        )
    notes.append(
        f"time: {latency:g} s per reply (--ltm-latency), one conversation after another"
    )
    if (assumed := columns[0].whole.assumed_reply) is not None:
        notes.append(
            f"assumed reply length: {pluralize(assumed, 'token')} (--ltm-assume-reply), or more"
        )
    else:
        if any(priced.brief for priced in agents.values()):
            notes.append(EMBEDDED_AGENTS_NOTE)
        if any(not priced.brief for priced in agents.values()):
            notes.append(TYPICAL)
    for column in columns:
        if column.whole.retold:
            notes.append(f"{column.whole.agent}: {RETOLD}")
    if cut := sum(column.whole.cut_short for column in columns):
        notes.append(f"{pluralize(cut, 'example')} {CUT_SHORT}")
    # A single reason, such as an agent that cannot be reset, often explains hundreds of
    # skipped examples.
    skipped = dict.fromkeys(
        chain.from_iterable(column.whole.unplayed for column in columns)
    )
    return notes + first_and_rest(
        [f"not played: {reason}" for reason in skipped], MOST_SKIPPED
    )


def _price_unknown(name: str, priced: PriceSource) -> str:
    if priced.price is not None:
        return f"${priced.price} per million tokens in/out ({priced.source})"
    if priced.free:
        return f"costs nothing (--ltm-price={name}=IN/OUT to see what it would cost)"
    return f"price unknown: give --ltm-price={name}=IN/OUT"


def _token_use(use: TokenUse) -> str:
    return (
        f"{short_count(use.tokens_in)} tokens in and {short_count(use.tokens_out)} out"
    )


def _total_sentence(
    columns: Sequence[_Column], preliminaries: Sequence[_Before], latency: float
) -> str:
    """Return the total cost; messages and tokens count only the agents."""
    costs = [column.priced.dollars(column.whole.agent_use) for column in columns]
    costs += [column.judge.dollars(column.whole.judge) for column in columns]
    costs += [column.user_dollars for column in columns]
    seconds = sum(column.seconds for column in columns)
    for preliminary in preliminaries:
        costs.append(preliminary.priced.dollars(preliminary.use))
        seconds += latency * preliminary.use.messages
    known_cost = sum(dollars for dollars in costs if dollars is not None)
    # Judge requests before the run cost money and time, but are not part of the agents'
    # tokens.
    probes = sum(
        (preliminary.use for preliminary in preliminaries if not preliminary.of_judge),
        TokenUse(),
    )
    use = sum((column.whole.agent_use for column in columns), probes)
    parts = f"expected in total: {pluralize(use.messages, 'message')}, {_token_use(use)}, {span_of_time(seconds)}"
    if None in costs:
        return f"{parts}; cost unknown" + (
            f" beyond ${_money_text(known_cost)}" if known_cost else ""
        )
    return f"{parts}, ${_money_text(known_cost)}"

"""The text of a dry run: the schedule, then messages, tokens, time and cost per agent and span."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

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
MOST_SCHEDULES = 3
MOST_SKIPPED = 5
SPEAKS = "#"
WAITS = "-"
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


def gantt_lines(bars: Sequence[Bar], tokens: int, width: int) -> list[str]:
    """Return the schedule in at most `MOST_LINES` lines, one per example or else one per scenario.

    `#` marks stretches where the example speaks, `-` where it waits.
    """
    has_examples = len({bar.scenario for bar in bars}) < len(bars) <= MOST_LINES
    rows = group_by(
        sorted(bars, key=lambda bar: bar.start),
        lambda bar: f"{bar.scenario}/{bar.example}" if has_examples else bar.scenario,
    )
    label_width = min(26, max(map(len, rows), default=0))
    room = max(width - label_width - 1, 10)

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
        for bar in row_bars:
            for position in bar.speaks:
                cells[cell_of(position)] = SPEAKS
        label = pad_right(clip_text(name, label_width), label_width)
        lines.append(f"{label} {''.join(cells)}".rstrip())
    hidden = len(lines) - MOST_LINES
    if hidden > 0:
        lines[MOST_LINES:] = [f"… and {pluralize(hidden, 'more scenario')}"]
    end = f"{short_count(tokens)} tokens"
    axis = pad_right("0", room // 2) + short_count(tokens // 2)
    if room > len(axis) + len(end):
        axis = pad_right(axis, room - len(end)) + end
    else:
        axis = pad_left(end, room)
    return [*lines, " " * (label_width + 1) + axis]


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
    """A forecast, with what is needed for its costs and times."""

    forecast: Forecast
    agent: PriceSource
    judge: PriceSource
    users: Mapping[str, PriceSource]
    """By the models of simulated users."""
    latency: float
    waits: bool

    @property
    def user_use(self) -> TokenUse:
        return sum(self.forecast.users.values(), TokenUse())

    @property
    def agent_dollars(self) -> float | None:
        return self.agent.dollars(self.forecast.agent_use)

    @property
    def judge_dollars(self) -> float | None:
        return self.judge.dollars(self.forecast.judge)

    @property
    def user_dollars(self) -> float | None:
        total = 0.0
        for name, use in self.forecast.users.items():
            dollars = self.users[name].dollars(use)
            # A sum without the unknown costs would be read as the total.
            if dollars is None:
                return None
            total += dollars
        return total

    @property
    def seconds(self) -> float:
        # Messages are sequential: each needs the reply to the one before.
        waited = self.forecast.simulated_seconds if self.waits else 0.0
        use = self.forecast.agent_use + self.forecast.judge + self.user_use
        return waited + self.latency * use.messages


@dataclass(frozen=True, slots=True)
class _Preliminary:
    """Requests made once per run, before its first conversation."""

    name: str
    use: TokenUse
    source: PriceSource
    of_judge: bool = False

    @property
    def dollars(self) -> float | None:
        return self.source.dollars(self.use)

    @property
    def sentence(self) -> str:
        cost = "cost unknown"
        if self.dollars is not None:
            cost = f"${exact_dollars(self.dollars)}"
        count = pluralize(self.use.messages, "call" if self.of_judge else "message")
        return f"{self.name}, once in a run: {count}, {_token_use(self.use)}, {cost}"


def forecast_lines(
    forecasts: Sequence[Forecast],
    agents: Mapping[str, PriceSource],
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

    `forecasts`: one per agent and span. `agents`, `probes`: by agent. `users`: by the
    models of simulated users. `canaries`: the questions to the judge whose grades are
    known. `latency`: seconds for a reply. `waits_really`: whether the conversations'
    time passes on the wall.
    """
    columns: list[_Column] = []
    heads: list[tuple[str, str]] = []
    for forecast in forecasts:
        agent = agents[forecast.agent]
        columns.append(_Column(forecast, agent, judge, users, latency, waits_really))
        heads.append((forecast.agent, one_line(forecast.span_label)))
    table = TextTable(
        heads=tuple(heads), rows=tuple(_forecast_rows(columns)), label="memory span"
    )
    preliminaries: list[_Preliminary] = []
    for name, use in probes.items():
        label = f"isolation probe of {name}"
        preliminaries.append(_Preliminary(label, use, agents[name]))
    if canaries.messages:
        preliminaries.append(
            _Preliminary("judge's canaries and checks", canaries, judge, of_judge=True)
        )
    notes = _forecast_notes(columns, preliminaries, judge, users, latency)
    return [
        *_schedule_lines(forecasts, width),
        *render_table(table, width, color=color),
        "",
        *wrap_texts(map(one_line, notes), width, "  "),
    ]


def _schedule_lines(forecasts: Sequence[Forecast], width: int) -> list[str]:
    """Return the schedules of the first spans at which several examples share a conversation."""
    by_span: dict[str, Forecast] = {}
    for forecast in forecasts:
        # All agents have the same schedule at a span, so only that of the first is shown.
        if forecast.schedule.examples > 1:
            by_span.setdefault(forecast.span_label, forecast)
    lines: list[str] = []
    for forecast in list(by_span.values())[:MOST_SCHEDULES]:
        which = "one conversation"
        if forecast.conversations > 1:
            which = f"one of {forecast.conversations} conversations"
        place = at_span(forecast.agent, forecast.span_label)
        title = f"schedule of {place} ({which}); {SPEAKS} speaks, {WAITS} waits"
        schedule = forecast.schedule
        lines += wrap_text(title, width)
        lines += [*gantt_lines(schedule.bars, schedule.tokens, width), ""]
    return lines


def _forecast_rows(columns: Sequence[_Column]) -> list[TableRow]:
    """Return the rows of the table; those about caches, retelling, judge and users only if there is any."""
    rows: list[TableRow] = []

    def add(label: str, text: Callable[[_Column], str], *, above: bool = False) -> None:
        cells: list[tuple[str, Style]] = [(text(column), "") for column in columns]
        rows.append(TableRow(label=label, cells=tuple(cells), above=above))

    def add_count(
        label: str, number: Callable[[Forecast], int], *, above: bool = False
    ) -> None:
        add(label, lambda column: short_count(number(column.forecast)), above=above)

    def add_cost(
        label: str, use: Callable[[Forecast], TokenUse], *, above: bool = False
    ) -> None:
        add(
            label,
            lambda column: _money_text(column.agent.dollars(use(column.forecast))),
            above=above,
        )

    forecasts = [column.forecast for column in columns]
    add_count("conversations", lambda forecast: forecast.conversations)
    add_count("examples", lambda forecast: forecast.examples)
    add_count("messages", lambda forecast: forecast.agent_use.messages)
    add_count("told, not answered", lambda forecast: forecast.told)
    if any(forecast.retold for forecast in forecasts):
        add_count("told again, at most", lambda forecast: forecast.retold)
    add_count("tokens said", lambda forecast: forecast.tokens)
    add("of which filler", _filler_share)
    add_count("tokens in", lambda forecast: forecast.agent_use.tokens_in, above=True)
    if any(forecast.agent_use.cached for forecast in forecasts):
        add("of which cached, at best", _cached_share)
    add_count("tokens out", lambda forecast: forecast.agent_use.tokens_out)
    add_count("longest gap", lambda forecast: forecast.longest_gap)
    add("simulated time", lambda c: span_of_time(c.forecast.simulated_seconds))
    add("expected time", lambda column: span_of_time(column.seconds))
    add_cost("USD: scenarios", lambda forecast: forecast.scenarios, above=True)
    add_cost("USD: filler", lambda forecast: forecast.filler)
    add_cost("USD: harness", lambda forecast: forecast.harness)
    add_cost("USD: agent", lambda forecast: forecast.agent_use)
    if any(_least_cost(column) != NOTHING for column in columns):
        add("best use of cache", _least_cost)
    if any(forecast.judge.messages for forecast in forecasts):
        add_count("judge calls", lambda forecast: forecast.judge.messages, above=True)
        add("USD: judge", lambda column: _money_text(column.judge_dollars))
    if any(column.user_use.messages for column in columns):
        add(
            "user calls, at most",
            lambda column: short_count(column.user_use.messages),
            above=True,
        )
        add("USD: user", lambda column: _money_text(column.user_dollars))
    return rows


def _filler_share(column: _Column) -> str:
    return _percent(column.forecast.filler_tokens, column.forecast.tokens)


def _cached_share(column: _Column) -> str:
    use = column.forecast.agent_use
    return _percent(use.cached, use.tokens_in)


def _least_cost(column: _Column) -> str:
    dollars = column.agent.least(column.forecast.agent_use)
    return NOTHING if dollars is None else _money_text(dollars)


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.0f}%" if total else NOTHING


def _money_text(dollars: float | None) -> str:
    return UNKNOWN if dollars is None else exact_dollars(dollars)


def _forecast_notes(
    columns: Sequence[_Column],
    preliminaries: Sequence[_Preliminary],
    judge: PriceSource,
    users: Mapping[str, PriceSource],
    latency: float,
) -> list[str]:
    notes = [preliminary.sentence for preliminary in preliminaries]
    notes.append(_total_sentence(columns, preliminaries, latency))
    agents = {column.forecast.agent: column.agent for column in columns}
    for name, source in agents.items():
        price = _price_sentence(name, source)
        notes.append(f"{name}: tokens in: {source.policy}; {price}")
    if any(column.forecast.judge.messages for column in columns):
        price = _price_sentence("judge", judge)
        notes.append(
            f"judge: as many calls as these answers need; wrong answers need more; {price}"
        )
    for name, source in users.items():
        price = _price_sentence("user", source)
        notes.append(
            f"simulated user {name}: one message for each of its turns; {price}"
        )
    notes.append(
        f"time: {latency:g} s per reply (--ltm-latency), one conversation after another"
    )
    notes += _length_notes(columns[0].forecast.assumed_reply, agents.values())
    cut_short = 0
    # A single reason, such as an agent that cannot be reset, often explains hundreds of
    # skipped examples.
    skipped: dict[str, None] = {}
    for column in columns:
        forecast = column.forecast
        if forecast.retold:
            notes.append(f"{forecast.agent}: {RETOLD}")
        cut_short += forecast.cut_short
        for reason in forecast.unplayed:
            skipped[f"not played: {reason}"] = None
    if cut_short:
        notes.append(f"{pluralize(cut_short, 'example')} {CUT_SHORT}")
    return notes + first_and_rest(list(skipped), MOST_SKIPPED)


def _length_notes(assumed: int | None, agents: Collection[PriceSource]) -> list[str]:
    """Return the notes on the lengths of replies that were assumed."""
    if assumed is not None:
        return [
            f"assumed reply length: {pluralize(assumed, 'token')} (--ltm-assume-reply), or more"
        ]
    notes = []
    if any(agent.brief for agent in agents):
        notes.append(EMBEDDED_AGENTS_NOTE)
    if not all(agent.brief for agent in agents):
        notes.append(TYPICAL)
    return notes


def _price_sentence(name: str, source: PriceSource) -> str:
    if source.price is not None:
        return f"${source.price} per million tokens in/out ({source.source})"
    if source.free:
        return f"costs nothing (--ltm-price={name}=IN/OUT to see what it would cost)"
    return f"price unknown: give --ltm-price={name}=IN/OUT"


def _token_use(use: TokenUse) -> str:
    return (
        f"{short_count(use.tokens_in)} tokens in and {short_count(use.tokens_out)} out"
    )


def _total_sentence(
    columns: Sequence[_Column], preliminaries: Sequence[_Preliminary], latency: float
) -> str:
    """Return the sentence on messages and tokens of the agents, and on the time and cost of everything."""
    use = TokenUse()
    seconds = 0.0
    costs: list[float | None] = []
    for column in columns:
        use += column.forecast.agent_use
        seconds += column.seconds
        costs += [column.agent_dollars, column.judge_dollars, column.user_dollars]
    for preliminary in preliminaries:
        if not preliminary.of_judge:
            use += preliminary.use
        seconds += latency * preliminary.use.messages
        costs.append(preliminary.dollars)
    known_cost = sum(dollars for dollars in costs if dollars is not None)
    total = f"expected in total: {pluralize(use.messages, 'message')}, {_token_use(use)}, {span_of_time(seconds)}"
    if None not in costs:
        return f"{total}, ${exact_dollars(known_cost)}"
    if known_cost:
        return f"{total}; cost unknown beyond ${exact_dollars(known_cost)}"
    return f"{total}; cost unknown"

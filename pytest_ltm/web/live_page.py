"""The live view: conversations of one or more runs in progress, pushed as server-sent events."""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pytest_ltm.api.journal import (
    LEDGER,
    SUMMARY,
    Bill,
    Chain,
    ConversationName,
    ConversationRecord,
    Prices,
    Tariff,
    conversations_in,
    events,
    newest_first,
    read_prices,
    read_run_file,
    strip_checksum,
)
from pytest_ltm.api.model import Exchange
from pytest_ltm.api.storage import (
    LtmError,
    Shared,
    for_screen,
    lock_holder,
    open_regular,
    stopwatch_seconds,
)
from pytest_ltm.records.budget import sum_spent
from pytest_ltm.reports.history import read_past
from pytest_ltm.reports.html.details import plan_definitions
from pytest_ltm.web import page_parts

if TYPE_CHECKING:
    from starlette.requests import Request


# Seconds between two reads of the journals.
EVERY = 0.5
MOST_RUNS = 20
# The most exchanges sent at once.
MAX_INITIAL_EXCHANGES = 100


def goes_on(run: Path) -> bool:
    """Return whether a process is writing into a run folder."""
    try:
        return not (run / SUMMARY).exists() and bool(lock_holder(run))
    except OSError:
        return True


def live_page(request: Request) -> Response:
    """Show the runs named in the address, else those in progress, else the newest."""
    run_names = request.query_params.getlist("run")[:MOST_RUNS]
    if run_names:
        runs = [page_parts.run_folder(request, name) for name in run_names]
    else:
        newest = newest_first(request.app.state.ltm_dir)[:MOST_RUNS]
        runs = list(filter(goes_on, newest)) or newest[:1]
    return page_parts.render_template(
        "live.html.j2", title="Live", runs=[path.name for path in runs]
    )


async def stream_changes(request: Request) -> Response:
    """Send changes until all runs are over."""
    names = request.query_params.getlist("run")[:MOST_RUNS]
    runs = [_followed_run(request, name) for name in names]
    page = _LiveUpdates(request.query_params.get("open", ""))

    async def server_events() -> AsyncIterator[str]:
        """Yield server-sent events; each contains the complete state of what changed."""
        yield "retry: 1000\n\n" + _format_event("begin", [])
        while not await request.is_disconnected():
            # Checked before the journals are read, so that what was written during
            # shutdown is still sent.
            ending = request.app.state.ending()
            text, more, over = await run_in_threadpool(page.look, runs)
            yield text or ": nothing new\n\n"
            if (over or ending) and not more:
                # the server of a live run ends with it
                yield _format_event("over", ending or bool(request.app.state.awaited))
                return
            await asyncio.sleep(0 if more else EVERY)

    # A buffering proxy would only show the run when it is over.
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        server_events(), media_type="text/event-stream", headers=headers
    )


def _followed_run(request: Request, name: str) -> FollowedRun:
    """Return a run shared by all pages, so that each journal is read once."""
    followed: dict[str, FollowedRun] = request.app.state.followed
    path = page_parts.run_folder(request, name)
    if name not in followed:
        # Drop the oldest: a server that runs for weeks must not keep every journal in
        # memory.
        while len(followed) >= MOST_RUNS:
            followed.pop(next(iter(followed)))
        followed[name] = FollowedRun(path)
    return followed[name]


def _changed_lines(
    lines_before: Sequence[list[Any]], lines: Sequence[list[Any]]
) -> list[list[Any]]:
    """Return the lines that are new or have changed, each after its number: most do not change between two reads."""
    changed: list[list[Any]] = []
    for line_number, line in enumerate(lines):
        if lines_before[line_number : line_number + 1] != [line]:
            changed.append([line_number, *line])
    return changed


class _LiveUpdates:
    """The state of one page, from which its updates are computed."""

    def __init__(self, opened: str) -> None:
        self._opened = opened
        self._versions: dict[str, int] = {}
        self._runs: list[dict[str, Any]] = []
        self._lines: dict[str, list[list[Any]]] = {}
        self._last = -1
        self._waits: list[list[Any]] = []
        """Pending messages that the page already has."""

    def look(self, runs: list[FollowedRun]) -> tuple[str, bool, bool]:
        """Return events for the changes, whether more can be read at once, and whether all runs are over."""
        # before the journals, so that finished runs are read to the end
        states = [run.state() for run in runs]
        changed: list[dict[str, Any]] = []
        items: list[list[Any]] = []
        more = False
        for run in runs:
            with run.lock:
                result, behind = run.read_on()
                more |= behind
                for conversation in result:
                    if self._versions.get(conversation.id) != conversation.version:
                        self._versions[conversation.id] = conversation.version
                        state = conversation.state()
                        lines_before = self._lines.get(conversation.id, [])
                        lines = state["lines"]
                        self._lines[conversation.id] = lines
                        state["lines"] = _changed_lines(lines_before, lines)
                        changed.append(state)
                    if conversation.id == self._opened:
                        items += self._new_exchanges(conversation)
        news: dict[str, list[Any]] = {
            "runs": states if states != self._runs else [],
            "conversations": changed,
            "said": items,
        }
        self._runs = states
        events = [_format_event(name, value) for name, value in news.items() if value]
        all_over = all(state["over"] or state["gone"] for state in states)
        return "".join(events), more, all_over

    def _new_exchanges(self, conversation: FollowedConversation) -> list[list[Any]]:
        items = conversation.last_exchanges(
            after=self._last, most=MAX_INITIAL_EXCHANGES
        )
        answered = [row[0] for row in items if row[4] is not None]
        if items == self._waits:
            return []
        self._last = max([self._last, *answered])
        self._waits = [row for row in items if row[4] is None]
        return items


def _format_event(name: str, value: object) -> str:
    return f"event: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"


async def earlier_exchanges(request: Request) -> Response:
    """Send the exchanges before a number."""
    run = _followed_run(request, request.path_params["run"])
    result = run.conversation(f"{run.path.name}/{request.path_params['conversation']}")
    if result is None:
        raise page_parts.PageError(404, "There is no such conversation here.")
    with run.lock:
        exchanges = result.last_exchanges(
            before=request.path_params["before"], most=MAX_INITIAL_EXCHANGES
        )
    # ASCII, because texts may contain lone surrogates
    return Response(json.dumps(exchanges), media_type="application/json")


ROUTES = [
    Route("/live", live_page),
    Route("/live/events", stream_changes),
    Route("/live/{run}/{conversation}/{before:int}", earlier_exchanges),
]


# --- Growing journals.


# Bytes of a journal read before the others get their turn.
AT_ONCE = 2_000_000
# The most examples per conversation that have a line of their own.
MOST_EXAMPLES = 200
# The most characters shown of a message.
LONGEST = 20_000


class ExampleLine(NamedTuple):
    """A planned example, as one line of the page."""

    name: str
    state: str = "to come"
    """One of `to come`, `open`, `waiting` and `done`."""
    begin: int = 0
    end: int | None = None
    """In tokens; None if it has not ended."""
    score: float | None = None


class FollowedConversation:
    """One journal, up to the position read so far.

    Args:
        run: The run's name.
        name: The conversation's name.
        path: The journal.
        tariff: The prices of replies that report no cost.
    """

    def __init__(
        self, run: str, name: ConversationName, path: Path, tariff: Tariff
    ) -> None:
        self.run = run
        self.name = name
        self.path = path
        self.id = f"{run}/{name.folder}"
        self.tariff = tariff
        self.version = 0
        """Incremented whenever `state` changes."""
        self._begin(0)

    def _begin(self, inode: int) -> None:
        self.record = ConversationRecord()
        self._bill = Bill(self.tariff)
        self.trouble = ""
        """Why reading has stopped; "" if there is no problem."""
        self._inode = inode
        self._read = 0
        self._lines = 0
        self._chain = Chain()
        self._waiting: set[str] = set()
        self._moved: deque[tuple[float, int]] = deque()
        self.version += 1

    def read_on(self) -> bool:
        """Read further; return whether more can be read at once."""
        try:
            result = self.path.stat()
            # Read from the start: offsets in the old file are meaningless in the new
            # one.
            if result.st_ino != self._inode or result.st_size < self._read:
                # another file, or truncated: a resumed run removes a torn line
                self._begin(result.st_ino)
            more = not self.trouble and result.st_size > self._read and self._grow()
        except (OSError, LtmError, ValueError) as error:
            more = False
            trouble = getattr(error, "strerror", None) or str(error)
            if isinstance(error, FileNotFoundError):
                trouble = "the journal was deleted"
                # A file that reappears here is another journal, whatever its inode.
                self._inode = 0
            if self.trouble != trouble:
                self.trouble = trouble
                self.version += 1
        now = stopwatch_seconds()
        position = self.record.position
        if not self._moved or self._moved[-1][1] != position:
            self._moved.append((now, position))
            self.version += 1
        # The speed covers the last seconds: a mean over hours would hide a provider
        # that slows down.
        while len(self._moved) > 1 and self._moved[0][0] < now - 15.0:
            self._moved.popleft()
            self.version += 1
        return more

    def _grow(self) -> bool:
        until = self._read + AT_ONCE
        with open_regular(self.path) as file:
            file.seek(self._read)
            while self._read < until:
                line = file.readline()
                if not line.endswith(b"\n"):
                    return False
                self._add(line)
                self._read += len(line)
                self.version += 1
        return True

    def _add(self, line: bytes) -> None:
        self._lines += 1
        where = f"line {self._lines} of the journal"
        if self._lines == 1 and not line.startswith(b'{"event":"header"'):
            raise LtmError(f"{where} is not its header")
        text = self._chain.verify_line(line)
        if text is None:
            # raises for events of a later version
            events.decode_event(strip_checksum(line), where)
            raise LtmError(
                f"{where} is damaged: ltm doctor --repair {shlex.quote(str(self.path.parent))} says more"
            )
        event = events.decode_event(text, where)
        self.record.add(event)
        self._bill.count_event(event)
        if isinstance(event, events.WaitBegan):
            self._waiting.add(event.example)
        elif isinstance(event, events.MessageSent):
            self._waiting.discard(event.by)

    @property
    def speed(self) -> int | None:
        """Recent tokens per second; None if there was no progress while watching."""
        first, first_position = self._moved[0]
        last, last_position = self._moved[-1]
        if last > first:
            return round((last_position - first_position) / (last - first))
        return None

    def examples(self) -> list[ExampleLine]:
        """Return each planned example."""
        header = self.record.header
        names = list(plan_definitions(header.plan)) if header else []
        examples: list[ExampleLine] = []
        for name in dict.fromkeys([*names, *self.record.examples]):
            record = self.record.examples.get(name)
            if record is None or record.begin is None:
                examples.append(ExampleLine(for_screen(name)))
                continue
            state = "waiting" if name in self._waiting else "open"
            # A verdict may come before the end: the scenario continues, but cannot
            # change it.
            if record.end is not None or record.verdict is not None:
                state = "done"
            score = record.verdict.score if record.verdict else None
            line = ExampleLine(for_screen(name), state, record.begin, record.end, score)
            examples.append(line)
        return examples

    def state(self) -> dict[str, Any]:
        """Return the conversation's state as JSON values; examples appear as lines."""
        record = self.record
        examples = self.examples()
        scores = [example.score for example in examples if example.score is not None]
        fault = next(reversed(record.faults.values())).text if record.faults else ""
        plan = record.header.plan if record.header else {}
        span = plan.get("span")
        states = [example.state for example in examples]
        tokens = (self._bill.input_tokens or 0) + (self._bill.output_tokens or 0)
        return {
            "id": self.id,
            "run": self.run,
            "name": str(self.name),
            "agent": self.name.agent,
            "span": self.name.span,
            "position": record.position,
            "target": max(span if isinstance(span, int) else 0, record.position),
            "exchanges": len(record.transcript),
            "sum": sum(scores),
            "scored": len(scores),
            "total": len(examples),
            "lines": [list(example) for example in examples[:MOST_EXAMPLES]],
            "n_to": states.count("to come"),
            "n_open": states.count("open"),
            "n_waiting": states.count("waiting"),
            "n_done": states.count("done"),
            "usd": self._bill.total_usd,
            "used": tokens or None,
            "faults": len(record.faults),
            "fault": for_screen(fault[:LONGEST]),
            "speed": None if record.reason else self.speed,
            "ended": for_screen(record.reason or ""),
            "trouble": for_screen(self.trouble),
        }

    def last_exchanges(
        self, *, after: int = -1, before: int = 1_000_000_000, most: int = 100
    ) -> list[list[Any]]:
        """Return the last exchanges between two numbers: number, speaker, tokens before, message, reply, fault.

        The reply of a pending message is None.
        """
        items: list[list[Any]] = []
        for number in reversed(self.record.messages):  # the pending message
            if number in self.record.replies:
                break
            if after < number < before and (exchange := self.record.exchange(number)):
                items.append(self._exchange_item(exchange, exchange.by, None))
        for exchange in reversed(self.record.transcript):
            if exchange.number <= after or len(items) >= most:
                break
            if exchange.number < before:
                speaker = exchange.by or exchange.kind
                items.append(self._exchange_item(exchange, speaker, exchange.reply))
        items.sort(key=lambda item: int(item[0]))
        return items[-most:]

    def _exchange_item(
        self, exchange: Exchange, speaker: str, reply: str | None
    ) -> list[Any]:
        """Return the displayed data of an exchange; `reply` is None while it is pending."""
        return [
            exchange.number,
            _shorten(speaker),
            exchange.start,
            _shorten(exchange.message),
            None if reply is None else _shorten(reply),
            _shorten(self.record.fault(exchange.number)),
        ]


def _shorten(text: str) -> str:
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… ({len(text):,} characters)"
    return for_screen(text)


# The options that limit what a run may spend, with their units.
_UNITS = {"ltm_max_cost": "dollars", "ltm_max_tokens": "tokens"}


class FollowedRun:
    """A run folder, up to the positions read so far; shared by several pages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        """Held while anything of the run is read, because several threads answer pages."""
        self._conversations: dict[ConversationName, FollowedConversation] = {}
        self._prices: Prices | None = None
        self._limits: list[str] = []
        self._begun = False
        self._verdict = ""

    def read_on(self) -> tuple[list[FollowedConversation], bool]:
        """Read further; return the conversations, and whether more can be read at once."""
        with self.lock:
            if self._prices is None and self.path.is_dir():
                self._read_options()
            for name, path in conversations_in(self.path, "journal.jsonl").items():
                if name not in self._conversations:
                    price = self._prices.price_for(name.agent) if self._prices else None
                    self._conversations[name] = FollowedConversation(
                        self.path.name, name, path, Tariff(price=price)
                    )
            result = list(self._conversations.values())
            return result, any([conversation.read_on() for conversation in result])  # noqa: C419 - each of them has its turn

    def _read_options(self) -> None:
        if not any(self.path.glob("*/journal.jsonl")):
            return  # its run file may not exist yet
        try:
            options = read_run_file(self.path).options
            self._prices = read_prices(options.get("ltm_price") or ())
            for name, unit in _UNITS.items():
                if name in options:
                    self._limits.append(f"{options[name]} {unit}")
        except (LtmError, TypeError):
            # merged runs, or those of another version, have none
            self._prices = read_prices(())

    def conversation(self, id_: str) -> FollowedConversation | None:
        """Return the conversation with an id, or None."""
        for conversation in list(self._conversations.values()):
            if conversation.id == id_:
                return conversation
        return None

    def state(self) -> dict[str, Any]:
        """Return the state of the whole run as JSON values."""
        is_there = self.path.is_dir()
        self._begun |= is_there
        over = (self.path / SUMMARY).exists()
        if over and not self._verdict:
            self._verdict = _how_it_ended(self.path)
        fields = {
            "id": self.path.name,
            "over": over,
            "gone": self._begun and not is_there,
            "budget": "",
            "verdict": self._verdict if over else "",
        }
        ledger = self.path / LEDGER
        try:
            spent = sum_spent(Shared(ledger).read() if ledger.exists() else {})
        except (LtmError, OSError, TypeError, AttributeError):
            return fields
        if self._limits:
            fields["budget"] = f"{spent} spent of {' and '.join(self._limits)}"
        return fields


def _how_it_ended(run: Path) -> str:
    """Return the gate's verdict on a run, or else the run's state."""
    past = read_past(run)
    if past.gate == "unmeasurable":
        return "could not be measured"
    return f"gate {past.gate}" if past.gate else past.state

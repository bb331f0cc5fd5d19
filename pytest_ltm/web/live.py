"""The live view: conversations of one or more runs while they are held, pushed as server-sent events."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pytest_ltm._journal.run_file import SUMMARY, newest_first
from pytest_ltm._storage.locks import holder
from pytest_ltm.web import page_parts
from pytest_ltm.web.journal_tail import FollowedRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from starlette.requests import Request

    from pytest_ltm.web.journal_tail import FollowedConversation


EVERY = 0.5
"""Seconds between two looks at the journals."""
MOST_RUNS = 20
EARLIER = 100
"""Exchanges that are sent at once."""


def goes_on(run: Path) -> bool:
    """Return whether a process writes into a run folder."""
    try:
        return not (run / SUMMARY).exists() and bool(holder(run))
    except OSError:
        return True


async def live(request: Request) -> Response:
    """Show runs: those that the address names, else those that go on, else the newest."""
    return await run_in_threadpool(_live, request)


def _live(request: Request) -> Response:
    named = request.query_params.getlist("run")[:MOST_RUNS]
    if named:
        runs = [page_parts.run_folder(request, name) for name in named]
    else:
        newest = newest_first(page_parts.ltm_dir(request))[:MOST_RUNS]
        runs = list(filter(goes_on, newest)) or newest[:1]
    return page_parts.page(request, "live.html.j2", title="Live", runs=[path.name for path in runs])


async def stream(request: Request) -> Response:
    """Send what changes until all runs are over."""
    runs = [_followed(request, name) for name in request.query_params.getlist("run")[:MOST_RUNS]]
    told = _told(request, runs, request.query_params.get("open", ""))
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _followed(request: Request, name: str) -> FollowedRun:
    """Return a run that all pages share, so that each journal is read once."""
    kept: dict[str, FollowedRun] = request.app.state.followed
    path = page_parts.run_folder(request, name)
    if name not in kept:
        while len(kept) >= MOST_RUNS:
            kept.pop(next(iter(kept)))
        kept[name] = FollowedRun(path)
    return kept[name]


async def _told(request: Request, runs: list[FollowedRun], opened: str) -> AsyncIterator[str]:
    """Yield server-sent events; each is the whole of what changed in it."""
    yield "retry: 1000\n\n" + _event("begin", [])
    sent = _Sent(opened)
    while not await request.is_disconnected():
        ending = request.app.state.ending()
        text, more, over = await run_in_threadpool(sent.look, runs)
        yield text or ": nothing new\n\n"
        if (over or ending) and not more:
            yield _event("over", ending or bool(request.app.state.awaited))  # that server ends with its run
            return
        await asyncio.sleep(0 if more else EVERY)


class _Sent:
    """What one page was told."""

    def __init__(self, opened: str) -> None:
        self._opened = opened
        self._versions: dict[str, int] = {}
        self._runs: list[dict[str, Any]] = []
        self._lines: dict[str, list[list[Any]]] = {}
        self._last = -1
        self._waits: list[list[Any]] = []
        """Messages without a reply that the page has."""

    def look(self, runs: list[FollowedRun]) -> tuple[str, bool, bool]:
        """Return events for what is new, whether there is more to read at once, and whether all runs are over."""
        states = [run.state() for run in runs]  # before the journals: what is over by then is read to its end
        changed: list[dict[str, Any]] = []
        said: list[list[Any]] = []
        more = False
        for run in runs:
            with run.lock:
                found, behind = run.grow()
                more |= behind
                changed += [self._changed(each) for each in found if self._versions.get(each.id) != each.version]
                said += [row for each in found if each.id == self._opened for row in self._said(each)]
        text = (_event("conversations", changed) if changed else "") + (_event("said", said) if said else "")
        if states != self._runs:
            self._runs = states
            text = _event("runs", states) + text
        return text, more, all(state["over"] or state["gone"] for state in states)

    def _said(self, each: FollowedConversation) -> list[list[Any]]:
        found = each.said(after=self._last, most=EARLIER)
        answered = [row[0] for row in found if row[4] is not None]
        if found == self._waits:
            return []
        self._last, self._waits = max([self._last, *answered]), [row for row in found if row[4] is None]
        return found

    def _changed(self, each: FollowedConversation) -> dict[str, Any]:
        self._versions[each.id] = each.version
        state = each.state()
        before, lines = self._lines.get(each.id, []), state["lines"]
        self._lines[each.id] = lines
        state["lines"] = [[at, *line] for at, line in enumerate(lines) if before[at : at + 1] != [line]]
        return state


def _event(name: str, value: object) -> str:
    return f"event: {name}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"


async def earlier(request: Request) -> Response:
    """Send exchanges before a number."""
    run = _followed(request, request.path_params["run"])
    found = run.conversation(f"{run.path.name}/{request.path_params['conversation']}")
    if found is None:
        raise page_parts.PageError(404, "There is no such conversation here.")
    with run.lock:
        said = found.said(before=request.path_params["before"], most=EARLIER)
    return Response(json.dumps(said), media_type="application/json")  # in ASCII: texts may hold half a surrogate pair


ROUTES = [
    Route("/live", live),
    Route("/live/events", stream),
    Route("/live/{run}/{conversation}/{before:int}", earlier),
]

"""Pages on which a person sits a test: consent, filler to read, one message at a time, breaks.

The link that only this person knows opens them and nothing else. What is done here is
written into the folder of the conversation (`agents/_mailbox.py`), where the run finds
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pytest_ltm._core.calls.airlock import LONGEST_REPLY
from pytest_ltm._core.journal.run_file import SUMMARY, newest_first
from pytest_ltm._core.storage.locks import lock_holder
from pytest_ltm.agents._mailbox import Box, HumanPrompt, Person, list_people, person_of
from pytest_ltm.figures.text import span_of_time
from pytest_ltm.web import page_parts

if TYPE_CHECKING:
    from starlette.requests import Request


def _person_of_link(request: Request) -> Person:
    """Return whose link it is; a page that says that it is nobody's otherwise."""
    person = person_of(
        newest_first(request.app.state.ltm_dir), request.path_params["link"]
    )
    if person is None:
        raise page_parts.PageError(
            404, "This link does not belong to anybody. Ask for another one."
        )
    return person


def sit_page(request: Request) -> Response:
    """Show what comes next for a person."""
    return _render_sit(request, _person_of_link(request), "")


def _render_sit(request: Request, person: Person, notice: str) -> Response:
    box, message = _open_message(person)
    shown: dict[str, Any] = {
        "title": "Sitting the test",
        "alone": True,
        "person": person,
        "notice": notice,
        "message": message,
        "state": sitting_state(person),
        "consent": person.consent,
    }
    if person.consent is None:
        return page_parts.render_template(request, "sit_consent.html.j2", **shown)
    if box is None or message is None:
        over, goes_on = (person.run / SUMMARY).exists(), _is_written(person.run)
        return page_parts.render_template(
            request, "sit_waiting.html.j2", **shown, over=over, goes_on=goes_on
        )
    seen = box.message_state(message)
    if seen.paused is not None:
        return page_parts.render_template(request, "sit_paused.html.j2", **shown)
    if seen.read < len(message.told):
        at = (
            (seen.read, len(message.told))
            if message.filler == "full"
            else (len(message.told), len(message.told))
        )
        told = (
            message.told[seen.read : seen.read + 1]
            if message.filler == "full"
            else message.told
        )
        return page_parts.render_template(
            request, "sit_told.html.j2", **shown, told=told, read=seen.read, at=at
        )
    box.show(message)
    return page_parts.render_template(
        request,
        "sit_message.html.j2",
        **shown,
        earlier=list(box.earlier_exchanges()),
        goes_on=_is_written(person.run),
        longest=LONGEST_REPLY,
    )


def _open_message(person: Person) -> tuple[Box | None, HumanPrompt | None]:
    """Return the box that waits for a person, and the message in it."""
    box = person.waiting_box()
    return box, None if box is None else box.open()


def _is_written(run: Path) -> bool:
    """Return whether the run is there to take an answer; it is kept if not."""
    try:
        return bool(lock_holder(run))
    except OSError:  # a disk that cannot be asked must not tell a person to go home
        return True


def sitting_state(person: Person) -> str:
    """Return what changes when there is something else to show."""
    if person.consent is None:
        return "consent"
    box, message = _open_message(person)
    if box is None or message is None:
        return f"{(person.run / SUMMARY).exists()} {_is_written(person.run)}"
    seen = box.message_state(message)
    return (
        f"{box.folder.parent.name} {message.id} {seen.read} {seen.paused is not None}"
    )


def poll_change(request: Request) -> Response:
    """Say whether there is something else to show."""
    return JSONResponse({"state": sitting_state(_person_of_link(request))})


async def take_step(request: Request) -> Response:
    """Take what the person does, and show what comes next."""
    person, given = _person_of_link(request), await page_parts.posted_form(request)
    notice = await run_in_threadpool(
        _carry_out_step, person, request.path_params["step"], given
    )
    if notice:
        return await run_in_threadpool(_render_sit, request, person, notice)
    for _ in range(_LOOKS):
        if (person.run / SUMMARY).exists() or (
            await run_in_threadpool(person.waiting_box)
        ) is not None:
            break
        await asyncio.sleep(_PAUSE)
    return RedirectResponse(f"/sit/{person.link}", 303)


_LOOKS, _PAUSE = 30, 0.05
"""How often, and after how many seconds, the run is given time for the next message, so that few pages say to wait."""
TWICE = "That message was answered already, perhaps in another tab. This answer was not taken."
LONG = f"That answer is too long: it may have {LONGEST_REPLY:,} characters. It was not taken."


def _carry_out_step(person: Person, what: str, given: Mapping[str, str]) -> str:
    """Carry out one step; return what the person should know, "" if it went as expected."""
    if what == "consent":
        person.record_consent(given.get("nickname", ""))
        return ""
    box, message = _open_message(person)
    if box is None or message is None or message.id != given.get("id"):
        return TWICE if what == "answer" else ""
    match what:
        case "read":
            read = given.get("read", "")
            for number in range(
                int(read) if read.isdecimal() else 0, len(message.told)
            ):
                box.read_on(message, number)
                if message.filler == "full":
                    break
        case "answer":
            text = given.get("text", "").replace("\r\n", "\n")
            if len(text) > LONGEST_REPLY:
                return LONG
            return "" if box.reply(message, text) else TWICE
        case "pause":
            box.pause(message)
        case "go-on":
            box.go_on(message)
    return ""


def invitations_page(request: Request) -> Response:
    """Show the links of the people of each run, for the organiser of the test."""
    told = []
    for run in newest_first(request.app.state.ltm_dir):
        people = []
        for person in list_people(run):
            consent = person.consent
            times = [seconds for box in person.begun_boxes() for seconds in box.times()]
            people.append(
                {
                    "label": person.label,
                    "link": f"{str(request.base_url).rstrip('/')}/sit/{person.link}",
                    "nickname": consent.nickname if consent else "",
                    "agreed": consent is not None,
                    "waits": person.waiting_box() is not None,
                    "answered": len(times),
                    "median": span_of_time(median(times)) if times else "",
                }
            )
        if people:
            over = (run / SUMMARY).exists()
            told.append(
                {
                    "run": run.name,
                    "goes_on": _is_written(run),
                    "over": over,
                    "people": people,
                }
            )
    return page_parts.render_template(
        request, "people.html.j2", title="People", runs=told
    )


ROUTES = [
    Route("/people", invitations_page),
    Route("/sit/{link}", sit_page),
    Route("/sit/{link}/state", poll_change),
    Route("/sit/{link}/{step:str}", take_step, methods=["POST"]),
]

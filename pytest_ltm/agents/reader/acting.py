"""What the user wants done by tools, and what was told that decides how: notes, and calls made by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    first_match,
)
from pytest_ltm.api.model import Tools

_RE = Patterns("acting")
TOLD = "acting"
DONE = "acted"
IT_IS_DONE = "It is done."
# The argument that was told before, by the tool that takes it.
_TOLD_ARGUMENTS = {
    "book_table": "time",
    "send_parcel": "address",
    "order_meal": "leave_out",
    "call_on_line": "line",
    "pay": "reference",
}


class ActingNotes:
    """Notes what later calls of tools depend on; whatever the message is about, another ability replies to it."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a message tells, and reply nothing."""
        if not turn.is_brief or not _RE.about.search(turn.text):
            return None
        for name, patterns in _RE["told"].items():
            if found := first_match(patterns, turn.text):
                notes.add(turn, TOLD, [name, found.groupdict()])
        return None


def act(turn: IncomingTurn, notes: ReaderNotebook, tools: Tools | None) -> str | None:
    """Do what a message asks for, as far as what it depends on can still be seen; None: it asks for nothing.

    Without tools it was done before, and is noted.
    """
    for wish, pattern in _RE["wanted"].items():
        found = pattern.search(turn.text)
        if found is None:
            continue
        words = {name: text for name, text in found.groupdict().items() if text}
        tool = wish.partition(" ")[0]
        calls = list(_CALLS.get(wish, _with_told)(tool, words, notes))
        for arguments in calls:
            if tools is not None:
                tools.call(tool, **arguments)
            notes.add(turn, DONE, arguments)
        if calls:
            return IT_IS_DONE
        return "There is nothing that I can do."
    return None


Arguments = dict[str, Any]


def _told_of(
    notes: ReaderNotebook, kind: str, person: str
) -> Iterator[Mapping[str, str]]:
    """Yield what was told of somebody and can still be seen, the newest first."""
    for name, words in notes.contents(TOLD):
        if name == kind and words.get("person", person) == person:
            yield words


def _with_told(
    tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    """Yield one call: what the message names, and the argument that was told last."""
    argument = _TOLD_ARGUMENTS[tool]
    for words in _told_of(notes, argument, arguments["person"]):
        counted = {"euros": int(arguments["euros"])} if "euros" in arguments else {}
        yield {**arguments, **counted, argument: words[argument]}
        return


def _first_slot(
    _tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    for words in _told_of(notes, "not_before", arguments["person"]):
        slots = arguments["slots"].split(", ")
        fitting = [slot for slot in slots if slot >= words["time"]]
        place = arguments["place"].replace("The", "the")
        yield {"person": arguments["person"], "place": place, "time": min(fitting)}
        return


def _due(
    _tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    """Yield what was promised for a time that is over, and was not done since."""
    clock = arguments.get("clock") or arguments["time"]
    acted = [*notes.visible(DONE)]
    last_actions = {
        note.content.get("device"): note.position for note in reversed(acted)
    }
    for note in notes.visible(TOLD):
        name, words = note.content
        if name != "promise" or words["time"] > clock:
            continue
        if last_actions.get(words["device"], -1) < note.position:
            yield {"device": words["device"]}
            return


def _steps(
    _tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    for words in _told_of(notes, "steps", arguments["person"]):
        for step in words["steps"].split(", then "):
            yield {"project": arguments["project"], "step": step}
        return


def _planned_steps(project: str, notes: ReaderNotebook) -> list[str]:
    """Return the steps of the plan that was told last of a project; none where it cannot be seen."""
    for name, words in notes.contents(TOLD):
        if name == "plan" and words["project"] == project:
            return str(words["steps"]).split(", then ")
    return []


def _begin(
    _tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    project = arguments["project"]
    for step in _planned_steps(project, notes)[:2]:
        yield {"project": project, "step": step}


def _go_on(
    _tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    """Yield the steps of a plan that were not done yet."""
    project = arguments["project"]
    acted = notes.contents(DONE)
    finished_steps = [
        words.get("step") for words in acted if words.get("project") == project
    ]
    for step in _planned_steps(project, notes):
        if finished_steps and step not in finished_steps:
            yield {"project": project, "step": step}


ToolCalls = Callable[[str, Arguments, ReaderNotebook], Iterator[Arguments]]
_CALLS: Mapping[str, ToolCalls] = {
    "book_slot": _first_slot,
    "switch_on": _due,
    "run_step": _steps,
    "run_step begin": _begin,
    "run_step go_on": _go_on,
}

"""Tool calls that the user asks for, and the notes that their arguments depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_match,
)
from pytest_ltm.api.model import Tools

_RE = Patterns("acting")
TOLD = "acting"
DONE = "acted"
IT_IS_DONE = "It is done."
# For each tool, the argument that was told before.
_TOLD_ARGUMENTS = {
    "book_table": "time",
    "send_parcel": "address",
    "order_meal": "leave_out",
    "call_on_line": "line",
    "pay": "reference",
}


class ActingNotes(Topic, about=_RE.about):
    """Notes what later tool calls depend on; another ability replies to the message."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a message tells, and reply nothing."""
        for name, patterns in _RE["told"].items():
            if found := first_match(patterns, turn.text):
                notes.add(turn, TOLD, [name, found.groupdict()])
        return None


def act(turn: IncomingTurn, notes: ReaderNotebook, tools: Tools | None) -> str | None:
    """Do what a message asks for, using the notes still visible; None: it asks for nothing.

    Without `tools` the calls were made before, and are just noted.
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
    """Yield what was told about a person and is still visible, newest first."""
    for name, words in notes.contents(TOLD):
        if name == kind and words.get("person", person) == person:
            yield words


def _with_told(
    tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    """Yield one call: the arguments in the message, and the one that was told last."""
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
        if fitting:
            yield {"person": arguments["person"], "place": place, "time": min(fitting)}
        return


def _due(
    _tool: str, arguments: Arguments, notes: ReaderNotebook
) -> Iterator[Arguments]:
    """Yield the promise that is due and has not been carried out since."""
    clock = arguments.get("clock") or arguments["time"]
    last_actions: dict[str | None, int] = {}
    for note in reversed([*notes.visible(DONE)]):
        last_actions[note.content.get("device")] = note.position
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
    """Return the steps of a project's latest plan; none if it is no longer visible."""
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
    """Yield the steps of a plan that have not been done yet."""
    project = arguments["project"]
    finished_steps = []
    for words in notes.contents(DONE):
        if words.get("project") == project:
            finished_steps.append(words.get("step"))
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

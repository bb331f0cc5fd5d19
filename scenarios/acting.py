"""Acting: what was told long ago decides which tool is called, with which arguments, how often, and when not."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_ltm import Ask, Call, Definition, Ltm, Say, Wait, spread
from pytest_ltm.locales import worded

from ._first_names import GIVEN_NAMES
from ._inventions import Inventions
from ._parameters import last_wait, whole

LOOK_UP = "look_up"
"""A memory of the agent's own, which never knows anything: what was told need not be looked up."""
TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    LOOK_UP: ("Looks a topic up in old notes.", {"topic": "string"}),
    "book_table": (
        "Books a table for somebody.",
        dict.fromkeys(("person", "place", "day", "time"), "string"),
    ),
    "send_parcel": (
        "Has a parcel sent to somebody.",
        dict.fromkeys(("item", "person", "address"), "string"),
    ),
    "book_slot": (
        "Takes an appointment for somebody.",
        dict.fromkeys(("person", "place", "time"), "string"),
    ),
    "order_meal": (
        "Orders a meal for somebody; leave_out: what must not be in it.",
        dict.fromkeys(("person", "dish", "leave_out"), "string"),
    ),
    "switch_on": ("Switches a device on.", {"device": "string"}),
    "run_step": (
        "Runs one step of a release.",
        {"project": "string", "step": "string"},
    ),
    "call_on_line": (
        "Calls somebody on a line.",
        {"person": "string", "line": "string"},
    ),
    "pay": (
        "Pays somebody.",
        {"person": "string", "euros": "integer", "reference": "string"},
    ),
}
"""What each tool does, and the types of its arguments."""

PLACES = ("Rossi's", "the Blue Door", "Chez Anouk", "the Old Mill", "Kimura's")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
ITEMS = ("the lamp", "the red coat", "the atlas", "the teapot", "the chess set")
OFFICES = ("the dentist", "the barber", "the town hall", "the garage", "the bank")
DISHES = ("the curry", "the salad", "the noodles", "the stew", "the pie", "the soup")
FOODS = (
    "walnuts",
    "shrimps",
    "lupins",
    "eggs",
    "oysters",
    "figs",
    "lentils",
    "mussels",
)
DEVICES = ("sprinkler", "oven", "light", "heater", "kiln", "pump", "fan")

TABLE_TIME = (
    (
        "[when you book a table for {name}, make it {time}|tables for {name} are always for {time}|"
        "if you ever book a table for {name}: {name} eats at {time}]."
    ),
)
BOOK_TABLE = (
    "[please book|book] a table for {name}, at {place} on {day}[.|, at the usual time.]",
)
ADDRESS = (
    "[{name} lives at {address}|the address of {name} is {address}][.|, by the way.]",
)
NEW_ADDRESS = (
    "[{name} has moved, and now lives at {address}|a correction: {name} lives at {address}][.|, not where I said.]",
)
SEND_PARCEL = ("[please have|have] {item} sent to {name}.",)
NOT_BEFORE = (
    (
        "[never take an appointment for {name} before {time}|no appointments for {name} before {time}, ever|"
        "there must be no appointments for {name} before {time}]."
    ),
)
TAKE_SLOT = (
    "{place} has these times free: {slots}. [Take|Book] the first that suits {name}.",
)
ALLERGY = ("[{name} is allergic to {food}|{food} make {name} ill][.|, as it happens.]",)
ORDER_MEAL = (
    "[please order|order] {dish} for {name}, without what {name} must not eat.",
)
PROMISE = (
    (
        "[once it is past {time} today, switch on {device}|switch on {device} today, but only after {time}], "
        "[a single time|once], and do not ask me again."
    ),
)
CLOCK = (
    "[it is|my watch says it is] {time} now. [How are things?|All well?|Anything new?]",
)
PROCEDURE = (
    (
        "[this is how the {team} team releases|the {team} team releases like this]: first {first}, then {second}, "
        "then {third}."
    ),
)
RELEASED = ("[we have released|so we released] {project} that way, and it went well.",)
RELEASE = (
    "[please release|release] {project} [in the same way as|just like] the {team} team.",
)
PLAN = (
    (
        "{project} is released in four steps: first {first}, then {second}, then {third}, then {fourth}[.|, in this "
        "order.]"
    ),
)
HALF = ("[please take|take] the first two of these steps for {project}[.| now.]",)
GO_ON = ("[please go on|go on] with the release of {project} where you stopped.",)
LINE = ("[you reach|one reaches] {name} on line {line}[.|, I am told.]",)
DEAD_LINE = (
    (
        "line {old} is dead: I tried to call {name} on it, and nothing happened. [It worked|I got through] "
        "on line {line}."
    ),
)
CALL = ("[please call|call] {name} for me.",)
REFERENCE = (
    "[the reference for all payments to {name} is {word}|put the reference {word} on whatever you pay to {name}].",
)
PAY = ("[please pay|pay] {euros} euros to {name}.",)


@dataclass
class Task:
    """What is said and asked in one example, and the calls that each question wants."""

    rng: random.Random
    inventions: Inventions
    tools: tuple[str, ...] = ()
    messages: list[Say | Ask] = field(default_factory=list)
    wanted: list[list[list[Any]]] = field(default_factory=list)
    """For each question the calls: name and arguments."""

    def say(
        self, wording: Sequence[str], about: str = "", value: str = "", **slots: object
    ) -> str:
        """Have the user say it, and return the message; `about` and `value`: what it tells."""
        tells = {about: value} if about else {}
        text = worded(self.rng, wording, **slots)
        self.messages.append(Say(text, tells=tells))
        return self.messages[-1].text

    def ask(
        self,
        wording: Sequence[str],
        *calls: tuple[str, Mapping[str, object]],
        about: Sequence[str],
        **slots: object,
    ) -> None:
        """Have the user ask for something that takes these calls, or none."""
        text = worded(self.rng, wording, **slots)
        self.messages.append(Ask(text, about=tuple(about)))
        self.wanted.append([[name, dict(arguments)] for name, arguments in calls])

    def person(self) -> str:
        """Return the name of somebody whom no other example knows."""
        return f"{self.rng.choice(GIVEN_NAMES)} {self.inventions.name()}"

    def clock(self, first: int, last: int, step: int = 5) -> str:
        """Return a time of day between two hours."""
        minutes = self.rng.randrange(first * 60, last * 60, step)
        return format_clock(minutes)


def format_clock(minutes: int) -> str:
    """Return the time of day that many minutes after midnight."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def preference(task: Task) -> None:
    """A preference, and somebody else's: a booking keeps to the right one."""
    task.tools = ("book_table",)
    name, other = task.person(), task.person()
    time = task.clock(18, 20)
    told = task.say(TABLE_TIME, f"{name}'s hour", time, name=name, time=time)
    task.say(TABLE_TIME, name=other, time=task.clock(20, 22))
    slots = {"place": task.rng.choice(PLACES), "day": task.rng.choice(DAYS)}
    call = ("book_table", {**slots, "person": name, "time": time})
    task.ask(BOOK_TABLE, call, about=[told], name=name, **slots)


def correction(task: Task) -> None:
    """An address, and the one that replaces it."""
    task.tools = ("send_parcel",)
    name, item = task.person(), task.rng.choice(ITEMS)
    old, new = (
        f"{task.rng.randint(2, 98)} {task.inventions.name()} Street" for _ in range(2)
    )
    task.say(ADDRESS, f"{name}'s address", old, name=name, address=old)
    told = task.say(NEW_ADDRESS, f"{name}'s address", new, name=name, address=new)
    call = ("send_parcel", {"item": item, "person": name, "address": new})
    task.ask(SEND_PARCEL, call, about=[told], item=item, name=name)


def standing(task: Task) -> None:
    """An instruction that holds for many tasks: never before a time."""
    task.tools = ("book_slot",)
    name, limit = task.person(), task.rng.randrange(600, 720, 30)
    clock = format_clock(limit)
    told = task.say(NOT_BEFORE, f"{name}'s first hour", clock, name=name, time=clock)
    for place in task.rng.sample(OFFICES, 3):
        early = task.rng.sample(range(480, limit, 5), 3)
        late = task.rng.sample(range(limit + 5, 1020, 5), 3)
        slots = ", ".join(format_clock(free) for free in sorted([*early, *late]))
        time = format_clock(min(late))
        call = ("book_slot", {"place": place, "person": name, "time": time})
        task.ask(TAKE_SLOT, call, about=[told], place=place, slots=slots, name=name)


def constraint(task: Task) -> None:
    """What somebody must not eat, told once; what somebody else must not does not matter."""
    task.tools = ("order_meal",)
    name, other = task.person(), task.person()
    food, foods = task.rng.sample(FOODS, 2)
    told = task.say(ALLERGY, f"not for {name}", food, food=food, name=name)
    task.say(ALLERGY, food=foods, name=other)
    dish = task.rng.choice(DISHES)
    call = ("order_meal", {"dish": dish, "person": name, "leave_out": food})
    task.ask(ORDER_MEAL, call, about=[told], dish=dish, name=name)


def promise(task: Task) -> None:
    """Something to be done once at a time: not before it, and not again after it."""
    task.tools = ("switch_on",)
    due = task.rng.randrange(13 * 60, 17 * 60, 5)
    device = f"the {task.inventions.name()} {task.rng.choice(DEVICES)}"
    clock = format_clock(due)
    told = task.say(PROMISE, f"when {device}", clock, time=clock, device=device)
    task.say(CLOCK, time=format_clock(due - task.rng.randrange(20, 90, 5)))
    done = due + task.rng.randrange(5, 40, 5)
    call = ("switch_on", {"device": device})
    task.ask(CLOCK, call, about=[told], time=format_clock(done))
    later = format_clock(done + task.rng.randrange(20, 90, 5))
    task.ask(CLOCK, about=[told], time=later)


def procedure(task: Task) -> None:
    """The steps of a release, told for one project and repeated for another."""
    task.tools = ("run_step",)
    team, first, second, third = (task.inventions.name() for _ in range(4))
    steps = {"first": first, "second": second, "third": third}
    told = task.say(PROCEDURE, f"first step of {team}", first, team=team, **steps)
    task.say(RELEASED, project=task.inventions.name())
    project = task.inventions.name()
    calls = []
    for step in (first, second, third):
        calls.append(("run_step", {"project": project, "step": step}))
    task.ask(RELEASE, *calls, about=[told], project=project, team=team)


def resumed(task: Task) -> None:
    """Steps of which half is done before the agent is started anew, and half after."""
    task.tools = ("run_step",)
    project, *steps = (task.inventions.name() for _ in range(5))
    names = dict(zip(("first", "second", "third", "fourth"), steps, strict=True))
    told = task.say(PLAN, f"steps of {project}", steps[0], project=project, **names)
    calls = [("run_step", {"project": project, "step": step}) for step in steps]
    task.ask(HALF, *calls[:2], about=[told], project=project)
    task.ask(GO_ON, *calls[2:], about=[told], project=project)


def failed_way(task: Task) -> None:
    """A way that failed, and the one that worked."""
    task.tools = ("call_on_line",)
    old, new = (task.inventions.name() for _ in range(2))
    name = task.person()
    task.say(LINE, f"{name}'s line", old, name=name, line=old)
    told = task.say(DEAD_LINE, f"{name}'s line", new, name=name, old=old, line=new)
    call = ("call_on_line", {"person": name, "line": new})
    task.ask(CALL, call, about=[told], name=name)


def needless(task: Task) -> None:
    """A payment whose reference was told: to look it up costs the point."""
    task.tools = ("pay",)
    name, word, euros = task.person(), task.inventions.name(), task.rng.randint(11, 97)
    told = task.say(REFERENCE, f"reference for {name}", word, word=word, name=name)
    call = ("pay", {"person": name, "euros": euros, "reference": word})
    task.ask(PAY, call, about=[told], name=name, euros=euros)


TASKS: Mapping[str, Callable[[Task], None]] = {
    make.__name__: make
    for make in (
        preference,
        correction,
        standing,
        constraint,
        promise,
        procedure,
        resumed,
        failed_way,
        needless,
    )
}


def acting(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return an example of `task` (default `preference`), of TASKS, with `unrelated` (1) tools beside its own.

    All messages over the span.
    """
    name = parameters.get("task", "preference")
    if name not in TASKS:
        raise ValueError(f"task is one of {', '.join(TASKS)}, not {name!r}")
    others = whole(parameters, "unrelated", 1, 0, len(TOOLS) - 2)
    task = Task(rng, Inventions(rng))
    TASKS[name](task)
    unrelated = [tool for tool in TOOLS if tool not in (LOOK_UP, *task.tools)]
    tools = [*task.tools, *rng.sample(unrelated, others), LOOK_UP]
    return Definition(
        steps=spread(task.messages, last_wait(rng, parameters)),
        expected=task.wanted,
        parameters={**parameters, "task": name, "tools": sorted(tools)},
    )


def wanted_calls(rows: Sequence[Sequence[Any]]) -> list[Call]:
    """Return calls as a definition has them: names and arguments."""
    return [Call(name, arguments) for name, arguments in rows]


@pytest.mark.ltm(
    generate=acting,
    skills="R,C",
    requires=["TakesTools"],
    version="1",
)
def test_acting(ltm: Ltm) -> None:
    """Calls the right tool with what was told before, once, and nothing when there is nothing to do."""
    definition = ltm.definition
    for name in definition.parameters["tools"]:
        description, schema = TOOLS[name]
        returns = "Nothing is noted on that." if name == LOOK_UP else "done"
        ltm.tool(name, schema, returns=returns, description=description)
    passed_over = () if definition.parameters["task"] == "needless" else (LOOK_UP,)
    wanted = iter(definition.expected)
    done = 0
    stray: list[str] = []
    for step in definition.steps:
        before = len(ltm.calls)
        calls: list[Call] = []
        if isinstance(step, Wait):
            ltm.wait(span=step.span, tokens=step.tokens, time=step.time)
        elif isinstance(step, Say):
            ltm.say(step.text)
        else:
            if done and definition.parameters["task"] == "resumed":
                ltm.new_session()
            calls = wanted_calls(next(wanted))
            done += 1
            ltm.ask(step.text, about=step.about, answer="", calls=calls)
        if calls:
            ordered = definition.parameters["task"] in ("procedure", "resumed")
            ltm.check_only_calls(*calls, besides=passed_over, ordered=ordered)
        else:
            new = [call for call in ltm.calls[before:] if not call.refused]
            stray += [str(call) for call in new if call.name != LOOK_UP]
    if stray:
        label = f"calls nothing when there is nothing to do: {', '.join(stray)}"
        ltm.check(label, ok=False, acted=True)
    lookups = sum(call.name == LOOK_UP for call in ltm.calls)
    ltm.metric("lookups", lookups)

"""Time of Need: reminders for a moment, or for every week, on the conversation's own clock."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Exchange, Ltm, Say, Score, Unscored, Wait
from pytest_ltm.evaluators import RemindsInTime
from pytest_ltm.locales import worded

from ._parameters import last_wait, whole

TASKS = (
    "descale the samovar",
    "oil the weathervane",
    "tune the theremin",
    "prune the bonsai",
    "feed the axolotl",
    "air the terrarium",
    "inflate the kayak",
    "tap the altimeter",
    "wax the toboggan",
    "polish the sundial",
    "scrub the birdbath",
    "mend the pergola",
    "restring the sitar",
    "stir the kombucha",
    "patch the tarpaulin",
    "rewind the gramophone",
)
"""Each ends in a word of its own, by which it is known again."""
WEEKDAYS = (
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)
AMOUNTS = {
    45: ("45 minutes", "three quarters of an hour"),
    90: ("90 minutes", "an hour and a half"),
    150: ("150 minutes", "two and a half hours"),
    180: ("three hours", "3 hours"),
    300: ("five hours", "5 hours"),
    420: ("seven hours", "7 hours"),
    660: ("eleven hours", "11 hours"),
    1560: ("26 hours", "a day and two hours"),
}
"""What minutes are called."""
HOURS = {7: "seven", 8: "eight", 9: "nine", 10: "ten", 11: "eleven"}

ASK_FOR_IT = "[remind me|give me a nudge|tell me]"
ONCE = (
    "[|a favour: |one thing: |for later: |something else: ]"
    + ASK_FOR_IT
    + " {when} to {task}[.|, please.|, will you?]",
    "[|a favour: |one thing: |for later: |something else: ]{when}, [please |]"
    + ASK_FOR_IT
    + " to {task}[.|, will you?]",
)
AGAIN = (
    "[|from now on, |a habit of mine: |for later: |something else: ]"
    + ASK_FOR_IT
    + " {when} to {task}[.|, please.|, until I call it off.]",
    "[|from now on, |a habit of mine: |for later: |something else: ]{when}, [please |]"
    + ASK_FOR_IT
    + " to {task}[.|, until I call it off.]",
)
MOVED = (
    (
        "[|a change: |small change: |on second thoughts: |it won't suit me: ][move|shift|put off] the reminder about "
        "the {object}: [I need it|make it|let it be] {when}[, please.|, not as I said before.|.]"
    ),
)
CANCELLED = (
    (
        "[|a change: |good news: |on second thoughts: |never mind: ][cancel|drop|forget|scrap] the reminder about the "
        "{object}[.|, please.|: that is taken care of.|, I won't need it.|: my brother sees to it.]"
    ),
)
CHAT = (
    (
        "[the bus was late again.|it has started to rain.|my coffee is cold.|the neighbours are singing.|I slept "
        "badly.|the lift is stuck.|my shoes squeak.|what a sunset.|the radio hums.|I have hiccups.|"
        "the soup is burnt.|a pigeon looks in.] [How are things?|"
        "All well?|How is it going?|And you?|How is your day?]"
    ),
)
OPEN = "All is well here."
"""A reply to any of these, where nothing is due."""
LATE = (2, 9)
"""Minutes after a due moment in which the user speaks again."""
DAYS, MINUTES = "days", "minutes"
BEGINS = 9
"""The hour at which conversations begin."""


def time_of_need(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `reminders` (default 3) for one moment each, one that recurs, and one that is called off; then small talk.

    One of the first is moved. All are asked for within the first half of the span. In
    the small talk of the second half time passes to each due moment, `rounds` (default
    2) of the recurring one among them, and to moments between them. `pace`: "days"
    (default), with times of day and weeks; or "minutes", in which all is over in about
    half an hour, for clocks that cannot be moved. No moment is known before it is
    played: all depend on the time then.
    """
    number, rounds = (
        whole(parameters, "reminders", 3, 1, 8),
        whole(parameters, "rounds", 2, 1, 5),
    )
    pace = parameters.get("pace", DAYS)
    if pace not in (DAYS, MINUTES):
        raise ValueError(f"pace is 'days' or 'minutes', not {pace!r}")
    once, again = (_once, _weekly) if pace == DAYS else (_soon, _often)
    tasks = rng.sample(TASKS, number + 2)
    orders = [_order(rng, ONCE, task, once(rng)) for task in tasks[:number]]
    orders += [
        _order(rng, AGAIN, tasks[number], again(rng)),
        _order(rng, ONCE, tasks[number + 1], once(rng)),
    ]
    rng.shuffle(orders)
    ends = [
        _order(rng, CANCELLED, tasks[number + 1], None),
        _order(rng, MOVED, tasks[0], once(rng)),
    ]
    orders += rng.sample(ends, 2)
    quiet = [rng.choice((0, 0, 1, 2, 3)) for _ in range(number + rounds)]
    quiet[rng.randrange(len(quiet))] += (
        1  # who reminds at every message is wrong at least once
    )
    moments = []
    for breaks in quiet:
        moments += [*["quiet"] * breaks, "due"]
    moments.append("quiet")
    talk: dict[str, None] = {}
    while len(talk) < len(moments):
        talk[worded(rng, CHAT)] = None
    last = last_wait(rng, parameters)
    things = []
    for order in orders[: number + 2]:
        task = order["task"]
        things.append({task: task.rpartition(" ")[2]})
    says = []
    for order, tells in zip(orders, [*things, {}, {}], strict=True):
        says.append(Say(order.pop("text"), tells=tells))
    about = tuple(say.text for say in says)
    asks = [Ask(text, about=about) for text in talk]
    steps: list[Say | Ask | Wait] = []
    messages: list[Say | Ask] = [*says, *asks]
    for place, message in enumerate(messages):
        told = place < len(says)
        share = (
            place / len(says) / 2
            if told
            else (1 + (place - len(says) + 1) / len(asks)) / 2
        )
        if place:
            steps.append(Wait(span=last * share))
        steps.append(message)
    return Definition(
        steps=tuple(steps),
        expected=orders,
        parameters={
            **parameters,
            "moments": moments,
            "late": [_late(rng, pace) for _ in moments],
            "shares": [round(rng.uniform(0.2, 0.8), 3) for _ in moments],
        },
    )


When = Mapping[str, Any]
"""`in` so many minutes; or `at` hour and minute, next or `tomorrow` or on a `weekday` each week; or `every` so many."""


def _order(
    rng: random.Random, wordings: Sequence[str], task: str, when: When | None
) -> dict[str, Any]:
    thing = task.rpartition(" ")[2]
    text = worded(
        rng,
        wordings,
        when="" if when is None else when["said"],
        task=task,
        object=thing,
    )
    return {"text": text, "task": task, "when": when}


def _once(rng: random.Random) -> When:
    if rng.random() < 1 / 2:
        minutes = rng.choice(list(AMOUNTS))
        amount = rng.choice(AMOUNTS[minutes])
        return {
            "in": minutes,
            "said": rng.choice(
                (f"in {amount}", f"{amount} from now", f"in exactly {amount}")
            ),
        }
    clock, said = _clock(rng)
    if rng.random() < 1 / 2:
        return {
            "at": clock,
            "tomorrow": True,
            "said": rng.choice((f"tomorrow at {said}", f"at {said} tomorrow")),
        }
    return {"at": clock, "said": rng.choice((f"at {said}", f"when it is {said}"))}


def _weekly(rng: random.Random) -> When:
    weekday = rng.randrange(7)
    clock, said = _clock(rng)
    each = rng.choice(("every", "each"))
    day = WEEKDAYS[weekday]
    return {
        "at": clock,
        "weekday": weekday,
        "said": rng.choice((f"{each} {day} at {said}", f"at {said} {each} {day}")),
    }


def _soon(rng: random.Random) -> When:
    minutes = rng.randint(3, 9)
    return {
        "in": minutes,
        "said": rng.choice((f"in {minutes} minutes", f"{minutes} minutes from now")),
    }


def _often(rng: random.Random) -> When:
    minutes = rng.randint(4, 6)
    return {
        "every": minutes,
        "said": rng.choice(
            (f"every {minutes} minutes", f"each time {minutes} minutes have passed")
        ),
    }


def _clock(rng: random.Random) -> tuple[list[int], str]:
    """Return an hour and a minute, and how people say it, with the zone that all agents are told."""
    hour = rng.choice(list(HOURS)) + rng.choice((0, 12))
    # "at nine" is not said at nine sharp
    minute = rng.choice((15, 30, 45) if hour == BEGINS else (0, 15, 30, 45))
    late, spoken = hour > 12, HOURS[hour % 12]
    of_day = "in the morning" if not late else "in the evening"
    forms = [f"{hour}:{minute:02}", f"{hour % 12}:{minute:02} {'pm' if late else 'am'}"]
    if minute in (0, 30):
        forms.append(f"{'half past ' if minute else ''}{spoken} {of_day}")
    return [hour, minute], f"{rng.choice(forms)} UTC"


def _late(rng: random.Random, pace: str) -> float:
    return rng.randint(*LATE) if pace == DAYS else 1.2


def due_after(when: When, asked: datetime, now: datetime) -> datetime | None:
    """Return the first moment after `now` at which a reminder that was asked for then is due; None: there is none."""
    if "in" in when:
        first, every = asked + timedelta(minutes=when["in"]), None
    elif "every" in when:
        first = asked + timedelta(minutes=when["every"])
        every = timedelta(minutes=when["every"])
    else:
        hour, minute = when["at"]
        asked = asked.astimezone(timezone.utc)
        first = asked.replace(hour=hour, minute=minute, second=0, microsecond=0)
        first += timedelta(
            days=(when["weekday"] - first.weekday()) % 7
            if "weekday" in when
            else when.get("tomorrow", 0)
        )
        every = timedelta(days=7) if "weekday" in when else None
        if first <= asked:
            first += every or timedelta(days=1)
    if every is not None and first <= now:
        first += every * ((now - first) // every + 1)
    return first if first > now else None


class Diary:
    """What was asked for, and when: watches the conversation, and says what is due at a moment."""

    def __init__(self, definition: Definition) -> None:
        says = [step.text for step in definition.steps if isinstance(step, Say)]
        self._orders: Mapping[str, Mapping[str, Any]] = dict(
            zip(says, definition.expected, strict=True)
        )
        self._last = definition.questions[-1].text
        self._heard: Sequence[Exchange] = ()

    def __call__(self, since: Sequence[Exchange], /) -> Score | Unscored | None:
        """Return the verdict once the last message has its reply."""
        self._heard = since
        return (
            self.rule()([exchange.reply for exchange in since]) if self._over else None
        )

    @property
    def _over(self) -> bool:
        return self._heard[-1].message == self._last

    def rule(self) -> RemindsInTime:
        """Return the evaluator for what was heard so far."""
        began = self._heard[0].now
        tasks = tuple(dict.fromkeys(order["task"] for order in self._orders.values()))
        due = []
        asked = []
        for task in tasks:
            due.append(tuple(_minutes(moment - began) for moment in self._due(task)))
            places = []
            for n, exchange in enumerate(self._heard):
                if self._orders.get(exchange.message, {}).get("task") == task:
                    places.append(n)
            asked.append(tuple(places))
        others = []
        for n, exchange in enumerate(self._heard):
            if exchange.by != self._heard[0].by:
                others.append(n)
        return RemindsInTime(
            tasks,
            tuple(due),
            tuple(_minutes(exchange.now - began) for exchange in self._heard),
            tuple(asked),
            tuple(others),
        )

    def next_due(self, now: datetime) -> datetime | None:
        """Return the first moment after `now` at which anything is due."""
        moments = []
        for when, asked, _ in self._valid():
            if when is not None:
                moments.append(due_after(when, asked, now))
        return min(filter(None, moments), default=None)

    def owed(self, now: datetime) -> str:
        """Return the reminders that the next reply owes, of which no reply has been given since they were due."""
        before = self._heard[-1].now
        if self._over:
            return ""
        tasks = {order["task"] for order in self._orders.values()}
        late = []
        for task in sorted(tasks):
            if any(before < due <= now for due in self._due(task, now)):
                late.append(task)
        return " ".join(f"It is time to {task}." for task in late)

    def _valid(
        self, task: str = ""
    ) -> list[tuple[When | None, datetime, datetime | None]]:
        """Return what was asked for, when, and until when it held."""
        asked = []
        for exchange in self._heard:
            if exchange.message in self._orders:
                order = self._orders[exchange.message]
                if task in ("", order["task"]):
                    asked.append((order, exchange.now))
        result: list[tuple[When | None, datetime, datetime | None]] = []
        for place, (order, now) in enumerate(asked):
            later = []
            for other, then in asked[place + 1 :]:
                if other["task"] == order["task"]:
                    later.append(then)
            if task or not later:
                result.append((order["when"], now, later[0] if later else None))
        return result

    def _due(self, task: str, until: datetime | None = None) -> list[datetime]:
        """Return the moments at which a task was due."""
        moments = []
        for when, asked, ended in self._valid(task):
            end = min(filter(None, (ended, until or self._heard[-1].now)))
            due = None if when is None else due_after(when, asked, asked)
            while due is not None and due <= end:
                moments.append(due)
                due = due_after(when or {}, asked, due)
        return moments


def _minutes(length: timedelta) -> float:
    return length.total_seconds() / 60


@pytest.mark.ltm(
    generate=time_of_need,
    skills="P,E",
    version="2",
    requires=["TimeAware"],
    reset="You can forget all reminders that I asked you for.",
)
def test_time_of_need(ltm: Ltm) -> None:
    """Reminds in the first reply after each due moment, and at no other time."""
    steps, lists = ltm.definition.steps, ltm.definition.parameters
    diary = Diary(ltm.definition)
    ltm.play(steps[:1])
    ltm.watch(diary, answers=diary.owed)
    moments = iter(zip(lists["moments"], lists["late"], lists["shares"], strict=True))
    for step in steps[1:]:
        if isinstance(step, Ask):
            kind, late, share = next(moments)
            due = diary.next_due(ltm.now)
            until = timedelta() if due is None else due - ltm.now
            ltm.wait(
                time=until + timedelta(minutes=late) if kind == "due" else until * share
            )
        ltm.play([step], answers=[OPEN])

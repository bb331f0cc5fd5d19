"""Time of Need: a solver that reads only messages and the clock knows what is due when."""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.time_of_need import Diary, time_of_need

from pytest_ltm.api.model import Exchange
from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {
        "reminders": st.integers(1, 8),
        "rounds": st.integers(1, 5),
        "pace": st.sampled_from(["days", "minutes"]),
    }
)
NUMBERS = {
    "three": 3,
    "five": 5,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
}
AMOUNTS = {
    "three quarters of an hour": 45,
    "an hour and a half": 90,
    "two and a half hours": 150,
    "a day and two": 1560,
}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def moment(text: str, now: datetime) -> tuple[datetime, timedelta | None]:
    """Return the first time that a text asks for, and the interval of repetitions or None."""
    if again := re.search(r"(?:every|each time) (\d+) minutes", text, re.IGNORECASE):
        every = timedelta(minutes=int(again[1]))
        return now + every, every
    if "UTC" not in text:
        for said, length in AMOUNTS.items():
            if said in text.lower():
                return now + timedelta(minutes=length), None
        ((amount, unit),) = re.findall(r"(\w+) (minutes|hours)", text)
        return now + timedelta(
            minutes=(NUMBERS.get(amount.lower()) or int(amount))
            * (60 if unit == "hours" else 1)
        ), None
    if digits := re.search(r"(\d+):(\d\d)( pm)?", text):
        hour, minute = int(digits[1]) + (12 if digits[3] else 0), int(digits[2])
    else:
        spoken = re.search(r"(half past )?(\w+) in the (\w+) UTC", text, re.IGNORECASE)
        assert spoken
        hour = NUMBERS[spoken[2].lower()] + (12 if spoken[3] == "evening" else 0)
        minute = 30 if spoken[1] else 0
    weekday = next(
        (
            day
            for day in DAYS
            if re.search(rf"(?:every|each) {day}", text, re.IGNORECASE)
        ),
        "",
    )
    first = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if "tomorrow" in text.lower():
        return first + timedelta(days=1), None
    while first <= now or (weekday and DAYS[first.weekday()] != weekday):
        first += timedelta(days=1)
    return first, timedelta(days=7) if weekday else None


def solved(said: list[Exchange]) -> dict[str, list[datetime]]:
    """Return the due times of each reminder."""
    due: dict[str, list[datetime]] = {}
    running: dict[str, tuple[datetime, timedelta | None]] = {}
    for one, following in zip(said, [*said[1:], said[-1]], strict=True):
        thing = re.search(
            r"to [a-z]+ the (\w+)|the reminder about the (\w+)", one.message
        )
        if thing is not None:
            name = thing[1] or thing[2]
            due.setdefault(name, [])
            running.pop(name, None)
            if not re.search(
                r"\b(?:cancel|drop|forget|scrap) the reminder",
                one.message,
                re.IGNORECASE,
            ):
                running[name] = moment(one.message, one.now)
        for name, (_, every) in list(running.items()):
            while name in running and running[name][0] <= following.now:
                due[name].append(running[name][0])
                if every is None:
                    del running[name]
                else:
                    running[name] = running[name][0] + every, every
    return due


def heard(definition: Definition, rng: random.Random) -> list[Exchange]:
    """Return the messages at random intervals of up to several days."""
    now = datetime(2025, 12, 29, 22, 17, tzinfo=timezone.utc)
    found = []
    texts = [step.text for step in definition.steps if hasattr(step, "text")]
    for number, text in enumerate(texts):
        told: dict[str, Any] = {
            "start": 0,
            "message_tokens": 1,
            "reply_tokens": 1,
            "kind": "say",
            "by": "it/0",
        }
        found.append(Exchange(number=number, message=text, reply="", now=now, **told))
        now += timedelta(
            minutes=rng.choice(
                (0, 1, 2, 45, 5000 if "weekday" in str(definition.expected) else 20)
            )
        )
    return found


@given(seed=SEEDS, shape=SHAPES)
def test_who_notes_what_is_asked_for_knows_when_it_is_due(
    seed: int, shape: dict[str, Any]
) -> None:
    definition = time_of_need(random.Random(seed), shape)
    said = heard(definition, random.Random(seed))
    diary = Diary(definition)
    diary(said)
    rule = diary.rule()
    minutes = {
        name: [(due - said[0].now).total_seconds() / 60 for due in dues]
        for name, dues in solved(said).items()
    }
    assert {
        task.split()[-1]: list(due)
        for task, due in zip(rule.tasks, rule.due, strict=True)
    } == minutes
    assert definition == time_of_need(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition


@given(seed=SEEDS, replies=st.lists(st.text(), max_size=30))
def test_no_reply_breaks_the_rule_and_messages_repeated_earn_nothing(
    seed: int, replies: list[str]
) -> None:
    definition = time_of_need(random.Random(seed), {})
    said = heard(definition, random.Random(seed))
    diary = Diary(definition)
    diary(said)
    rule = diary.rule()
    told = "\n".join(step.text for step in definition.steps if isinstance(step, Say))
    for given_replies in (replies, [told] * len(said), [one.message for one in said]):
        verdict = rule(given_replies)
        assert getattr(verdict, "value", 0) == 0 or given_replies is replies

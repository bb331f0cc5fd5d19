"""Operations of a memory on told facts: each planted fault is detected by its own measure, and by no other."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest
from _talks import Dots, example

from pytest_ltm import Ask, Definition, Ltm, Reply, Say, Wait
from pytest_ltm.api.engine import scenario_result
from pytest_ltm.api.journal import ConversationRecord, Journal, ScenarioResult
from pytest_ltm.api.scenarios import Plan, from_json, plan_differences, to_json
from pytest_ltm.api.storage import ScenarioError
from pytest_ltm.figures.memory_measures import MEASURES, count_lost
from pytest_ltm.figures.memory_use import invents
from pytest_ltm.testing import run_conversation

PEOPLE = (
    "Ada",
    "Bruno",
    "Carla",
    "Dario",
    "Elena",
    "Fausto",
    "Greta",
    "Hugo",
    "Irma",
    "Jonas",
)
TOWNS = (
    "Porto",
    "Brno",
    "Turku",
    "Ghent",
    "Split",
    "Graz",
    "Lille",
    "Cork",
    "Bergen",
    "Delft",
)
NEW_TOWNS = ("Oslo", "Riga", "Nice", "Bath")
Row = tuple[str, str, "str | None"]


class Memory:
    """Keeps one reworded record per person: the latest statement, unless a fault is set."""

    fault: ClassVar[str] = ""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.before: dict[str, str] = {}
        self.rows: list[Row] = []
        self.late: list[tuple[int, Row]] = []
        self.heard = 0

    def reply(self, message: str) -> Reply:
        self.heard += 1
        self.rows += [row for due, row in self.late if due <= self.heard]
        self.late = [(due, row) for due, row in self.late if due > self.heard]
        told = re.search(r"(\w+) (?:lives in|moved to) (\w+)", message)
        if told:
            self._keep(told[1], told[2])
            return Reply("Noted.")
        found = [name for name in PEOPLE if name in message]
        for name in found if "Where" in message else []:
            self._find(name)
        return Reply(" ".join(self.kept.get(name, "unknown") for name in found))

    def _keep(self, name: str, town: str) -> None:
        if self.fault == "drops every tenth" and name == PEOPLE[9]:
            return
        if name in self.kept:
            if self.fault == "never updates":
                return
            self.before[name] = self.kept[name]
        kind = "changed" if name in self.kept else "added"
        again = self.fault == "repeats" and self.kept.get(name) == town
        self.kept[name] = town
        row: Row = (
            ("added", f"{name} again", f"{name} at {town}")
            if again
            else (kind, name, f"{name}'s home: {town}")
        )
        if self.fault == "slow to index":
            self.late.append((self.heard + 3, row))
        else:
            self.rows.append(row)
        if self.fault == "invents" and name == "Carla":
            self.rows.append(("added", "extra", "Carla's sister is called Wilhelmina"))

    def _find(self, name: str) -> None:
        if name not in self.kept:
            return
        town = self.kept[name]
        if self.fault == "returns stale":
            town = self.before.get(name, town)
        if self.fault != "never finds":
            self.rows.append(("found", name, f"{name}'s home: {town}"))

    def written(self) -> Sequence[Row]:
        rows, self.rows = self.rows, []
        return rows

    def delete(self, record: str) -> None:
        if self.fault != "forgets to delete":
            self.kept.pop(record, None)
        self.rows.append(("deleted", record, None))


def homes() -> Definition:
    """Ten people are introduced, some move, one is withdrawn, and all are asked about."""
    told = [
        Say(f"{name} lives in {town}.", tells={f"{name}'s home": town})
        for name, town in zip(PEOPLE, TOWNS, strict=False)
    ]
    moves = [
        Say(f"{name} moved to {town}.", tells={f"{name}'s home": town})
        for name, town in zip(PEOPLE, NEW_TOWNS, strict=False)
    ]
    again = Say("Irma lives in Bergen, I said.", tells={"Irma's home": "Bergen"})
    gone = Say("Please forget where Greta is.", tells={"Greta's home": None})
    questions = [
        Ask(
            f"Where is {name} now?",
            about=[say.text for say in (*told, *moves, gone) if name in say.text],
        )
        for name in PEOPLE
    ]
    return Definition(
        steps=(*told, Wait(span=0.3), *moves, again, gone, Wait(span=0.8), *questions)
    )


def played_by(
    agent: Callable[[], object], definition: Definition | None = None
) -> ScenarioResult:
    definition = definition or homes()

    def body(ltm: Ltm) -> None:
        answers = ltm.play(definition)
        now = {
            **dict(zip(PEOPLE, TOWNS, strict=False)),
            **dict(zip(PEOPLE, NEW_TOWNS, strict=False)),
            "Greta": "unknown",
        }
        for name, answer in zip(PEOPLE, answers, strict=False):
            ltm.check(name, answer == now[name])

    record, journal = ConversationRecord(), Journal(io.StringIO())
    journal.observers.append(record.add)
    planned = [example("homes", definition=definition)]
    played = run_conversation(
        {"homes": body},
        agent,
        journal=journal,
        examples=planned,
        span=4_000,
        tokenizer="builtins:len",
        filler=Dots(),
    )
    return scenario_result(
        played.lanes["homes/0"],
        played.endings["homes/0"],
        played.transcript,
        costs={},
        memory=record.memory,
        agent="a",
        span_label="4k",
        trial="0",
        nodeid="x",
    )


def measures(fault: str) -> dict[str, Any]:
    row = played_by(type("Faulty", (Memory,), {"fault": fault}))
    return {measure.name: measure.of_rows([row]) for measure in MEASURES}


def test_a_memory_without_fault_keeps_updates_finds_and_forgets_all() -> None:
    assert measures("") == {
        "kept": 1,
        "updated": 1,
        "found": 1,
        "stale_served": 0,
        "deleted_served": 0,
        "invented": 0,
        "lag": 0,
        "duplicated": 0,
        "writes": 16 / 26,
    }


@pytest.mark.parametrize(
    ("fault", "measure", "value"),
    [
        ("drops every tenth", "kept", 0.9),
        ("never updates", "updated", 0),
        ("returns stale", "stale_served", 1),
        ("repeats", "duplicated", 1),
        ("invents", "invented", 2 / 17),
        ("forgets to delete", "deleted_served", 1),
        ("slow to index", "lag", 3),
        ("never finds", "found", 0),
    ],
)
def test_each_fault_is_named_by_its_own_measure_and_by_no_other(
    fault: str, measure: str, value: float
) -> None:
    healthy, faulty = measures(""), measures(fault)

    assert faulty[measure] == pytest.approx(value)
    beside = {"writes"}  # nothing written costs nothing
    assert {
        name for name in healthy if faulty[name] not in (healthy[name], None)
    } - beside == {measure}


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        ("never updates", "never written"),
        ("drops every tenth", "never written"),
        ("never finds", ""),
    ],
)
def test_a_lost_mark_says_where_it_was_lost(fault: str, place: str) -> None:
    row = played_by(type("Faulty", (Memory,), {"fault": fault}))

    assert dict(count_lost([row])) == ({place: 1} if place else {})


def test_of_an_agent_that_says_nothing_of_its_memory_nothing_is_measured() -> None:
    row = played_by(lambda: lambda _: "unknown")

    assert row.memory is None
    assert all(measure.of_rows([row]) is None for measure in MEASURES)


class Searched(Memory):
    """Reports what it finds, but not what it writes."""

    def written(self) -> Sequence[Row]:
        return [row for row in super().written() if row[0] == "found"]


def test_where_only_searches_are_said_nothing_counts_as_never_written() -> None:
    row = played_by(Searched)

    assert row.memory is not None
    assert row.memory.lost == ""
    values = {measure.name: measure.of_rows([row]) for measure in MEASURES}
    assert {name for name, value in values.items() if value is not None} == {
        "deleted_served"
    }


def test_what_is_told_stands_in_definitions_and_in_no_fingerprint() -> None:
    told, untold = (
        Say("Ada lives in Porto.", tells={"home": "Porto", "work": None}),
        Say("Ada lives in Porto."),
    )
    one, other = (Definition(steps=(say, Ask("Where?"))) for say in (told, untold))

    assert from_json(to_json(one), where="x.json") == one
    plans = [
        Plan(examples=(example("a", definition=each),), **PLAN) for each in (one, other)
    ]
    assert plans[0].fingerprint == plans[1].fingerprint
    assert plan_differences(*plans) == []
    assert Plan.from_json(plans[0].to_json()).examples[0].definition == one


@pytest.mark.parametrize(
    ("question", "right", "stale"),
    [("Where is Ada?", "Oslo", 1), ("Where was Ada before?", "Porto", None)],
)
def test_an_old_value_is_stale_unless_a_right_answer_has_it(
    question: str, right: str, stale: int | None
) -> None:
    told = [
        Say(f"Ada {how} {town}.", tells={"Ada's home": town})
        for how, town in (("lives in", "Porto"), ("moved to", "Oslo"))
    ]
    asked = Definition(steps=(*told, Ask(question)), replies=(right,))
    row = played_by(type("Faulty", (Memory,), {"fault": "returns stale"}), asked)

    assert {measure.name: measure.of_rows([row]) for measure in MEASURES}[
        "stale_served"
    ] == stale


class Chooser(Memory):
    """Chooses the user's last offer, and records its choice."""

    def reply(self, message: str) -> Reply:
        if "or" not in message.split():
            return Reply("Noted.")
        choice = message.rsplit(maxsplit=1)[-1].strip("?")
        self.rows.append(("added", "choice", f"the assistant's choice: {choice}"))
        return Reply(f"I take {choice}.")


class Listener(Chooser):
    """Records the offers, but not its choice."""

    def reply(self, message: str) -> Reply:
        reply = super().reply(message)
        self.rows = [("added", "offer", message)]
        return reply


@pytest.mark.parametrize(("agent", "lag"), [(Chooser, 0), (Listener, None)])
def test_what_the_agent_chooses_in_its_reply_is_told_by_it(
    agent: type[Memory], lag: int | None
) -> None:
    question = Ask("Which town, Porto or Oslo?", tells={"the town": ("Porto", "Oslo")})
    row = played_by(agent, Definition(steps=(Say("Choose one."), question)))

    assert row.memory is not None
    assert [
        (fact.subject, fact.value, fact.lag)
        for fact in row.memory.facts
        if fact.subject
    ] == [("the town", "Oslo", lag)]
    one = Definition(steps=(question,))
    assert from_json(to_json(one), where="x.json").steps[0] == question


@pytest.mark.parametrize("tells", [{"home": 3}, {3: "Porto"}])
def test_what_is_told_is_texts(tells: Any) -> None:
    with pytest.raises(
        ScenarioError,
        match="a mapping of texts to texts, or to None for what is withdrawn",
    ):
        Say("Ada lives in Porto.", tells=tells)


PLAN: dict[str, Any] = {
    "seed": 0,
    "trial": 0,
    "span": 2_000,
    "tokenizer": "cl100k_base",
    "filler": "counting",
    "scoring": "current",
    "judge": "none",
    "judge_votes": 1,
    "time": "simulated",
    "opening": "",
}


def test_names_of_records_have_to_have_been_said_dates_and_first_words_need_not() -> (
    None
):
    ledger = ConversationRecord().memory
    ledger.first_said.update({"ada": 1, "porto": 1})

    assert not invents(
        ledger,
        "Ada moved to Porto on 2026-03-04 at 10:15, in March. The user is glad",
        2,
    )
    assert invents(ledger, "Ada moved to Turku", 2)
    assert invents(ledger, "Ada's code is 4711", 2)
    assert invents(ledger, "Ada moved to Porto", 0)

"""State known of a dead worker: its conversation's position, its reports, and the number of attempts."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from journals import NOW, begin, filler, header, judge, message, reply, wait, write

from pytest_ltm.api.journal import Event, Price, Tariff, events
from pytest_ltm.api.model import Usage
from pytest_ltm.modes.xdist import wire as _wire
from pytest_ltm.modes.xdist.controller import (
    JournalSnapshot,
    Tries,
    journal_snapshot,
)
from pytest_ltm.modes.xdist.scheduling import WorkUnit
from pytest_ltm.modes.xdist.wire import Filter, ReportLedger

LATER = NOW + timedelta(hours=1)


def after(
    path: Path,
    *said: Event | str,
    agent: Tariff | None = None,
    judged: Tariff | None = None,
) -> JournalSnapshot:
    return journal_snapshot(
        write(path, header(), *said), agent or Tariff(), judged or Tariff()
    )


def told_of(found: JournalSnapshot, *names: str) -> list[object]:
    return [found.totals[name] for name in names]


def test_the_speaker_is_whose_message_is_in_flight(tmp_path: Path) -> None:
    found = after(
        tmp_path / "j", message(0, "a/0"), reply(0), message(1, "b/0", now=LATER)
    )

    assert (found.record.speaking, found.record.last, found.is_answered) == (
        "b/0",
        1,
        False,
    )
    # without a reply there are no tokens
    assert (
        len(found.record.transcript),
        found.totals["tokens"],
        found.record.seconds,
    ) == (1, 6, 3_600.0)


def test_who_got_the_last_reply_is_the_speaker_until_another_speaks(
    tmp_path: Path,
) -> None:
    found = after(
        tmp_path / "j",
        message(0, "a/0"),
        reply(0),
        wait("a/0"),
        message(1, "b/0"),
        reply(1, cost_usd=0.5),
    )

    assert (
        found.record.speaking,
        found.record.last,
        found.is_answered,
        found.bill.total_usd,
    ) == ("b/0", 1, True, 0.5)


def test_who_has_begun_is_the_speaker_before_its_first_message(tmp_path: Path) -> None:
    found = after(tmp_path / "j", message(0, "a/0"), reply(0), begin("b/0", 6))

    assert found.record.speaking == "b/0"


def test_filler_is_nobodys(tmp_path: Path) -> None:
    told = filler(1)
    asked = after(
        tmp_path / "j", message(0, "a/0"), reply(0), message(1, "", "filler"), reply(1)
    )
    found = after(tmp_path / "j", message(0, "a/0"), reply(0), told)

    assert (asked.record.speaking, told_of(asked, "filler_tokens", "reply_tokens")) == (
        "",
        [6, 4],
    )
    assert (
        found.record.speaking,
        told_of(found, "filler_tokens", "tokens", "reply_tokens"),
    ) == ("", [6, 12, 2])


def test_a_history_that_is_told_is_no_filler(tmp_path: Path) -> None:
    told = filler(0, history="s1:0")
    found = after(tmp_path / "j", told, message(1, "", "history", position=6), reply(1))

    assert told_of(found, "filler_tokens", "tokens") == [0, 12]


def test_a_jump_of_time_counts_although_nobody_has_spoken_since(tmp_path: Path) -> None:
    found = after(
        tmp_path / "j", message(0, "a/0"), reply(0), events.TimeJumped(to=LATER)
    )

    assert found.record.seconds == 3_600.0


def test_dollars_and_tokens_are_counted_as_those_of_a_conversation_that_ends(
    tmp_path: Path,
) -> None:
    used = Usage(input_tokens=1_000_000, output_tokens=500_000)
    found = after(
        tmp_path / "j",
        message(0, "", "opening"),
        reply(0, cost_usd=0.25),
        message(1, "a/0"),
        reply(1, usage=used),
        message(2, "", "filler"),
        reply(2, usage=used),
        message(3, "a/0"),
        agent=Tariff(price=Price(2.0, 4.0)),
    )

    assert told_of(found, "cost_usd", "filler_cost_usd", "harness_cost_usd") == [
        8.25,
        4.0,
        0.25,
    ]
    assert told_of(found, "input_tokens", "output_tokens") == [2_000_000, 1_000_000]
    assert (found.spent_by("a/0")["tokens"], found.spent_by("a/0")["cost_usd"]) == (
        6,
        4.0,
    )
    assert found.spent_by("b/0")["cost_usd"] is None


def test_what_the_judge_was_asked_is_counted_for_the_example(tmp_path: Path) -> None:
    used = Usage(input_tokens=1_000_000)
    asked = judge("a/0", reply="yes", usage=used)
    failed = judge("a/0", fault="gone")
    found = after(
        tmp_path / "j", asked, asked, failed, judged=Tariff(price=Price(3.0, 1.0))
    )

    spent = found.spent_by("a/0")
    assert (spent["judge_calls"], spent["judge_tokens"], spent["judge_cost_usd"]) == (
        2,
        2_000_000,
        6.0,
    )


def test_a_torn_line_is_no_event(tmp_path: Path) -> None:
    found = after(
        tmp_path / "j",
        message(0, "a/0"),
        reply(0),
        events.encode_event(message(1, "b/0"))[:20],
    )

    assert found.record.speaking == "a/0"


def test_without_a_journal_there_is_nothing_to_tell(tmp_path: Path) -> None:
    found = journal_snapshot(tmp_path / "none", Tariff(), Tariff())

    assert (
        found.record.speaking,
        found.record.last,
        list(found.record.transcript),
        found.record.seconds,
    ) == (
        "",
        None,
        [],
        0.0,
    )


def test_a_conversation_that_gets_further_is_tried_anew() -> None:
    tries = Tries()

    assert [tries.note("a", progress) for progress in (0, 0, 5, 5, 5, 6)] == [
        1,
        2,
        1,
        2,
        3,
        1,
    ]
    assert tries.note("b", 0) == 1


def report(nodeid: str, when: str = "call") -> tuple[str, dict[str, Any]]:
    return "testreport", {"data": {"nodeid": nodeid, "when": when}}


def test_what_was_told_is_left_out_once_and_the_rest_is_told() -> None:
    known = Filter()
    known.leave_out({"a": [2, 0], "b": [3, 1]})

    assert [known.is_known(*report("a")) for _ in range(3)] == [True, True, False]
    assert known.is_known("logstart", {"nodeid": "a"})
    assert not known.is_known("logfinish", {"nodeid": "a"})
    assert known.is_known("logfinish", {"nodeid": "b"})
    assert known.is_known("warning_recorded", {"nodeid": "b"})
    assert not known.is_known("warning_recorded", {"nodeid": "a"})
    assert not known.is_known(*report("c"))
    assert not known.is_known("runtest_protocol_complete", {"item_index": 0})


def test_reports_are_counted_by_item() -> None:
    ledger = ReportLedger()
    for nodeid, when in (
        ("t::a", "setup"),
        ("t::a", "call"),
        ("t::a", "teardown"),
        ("t::b", "setup"),
    ):
        ledger.reported(
            pytest.TestReport(nodeid, ("t", 0, "a"), {}, "passed", None, when)  # type: ignore[arg-type]
        )

    assert ledger.told(WorkUnit("u", ("t::a", "t::b", "t::c"), 0)) == {
        "t::a": [3, 1],
        "t::b": [1, 0],
    }
    assert [ledger.is_finished(f"t::{name}") for name in "abc"] == [True, False, False]


@pytest.mark.parametrize(
    ("nodeid", "unit", "scenario", "example"),
    [
        ("ltm/jokes::test_jokes[full-2k-0-1]", "full-2k-0", "jokes", "1"),
        ("a/test_b.py::TestC::test_d[full-2k-0-1-x-y]", "full-2k-0", "d.x_y", "1"),
        ("test_b.py::test_d[full-isolated-0.d_2-2]", "full-isolated-0.d_2", "d", "2"),
    ],
)
def test_an_item_that_nobody_began_is_known_by_its_node_id(
    nodeid: str, unit: str, scenario: str, example: str
) -> None:
    (brief,) = ReportLedger().briefs(WorkUnit(unit, (nodeid,), 0))

    assert (brief.key, brief.folder) == (
        f"{scenario}/{example}",
        unit.replace("-", "~"),
    )


class Spec:
    """A specification of how to start a worker."""

    id: str | None = "gw0"


class Manager:
    """Starts workers like xdist; the first ones die at once."""

    def __init__(self, dying: int) -> None:
        self.dying = dying
        self.started: list[str | None] = []
        self.group = self

    def allocate_id(self, spec: Spec) -> None:
        spec.id = f"gw{len(self.started)}"

    def setup_node(self, spec: Spec) -> Spec:
        assert spec.id not in self.started  # as execnet requires
        self.started.append(spec.id)
        if len(self.started) <= self.dying:
            raise EOFError("expected 1 bytes, got 0")
        return spec


@pytest.mark.parametrize(("dying", "started"), [(0, 1), (1, 2), (2, 3)])
def test_a_worker_that_dies_while_it_starts_is_started_again(
    dying: int, started: int
) -> None:
    manager, spec = Manager(dying), Spec()
    _wire.start_patiently(manager, 3)

    assert manager.setup_node(spec) is spec
    assert manager.started == ["gw0", "gw1", "gw2"][:started]


def test_workers_that_never_start_end_the_session() -> None:
    manager = Manager(9)
    _wire.start_patiently(manager, 3)

    with pytest.raises(EOFError):
        manager.setup_node(Spec())
    assert len(manager.started) == 3


def test_a_worker_that_dies_before_it_has_read_its_program_is_started_again() -> None:
    class Unread(Manager):
        def setup_node(self, spec: Spec) -> Spec:
            if not self.started:
                io = SimpleNamespace(
                    popen=subprocess.Popen(
                        [sys.executable, "-c", ""], stdin=subprocess.PIPE
                    )
                )
                io.popen.wait()
                # stays in the buffer until the pipe is closed
                io.popen.stdin.write(b"unread")
            return super().setup_node(spec)

    manager = Unread(1)
    _wire.start_patiently(manager, 3)

    manager.setup_node(Spec())
    assert manager.started == ["gw0", "gw1"]

"""What is known of a worker that died: where its conversation stood, what it had told, how often it was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._journal import line
from pytest_ltm.plugin._xdist import _wire
from pytest_ltm.plugin._xdist._filter import Filter
from pytest_ltm.plugin._xdist._ledger import Ledger
from pytest_ltm.plugin._xdist._recovery import Tries
from pytest_ltm.plugin._xdist._scene import Scene, scene
from pytest_ltm.plugin._xdist._units import Unit

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2024-03-04T09:00:00+00:00"
LATER = "2024-03-04T10:00:00+00:00"


def message(number: int, by: str, kind: str = "say", now: str = NOW) -> str:
    return line("message", exchange=number, by=by, kind=kind, text="hi", tokens=4, position=0, now=now)


def reply(number: int, **more: Any) -> str:
    return line("reply", exchange=number, text="ho", tokens=2, **more)


def after(path: Path, *events: str) -> Scene:
    path.write_text(line("header", format=1, now=NOW) + "".join(events), encoding="utf-8")
    return scene(path)


def test_the_speaker_is_whose_message_is_in_flight(tmp_path: Path) -> None:
    found = after(tmp_path / "j", message(0, "a/0"), reply(0), message(1, "b/0", now=LATER))

    assert (found.speaking, found.message, found.answered) == ("b/0", 1, False)
    assert (found.exchanges, found.tokens, found.simulated_seconds) == (1, 10, 3_600.0)


def test_who_got_the_last_reply_is_the_speaker_until_another_speaks(tmp_path: Path) -> None:
    found = after(
        tmp_path / "j", message(0, "a/0"), reply(0), line("wait", example="a/0", tokens=9, time=NOW), message(1, "b/0"),
        reply(1, cost_usd=0.5),
    )  # fmt: skip

    assert (found.speaking, found.message, found.answered, found.cost_usd) == ("b/0", 1, True, 0.5)


def test_who_has_begun_is_the_speaker_before_its_first_message(tmp_path: Path) -> None:
    found = after(tmp_path / "j", message(0, "a/0"), reply(0), line("begin", example="b/0", position=6, now=NOW))

    assert found.speaking == "b/0"


def test_filler_is_nobodys(tmp_path: Path) -> None:
    told = line("filler", exchange=1, message="m", message_tokens=5, reply="r", reply_tokens=1)
    asked = after(tmp_path / "j", message(0, "a/0"), reply(0), message(1, "", "filler"))
    found = after(tmp_path / "j", message(0, "a/0"), reply(0), told)

    assert (asked.speaking, asked.filler_tokens) == ("", 4)
    assert (found.speaking, found.filler_tokens, found.tokens, found.exchanges) == ("", 6, 12, 2)


def test_a_torn_line_is_no_event(tmp_path: Path) -> None:
    found = after(tmp_path / "j", message(0, "a/0"), reply(0), message(1, "b/0")[:20])

    assert found.speaking == "a/0"


def test_without_a_journal_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert scene(tmp_path / "none") == Scene()


def test_a_conversation_that_gets_further_is_tried_anew() -> None:
    tries = Tries()

    assert [tries.note("a", progress) for progress in (0, 0, 5, 5, 5, 6)] == [1, 2, 1, 2, 3, 1]
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
    ledger = Ledger()
    for nodeid, when in (("t::a", "setup"), ("t::a", "call"), ("t::a", "teardown"), ("t::b", "setup")):
        ledger.reported(pytest.TestReport(nodeid, ("t", 0, "a"), {}, "passed", None, when))  # type: ignore[arg-type]

    assert ledger.told(Unit("u", ("t::a", "t::b", "t::c"), 0)) == {"t::a": [3, 1], "t::b": [1, 0]}
    assert [ledger.is_finished(f"t::{name}") for name in "abc"] == [True, False, False]


@pytest.mark.parametrize(
    ("nodeid", "unit", "scenario", "example"),
    [
        ("ltm/jokes::test_jokes[full-2k-0-1]", "full-2k-0", "jokes", "1"),
        ("a/test_b.py::TestC::test_d[full-2k-0-1-x-y]", "full-2k-0", "d.x_y", "1"),
        ("test_b.py::test_d[full-isolated-0.d_2-2]", "full-isolated-0.d_2", "d", "2"),
    ],
)
def test_an_item_that_nobody_began_is_known_by_its_node_id(nodeid: str, unit: str, scenario: str, example: str) -> None:
    (brief,) = Ledger().briefs(Unit(unit, (nodeid,), 0))

    assert (brief.key, brief.folder) == (f"{scenario}/{example}", unit.replace("-", "~"))


class Spec:
    """Says how a worker is started."""

    id: str | None = "gw0"


class Manager:
    """Starts workers as xdist does; the first ones die in their first instants."""

    def __init__(self, dying: int) -> None:
        self.dying = dying
        self.started: list[str | None] = []
        self.group = self

    def allocate_id(self, spec: Spec) -> None:
        spec.id = f"gw{len(self.started)}"

    def setup_node(self, spec: Spec) -> Spec:
        assert spec.id not in self.started  # as execnet says
        self.started.append(spec.id)
        if len(self.started) <= self.dying:
            raise EOFError("expected 1 bytes, got 0")
        return spec


@pytest.mark.parametrize(("dying", "started"), [(0, 1), (1, 2), (2, 3)])
def test_a_worker_that_dies_while_it_starts_is_started_again(dying: int, started: int) -> None:
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

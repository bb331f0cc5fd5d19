"""Scoring a recorded conversation again: what it was made from, its folder, its judge, what becomes of its examples."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from pytest_ltm._channel import recorded_time
from pytest_ltm._disk import Appender
from pytest_ltm._errors import AgentError, DiskFault, JudgeError, LtmError, told
from pytest_ltm._journal import FORMAT, Journal, Timings
from pytest_ltm._locks import FolderLock
from pytest_ltm._recording import JOURNAL, TIMINGS
from pytest_ltm._rescore._plans import judge_spec, rescored_plan
from pytest_ltm._rescore._record import Record, RetoldJournal, recorded_plan
from pytest_ltm._rescore._retelling import KEEPS, Retelling
from pytest_ltm._rescore._rows import ending_of, ending_told, recorded_result
from pytest_ltm._seat import Known, Seat
from pytest_ltm._secrets import redacted
from pytest_ltm.plugin import _judging
from pytest_ltm.plugin._opened import Opened, write_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm._clock import Clock
    from pytest_ltm._conversation import Conversation
    from pytest_ltm._judge import Inquiry
    from pytest_ltm._lane import Ending
    from pytest_ltm._plan import Plan
    from pytest_ltm._result import Ended, ScenarioResult
    from pytest_ltm.agents._protocols import Reply
    from pytest_ltm.agents._speaker import Speaker
    from pytest_ltm.judges._desk import Desk
    from pytest_ltm.plugin._items import LtmItem
    from pytest_ltm.plugin._settings import Settings

SILENT = "the agent gave empty replies: valid, and worth what they are worth"
NOT_RECORDED = "nothing is recorded of its conversation"


def plan_again(known: Sequence[LtmItem], settings: Settings, run: Path, now: Plan) -> Plan:
    """Return the plan of a conversation that is scored again, which is today's if nothing is recorded of it."""
    recorded = recorded_plan(folder_of(run, known[0]) / JOURNAL)
    return now if recorded is None else rescored_plan(recorded, now, same_judge=settings.judge == _judging.NONE)


def folder_of(run: Path, known: LtmItem) -> Path:
    """Return the folder in which a conversation was recorded."""
    from pytest_ltm.plugin._run import conversation_key  # noqa: PLC0415 - which plays conversations, and so needs us

    return run / "~".join(conversation_key(known))


class Retold:
    """One conversation that is scored again, in a folder of its own."""

    def __init__(self, source: Path, settings: Settings) -> None:
        self._settings = settings
        self.record: Record | None = None
        result = self._result = recorded_result(source)
        self._rows = {} if result is None else {row.id: row for row in result.scenarios}
        self.spec = "" if result is None else result.agent_spec
        """The spec of the agent that was recorded."""
        self._conversation: Retelling | None = None
        self._source = source

    # --- its folder

    def open(self, folder: Path, plan: Plan, clock: Clock) -> Opened:
        """Return the new folder, locked, with all that is known of the agent; a reason if nothing can be told."""
        lock = FolderLock(folder)
        try:
            folder.mkdir(exist_ok=True)
            lock.acquire()
            self.record = Record.of(self._source / JOURNAL)
            if self.record is None:
                return self._nothing(lock, NOT_RECORDED)
            write_plan(folder, plan)
            if clock.real:
                clock.follow(recorded_time(self.record.header.get("now")))
            return self._opened(folder, plan, self.record, lock)
        except DiskFault:
            lock.release()
            raise
        except (LtmError, OSError) as error:
            lock.release()
            return self._nothing(lock, str(error) if isinstance(error, LtmError) else told(error))

    def _nothing(self, lock: FolderLock, reason: str) -> Opened:
        return Opened(
            journal=Journal(), timings=Timings(), seat=Seat(self._agent), agent_fingerprint="", lock=lock, gone=reason
        )

    def _opened(self, folder: Path, plan: Plan, record: Record, lock: FolderLock) -> Opened:
        for name in (JOURNAL, TIMINGS):  # of a worker that died
            (folder / name).unlink(missing_ok=True)
        journal = RetoldJournal(Appender(folder / JOURNAL, new=True), record)
        header = {name: value for name, value in record.header.items() if name not in {"event", "format"}}
        header |= {"plan": plan.to_json(), "plan_fingerprint": plan.fingerprint}
        journal.write("header", format=FORMAT, **header)
        self.spec = self.spec or str(_agent(record).get("spec"))
        return Opened(
            journal=journal,
            timings=Timings.at(folder / TIMINGS),
            seat=Seat(self._agent, known=_known(record)),
            agent_fingerprint=str(record.header.get("agent_fingerprint")),
            lock=lock,
        )

    def conversation(self, *args: Any, **keywords: Any) -> Conversation:
        """Return the conversation that tells the record again."""
        record = self.record or Record({}, ())
        self._conversation = Retelling(*args, record=record, kept_ending=self._kept_ending, **keywords)
        return self._conversation

    def _agent(self) -> Speaker:
        if self._conversation is not None:
            self._conversation.agent_wanted = True
        raise AgentError("no agent is made where a run is scored again")

    # --- its judge

    def desk(self, journal: Journal, timings: Timings, *, trial: str) -> Desk | None:
        """Return where recorded replies of a judge are had without one; None if nobody judged."""
        from pytest_ltm.judges._desk import Desk  # noqa: PLC0415 - most runs have no judge

        if self.record is None or self.record.plan.judge == _judging.NONE:
            return None
        votes = self.record.plan.judge_votes
        return Desk(
            _nobody, configuration=None, cache=None, journal=journal, timings=timings, trial=trial, votes=votes,
            recalled=self.recalled,
        )  # fmt: skip

    def recalled(self, example: str, inquiry: Inquiry) -> Mapping[str, Any] | None:
        """Return what the judge of then said to that very question; None if another is to be heard, or was not asked.

        A judge that failed is asked again, if there is one.
        """
        if self.record is None:
            return None
        anew = self._settings.judge != _judging.NONE
        if anew and judge_spec(self.record.plan) != redacted(self._settings.judge):
            return None
        digest = hashlib.sha256(inquiry.text.encode("utf-8", "surrogatepass")).hexdigest()
        found = self.record.judgement(example, f"sha256:{digest}", inquiry.vote)
        return None if found is not None and anew and "fault" in found else found

    # --- what becomes of its examples

    def kept(self, example: str) -> ScenarioResult | None:
        """Return the recorded row of an example that keeps it."""
        talk = self._conversation
        return self._rows.get(example) if talk is not None and example in talk.kept else None

    @property
    def ended(self) -> Ended | None:
        """How the conversation ended, if it did so early and that is known."""
        if self._conversation is not None and self._conversation.cut_short:
            return "interrupted"
        return None if self._result is None or self._result.ended == "complete" else self._result.ended

    @property
    def notices(self) -> list[str]:
        """What the recorded results say of the conversation that is not said of it now: of the agent, say."""
        if self._result is None or self._conversation is None:
            return []
        said = {*self._conversation.notices, SILENT}
        return [one for one in self._result.notices if one not in said and KEEPS not in one]

    def _kept_ending(self, example: str) -> Ending:
        row = self._rows.get(example)
        if row is not None:
            return ending_of(row)
        return ending_told(None if self.record is None else self.record.verdicts.get(example))


def _nobody(_inquiry: Inquiry) -> Reply:
    raise JudgeError("the recorded judge was not asked this. Name a judge: --ltm-judge=SPEC", cause="requires")


def _agent(record: Record) -> Mapping[str, Any]:
    agent = record.header.get("agent")
    return agent if isinstance(agent, dict) else {}


def _known(record: Record) -> Known:
    powers, most = _agent(record).get("powers"), _agent(record).get("max_message_tokens")
    names = frozenset(map(str, powers)) if isinstance(powers, list) else frozenset()
    return Known(names, most if type(most) is int and most > 0 else 1)

"""Controller: the hooks of the process that distributes conversations, shows results, and recovers lost ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.api.engine import usage_totals
from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    Bill,
    ConversationRecord,
    Tariff,
    events,
)
from pytest_ltm.api.journal import result as _result
from pytest_ltm.api.session import mark_unreached, not_reached
from pytest_ltm.api.storage import (
    LtmError,
    for_file,
    from_record,
    pluralize,
    write_whole,
)
from pytest_ltm.judges.model_calls import ModelUse
from pytest_ltm.modes.live import read_resumable
from pytest_ltm.modes.xdist import wire as _wire
from pytest_ltm.modes.xdist.scheduling import ConversationScheduling, WorkUnit
from pytest_ltm.modes.xdist.wire import Brief, ReportLedger, conversation_of
from pytest_ltm.reports.summary import user_properties

if TYPE_CHECKING:
    from pytest_ltm.api.session import LtmRun


@dataclass(frozen=True, slots=True)
class JournalSnapshot:
    """The last state of a journal, and the conversation until then."""

    bill: Bill
    """The cost of the replies."""
    judge: Tariff
    user: Callable[[str], Tariff]
    """Returns the prices of a simulated user's model."""
    record: ConversationRecord = field(default_factory=ConversationRecord)

    def add_event(self, event: events.Event) -> None:
        """Add an event of the conversation."""
        self.record.add(event)
        self.bill.count_event(event)

    @property
    def is_answered(self) -> bool:
        """Whether the last message has a reply, or needed none: told exchanges are not among the messages."""
        last = self.record.last
        record = self.record
        return last not in record.messages or last in record.replies

    @property
    def where_stopped(self) -> str:
        """The position in the conversation, for a sentence about a dead worker."""
        record = self.record
        if record.last is None:
            if record.speaking:
                return f"where {record.speaking} began"
            return "before anything was said"
        if record.speaking:
            speaker = f" of {record.speaking}"
        else:
            speaker = ", which belongs to no example"
        return (
            f"{'after' if self.is_answered else 'at'} message #{record.last}{speaker}"
        )

    @property
    def totals(self) -> dict[str, Any]:
        """The token and dollar fields of the conversation's result."""
        return usage_totals(self.record, self.bill)

    def spent_by(self, example: str) -> dict[str, Any]:
        """Return an example's usage so far, as fields of its result."""
        exchanges = self.record.transcript.exchanges_of(example)
        bill = self.bill
        tokens = 0
        costs: list[float] = []
        for exchange in exchanges:
            tokens += exchange.message_tokens + exchange.reply_tokens
            if exchange.number in bill.costs:
                costs.append(bill.costs[exchange.number])
        result = self.record.example(example)
        judge_use = ModelUse()
        voiced = ModelUse()
        for call in result.judged:
            if call.fault is None:
                judge_use.add(call, self.judge.cost(call))
        for line in result.voiced:
            if line.fault is None:
                voiced.add(line, self.user(line.model).cost(line))
        return {
            "tokens": tokens,
            "cost_usd": sum(costs) if costs else None,
            "estimated": any(exchange.number in bill.guesses for exchange in exchanges),
            **judge_use.result_fields("judge"),
            **voiced.result_fields("user"),
        }


def _blamed_item(
    briefs: Sequence[Brief], scenes: Mapping[str, JournalSnapshot], speaking: str
) -> str:
    """Return the node id of the example that spoke, else of the first that has spent tokens, else of the first."""
    for brief in briefs:
        if brief.key == speaking:
            return brief.nodeid
    for brief in briefs:
        if scenes[brief.folder].spent_by(brief.key)["tokens"]:
            return brief.nodeid
    return briefs[0].nodeid if briefs else ""


def journal_snapshot(
    journal: Path,
    agent: Tariff,
    judge: Tariff,
    user: Callable[[str], Tariff] = lambda _: Tariff(),
) -> JournalSnapshot:
    """Return the last state of a journal, or of its readable part."""
    snapshot = JournalSnapshot(Bill(agent), judge, user)
    with suppress(LtmError):
        for _, event in (
            snapshot.record.follow_journal(journal) if journal.is_file() else ()
        ):
            snapshot.bill.count_event(event)
    return snapshot


# --- The reports of an item that no worker could report.


def reports_of(
    brief: Brief, row: _result.ScenarioResult
) -> Iterator[pytest.TestReport]:
    """Yield a setup report, failed or skipped with the row's reason, and an empty teardown."""

    def report(when: Any, outcome: Any, longrepr: Any) -> pytest.TestReport:
        return pytest.TestReport(
            brief.nodeid,
            brief.location,
            {},
            outcome,
            longrepr,
            when,
            user_properties=user_properties(row),
        )

    if row.outcome == "error":
        yield report("setup", "failed", row.reason)
    else:
        path, line, _ = brief.location
        skipped = report(
            "setup", "skipped", (path, line + 1, f"Skipped: {not_reached(row.reason)}")
        )
        yield mark_unreached(skipped)
    yield report("teardown", "passed", None)


class Tries:
    """Counts how often a conversation has been tried at the same position; progress restarts the count."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def note(self, unit: str, progress: int) -> int:
        """Record the death of a worker; return the number of deaths at this position, including this one."""
        progress_before, tries = self._known.get(unit, (-1, 0))
        tries = 1 if progress > progress_before else tries + 1
        self._known[unit] = max(progress_before, progress), tries
        return tries


class Recovery:
    """Decides how to continue a conversation whose worker died, and reports items that are not played."""

    def __init__(self, run: LtmRun, ledger: ReportLedger) -> None:
        self._run = run
        self._ledger = ledger
        self._tries = Tries()
        self._tariffs = (
            run.costs.judge.tariff,
            lambda model: run.costs.user(model).tariff,
        )
        self._far: dict[str, JournalSnapshot] = {}
        """The state of conversations on other machines, by folder name."""
        self._deaths: dict[str, int] = {}
        """The number of workers that have died with a conversation."""
        self.notices: dict[str, str] = {}
        """A sentence for each conversation that lost a worker, unless its own results mention it."""

    def told(self, name: str, event: events.Event) -> None:
        """Add an event that a worker on another machine has written into a conversation's journal."""
        if isinstance(event, events.Header):
            self._far[name] = JournalSnapshot(Bill(self._tariff(name)), *self._tariffs)
        if name in self._far:
            self._far[name].add_event(event)

    def over(self, name: str) -> None:
        """Drop a conversation that is complete, with its results here."""
        self._far.pop(name, None)

    def lost(self, worker: str, unit: WorkUnit, *, here: bool) -> bool:
        """Return whether a conversation continues elsewhere; if not, report all items that were not played.

        `here`: the worker wrote into this machine's run folder.
        """
        finished = sum(map(self._ledger.is_finished, unit.items))
        run = self._run.folder.path
        names = dict.fromkeys(brief.folder for brief in self._ledger.briefs(unit))
        begun_folders: list[Path] = []
        for name in names:
            if name in self._far or (run / name / JOURNAL).exists():
                begun_folders.append(run / name)
        unfinished = [folder for folder in begun_folders if not _is_complete(folder)]
        # The one being played: of several folders, as for isolated variants, the last
        # one without results.
        folder = (unfinished or begun_folders or [run / next(iter(names))])[-1]
        last = self._scene(folder)
        tries = self._tries.note(unit.name, finished + len(last.record.transcript))
        death = f"worker {worker} died {last.where_stopped}"
        if here:
            reason = ""
        else:
            reason = "its journal is on the other machine, where the worker was"
        if here and self._run.settings.rescored is None:
            # Otherwise no agent is asked: the record is repeated.
            _, reason = read_resumable(folder)
        deaths = self._deaths[unit.name] = self._deaths.get(unit.name, 0) + 1
        if not reason and tries < self._run.settings.worker_tries:
            self._say(
                f"{unit.name}: {death}; the conversation continues where it stopped"
            )
            if deaths == 1:
                sentence = death
            else:
                sentence = f"{pluralize(deaths, 'worker')} died, the last time {death}"
            self.notices[unit.name] = (
                f"{sentence}; the conversation continued where it stopped"
            )
            return True
        reason = reason or f"{pluralize(tries, 'worker')} died at this point"
        notice = f"{death}, and the conversation is given up: {reason}"
        self._say(f"{unit.name}: {notice}")
        self.notices[unit.name] = notice
        if self.give_up(unit, notice, death=death, speaking=last.record.speaking):
            del self.notices[unit.name]
        return False

    def give_up(
        self, unit: WorkUnit, reason: str, *, death: str = "", speaking: str = ""
    ) -> bool:
        """Report the rest of a conversation: after a `death`, an error of the speaking example, others as not reached.

        If no example was speaking (during filler, say), the error goes to the first one
        begun. It has the `reason`; the others refer to the death. Returns whether the
        conversation's results mention it; those of a complete conversation stay
        unchanged.
        """
        rows = self._ledger.rows(unit.name)
        briefs = self._ledger.briefs(unit)
        run = self._run.folder.path
        # Each journal is read once: one conversation may have hundreds of examples.
        folder_names = dict.fromkeys(brief.folder for brief in briefs)
        scenes = {name: self._scene(run / name) for name in folder_names}
        blamed = ""
        if death:
            open_items = [brief for brief in briefs if brief.nodeid not in rows]
            blamed = _blamed_item(open_items, scenes, speaking)
        if blamed:
            reason_of_others = f"{death}, and the conversation is given up"
        else:
            reason_of_others = reason
        folders: dict[str, list[_result.ScenarioResult]] = {}
        for brief in briefs:
            if brief.nodeid in rows:
                row = from_record(
                    _result.ScenarioResult, json.loads(rows[brief.nodeid]), "scenario"
                )
            else:
                is_it = brief.nodeid == blamed
                row = self._unplayed(
                    brief,
                    scenes[brief.folder],
                    reason if is_it else reason_of_others,
                    blamed=is_it,
                )
            folders.setdefault(brief.folder, []).append(row)
            if not self._ledger.is_finished(brief.nodeid):
                hook = self._run.config.hook
                location = brief.location
                hook.pytest_runtest_logstart(nodeid=brief.nodeid, location=location)
                for report in reports_of(brief, row):
                    hook.pytest_runtest_logreport(report=report)
                hook.pytest_runtest_logfinish(nodeid=brief.nodeid, location=location)
        written = False
        for name, results in folders.items():
            written |= self._write(run / name, results, scenes[name], death or reason)
        self._ledger.over(unit.name)
        return written

    def _scene(self, folder: Path) -> JournalSnapshot:
        if folder.name in self._far:
            return self._far[folder.name]
        return journal_snapshot(
            folder / JOURNAL, self._tariff(folder.name), *self._tariffs
        )

    def _tariff(self, folder: str) -> Tariff:
        return self._run.costs.tariff_of(_name_of(folder).agent)

    def _unplayed(
        self, brief: Brief, last: JournalSnapshot, reason: str, *, blamed: bool
    ) -> _result.ScenarioResult:
        name = _name_of(brief.folder)
        return _result.ScenarioResult(
            scenario=brief.scenario,
            example=brief.example,
            agent=name.agent,
            span_label=name.span,
            trial=name.trial,
            span=self._run.settings.spans[name.span],
            nodeid=brief.nodeid,
            score=None,
            reason=reason,
            outcome="error" if blamed else "skipped",
            cause="agent" if blamed else "not reached",
            threshold=brief.threshold,
            pass_k=brief.pass_k,
            skills=brief.skills,
            **last.spent_by(brief.key),
        )

    def _write(
        self,
        folder: Path,
        rows: Sequence[_result.ScenarioResult],
        last: JournalSnapshot,
        reason: str,
    ) -> bool:
        """Write the results of an incomplete conversation; return whether they were written."""
        if _is_complete(folder):
            return False
        folder.mkdir(parents=True, exist_ok=True)
        first = rows[0]
        specs = {choice.label: choice.spec for choice in self._run.settings.agents}
        spec = specs[first.agent]
        header = last.record.header
        result = _result.ConversationResult(
            agent=first.agent,
            agent_spec=spec,
            span_label=first.span_label,
            span=first.span,
            trial=first.trial,
            plan_fingerprint="" if header is None else header.plan_fingerprint,
            agent_fingerprint="" if header is None else header.agent_fingerprint,
            scenarios=tuple(rows),
            simulated_seconds=last.record.seconds,
            notices=(_result.ended_early(reason),),
            gone=reason,
            ended="agent gone",
            **last.totals,
        )
        _result.write_results(folder / RESULTS, result)
        return True

    def _say(self, text: str) -> None:
        reporter: Any = self._run.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"ltm: {text}", yellow=True)


def _name_of(folder: str) -> _result.ConversationName:
    name = _result.ConversationName.of_folder(folder)
    assert name is not None
    return name


def _is_complete(folder: Path) -> bool:
    try:
        return _result.read_results(folder / RESULTS).ended == "complete"
    except (LtmError, OSError):
        return False


# The number of starts of a worker that dies before its first message.
START_TRIES = 5
# Seconds that workers have, after Ctrl-C, to finish the current reply: a person is
# waiting.
GRACE = 3.0
# The same after -x and --maxfail, where no person waits.
STOP_GRACE = 15.0


class Controller:
    """The controller's hooks in addition to xdist's."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        if run.config.option.dist == "each":
            raise pytest.UsageError(
                "--dist=each would play every conversation on every worker. Remove --dist"
            )
        self.scheduling: ConversationScheduling | None = None
        self.expected: dict[str, int] = {}
        self._ledger = ReportLedger()
        self._recovery = Recovery(run, self._ledger)
        self._away: set[Any] = set()
        """Workers on other machines."""
        self._stopped = self._interrupted = False
        self._failures = 0

    @property
    def notices(self) -> list[str]:
        """A sentence for each conversation that lost a worker without a mention in its results."""
        notices = self._recovery.notices.items()
        return [f"{unit}: {sentence}" for unit, sentence in notices]

    # --- beginning

    @property
    def conversations(self) -> set[_result.ConversationName]:
        """The conversations collected by the workers, without variants: the controller knows only node ids."""
        collected = None if self.scheduling is None else self.scheduling.collection
        return set(map(conversation_of, collected or ()))

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Any
    ) -> ConversationScheduling:
        """Schedule conversations; never `loadgroup`, which rewrites node ids or silently stops grouping."""
        self.scheduling = ConversationScheduling(
            len(self._dsession.nodemanager.specs), self
        )
        return self.scheduling

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Restart a worker that dies while it starts."""
        _wire.start_patiently(self._dsession.nodemanager, START_TRIES)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Make all workers use one run folder and one seed, and listen to their events."""
        node.workerinput["ltm_seed"] = self._run.settings.seed.option
        node.workerinput["ltm_run"] = self._run.folder.name
        node.workerinput["ltm_live"] = self._run.progress.is_live
        _wire.listen_to_node(
            node,
            self._dsession,
            lambda node, kind, **values: getattr(self, f"heard_{kind}")(node, **values),
        )

    @property
    def _dsession(self) -> Any:
        return self._run.config.pluginmanager.get_plugin("dsession")

    # --- calls of the scheduler

    def unit_of(self, nodeid: str) -> str:
        """Return the name of an item's conversation."""
        return str(conversation_of(nodeid))

    def differ(self, worker: str, text: str) -> None:
        """Make the session report why nothing is played."""
        report = pytest.CollectReport(
            nodeid=worker, outcome="failed", longrepr=text, result=[]
        )
        self._run.config.hook.pytest_collectreport(report=report)

    def may_play(self, node: Any, unit: WorkUnit) -> bool:
        """Return whether a worker can play a conversation: one with a journal here would start over elsewhere."""
        return node not in self._away or not self._run.folder.has_journal(unit.name)

    def send(self, node: Any, unit: WorkUnit, indices: list[int]) -> None:
        """Assign a conversation to a worker."""
        self._run.progress.remove_conversation(unit.name, to_come=self._left)
        _wire.send_command(
            node,
            _wire.UNIT,
            unit=unit.name,
            indices=indices,
            reported=self._ledger.told(unit),
        )

    def beside(self, playing: Sequence[WorkUnit], unit: WorkUnit) -> bool:
        """Return whether a worker that plays these conversations may play another one at once."""
        run = self._run
        if len(playing) >= run.most_at_once:
            return False
        agent = conversation_of(unit.items[0]).agent
        other_agents = [conversation_of(other.items[0]).agent for other in playing]
        return (
            all(run.of_agent[label] for label in (agent, *other_agents))
            and other_agents.count(agent) < run.of_agent[agent]
        )

    def lost(self, node: Any, unit: WorkUnit) -> bool:
        """Handle a worker's death; return whether another worker continues the conversation."""
        self._run.progress.remove_conversation(unit.name, to_come=self._left)
        if self._stopped:
            return False
        return self._recovery.lost(node.gateway.id, unit, here=node not in self._away)

    @property
    def _left(self) -> int:
        """The number of conversations not yet assigned."""
        if self.scheduling is not None:
            return self.scheduling.waiting_conversations
        return 0

    # --- events of workers

    def heard_refused(self, node: Any, sentences: list[str]) -> None:
        """Called when a worker cannot collect the requested items."""
        raise pytest.UsageError(*sentences)

    def heard_collected(
        self,
        node: Any,
        here: bool,
        tokens: dict[str, int],
        scenarios: list[str],
        deselected: list[list[Any]],
    ) -> None:
        """Called when a worker has collected: the length of each conversation, and whether it shares our run folder."""
        if not here:
            self._away.add(node)
        self.expected.update(tokens)
        self._run.items.scenario_names.update(scenarios)
        counts = Counter[tuple[str, str]]()
        for folder, scenario, count in deselected:
            counts[folder, scenario] = count
        self._run.items.deselected |= counts

    def heard_begun(self, node: Any, unit: str, briefs: list[list[Any]]) -> None:
        """Called when a worker is about to play a conversation."""
        self._ledger.begun(unit, [Brief(*brief) for brief in briefs])

    def heard_row(self, node: Any, unit: str, nodeid: str, row: str) -> None:
        """Called when an example has its result."""
        self._ledger.ended(unit, nodeid, row)

    def heard_written(self, node: Any, folder: str, event: str) -> None:
        """Called when a worker on another machine has written an event."""
        self._recovery.told(
            folder, events.decode_event(event, f"worker {node.gateway.id}")
        )

    def heard_results(self, node: Any, folder: str, text: str) -> None:
        """Write the results sent by a worker on another machine: the report reads this machine's run folder."""
        self._recovery.over(folder)
        path = self._run.folder.path / folder
        path.mkdir(exist_ok=True)
        write_whole(path / RESULTS, for_file(text))

    def heard_over(self, node: Any, unit: str) -> None:
        """Called when a worker has played a conversation to its end."""
        self._ledger.over(unit)
        if self.scheduling is not None:
            self.scheduling.over(node, unit)
        self._run.progress.remove_conversation(unit, to_come=self._left)

    def heard_progress(self, node: Any, unit: str, state: dict[str, Any]) -> None:
        """Called when a conversation has progressed."""
        self._run.progress.show(unit, state)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Redraw the progress lines, which output about the item has cleared."""
        self._run.progress.draw()

    # --- stopping

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Stop the other workers' conversations, too, when -x or --maxfail takes effect."""
        self._ledger.reported(report)
        maxfail = self._run.config.getvalue("maxfail")
        self._failures += report.failed and not hasattr(report, "wasxfail")
        if maxfail and self._failures >= maxfail:
            self._stop(f"stopping after {self._failures} failures")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Stop all workers when one ends because its own session stops."""
        output = getattr(node, "workeroutput", None)
        if not error and output:
            reason = output.get("shouldfail") or output.get("shouldstop")
            if reason:
                self._stop(str(reason))

    def pytest_keyboard_interrupt(
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> None:
        """Hurry after Ctrl-C; xdist's exception after -x is a kind of KeyboardInterrupt, too."""
        self._interrupted = excinfo.type is KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Before the report: let interrupted workers write their results, and report every unplayed item."""
        dsession = self._dsession
        if dsession is not None and dsession._active_nodes:
            self._stop("interrupted")
            _wire.until_down(dsession, GRACE if self._interrupted else STOP_GRACE)
        if self.scheduling is not None and not self._stopped:
            for unit in self.scheduling.unplayed:
                stranded = bool(self._away) and self._run.folder.has_journal(unit.name)
                if stranded:
                    of_machine = " of this machine, where its journal is,"
                else:
                    of_machine = ""
                self._recovery.give_up(
                    unit, f"no worker{of_machine} was left to play it"
                )

    def _stop(self, why: str) -> None:
        if self._stopped or self._dsession is None:
            # xdist is installed, but there are no workers.
            return
        self._stopped = True
        for node in list(self._dsession._active_nodes):
            _wire.send_command(node, _wire.STOP, reason=why)

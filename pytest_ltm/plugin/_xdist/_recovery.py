"""Recovery: a worker has died. Its conversation goes on where it was, or ends with a reason for each item."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import LtmError
from pytest_ltm._recording import JOURNAL, read_recording
from pytest_ltm._result import ConversationResult, ScenarioResult, scenario_from_json, write_results
from pytest_ltm._resumable import cannot_go_on
from pytest_ltm.plugin._opened import checkpoints_of
from pytest_ltm.plugin._xdist._reports import reports_of
from pytest_ltm.plugin._xdist._scene import Scene, scene
from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ltm.plugin._run import LtmRun
    from pytest_ltm.plugin._xdist._ledger import Brief, Ledger
    from pytest_ltm.plugin._xdist._units import Unit

RESULTS = "results.json"


class Tries:
    """Counts how often a conversation has been tried at the same place; one that gets further is tried anew."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def note(self, unit: str, progress: int) -> int:
        """A worker has died with the conversation; return how many have at this place, this one included."""
        before, tries = self._known.get(unit, (-1, 0))
        tries = 1 if progress > before else tries + 1
        self._known[unit] = max(before, progress), tries
        return tries


class Recovery:
    """Decides what becomes of a conversation whose worker died, and accounts for what is not played."""

    def __init__(self, run: LtmRun, ledger: Ledger) -> None:
        self._run, self._ledger = run, ledger
        self._tries = Tries()
        self.notices: list[str] = []
        """A sentence for each death: for the report."""

    def lost(self, worker: str, unit: Unit, *, here: bool) -> bool:
        """Return whether a conversation goes on elsewhere; if not, everything that was not played is reported.

        `here`: the worker wrote into this machine's run folder.
        """
        finished = sum(map(self._ledger.is_finished, unit.items))
        folder = self._folder(unit)
        last = scene(folder / JOURNAL)
        tries = self._tries.note(unit.name, finished + last.exchanges)
        death = f"worker {worker} died {_where(last)}"
        reason = self._cannot_go_on(folder) if here else "the journal is on another machine"
        if not reason and tries < self._run.settings.worker_tries:
            self._say(f"{unit.name}: {death}; the conversation goes on where it was")
            return True
        why = f"{death}, {reason or _given_up(tries)}"
        self._say(f"{unit.name}: {why}")
        self.give_up(unit, why, last.speaking)
        return False

    def give_up(self, unit: Unit, why: str, speaking: str = "") -> None:
        """Report what is left of a conversation: an error of the example that was speaking, the rest not reached."""
        rows = self._ledger.rows(unit.name)
        folders: dict[str, list[ScenarioResult]] = {}
        for brief in self._ledger.briefs(unit):
            if brief.nodeid in rows:
                row = scenario_from_json(json.loads(rows[brief.nodeid]))
            else:
                row = self._unplayed(brief, why, blamed=brief.key == speaking)
            folders.setdefault(brief.folder, []).append(row)
            if not self._ledger.is_finished(brief.nodeid):
                self._report(brief, row)
        for name, results in folders.items():
            self._write(self._run.folder.path / name, results, why)
        self._ledger.over(unit.name)

    def _folder(self, unit: Unit) -> Path:
        """Return the folder of the conversation that was being played: the last that was begun and has no results."""
        run = self._run.folder.path
        names = dict.fromkeys(brief.folder for brief in self._ledger.briefs(unit))
        begun = [run / name for name in names if (run / name / JOURNAL).exists()]
        unfinished = [folder for folder in begun if not (folder / RESULTS).exists()]
        return (unfinished or begun or [run / next(iter(names))])[-1]

    def _cannot_go_on(self, folder: Path) -> str:
        try:
            recording = read_recording(folder / JOURNAL)
            return "" if recording is None else cannot_go_on(recording, checkpoints_of(folder))
        except LtmError as error:
            return str(error)

    def _unplayed(self, brief: Brief, why: str, *, blamed: bool) -> ScenarioResult:
        agent, span, trial = brief.folder.split("~")[:3]
        return ScenarioResult(
            scenario=brief.scenario,
            example=brief.example,
            agent=agent,
            span_label=span,
            span=self._run.settings.spans[span],
            trial=trial,
            nodeid=brief.nodeid,
            outcome="error" if blamed else "skipped",
            score=None,
            reason=why,
            cause="agent" if blamed else "not reached",
            pass_mark=brief.pass_mark,
            skills=brief.skills,
        )

    def _report(self, brief: Brief, row: ScenarioResult) -> None:
        hook, location = self._run.config.hook, (brief.path, brief.line, brief.name)
        hook.pytest_runtest_logstart(nodeid=brief.nodeid, location=location)
        for report in reports_of(brief, row):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=brief.nodeid, location=location)

    def _write(self, folder: Path, rows: Sequence[ScenarioResult], why: str) -> None:
        if (folder / RESULTS).exists() and all(row.cause != "not reached" for row in rows):
            return  # one of several in the unit, played to its end
        folder.mkdir(parents=True, exist_ok=True)
        last, agent = scene(folder / JOURNAL), rows[0].agent
        spec = next(choice.spec for choice in self._run.settings.agents if choice.label == agent)
        write_results(folder / RESULTS, _conversation(rows, last, spec, why))

    def _say(self, text: str) -> None:
        self.notices.append(text)
        reporter: Any = self._run.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"ltm: {text}", yellow=True)


def _given_up(tries: int) -> str:
    return f"and the conversation is given up: {counted(tries, 'worker')} died at this place"


def _where(last: Scene) -> str:
    if last.message is None:
        return f"where {last.speaking} began" if last.speaking else "before anything was said"
    what = f"message #{last.message}"
    who = f" of {last.speaking}" if last.speaking else ""
    return f"after {what}{who}" if last.answered else f"at {what}{who}"


def _conversation(rows: Sequence[ScenarioResult], last: Scene, spec: str, why: str) -> ConversationResult:
    return ConversationResult(
        agent=rows[0].agent,
        agent_spec=spec,
        span_label=rows[0].span_label,
        span=rows[0].span,
        trial=rows[0].trial,
        plan_fingerprint=str(last.header.get("plan_fingerprint", "")),
        agent_fingerprint=str(last.header.get("agent_fingerprint", "")),
        scenarios=tuple(rows),
        tokens=last.tokens,
        filler_tokens=last.filler_tokens,
        reply_tokens=last.reply_tokens,
        exchanges=last.exchanges,
        simulated_seconds=last.simulated_seconds,
        cost_usd=last.cost_usd,
        notices=(f"the conversation ended early: {why}",),
        ended="agent gone",
    )

"""Recovery: a worker has died. Its conversation goes on where it was, or ends with a reason for each item."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_ltm._costs._bill import Bill, Tariff
from pytest_ltm._errors import LtmError
from pytest_ltm._recording import JOURNAL, RESULTS, read_recording
from pytest_ltm._result import (
    ENDED_EARLY,
    ConversationResult,
    ScenarioResult,
    read_results,
    scenario_from_json,
    write_results,
)
from pytest_ltm._resumable import cannot_go_on
from pytest_ltm.plugin._opened import checkpoints_of
from pytest_ltm.plugin._xdist._reports import reports_of
from pytest_ltm.plugin._xdist._scene import Scene, scene
from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.plugin._run import LtmRun
    from pytest_ltm.plugin._xdist._ledger import Brief, Ledger
    from pytest_ltm.plugin._xdist._units import Unit

ELSEWHERE = "its journal is on the other machine, where the worker was"


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
        self._far: dict[str, Scene] = {}
        """What is told of conversations on other machines, by the name of their folder."""
        self._deaths: dict[str, list[str]] = {}
        """Sentences by conversation, as long as it goes on."""

    @property
    def notices(self) -> list[str]:
        """A sentence for each conversation that went on; of one that is given up its own results tell."""
        return [f"{unit}: {_went_on(deaths)}" for unit, deaths in self._deaths.items()]

    def told(self, name: str, event: Mapping[str, Any]) -> None:
        """A worker on another machine has written an event into the journal of that conversation."""
        if event["event"] == "header":
            self._far[name] = self._nothing_yet(name)
        if name in self._far:
            self._far[name].follow(event)

    def over(self, name: str) -> None:
        """A conversation has come to its end, and its results are here."""
        self._far.pop(name, None)

    def lost(self, worker: str, unit: Unit, *, here: bool) -> bool:
        """Return whether a conversation goes on elsewhere; if not, everything that was not played is reported.

        `here`: the worker wrote into this machine's run folder.
        """
        finished = sum(map(self._ledger.is_finished, unit.items))
        folder = self._folder(unit)
        last = self._scene(folder)
        tries = self._tries.note(unit.name, finished + len(last.said))
        death = f"worker {worker} died {_where(last)}"
        reason = self._cannot_go_on(folder) if here else ELSEWHERE
        if not reason and tries < self._run.settings.worker_tries:
            self._say(f"{unit.name}: {death}; the conversation goes on where it was")
            self._deaths.setdefault(unit.name, []).append(death)
            return True
        reason = reason or f"{counted(tries, 'worker')} died at this place"
        why = f"{death}, and the conversation is given up: {reason}"
        self._say(f"{unit.name}: {why}")
        self._deaths.pop(unit.name, None)
        self.give_up(unit, why, death=death, speaking=last.speaking)
        return False

    def give_up(self, unit: Unit, why: str, *, death: str = "", speaking: str = "") -> None:
        """Report what is left of a conversation: after a `death` an error of who was speaking, the rest not reached.

        Where nobody was (filler, say), the first that had begun answers for it: what ends like this is an error. It
        says `why`, the others refer to the death.
        """
        rows = self._ledger.rows(unit.name)
        briefs = self._ledger.briefs(unit)
        open_ones = [brief for brief in briefs if brief.nodeid not in rows]
        blamed = self._blamed(open_ones, speaking) if death else ""
        others = f"{death}, and the conversation is given up" if blamed else why
        folders: dict[str, list[ScenarioResult]] = {}
        for brief in briefs:
            if brief.nodeid in rows:
                row = scenario_from_json(json.loads(rows[brief.nodeid]))
            else:
                is_it = brief.nodeid == blamed
                row = self._unplayed(brief, why if is_it else others, blamed=is_it)
            folders.setdefault(brief.folder, []).append(row)
            if not self._ledger.is_finished(brief.nodeid):
                self._report(brief, row)
        for name, results in folders.items():
            self._write(self._run.folder.path / name, results, death or why)
        self._ledger.over(unit.name)

    def _blamed(self, open_ones: Sequence[Brief], speaking: str) -> str:
        """Return the node id of the example that answers for a death; "" if all have ended."""
        begun = [
            one for one in open_ones if self._scene(self._run.folder.path / one.folder).spent_by(one.key)["tokens"]
        ]
        ranked = [*(one for one in open_ones if one.key == speaking), *begun, *open_ones]
        return ranked[0].nodeid if ranked else ""

    def _folder(self, unit: Unit) -> Path:
        """Return the folder of the conversation that was being played: the last that was begun and has no results."""
        run = self._run.folder.path
        names = dict.fromkeys(brief.folder for brief in self._ledger.briefs(unit))
        begun = [run / name for name in names if name in self._far or (run / name / JOURNAL).exists()]
        unfinished = [folder for folder in begun if not _is_complete(folder)]
        return (unfinished or begun or [run / next(iter(names))])[-1]

    def _scene(self, folder: Path) -> Scene:
        if folder.name in self._far:
            return self._far[folder.name]
        return scene(folder / JOURNAL, self._nothing_yet(folder.name))

    def _nothing_yet(self, name: str) -> Scene:
        costs = self._run.costs
        known = costs.agents.get(name.partition("~")[0])
        return Scene(Bill(Tariff() if known is None else known.tariff), costs.judge.tariff)

    def _cannot_go_on(self, folder: Path) -> str:
        if self._run.settings.rescored is not None:  # no agent is asked: it is told again from the record
            return ""
        try:
            recording = read_recording(folder / JOURNAL)
            return "" if recording is None else cannot_go_on(recording, checkpoints_of(folder))
        except LtmError as error:
            return str(error)

    def _unplayed(self, brief: Brief, why: str, *, blamed: bool) -> ScenarioResult:
        agent, span, trial = brief.folder.split("~")[:3]
        last = self._scene(self._run.folder.path / brief.folder)
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
            pass_k=brief.pass_k,
            skills=brief.skills,
            **last.spent_by(brief.key),
        )

    def _report(self, brief: Brief, row: ScenarioResult) -> None:
        hook, location = self._run.config.hook, (brief.path, brief.line, brief.name)
        hook.pytest_runtest_logstart(nodeid=brief.nodeid, location=location)
        for report in reports_of(brief, row):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=brief.nodeid, location=location)

    def _write(self, folder: Path, rows: Sequence[ScenarioResult], why: str) -> None:
        if _is_complete(folder):
            return  # one of several in the unit
        folder.mkdir(parents=True, exist_ok=True)
        agent = rows[0].agent
        last = self._scene(folder)
        spec = next(choice.spec for choice in self._run.settings.agents if choice.label == agent)
        write_results(folder / RESULTS, _conversation(rows, last, spec, why))

    def _say(self, text: str) -> None:
        self.notices.append(text)
        reporter: Any = self._run.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"ltm: {text}", yellow=True)


def _went_on(deaths: Sequence[str]) -> str:
    told = deaths[-1] if len(deaths) == 1 else f"{counted(len(deaths), 'worker')} died, the last time {deaths[-1]}"
    return f"{told}; the conversation went on where it was"


def _is_complete(folder: Path) -> bool:
    try:
        return read_results(folder / RESULTS).ended == "complete"
    except (LtmError, OSError):
        return False


def _where(last: Scene) -> str:
    if last.message is None:
        return f"where {last.speaking} began" if last.speaking else "before anything was said"
    what = f"message #{last.message}"
    who = f" of {last.speaking}" if last.speaking else ", which is of no example"
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
        tokens=last.tokens(),
        filler_tokens=last.tokens({"filler"}),
        reply_tokens=last.reply_tokens,
        exchanges=len(last.said),
        simulated_seconds=last.simulated_seconds,
        cost_usd=last.bill.usd,
        filler_cost_usd=last.usd({"filler", "history"}),
        harness_cost_usd=last.usd({"opening", "reset"}),
        hypothetical=last.bill.hypothetical,
        input_tokens=last.bill.input_tokens,
        output_tokens=last.bill.output_tokens,
        cached_tokens=last.bill.cached_tokens,
        notices=(f"{ENDED_EARLY}{why}",),
        ended="agent gone",
    )

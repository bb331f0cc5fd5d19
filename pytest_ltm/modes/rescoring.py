"""Rescoring: obstacles are reported before anything is done, and changed verdicts at the end."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import pytest
from msgspec import structs

from pytest_ltm.api.engine import (
    Conversation,
    ConversationFactory,
    Ending,
    Lane,
    RecordedAgent,
    ending_of,
    ending_told,
)
from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    TIMINGS,
    ConversationRecord,
    Journal,
    Section,
    Timings,
    events,
    read_run_file,
)
from pytest_ltm.api.journal import result as _result
from pytest_ltm.api.model import Capabilities, Reply
from pytest_ltm.api.scenarios import NO_JUDGE, Inquiry, Plan, compared_definition
from pytest_ltm.api.session import (
    LTM_ITEM,
    ItemBody,
    LtmItem,
    items_by_conversation,
    plan_for,
    regenerate_definitions,
    resume_identity,
)
from pytest_ltm.api.session import conversation_setup as _setup
from pytest_ltm.api.storage import (
    JudgeError,
    LtmError,
    UserError,
    lock_holder,
    redact_secrets,
)
from pytest_ltm.figures.text import wrap_text
from pytest_ltm.modes import asked_models as _asked
from pytest_ltm.modes import verdict_changes as _changes
from pytest_ltm.modes.recorded_script import NO_USER, RecordScript
from pytest_ltm.modes.resume_command_line import RESCORE
from pytest_ltm.modes.verdict_changes import rescored_lines
from pytest_ltm.records import amendments as _amendments
from pytest_ltm.records import recorded_verdicts as _verdicts
from pytest_ltm.records.playback import Playback, plan_of, recorded_plan
from pytest_ltm.records.recorded_results import recorded_result
from pytest_ltm.users.simulated_user import UserQuestion
from pytest_ltm.users.user_connection import UserConnection

if TYPE_CHECKING:
    from pytest_ltm.api.session import LtmRun
    from pytest_ltm.judges.connection import JudgeConnection

A = TypeVar("A", events.JudgeAsked, events.JudgeChecked)


class Rescoring:
    """Refuses to rescore a different run, and shows changed verdicts."""

    def __init__(self, run: LtmRun, source: Path) -> None:
        self._run = run
        self._source = source
        self._holder = ""
        """The process that is still writing the run."""
        self.came_to: _changes.Rescored | None = None
        """The result, once the run is over."""
        self._made_anew: dict[str, str] = {}
        """By conversation and example, how its definition is generated now, if that differs from the record."""

    def pytest_ltm_conversation_mode(
        self,
    ) -> Callable[[_setup.ConversationInputs], _setup.ConversationMode]:
        """Compose repetitions of recorded conversations."""
        return partial(RescoredConversation, run=self._source)

    def pytest_report_header(self) -> str:
        """Return a header line about the rescored run."""
        conversations = sum(1 for _ in self._source.glob(f"*/{JOURNAL}"))
        several = (
            f"{conversations} recorded conversation{'s' if conversations != 1 else ''}"
        )
        writing = f", still being written by {self._holder}" if self._holder else ""
        return f"ltm: scored again: run {self._source.name}, {several}{writing}; no agent is called"

    def pytest_sessionstart(self) -> None:
        """Check the options; copy the reviewers' amendments of verdicts."""
        if not self._run.plays or self._run.is_worker:
            return
        try:
            recorded = read_run_file(self._source).settings
            if any(self._source.glob(f"*/{JOURNAL}")):
                settings = resume_identity(self._run.settings)
                problems = _changes.setting_differences(recorded, settings)
            else:
                problems = ["It holds no recorded conversation."]
            self._refuse(problems)
            with contextlib.suppress(OSError):  # a read-only folder
                self._holder = lock_holder(self._source)
            if _amendments.read_amendments(self._source):
                shutil.copyfile(
                    self._source / _amendments.FILE,
                    self._run.folder.path / _amendments.FILE,
                )
        except (LtmError, OSError) as error:
            raise pytest.UsageError(f"{RESCORE}: {error}") from error

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check each plan once it is known which examples are selected."""
        yield
        if self._run.plays:
            groups = items_by_conversation(item.stash[LTM_ITEM] for item in items)
            problems: list[str] = []
            for name, group in groups.items():
                problems += self._problems(name, group)
            self._refuse(problems)

    @pytest.hookimpl(tryfirst=True)
    def pytest_ltm_report_sections(self, result: _result.RunResult) -> Section:
        """Return the changed verdicts; `result`: the run's result, amended."""
        after = [row for row in result.scenarios if row.cause != "not reached"]
        former_rows: list[_result.ScenarioResult] = []
        for path in sorted(self._source.glob(f"*/{JOURNAL}")):
            former_rows += _verdicts.recorded_rows(path.parent)
        kept_reasons = {}
        for conversation in result.conversations:
            for verdict in conversation.kept:
                place = f"{conversation.name} {verdict.example}"
                kept_reasons[place] = verdict.why
        folders = self._source, self._run.folder.path
        plans: dict[_result.ConversationName, list[Plan]] = {}
        for row in after:
            plans[row.conversation] = []
        for name, folder in itertools.product(plans, folders):
            with contextlib.suppress(LtmError):
                # An unreadable plan explains nothing.
                plan = recorded_plan(folder / name.folder / JOURNAL)
                plans[name] += [plan] if plan is not None else []
        came_to = _changes.compare_scorings(
            self._source.name, former_rows, after, plans=plans, kept=kept_reasons
        )
        self.came_to = structs.replace(came_to, definitions=self._made_anew)
        return Section(
            json={"rescored": self.came_to.to_json()},
            notes=tuple(self.came_to.sentences()),
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print changed verdicts above the tables."""
        yield
        if self.came_to is None:
            return
        width = max(self._run.config.get_terminal_writer().fullwidth, 40)
        for line in rescored_lines(self.came_to, width):
            terminalreporter.write_line(line)
        if self._holder:
            later = f"run {self._source.name} was still being written: score it again when it has ended"
            for line in wrap_text(later, width, "  "):
                terminalreporter.write_line(line, yellow=True)

    def _problems(
        self, name: _result.ConversationName, group: list[LtmItem]
    ) -> Iterator[str]:
        """Yield why a conversation cannot be rescored; record which definitions are generated differently now."""
        try:
            recorded = recorded_plan(self._source / name.folder / JOURNAL)
        except LtmError as error:
            yield f"{name.folder}: {error}"
            return
        if recorded is None:
            return
        if texts := _changes.plan_differences(
            recorded, plan_for(group, self._run.settings).plan
        ):
            yield f"{name.folder}: {' '.join(texts)}"
            return
        then: dict[str, object] = {}
        for example in recorded.examples:
            then[example.key] = compared_definition(example.definition)
        for key, definition in regenerate_definitions(
            group, self._run.settings
        ).items():
            if definition != then[key]:
                if isinstance(definition, str):
                    reason = definition
                else:
                    reason = "it is generated differently now"
                self._made_anew[f"{name} {key}"] = reason

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            self._run.plays = False  # nothing is shown
            if not self._run.is_worker:
                shutil.rmtree(self._run.folder.path, ignore_errors=True)
            raise pytest.UsageError(
                f"{RESCORE}: run {self._source.name} cannot be scored again like this:\n  "
                + "\n  ".join(problems)
                + "\nWhat may change is how it is scored: evaluators, --ltm-scoring, --ltm-judge"
            )


# --- Rescoring a recorded conversation: its inputs, its folder, its judge, and the
# results of its examples.


class RescoredConversation(_setup.ConversationMode):
    """A rescored conversation in a folder of its own: the record supplies script and replies."""

    def __init__(self, inputs: _setup.ConversationInputs, run: Path) -> None:
        super().__init__(inputs)
        self._source = run / inputs.folder.name
        self._result = recorded_result(self._source)
        rows = () if self._result is None else self._result.scenarios
        self._rows = {row.id: row for row in rows}
        self._playback = Playback(ConversationRecord(), ())
        self._plan: Plan | None = None
        """The original plan; None if nothing is recorded."""
        self._script: RecordScript

    def plan(self, today: Plan) -> Plan:
        """Return the recorded plan with the current rules, or the current plan if nothing is recorded."""
        recorded = recorded_plan(self._source / JOURNAL)
        if recorded is None:
            return today
        return _changes.rescored_plan(
            recorded, today, same_judge=self.inputs.settings.judge.is_none
        )

    def begin(self, factory: ConversationFactory) -> _setup.OpenConversation:
        """Begin a new folder, with the recorded data about the agent; or return a reason if nothing can be repeated."""
        folder = self.inputs.folder
        plan = factory.plan
        playback = Playback.open_playback(self._source / JOURNAL)
        if playback is None:
            return self.refuse(factory, "nothing is recorded of its conversation")
        self._playback = playback
        self._plan = plan_of(playback.header)
        _setup.write_plan(folder, plan)
        header = structs.replace(
            playback.header, plan=plan.to_json(), plan_fingerprint=plan.fingerprint
        )
        if factory.clock.real and header.now is not None:
            factory.clock.jump_to_recorded(header.now)
        for name in (JOURNAL, TIMINGS):  # left by a worker that died
            (folder / name).unlink(missing_ok=True)
        journal = Journal.at(folder / JOURNAL)
        journal.write(header)
        return self._opened(factory, journal, Timings.at(folder / TIMINGS), header)

    def refuse(
        self, factory: ConversationFactory, obstacle: str
    ) -> _setup.OpenConversation:
        """Return a conversation that cannot be repeated."""
        return self._opened(factory, Journal(), Timings(), obstacle=obstacle)

    def _opened(
        self,
        factory: ConversationFactory,
        journal: Journal,
        timings: Timings,
        header: events.Header | None = None,
        obstacle: str = "",
    ) -> _setup.OpenConversation:
        recorded_agent = RecordedAgent(Capabilities(), 1)
        if header is not None and header.agent:
            facts = header.agent
            recorded_agent = RecordedAgent(
                Capabilities(facts.capabilities), max(facts.max_message_tokens, 1)
            )
        self._script = script = RecordScript(self._playback, self._kept_ending)
        port = factory.recorded_port(
            self._playback,
            factory.live_port(self._playback.no_agent, timings, known=recorded_agent),
        )
        return _setup.OpenConversation(
            script=script,
            port=port,
            journal=journal,
            timings=timings,
            observers=[script.skip_passed],
            obstacle=obstacle,
            agent_fingerprint="" if header is None else header.agent_fingerprint,
        )

    # --- its judge

    def judge(
        self, opened: _setup.OpenConversation, questions: _setup.KnownQuestions
    ) -> JudgeConnection | None:
        """Return the original judge's replies, with the current judge if there is one; None if there was no judge."""
        inputs = self.inputs
        judge_line = _asked.judge_for(
            inputs, opened, questions, recalled=self._recalled
        )
        if judge_line is not None or self._plan is None or self._plan.judge == NO_JUDGE:
            return judge_line
        from pytest_ltm.judges.connection import JudgeConnection

        def refuse(_inquiry: Inquiry) -> Reply:
            raise JudgeError(
                "the recorded judge was not asked this. Name a judge: --ltm-judge=SPEC",
                cause="requires",
            )

        return JudgeConnection(
            refuse,
            configuration=None,
            cache=None,
            journal=opened.journal,
            timings=opened.timings,
            trial=str(inputs.place.trial),
            votes=self._plan.judge_votes,
            recalled=self._recalled,
            checks=_asked.hidden_checks(inputs, questions),
            asks_anew=False,
        )

    def users(self, opened: _setup.OpenConversation) -> UserConnection:
        """Return the recorded replies of simulated users' models; other questions are refused."""

        def recalled(
            example: str, question: UserQuestion
        ) -> events.UserModelAsked | None:
            return self._playback.reply(
                events.UserModelAsked, example, question.digest, question.vote
            )

        def refuse(_model: object, _name: str) -> NoReturn:
            self._playback.wanted = NO_USER
            raise UserError(NO_USER)

        return _asked.users_for(self.inputs, opened, open=refuse, recalled=recalled)

    def _recalled(self, kind: type[A], example: str, inquiry: Inquiry) -> A | None:
        """Return the original judge's reply to the same question; None with a different judge, or if it was not asked.

        A judge that failed is asked again, if there is one.
        """
        judge = self.inputs.settings.judge
        then = "" if self._plan is None else self._plan.judge
        # The plan names the judge with the versions of its prompts, which may have
        # changed since.
        if self._plan is None or (
            not judge.is_none
            and (then.rpartition(" (")[0] or then) != redact_secrets(judge.judge)
        ):
            return None
        result = self._playback.reply(kind, example, inquiry.digest, inquiry.vote)
        if result is not None and not judge.is_none and result.fault is not None:
            return None
        return result

    # --- the results of its examples

    def end_example(
        self, body: ItemBody, lane: Lane, ending: Ending, row: _result.ScenarioResult
    ) -> _result.ScenarioResult:
        """Return the recorded row if the example keeps its verdict."""
        if row.id in body.conversation.changed_scripts:
            return self._rows.get(row.id, row)
        return row

    def notices(self, conversation: Conversation) -> list[str]:
        """Return the recorded notices about the conversation and its agent, without those on verdicts kept then."""
        if self._result is None:
            return []
        kept_notices = {verdict.notice_text for verdict in self._result.kept}
        return [notice for notice in self._result.notices if notice not in kept_notices]

    def keep_result(
        self,
        conversation: Conversation,
        result: _result.ConversationResult,
        *,
        stopped: bool,
        replaying: bool,
    ) -> None:
        """Write the results, with the recorded agent and ending."""
        header = self._playback.record.header
        then = self._result
        ended = result.ended
        if conversation.ended_because is not None and self._script.cut_short:
            ended = "interrupted"
        elif (
            conversation.ended_because is not None
            and then is not None
            and then.ended != "complete"
        ):
            ended = then.ended
        kept_verdicts: list[_result.KeptVerdict] = []
        for example, reason in conversation.changed_scripts.items():
            kept_verdicts.append(_result.KeptVerdict(example=example, why=reason))
        spec = (then and then.agent_spec) or (
            header.agent.spec if header and header.agent else ""
        )
        _result.write_results(
            self.inputs.folder / RESULTS,
            replace(result, agent_spec=spec, ended=ended, kept=tuple(kept_verdicts)),
        )

    def _kept_ending(self, example: str) -> Ending:
        if example in self._rows:
            return ending_of(self._rows[example])
        return ending_told(self._playback.record.example(example).verdict)

"""DryRun: `--ltm-dry-run` estimates the schedule and the cost of a run; nothing is sent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.agents.profile import CostSimulator, profile_of
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.api.engine import Conversation, ConversationFactory, Ending, Lane
from pytest_ltm.api.journal import (
    SCRIPTED,
    ConversationResult,
    Journal,
    ScenarioResult,
    Timings,
)
from pytest_ltm.api.model import Kind, Reply, Usage
from pytest_ltm.api.scenarios import Inquiry
from pytest_ltm.api.session import (
    ConversationInputs,
    ConversationMode,
    ItemBody,
    KnownCost,
    KnownQuestions,
    OpenConversation,
)
from pytest_ltm.api.session import options as _options
from pytest_ltm.api.storage import UserError
from pytest_ltm.figures.forecast import (
    MESSAGE,
    OPINION,
    Bar,
    Forecast,
    Schedule,
    TokenUse,
)
from pytest_ltm.judges.connection import JudgeConnection
from pytest_ltm.judges.model_calls import BudgetedCaller, ModelCaller
from pytest_ltm.modes.asked_models import users_for
from pytest_ltm.reports.forecast_lines import PriceSource, forecast_lines
from pytest_ltm.users.simulated_user import UserQuestion
from pytest_ltm.users.user_connection import (
    USER_MODEL_NAME,
    UserConnection,
    find_user_model,
)

if TYPE_CHECKING:
    from pytest_ltm.api.session import LtmRun


@dataclass(frozen=True, slots=True)
class Chatty:
    """A simulated user's model that uses all its turns; `note` is called with the usage of each message."""

    note: Callable[[TokenUse], object]

    def assess(self, question: UserQuestion, /) -> str:
        """Return a message of ordinary length that mentions all required facts; it ends the talk at the last turn."""
        text = " ".join([*question.facts, *["and so on"] * (MESSAGE // 3)])
        length = MESSAGE + count_tokens(" ".join(question.facts))
        self.note(
            TokenUse(
                messages=1, tokens_in=count_tokens(question.text), tokens_out=length
            )
        )
        return json.dumps({"message": text, "done": question.left == 1})


class Rehearsed(ConversationMode):
    """A conversation with a simulated agent of the same capabilities; `keep_forecast` gets its forecast."""

    withheld = "dry run: no agent was called"

    def __init__(
        self, inputs: ConversationInputs, keep_forecast: Callable[[Forecast], object]
    ) -> None:
        super().__init__(inputs)
        self._keep_forecast = keep_forecast
        self._bars = list[Bar]()
        self._unplayed = list[str]()
        self._cut = 0
        self._judge = TokenUse()
        self._users: dict[str, TokenUse] = defaultdict(TokenUse)
        self._simulated: CostSimulator

    def open(self, factory: ConversationFactory) -> OpenConversation:
        """Return a conversation without files: nothing is written."""
        assumed = self.inputs.settings.assumed_reply
        self._simulated = CostSimulator(
            profile_of(self.inputs.source),
            factory.counter,
            factory.clock,
            assumed=assumed,
        )
        return OpenConversation(
            script=factory.agenda(),
            port=self._simulated,
            journal=Journal(),
            timings=Timings(),
        )

    def judge(
        self, opened: OpenConversation, _questions: KnownQuestions
    ) -> JudgeConnection | None:
        """Return the connection to a judge that approves everything."""
        inputs = self.inputs
        if inputs.settings.judge.is_none:
            return None

        def approve(inquiry: Inquiry) -> Reply:
            grade = next(
                (grade for grade in inquiry.grades if grade != inquiry.fail),
                inquiry.fail,
            )
            size = count_tokens(inquiry.text)
            self._judge += TokenUse(messages=1, tokens_in=size, tokens_out=OPINION)
            return Reply(
                f"GRADE: {grade}", Usage(input_tokens=size, output_tokens=OPINION)
            )

        return JudgeConnection(
            approve,
            configuration=None,
            cache=None,
            journal=opened.journal,
            timings=opened.timings,
            trial=str(inputs.place.trial),
            votes=inputs.settings.judge.votes,
        )

    def users(self, opened: OpenConversation) -> UserConnection:
        """Return the connection to users that use all their turns; a list of messages is used unchanged."""

        def pretend(model: Any, name: str) -> BudgetedCaller:
            def note(use: TokenUse) -> None:
                self._users[name] += use

            user_model = find_user_model(model) if name == SCRIPTED else Chatty(note)
            caller = ModelCaller(
                user_model, who=USER_MODEL_NAME, error=UserError, timeout=None
            )
            return BudgetedCaller(caller, "user", Journal())

        return users_for(self.inputs, opened, open=pretend)

    def end_example(
        self, body: ItemBody, lane: Lane, ending: Ending, row: ScenarioResult
    ) -> ScenarioResult:
        """Record when the example spoke, and what prevented its end."""
        example = lane.example
        if ending.unplayable is not None:
            self._unplayed.append(f"{example.scenario}: {ending.unplayable}")
        self._cut += body.assertion is not None or (
            ending.error is not None and body.is_begun
        )
        # An example that could not be played said nothing, and has no bar.
        if lane.own:
            starts = tuple(exchange.start for exchange in lane.own)
            end = lane.own[-1].end
            bar = Bar(
                scenario=example.scenario,
                example=example.example,
                start=starts[0],
                end=end,
                speaks=starts,
            )
            self._bars.append(bar)
        return row

    def keep_result(
        self,
        conversation: Conversation,
        result: ConversationResult,
        *,
        stopped: bool,
        replaying: bool,
    ) -> None:
        """Forward the forecast; nothing is written."""
        if stopped:
            return
        transcript = conversation.channel.transcript
        longest_gap = 0
        for row in result.scenarios:
            for question in row.questions:
                for needle in question.needles:
                    longest_gap = max(longest_gap, needle.gap)

        def use(*kinds: Kind) -> TokenUse:
            total = TokenUse()
            for exchange in transcript:
                if exchange.kind in kinds:
                    total += self._simulated.uses.get(exchange.number, TokenUse())
            return total

        self._keep_forecast(
            Forecast(
                agent=result.agent,
                span_label=result.span_label,
                tokens=result.tokens,
                filler_tokens=result.filler_tokens,
                told=sum(exchange.told for exchange in transcript),
                retold=self._simulated.retold,
                scenarios=use("say", "ask"),
                filler=use("filler", "history"),
                harness=use("opening", "reset"),
                judge=self._judge,
                users=self._users,
                longest_gap=longest_gap,
                simulated_seconds=result.simulated_seconds,
                examples=len(conversation.plan.examples),
                unplayed=tuple(dict.fromkeys(self._unplayed)),
                cut_short=self._cut,
                schedule=Schedule(
                    tuple(self._bars), result.tokens, len(conversation.plan.examples)
                ),
                assumed_reply=self.inputs.settings.assumed_reply,
            )
        )


def add_forecast(entries: dict[tuple[str, str], Forecast], forecast: Forecast) -> None:
    """Add a conversation's forecast to that of its agent and span."""
    column = forecast.agent, forecast.span_label
    entries[column] = entries[column] + forecast if column in entries else forecast


_NOT_WITH = {
    "ltm_resume": "the rest of a run cannot be estimated",
    "ltm_rescore": "rescoring calls no agent",
}


class DryRun:
    """Plays every conversation with a simulated agent, and shows the forecast."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._found: dict[tuple[str, str], Forecast] = {}
        """The forecasts by agent and memory span."""
        self._probes: Mapping[str, TokenUse] = {}
        self._reports: dict[object, pytest.TestReport] = {}
        option = run.config.option
        for name, reason in _NOT_WITH.items():
            if getattr(option, name, None):
                raise pytest.UsageError(
                    f"--ltm-dry-run: not with --{name.replace('_', '-')}: {reason}"
                )
        # It is over before workers would have started.
        option.dist = "no"
        option.tx = []
        option.numprocesses = None

    def pytest_report_header(self) -> str:
        """Return a header line saying that nothing is sent."""
        return "ltm: dry run: no agent or judge is called, nothing is written"

    def pytest_ltm_conversation_mode(
        self,
    ) -> Callable[[ConversationInputs], ConversationMode]:
        """Compose conversations with simulated agents."""
        return partial(Rehearsed, keep_forecast=partial(add_forecast, self._found))

    def pytest_ltm_precheck(self, session: pytest.Session) -> None:
        """Estimate the probe if the run would have one; a dry run is never refused."""
        probe: Any = self._run.config.pluginmanager.get_plugin("ltm-probe")
        self._probes = probe.forecast(session)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Let the terminal keep one report of those that it only counts: a hundred thousand would fill the memory."""
        yield
        option = self._run.config.option
        terminal = self._run.config.pluginmanager.get_plugin("terminalreporter")
        names_each = option.durations is not None or not getattr(
            option, "fold_skipped", True
        )
        if report.failed or names_each or terminal is None:
            return
        for category, reports in terminal.stats.items():
            if reports and reports[-1] is report:
                key = (category, report.when, str(report.longrepr))
                reports[-1] = self._reports.setdefault(key, report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print the schedule and the figures below pytest's own summary."""
        yield
        if not self._found:
            return
        terminalreporter.write_sep("=", "dry run")
        result = list(self._found.values())
        costs = self._run.costs
        settings = self._run.settings
        canaries: Any = self._run.config.pluginmanager.get_plugin("ltm-canaries")
        priced = {}
        for label, cost in costs.agents.items():
            profile = profile_of(self._run.sources[label])
            priced[label] = _price_source(
                cost, policy=profile.policy, brief=profile.brief
            )
        users = {}
        for forecast in result:
            for name in forecast.users:
                users[name] = _price_source(costs.user(name))
        for line in forecast_lines(
            result,
            priced,
            _price_source(costs.judge),
            users=users,
            probes=self._probes,
            canaries=TokenUse() if canaries is None else canaries.forecast(),
            width=self._run.config.get_terminal_writer().fullwidth,
            latency=settings.latency,
            waits_really=_options.option_text(self._run.config, "ltm_time") == "sleep",
            color=terminalreporter.hasmarkup,
        ):
            terminalreporter.write_line(line)


def _price_source(cost: KnownCost, **profile: Any) -> PriceSource:
    return PriceSource(
        price=cost.tariff.price, source=cost.source, free=cost.tariff.free, **profile
    )

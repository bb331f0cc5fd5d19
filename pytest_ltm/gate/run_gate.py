"""The gate of an LTM run: checks what it can before the run; its verdict decides the exit status."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from pytest_ltm.api.journal import (
    DECIDED,
    FAILED,
    RunResult,
    ScreenLine,
    Section,
    why_unmeasured,
)
from pytest_ltm.api.scenarios import FRESH
from pytest_ltm.api.session import (
    LtmItem,
    LtmRun,
    RunSettings,
    items_by_conversation,
    path_base,
    read_option,
)
from pytest_ltm.api.session import options as _options
from pytest_ltm.api.storage import LtmError, did_you_mean, one_line
from pytest_ltm.figures.columns import only_guesses, result_columns
from pytest_ltm.figures.statistics.paired_comparison import COLLAPSES
from pytest_ltm.figures.statistics.pairs import Pair
from pytest_ltm.figures.text import wrap_texts
from pytest_ltm.gate import change_report
from pytest_ltm.gate import gate_rules as _rules
from pytest_ltm.gate.baseline import FOLDER, check_name
from pytest_ltm.gate.blindness import why_undetectable
from pytest_ltm.gate.changes import (
    Changes,
    CompareHints,
    GateSide,
    check_comparable,
    compare_sides,
    one_agent,
)
from pytest_ltm.gate.gate_markdown import gate_section
from pytest_ltm.gate.gate_rules import Rule, Scope
from pytest_ltm.gate.plan_facts import facts_of
from pytest_ltm.gate.sides import find_side, save_baseline, side_of_run
from pytest_ltm.gate.verdict import GateVerdict, decide_gate

_HINTS = CompareHints(
    common="--ltm-compare-plans=overlapping",
    choose_agent="Name one as in --ltm-compare=RUN@AGENT",
    settings=True,
)


class GateOptions(Struct, frozen=True, kw_only=True):
    """The options of the gate."""

    rules: tuple[Rule, ...] = ()
    before: GateSide | None = None
    """The side that the run is compared with; it has one agent."""
    overlapping: bool = False
    """Whether equal examples are compared although the plans differ."""
    collapses: float = COLLAPSES
    """The share of its conversations in which either side may earn nothing without being worse."""
    allow_blind: bool = False
    """Whether a rule passes even if the loss of nine tenths of everything would not break it."""
    save: str = ""
    """The name of the baseline to save; "" for none."""


def parse_gate_options(
    config: pytest.Config, settings: RunSettings, run_folder: Path
) -> GateOptions:
    """Return the gate options; `run_folder` is this run's own, which cannot be compared with itself."""
    if settings.seed.source == FRESH and _options.option_or_ini(config, "ltm_compare"):
        raise pytest.UsageError(
            "--ltm-seed: a fresh seed makes texts that no baseline has: --ltm-compare has nothing to compare with. "
            "Use the baseline's seed: a number, or env:NAME for a secret one"
        )
    change_rules = _parse_rules(
        config, "ltm_compare_fail", _rules.parse_change_rule, "mean:5%"
    )
    limit_rules = _parse_rules(config, "ltm_fail_under", _rules.parse_limit_rule, "0.8")
    gate_options = GateOptions(
        rules=(*change_rules, *limit_rules),
        before=read_option(
            config,
            "--ltm-compare",
            lambda: _baseline_side(config, settings, run_folder),
        ),
        overlapping=_options.option_value(config, "ltm_compare_plans") == "overlapping",
        collapses=_options.option_value(config, "ltm_compare_collapses"),
        allow_blind=_options.option_value(config, "ltm_compare_blind") == "allow",
        save=read_option(
            config, "--ltm-save", lambda: _baseline_name(config, settings)
        ),
    )
    for rule in gate_options.rules:
        problem = next(_rule_problems(rule, gate_options.before, settings), "")
        if problem:
            raise _unusable_rule(rule, problem)
    return gate_options


def _parse_rules(
    config: pytest.Config, dest: str, parse_one: Callable[[str], Rule], example: str
) -> list[Rule]:
    """Return the rules of an option; an empty text, as from an unset variable, is an error, not an open gate."""
    flag = _options.option_table(config).rows[dest].flag
    if any(not str(text).strip() for text in config.getoption(dest) or ()):
        raise pytest.UsageError(
            f"{flag}: no rule is given. Write one, as in {flag}={example}, or leave the option out"
        )
    return read_option(
        config, flag, lambda: list(map(parse_one, _options.option_lines(config, dest)))
    )


def _baseline_side(
    config: pytest.Config, settings: RunSettings, run_folder: Path
) -> GateSide | None:
    text = _options.option_or_ini(config, "ltm_compare")
    if text is None:
        return None
    base = path_base(config, "ltm_compare")
    side, name = find_side(
        text, config.rootpath / FOLDER, settings.ltm_dir, base, measured=True
    )
    if name.partition("@")[0] == str(run_folder):
        raise pytest.UsageError(
            f"--ltm-compare: {text!r} is this very run. Name the one to compare it with"
        )
    # workers and a resumed run must use the same side: 'latest' may change meanwhile
    config.option.ltm_compare = name
    return one_agent(side, how=_HINTS.choose_agent)


def _baseline_name(config: pytest.Config, settings: RunSettings) -> str:
    name = config.getoption("ltm_save")
    if name is None:
        return ""
    if len(settings.agents) > 1:
        labels = ", ".join(agent.label for agent in settings.agents)
        raise pytest.UsageError(
            f"--ltm-save: a baseline is of one agent, and this run has {labels}. Run one of them"
        )
    if settings.shard is not None:
        raise pytest.UsageError(
            "--ltm-save: a shard is not the whole run. Merge the shards and save nothing here"
        )
    return check_name(name)


def _unusable_rule(rule: Rule, problem: str) -> pytest.UsageError:
    """Return the error for a rule by which this run can never be measured."""
    flag = "--ltm-compare-fail" if rule.against else "--ltm-fail-under"
    return pytest.UsageError(f"{flag}: {rule.text!r}: {problem}")


def _rule_problems(
    rule: Rule, before: GateSide | None, settings: RunSettings
) -> Iterator[str]:
    """Yield what makes the rule impossible, before collection; the caller reports the first."""
    longest = max(
        (tokens for tokens in settings.spans.values() if tokens is not None), default=0
    )
    if settings.shard is not None:
        yield "a shard is not the whole run. Merge the shards, then: ltm compare"
    if rule.metric.tries > settings.trials:
        yield f"{rule.metric.tries} trials of {settings.trials}. Add --ltm-trials={rule.metric.tries}"
    if rule.metric.name == "span" and (
        None not in settings.spans.values() or not longest
    ):
        yield "an effective span needs isolated examples and memory spans: --ltm-span=isolated,2k,32k"
    if rule.metric.name == "span" and not rule.against and rule.limit > longest:
        yield f"no memory span of this run is that long: the longest is {longest:,} tokens"
    if rule.against and before is None:
        yield "nothing to compare with. Add --ltm-compare=NAME"
    if not rule.against or before is None:
        return
    missing = [span for span in settings.spans if span not in before.spans]
    if missing:
        yield f"{before.name} has no memory span {', '.join(missing)} (it has {', '.join(before.spans)})"
    if rule.metric.unit == "usd" and _lacks_costs(before, settings.spans):
        yield (
            f"{before.name} lacks the cost of some replies. Record it again with an agent that reports its cost, or "
            "with --ltm-price"
        )


def _lacks_costs(side: GateSide, spans: Collection[str]) -> bool:
    return any(
        conversation.cost_usd is None and conversation.span_label in spans
        for conversation in side.result.conversations
    )


# --- Checks once the items are known, before the first conversation.


def check_items(
    ltm_items: Sequence[LtmItem], options: GateOptions, settings: RunSettings
) -> None:
    """Raise UsageError for a rule, or a marker's pass_k, that these items can never satisfy or break."""
    for ltm_item in ltm_items:
        needed = ltm_item.marks.pass_k
        if needed is not None and needed > settings.trials and settings.shard is None:
            reason = f"{needed} trials must pass (pass_k={needed}), and the run has {settings.trials}"
            raise pytest.UsageError(
                f"{ltm_item.scenario}: {reason}. Add --ltm-trials={needed} or more"
            )
    for rule in options.rules:
        problem = _scope_problem(rule.scope, ltm_items)
        if not problem and options.before is not None:
            pairs = _unchanged_pairs(rule.scope, ltm_items, options.before)
            problem = why_undetectable(rule, pairs)
        if problem:
            raise _unusable_rule(rule, problem)


def _scope_problem(scope: Scope, ltm_items: Sequence[LtmItem]) -> str:
    """Return a sentence if no item is in the scope of a rule, else ""."""
    names: set[str] = set()
    for ltm_item in ltm_items:
        if scope.kind == "skill":
            names.update(ltm_item.marks.skill_letters)
        else:
            names.add(ltm_item.scenario)
    if not scope.kind or scope.name in names:
        return ""
    hint = did_you_mean(scope.name, names)
    choices = ", ".join(sorted(names)) or "none"
    return f"this run has no {scope.kind} {scope.name!r}.{hint} Choose from {choices}"


def _unchanged_pairs(
    scope: Scope, ltm_items: Sequence[LtmItem], before: GateSide
) -> list[tuple[str, Pair]]:
    """Return agent and scores of each example in a rule's scope, as if nothing had changed since the baseline."""
    places = {plan.place for plan in before.plans}
    pairs = []
    for ltm_item in ltm_items:
        place = ltm_item.place
        trial = place.conversation.trial
        if (place.span, trial) in places and scope.includes_skills(
            ltm_item.scenario, ltm_item.marks.skill_letters
        ):
            pair = Pair(
                ltm_item.scenario,
                place.example,
                place.span,
                trial,
                before=1.0,
                after=1.0,
            )
            pairs.append((place.agent, pair))
    return pairs


def check_plans(
    ltm_items: Sequence[LtmItem], options: GateOptions, run: LtmRun
) -> None:
    """Raise UsageError with the differences if this run's plans are not those of the baseline."""
    if options.before is None or not run.plays:
        return
    facts = []
    for name, group in items_by_conversation(ltm_items).items():
        plan = run.composition.plan(group, run.conversations())
        facts.append(
            facts_of(
                plan.to_json(),
                span_label=name.span,
                trial=name.trial,
                fingerprint=plan.fingerprint,
            )
        )
    no_result = RunResult(run_id="", conversations=())
    after = GateSide(name="this run", result=no_result, plans=tuple(facts))
    nodes: dict[str, str] = {}
    for ltm_item in ltm_items:
        nodes[ltm_item.scenario] = ltm_item.item.nodeid.partition("[")[0]
    hints = structs.replace(_HINTS, nodes=nodes)
    before = options.before
    read_option(
        run.config,
        "--ltm-compare",
        lambda: check_comparable(before, after, hints, common=options.overlapping),
    )


_COLORS = {"passed": "green", "failed": "red", "unmeasurable": "yellow"}


class Gate:
    """The gate of one run in this process; workers only know whether there is one."""

    def __init__(self, run: LtmRun, options: GateOptions, failed: list[str]) -> None:
        """`failed`: the node ids of failures so far, a list that may still grow."""
        self._run = run
        self.options = options
        self._failed = failed
        self.verdict: GateVerdict | None = None
        """The verdict, set when the run is over; None without a gate."""
        self.changes: Changes | None = None
        """The changes since the baseline; None without one."""
        self._notes: list[str] = []

    # --- before the run

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_header(self) -> list[str]:
        """Return the gate's rules as header lines; tried first, because pytest shows the first of the headers last."""
        lines = [f"ltm: gate: {rule.sentence}" for rule in self.options.rules]
        if self.options.before is not None:
            lines.insert(0, f"ltm: compared with: {self.options.before.name}")
        return lines

    def check(self, ltm_items: Sequence[LtmItem]) -> None:
        """Raise UsageError for rules that these items can never be measured by."""
        is_whole = self._run.settings.shard is None
        # An example's trials may be in several shards, so pass_k is judged when they
        # are merged.
        self._run.gated = bool(self.options.rules) or (
            is_whole and any(ltm_item.marks.pass_k for ltm_item in ltm_items)
        )
        if ltm_items:
            check_items(ltm_items, self.options, self._run.settings)
            check_plans(ltm_items, self.options, self._run)

    # --- after it

    def conclude(self, result: RunResult, status: int) -> Section:
        """Compare, judge and save the baseline; return the report section."""
        # First, because the rules of --ltm-compare-fail depend on the changes.
        problem = self._compare(result)
        has_pass_k = any(row.pass_k is not None for row in result.scenarios)
        if self.options.rules or has_pass_k:
            self._decide(result, status, problem)
        if self.options.save:
            self._notes.append(self._save(result, status))
        return structs.replace(
            gate_section(self.verdict, self.changes, self.options.rules),
            json=self._json(),
            screen=tuple(self._screen_lines()),
            notes=tuple(self._notes),
        )

    def _decide(self, result: RunResult, status: int, problem: str) -> None:
        """Set the verdict, or note why there is none; `problem`: why the comparison was impossible, or ""."""
        if self._run.settings.shard is not None:
            self._notes.append(
                "gate: not decided: a shard is not the whole run. Merge, then compare"
            )
            return
        if status not in DECIDED:
            self._notes.append(
                f"gate: not decided: pytest ended with exit status {status}"
            )
            return
        ends = {conversation.ended for conversation in result.conversations}
        if not problem and "interrupted" in ends:
            problem = "the run did not finish"
        self.verdict = decide_gate(
            result,
            self.options.rules,
            self.changes,
            lost_too=problem,
            allow_blind=self.options.allow_blind,
        )

    def _compare(self, result: RunResult) -> str:
        """Compare with the baseline; return why that is impossible, or ""."""
        if self.options.before is None:
            return ""
        try:
            # Read from the folder, which includes the plans of xdist's workers.
            plans = side_of_run(self._run.folder.path).plans
            side = GateSide(name="this run", result=result, plans=plans)
            self.changes = compare_sides(
                self.options.before,
                side,
                _HINTS,
                common=self.options.overlapping,
                collapses=self.options.collapses,
            )
        except LtmError as error:
            self._notes.append(one_line(f"not compared: {error}"))
            return one_line(
                f"it cannot be compared: {str(error).splitlines()[0]}"
            ).rstrip(":")
        return ""

    def _save(self, result: RunResult, status: int) -> str:
        """Save the baseline if possible; return a sentence on the outcome."""
        ends = {conversation.ended for conversation in result.conversations}
        finished = status in DECIDED and ends <= {"complete"}
        reason = why_unmeasured(result)
        if not reason and not finished:
            reason = "the run did not finish"
        # A result that the gate refused must not become the next run's baseline.
        if not reason and self.verdict is not None and self.verdict.state != "passed":
            reason = change_report.verdict_line(self.verdict)
        if reason:
            return f"baseline {self.options.save!r} not saved: {reason}"
        try:
            side = structs.replace(side_of_run(self._run.folder.path), result=result)
            saved = save_baseline(
                side,
                self.options.save,
                self._run.config.rootpath / FOLDER,
                version("pytest-ltm"),
            )
            if only_guesses(result_columns(result)):
                saved += f". It is not shown to be better than guessing, {change_report.UNNOTICED}"
        except LtmError as error:
            saved = one_line(str(error))
        return saved.replace(str(self._run.config.rootpath) + os.sep, "")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Append the verdict to pytest's last line, in its colour: green tests must not hide a red gate."""
        if self.verdict is None:
            return
        text = f"gate: {change_report.name_verdict(self.verdict)}"
        has_passed = self.verdict.state == "passed" and not self._failed
        build = terminalreporter.build_summary_stats_line

        def build_with_verdict() -> tuple[list[tuple[str, dict[str, bool]]], str]:
            parts, color = build()
            if not has_passed:
                color = "red"
            return [*parts, (text, {color: True, "bold": True})], color

        terminalreporter.build_summary_stats_line = build_with_verdict

    def exit_status(self, status: int) -> int | None:
        """Return the exit status of the verdict, which replaces only 0 and 1."""
        if self.verdict is None or status not in DECIDED:
            return None
        if self.verdict.state == "passed" and self._failed:
            return FAILED
        return self.verdict.status

    def _json(self) -> dict[str, Any]:
        """Return the fields of gate and comparison in `summary.json`."""
        fields: dict[str, Any] = {}
        if self.verdict is not None:
            fields["gate"] = change_report.gate_json(self.verdict)
        if self.changes is not None:
            fields["comparison"] = change_report.changes_json(self.changes)
        return fields

    def _screen_lines(self) -> Iterator[ScreenLine]:
        """Yield the changes, then the verdict, which readers look at first in the last line."""
        width = max(self._run.config.get_terminal_writer().fullwidth, 40)
        lines = self._change_lines(width) + wrap_texts(self._notes, width, "  ")
        yield from map(ScreenLine, lines)
        if self.verdict is None:
            return
        color = _COLORS[self.verdict.state]
        for line in change_report.verdict_lines(self.verdict, width):
            yield ScreenLine(line, color)
            color = ""
        if self.verdict.state == "passed" and self._failed:
            yield ScreenLine(
                f"  but {one_line(self._failed[0])} failed for another reason (exit status {FAILED})",
                "red",
            )
        yield from map(ScreenLine, change_report.github_annotations(self.verdict))

    def _change_lines(self, width: int) -> list[str]:
        if self.changes is None:
            return []
        if self._run.config.get_verbosity() < 0:
            return change_report.talk_lines(self.changes, width)
        return ["", *change_report.change_lines(self.changes, width), ""]

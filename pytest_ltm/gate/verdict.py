"""The verdict of a gate: every rule for every agent and memory span, and what they come to together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from pytest_ltm._core.journal.result import (
    FAILED,
    PASSED,
    UNMEASURABLE,
    ConversationResult,
    RunResult,
    ScenarioResult,
    at_span,
    why_unmeasured,
)
from pytest_ltm._core.storage.wording import join_some
from pytest_ltm.figures.memory_measures import MEASURES
from pytest_ltm.figures.statistics.comparison import (
    COLLAPSES,
    Comparison,
    compare_runs,
    compare_scenarios,
    power_of_limit,
    power_of_test,
    score_of,
)
from pytest_ltm.figures.statistics.pairs import Pair, pair_rows, pass_pairs
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import p_text
from pytest_ltm.gate.changes import Change, Changes, Level
from pytest_ltm.gate.gate_rules import Rule

State: TypeAlias = Literal["passed", "failed", "unmeasurable"]
# Whether a rule passes, and what was found.
Found: TypeAlias = "tuple[State, str]"
STATUS: dict[State, int] = {
    "passed": PASSED,
    "failed": FAILED,
    "unmeasurable": UNMEASURABLE,
}
# The metric that is about all memory spans of an agent together.
SPAN = "span"
# What floating point may add to a difference.
_SLACK = 1e-9
_WHERE = 3
# Metrics that also examples without a score count for.
_OF_ALL_ROWS = ("unscored", "errors", "cost", "tokens", "reply_tokens")


class Finding(Struct, frozen=True):
    """One rule for one agent, mostly at one memory span."""

    rule: str
    """As it was written."""
    agent: str
    span_label: str
    """"" where it is about all spans together."""
    state: State
    sentence: str
    """What was found; ends without a full stop."""
    moved: bool = False
    """It is about a change against the baseline."""

    @property
    def place(self) -> str:
        """`mybot at 32k`; `mybot` where it is about all spans together."""
        return at_span(self.agent, self.span_label) if self.span_label else self.agent

    @property
    def text(self) -> str:
        """The sentence with the place before it."""
        return f"{self.place}: {self.sentence}"


class GateVerdict(Struct, frozen=True, kw_only=True):
    """What a gate says of a run."""

    findings: tuple[Finding, ...]
    """In the order of the rules, then agents and spans."""
    lost: str = ""
    """Why the whole run says too little, such as an agent that was gone; "" where it does not."""

    @property
    def state(self) -> State:
        """What cannot be measured has not passed, and what was lost is not a breach."""
        if self.lost:
            return "unmeasurable"
        return (
            "failed" if self.breaches else "unmeasurable" if self.unknown else "passed"
        )

    @property
    def breaches(self) -> tuple[Finding, ...]:
        """The rules that failed."""
        return tuple(finding for finding in self.findings if finding.state == "failed")

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """The rules that cannot be evaluated."""
        return tuple(
            finding for finding in self.findings if finding.state == "unmeasurable"
        )

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 failed, 75 not measurable."""
        return STATUS[self.state]


def decide_gate(
    run: RunResult,
    rules: Sequence[Rule],
    changes: Changes | None = None,
    *,
    lost_too: str = "",
    allow_blind: bool = False,
) -> GateVerdict:
    """Return the verdict on a run; `lost_too`: what else makes it say too little.

    A rule that would have held whatever the agent lost is blind, and unmeasurable
    unless `allow_blind`.

    Rules hold for each agent at each memory span. Trials that must pass (`pass_k`) are
    looked at, too, and an example that ended in an error of its own breaches the gate,
    unless a rule says how many may.
    """
    places = group_by(run.conversations, lambda held: (held.agent, held.span_label))
    findings = [
        Finding(rule.text, agent, span, *result, moved=rule.against)
        for rule in rules
        for agent, span, result in _rule_findings(
            rule, run, places, changes, allow_blind=allow_blind
        )
    ]
    asked = [row for row in run.scenarios if row.pass_k is not None]
    tries = group_by(
        asked, lambda row: (row.agent, row.span_label, row.scenario, row.example)
    )
    findings += map(_pass_k, tries.values())
    judged = [
        rule
        for rule in rules
        if rule.metric.name == "errors" and not rule.against and not rule.scope.kind
    ]
    for (agent, span), held in places.items() if not judged else ():
        rows = [
            row
            for each in held
            for row in each.scenarios
            if row.outcome == "error" and not row.infrastructure
        ]
        names = list(dict.fromkeys(row.scenario for row in rows))
        where = ", ".join(names[:_WHERE]) + (" …" if len(names) > _WHERE else "")
        sentence = f"{len(rows)} example{'s' * (len(rows) > 1)} ended in an error of the scenario: {where}"
        findings += [Finding("errors:0", agent, span, "failed", sentence)] * bool(rows)
    lost = why_unmeasured(run) or lost_too
    if changes and not lost and any(rule.against for rule in rules):
        # Baselines that are kept have lost nothing, run folders may have. Rows are
        # counted once, however many agents of the later run are compared with them.
        known = {
            (row.span_label, row.trial, row.id): row
            for change in changes.changes
            for row in change.before
        }
        gone = sum(row.infrastructure for row in known.values())
        why = "because of agent, judge, user or budget"
        lost = (
            f"{changes.before} lost {gone} of {len(known)} examples {why}"
            if gone
            else ""
        )
    return GateVerdict(findings=tuple(findings), lost=lost)


# The conversations of each agent at each memory span.
Places: TypeAlias = "Mapping[tuple[str, str], Sequence[ConversationResult]]"


def _rule_findings(
    rule: Rule,
    run: RunResult,
    places: Places,
    changes: Changes | None,
    *,
    allow_blind: bool,
) -> Iterable[tuple[str, str, Found]]:
    """Yield agent and memory span, and what was found there."""
    if rule.metric.name == SPAN:
        for agent in dict.fromkeys(agent for agent, _ in places):
            mine = (
                [change for change in changes.changes if change.agent == agent]
                if changes
                else []
            )
            rows = [row for row in run.scenarios if row.agent == agent]
            yield (
                agent,
                "",
                moved_span(rule, mine, allow_blind=allow_blind)
                if rule.against
                else _check_span(rule, rows),
            )
        return
    # Every place that is shown is one more chance of a false alarm.
    looks = max(changes.looks if changes else 0, len(places))
    for (agent, span), held in places.items():
        change = changes.changes_of_agent(agent, span) if changes else None
        if not rule.against:
            yield agent, span, _check_level(rule, held)
        elif change:
            yield (
                agent,
                span,
                check_rule(
                    rule,
                    change,
                    looks=looks,
                    collapses=changes.collapses if changes else COLLAPSES,
                    allow_blind=allow_blind,
                ),
            )
        else:
            name = changes.before if changes else "there is no baseline: it"
            yield (
                agent,
                span,
                ("unmeasurable", f"{name} has nothing to compare with here"),
            )


def _check_level(rule: Rule, held: Sequence[ConversationResult]) -> Found:
    """Return whether a metric lies where it must at one memory span."""
    result = rule.scope.rows([row for each in held for row in each.scenarios])
    rows = result if rule.metric.name in _OF_ALL_ROWS else _open_as_zero(result)
    value = rule.metric.value(rows, held, scoped=bool(rule.scope.kind))
    if value is None:
        if rule.scope.kind and not rows:
            return (
                "unmeasurable",
                f"{rule.subject} is unknown: there is no example{rule.scope.words}",
            )
        return _unknown_metric(
            rule,
            "the agent does not report the cost of all its replies (see --ltm-price)",
        )
    least = rule.metric.higher_is_better
    # Sums of thirds must not break a limit that they meet on paper.
    broken = value < rule.limit - _SLACK if least else value > rule.limit + _SLACK
    amount, limit = rule.amounts(value, rule.limit)
    nothing = sum(
        one.scored is not other.scored for one, other in zip(result, rows, strict=True)
    )
    counted = (
        f", {nothing} example{'s' * (nothing > 1)} without a score counted as 0"
        if nothing
        else ""
    )
    text = f"{rule.subject} is {amount}{counted}"
    return (
        ("failed", f"{text}, not {'at least' if least else 'at most'} {limit}")
        if broken
        else ("passed", text)
    )


def _open_as_zero(rows: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    """Return the rows with 0 for what is open: what is not known lifts no mean. Errors have a rule of their own."""
    return tuple(row if row.outcome == "error" else row.settle_score(0) for row in rows)


def _unknown_metric(rule: Rule, no_cost: str, where: str = "") -> Found:
    why = f"no example has {f'{rule.metric.tries} trials with ' if rule.metric.tries else ''}a score{where}"
    if rule.metric.unit == "usd":
        why = no_cost
    elif rule.metric.name.startswith("recall@"):
        why = "no question has needles, or the agent shows no retrieved texts"
    elif rule.metric.name in {measure.name for measure in MEASURES}:
        cure = "give it written(), or have its spans received (--ltm-traces)"
        why = f"the agent says nothing of its memory; {cure}"
    return "unmeasurable", f"{rule.subject} is unknown: {why}"


def _check_span(rule: Rule, rows: Sequence[ScenarioResult]) -> Found:
    """Return whether the effective span of an agent, over all memory spans, is long enough."""
    result = effective_span(_open_as_zero(rows))
    if result.span is None:
        return "unmeasurable", f"{rule.subject} is unknown: {result.reason}"
    text = f"{rule.subject} is {rule.amount(result.span)}"
    if result.span >= rule.limit:
        return "passed", text
    # The span may well be long enough; nobody has measured that far.
    if result.at_least:
        return (
            "unmeasurable",
            f"{text} or more: it is kept at every measured span, so larger ones must be measured",
        )
    return "failed", f"{text}, not at least {rule.amount(rule.limit)}"


def _pass_k(rows: Sequence[ScenarioResult]) -> Finding:
    """Return the finding for an example of a scenario that says how many trials must pass."""
    first = rows[0]
    needed = first.pass_k or 1
    passed = sum(row.outcome == "passed" for row in rows)
    # They may still pass, so a scenario fails only where even that would be too little.
    open_ = sum(not row.scored for row in rows)
    state: State = (
        "passed"
        if passed >= needed
        else "failed"
        if passed + open_ < needed
        else "unmeasurable"
    )
    rest = {"passed": "", "failed": f", not in {needed}"}.get(
        state, f", {open_} have no score, {needed} must pass"
    )
    sentence = f"{first.id} passes in {passed} of {len(rows)} trial{'s' * (len(rows) > 1)}{rest}"
    return Finding(f"pass_k={needed}", first.agent, first.span_label, state, sentence)


# --- How a rule of `--ltm-compare-fail` fares: what it looks at before and now, and the
# sentence that says so.


def check_rule(
    rule: Rule,
    change: Change,
    *,
    looks: int = 1,
    collapses: float = COLLAPSES,
    allow_blind: bool = False,
) -> Found:
    """Return whether the rule holds, and what was found.

    `looks`: the number of agents and memory spans that the rule is checked at. A rule
    about chance shares its limit among them, so that the chance of any false alarm is
    no more than it says (Bonferroni). `collapses`: the share of its conversations in
    which either side may earn nothing without being worse.
    """
    pairs = _pairs_in_scope(rule, change)
    if rule.metric.unit != "chance":
        every = rule.metric.name in _OF_ALL_ROWS
        both = (
            list(zip(change.before, change.after, strict=True))
            if every
            else _scored_in_both(change)
        )
        scope, scoped = rule.scope, bool(rule.scope.kind)
        was = rule.metric.value(
            scope.rows([one for one, _ in both]), change.held_before, scoped=scoped
        )
        is_ = rule.metric.value(
            scope.rows([other for _, other in both]), change.held_after, scoped=scoped
        )
        if was is None or is_ is None:
            whose = "the baseline has" if was is None else "the agent reports"
            return _unknown_metric(
                rule, f"{whose} no cost for all replies (see --ltm-price)", " in both"
            )
        loss = was - is_ if rule.metric.higher_is_better else is_ - was
        state, sentence = _check_loss(rule, was, is_, loss)
        if state == "passed":
            power = _power_beyond(rule, was, pairs)
            return _unless_blind(
                sentence + power, _why_no_drop_fails(rule, was), allow_blind=allow_blind
            )
        if state == "failed":
            among = {
                row.scenario
                for _, row in both
                if scope.includes_skills(row.scenario, row.skills)
            }
            sentence += _largest_losers(rule, change.levels, among)
            p, is_of_all = (
                change.overall.p_drop,
                rule.metric.name in ("mean", "total") and not scoped,
            )
            if is_of_all and p is not None and p > change.overall.alpha:
                sentence += f"; chance explains as much (one-sided p {p_text(p)})"
        return state, sentence
    if rule.metric.name == "holm":
        state, sentence, blind = _check_each_by_chance(rule, pairs, looks, collapses)
    else:
        state, sentence, blind = _check_chance(rule, pairs, change, looks, collapses)
    if state != "passed":
        return state, sentence
    return _unless_blind(sentence, blind, allow_blind=allow_blind)


def _pairs_in_scope(rule: Rule, change: Change) -> tuple[Pair, ...]:
    """Return the pairs that a rule is about, 0 where a score is open; of passes for rules about passes."""
    before, after = (
        _open_as_zero(rule.scope.rows(rows)) for rows in (change.before, change.after)
    )
    pair = pass_pairs if rule.metric.name == "pass_rate" else pair_rows
    return pair(before, after).pairs


# --- What a rule that holds would have seen.

# The drop that is spoken of beside every rule that holds; less where there is less to
# lose.
_DROP = 0.1
# A rule that misses the loss of so much sees nothing smaller than everything.
_NEARLY_ALL = 0.9


def _unless_blind(sentence: str, blind: str, *, allow_blind: bool) -> Found:
    """Return that a rule holds; that it cannot be evaluated where it is blind, unless that is allowed."""
    if not blind:
        return "passed", sentence
    text = f"{sentence}; blind: {blind}"
    return (
        ("passed", text)
        if allow_blind
        else ("unmeasurable", f"{text} (--ltm-compare-blind=allow takes it for passed)")
    )


def _why_no_drop_fails(rule: Rule, was: float) -> str:
    """Return why no drop could break a rule, however large; "" if one could."""
    if not rule.metric.higher_is_better:
        return ""
    if was <= _SLACK:
        return "the baseline has nothing to lose"
    allowed = rule.limit * was if rule.relative else rule.limit
    return (
        f"the baseline has {rule.amount(was)}, and {rule.allowed} may be lost"
        if allowed >= _NEARLY_ALL * was - _SLACK
        else ""
    )


def _power_beyond(rule: Rule, was: float, pairs: Sequence[Pair]) -> str:
    """Return how often a drop would have broken a rule with a limit, as the end of a sentence; "" if unknown."""
    if rule.metric.name not in ("mean", "pass_rate", "total") or not pairs:
        return ""
    allowed = rule.limit * was if rule.relative else rule.limit
    is_sum = rule.metric.name == "total"
    parts = len({pair.scenario for pair in pairs}) if is_sum else 1
    drop = min(_DROP, score_of(pairs, "before"))
    return _power_text(drop * parts, power_of_limit(pairs, drop, allowed / parts))


def _power_text(drop: float, power: float | None) -> str:
    """Return `; a drop of 0.10 would have been seen in 62 of 100 such runs`."""
    if power is None or drop <= _SLACK:
        return ""
    runs = round(100 * power)
    return f"; a drop of {drop:.2f} would have been seen in {runs} of 100 such runs"


def moved_span(
    rule: Rule, mine: Sequence[Change], *, allow_blind: bool = False
) -> Found:
    """Return the same for the effective memory span of one agent, over all memory spans in both."""
    both = [pair for change in mine for pair in _scored_in_both(change)]
    was, is_ = (
        effective_span([before for before, _ in both]),
        effective_span([after for _, after in both]),
    )
    if was.span is None or is_.span is None:
        return "unmeasurable", f"{rule.subject} is unknown: {was.reason or is_.reason}"
    state, sentence = _check_loss(rule, was.span, is_.span, was.span - is_.span)
    if state != "passed":
        return state, sentence
    blind = _why_no_drop_fails(rule, was.span)
    return _unless_blind(sentence, blind, allow_blind=allow_blind)


def _scored_in_both(change: Change) -> list[tuple[ScenarioResult, ScenarioResult]]:
    """Return the examples that have a score in both, 0 where it is open."""
    pairs = zip(_open_as_zero(change.before), _open_as_zero(change.after), strict=True)
    return [pair for pair in pairs if all(row.scored for row in pair)]


def _check_loss(rule: Rule, was: float, is_: float, loss: float) -> Found:
    """Return whether a metric lost no more than a rule allows."""
    text = f"{rule.subject} {'rose' if is_ > was else 'dropped'} from {' to '.join(rule.amounts(was, is_))}"
    if abs(is_ - was) <= _SLACK:
        text = f"{rule.subject} is {rule.amount(is_)} as before"
    if loss <= (rule.limit * was if rule.relative else rule.limit) + _SLACK:
        return "passed", text
    # nothing is allowed: "by more than 0" would say less than nothing
    return "failed", text + (f", by more than {rule.allowed}" if rule.limit else "")


# What was found of a rule about chance, and why it would have seen nothing.
_FoundByChance: TypeAlias = "tuple[State, str, str]"


def _check_chance(
    rule: Rule, pairs: Sequence[Pair], change: Change, looks: int, collapses: float
) -> _FoundByChance:
    alpha = rule.limit / looks
    comparison = compare_runs(pairs, alpha=alpha, collapses=collapses)
    name = f"the scores{rule.scope.words}"
    if not comparison.is_identical and (
        not comparison.can_tell or comparison.p_drop is None
    ):
        why = f"cannot tell whether {name} dropped: {comparison.reason}"
        return "unmeasurable", why, ""
    all_of_it = score_of(pairs, "before")
    lost = compare_runs(_less_nearly_all(pairs), alpha=alpha, collapses=collapses)
    blind = _why_blind([lost], all_of_it)
    drop = min(_DROP, all_of_it)
    power = power_of_test(pairs, drop, alpha=alpha, collapses=collapses)
    supposed = _power_text(drop, power) + _collapses_text(collapses, power)
    if comparison.is_identical or comparison.p_drop is None:
        return "passed", f"{name} are as before{supposed}", blind
    difference = comparison.difference or 0.0
    chance = f"one-sided p {p_text(comparison.p_drop)}" + (
        f", one of {looks} comparisons" if looks > 1 else ""
    )
    if not comparison.dropped_beyond_chance:
        moved = f"{name} moved by {difference:+.2f}, which chance explains ({chance})"
        return "passed", moved + supposed, blind
    text = f"{name} dropped by {-difference:.2f}, more than chance explains ({chance})"
    losers = _largest_losers(rule, change.levels, {pair.scenario for pair in pairs})
    return "failed", text + losers, ""


def _collapses_text(collapses: float, power: float | None) -> str:
    """Return what a test supposes of conversations that earn nothing, as the end of a sentence."""
    if power is None or not collapses:
        return ""
    return (
        f", if up to {collapses:.0%} of either side's conversations may earn nothing "
        "(--ltm-compare-collapses)"
    )


def _less_nearly_all(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs as they would be if the later run had lost nearly everything."""
    return [
        structs.replace(pair, after=(1 - _NEARLY_ALL) * pair.before) for pair in pairs
    ]


def _why_blind(comparisons: Iterable[Comparison], all_of_it: float) -> str:
    """Return why a test is blind that compared what nearly everything is lost of; "" where it saw that."""
    if all_of_it <= _SLACK:
        return "the baseline has nothing to lose"
    if any(comparison.dropped_beyond_chance for comparison in comparisons):
        return ""
    return (
        f"even if nine tenths of the baseline's {all_of_it:.2f} were lost, "
        "chance would explain it: more trials see more"
    )


def _check_each_by_chance(
    rule: Rule, pairs: Sequence[Pair], looks: int, collapses: float
) -> _FoundByChance:
    alpha = rule.limit / looks
    comparisons = compare_scenarios(pairs, alpha=alpha, collapses=collapses)
    dropped = {
        name: one for name, one in comparisons.items() if one.dropped_beyond_chance
    }
    if dropped:
        texts = [
            f"{one.difference or 0.0:+.2f}, one-sided p {p_text(one.adjusted or 0.0)}"
            for one in dropped.values()
        ]
        listed = ", ".join(
            f"{name} ({text})" for name, text in zip(dropped, texts, strict=True)
        )
        return (
            "failed",
            f"dropped by more than chance explains, corrected for {len(comparisons)} scenarios: {listed}",
            "",
        )
    mute = [one.reason for one in comparisons.values() if not one.can_tell]
    if mute or not comparisons:
        reason = mute[0] if mute else "no example has a score in both runs"
        why = f"cannot tell whether single scenarios dropped: {reason}"
        return "unmeasurable", why, ""
    lost = compare_scenarios(_less_nearly_all(pairs), alpha=alpha, collapses=collapses)
    sighted = sum(comparison.dropped_beyond_chance for comparison in lost.values())
    sentence = (
        f"none of {len(comparisons)} scenarios dropped by more than chance explains; "
        f"the loss of nine tenths of all would have been seen in {sighted} of them"
    )
    return "passed", sentence, _why_blind(lost.values(), score_of(pairs, "before"))


def _largest_losers(
    rule: Rule, levels: Mapping[str, Level], among: AbstractSet[str]
) -> str:
    """Return the scenarios that lost most, for a rule about scores of them all."""
    if (
        rule.scope.kind == "scenario"
        or rule.metric.unit in ("usd", "tokens")
        or rule.metric.name in _OF_ALL_ROWS
    ):
        return ""
    worst = sorted(
        (one.difference, name)
        for name, one in levels.items()
        if name in among and one.difference < -_SLACK
    )
    names = [
        f"{name} ({levels[name].before:.2f} to {levels[name].after:.2f})"
        for _, name in worst
    ]
    return f"; most in {join_some(names, _WHERE)}" if names else ""


# --- What can be known before the run: whether a rule about chance could ever show a
# drop.

# The largest number tried when looking for one that is enough.
_MOST_TRIALS = 30


def why_undetectable(rule: Rule, imagined: Iterable[tuple[str, Pair]]) -> str:
    """Return why the test of a rule can never show a drop, even if all examples get a score; "" where it can.

    `imagined`: agents, and a pair for each of their examples.
    """
    places = (
        group_by(imagined, lambda each: (each[0], each[1].span_label))
        if rule.metric.unit == "chance"
        else {}
    )
    for place in places.values():
        pairs = [pair for _, pair in place]
        reason = _too_few(rule, pairs)
        if reason:
            first = [pair for pair in pairs if pair.trial.partition(".")[0] == "0"]
            for trials in range(2, _MOST_TRIALS):
                numbered = (
                    (f"{trial}.{pair.trial}", pair)
                    for trial in range(trials)
                    for pair in first
                )
                more = [structs.replace(pair, trial=name) for name, pair in numbered]
                if not _too_few(rule, more):
                    return f"{reason}: --ltm-trials={trials} is enough, also for the baseline"
            return reason
    return ""


def _too_few(rule: Rule, pairs: Sequence[Pair]) -> str:
    many = (
        compare_scenarios(pairs, alpha=rule.limit).values()
        if rule.metric.name == "holm"
        else ()
    )
    result = [*many] or [compare_runs(pairs, alpha=rule.limit)]
    return next((each.reason for each in result if not each.can_tell), "")

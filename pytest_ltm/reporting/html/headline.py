"""The answers that a reader wants within seconds, as sentences computed from the data."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._journal.result import at_span, span_place
from pytest_ltm._language.lists import listed, shortened
from pytest_ltm._results.columns import LEFT_OPEN
from pytest_ltm._results.metrics import leading
from pytest_ltm._results.sentences import short_span, span_sentence, told
from pytest_ltm._results.statistics.comparison import compare
from pytest_ltm._results.statistics.pairs import paired, placed
from pytest_ltm._results.statistics.spans_reached import effective_span
from pytest_ltm._results.statistics.totals import grouped
from pytest_ltm._results.text import amount, counted, dollars
from pytest_ltm.reporting.agents import largest, rank, standings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm._results.columns import Column
    from pytest_ltm._results.sentences import ComparisonText
    from pytest_ltm.reporting.agents import AgentSentence
    from pytest_ltm.reporting.html.report_data import Material, ResultSeries


class SeriesDifference(NamedTuple):
    """What one series has over another, on the examples in which both have a score."""

    gain: float
    """In points: sum over scenarios of the mean difference of their examples."""
    told: ComparisonText
    """What may be said of it."""


def difference(one: ResultSeries, other: ResultSeries) -> SeriesDifference | None:
    """Return what `one` has over `other`; None if they share no example with a score."""
    pairs = paired(*([placed(row.result, span_label="") for row in each.rows] for each in (other, one))).pairs
    if not pairs:
        return None
    found = compare(pairs)
    gain = len({pair.scenario for pair in pairs}) * (found.difference or 0.0)
    return SeriesDifference(gain, told(one.label, other.label, pairs, found))


_FEW = 3


class HeadlineAnswer(NamedTuple):
    """One question of the reader's, and its answer."""

    question: str
    short: str
    """A few words in large type."""
    text: str
    """One to three sentences."""
    state: str = ""
    """Of a gate: `passed`, `failed` or `unmeasurable`."""


def answers(found: Material) -> list[HeadlineAnswer]:
    """Return what others earn there, whether the best two differ, how far all remember, what it cost, what to mind."""
    last = found.at(largest(found.series))
    ranked = rank(last)
    known = [_yardsticks(last, ranked), _real(found, ranked), _far(found), _cost(found), _mind(found)]
    return [answer for answer in known if answer is not None]


def said(found: Material) -> list[AgentSentence]:
    """Return a sentence on each agent under test, beside the baseline where a gate has compared it with one."""
    return standings(found.series, _beside_baselines(found))


def _beside_baselines(found: Material) -> dict[str, str]:
    """Return by agent how many examples went better and worse than in the baseline, over all memory spans."""
    beside = {}
    for number, run in enumerate(found.runs):
        compared = run.summary.get("comparison")
        if not isinstance(compared, dict):
            continue
        names = {each.column.agent: each.agent for each in found.series if each.run == number}
        for agent, changes in grouped(compared.get("changes", ()), itemgetter("agent")).items():
            better, worse = (sum(change.get(way, 0) for change in changes) for way in ("better", "worse"))
            if agent in names and sum(change.get("pairs", 0) for change in changes):
                beside[names[agent]] = f"{better:,} better, {worse:,} worse than {compared.get('before', 'before')}"
    return beside


def trust(found: Material) -> list[str]:
    """Return what the figures rest on, a few words each."""
    results = [row.result for row in found.rows]
    columns = [each.column for each in found.series]
    trials = max((len(each.conversations) for each in columns if each.span is not None), default=0)
    calls = sum(row.judge_calls for row in results)
    missing = [each for each in results if not each.scored]
    unproven = sum(each.upper is not None for each in results)
    lost, amended = sum(each.infrastructure for each in missing), sum(each.automatic is not None for each in results)
    here = [each.column for each in rank(found.at(largest(found.series)))[:1]]
    floor = here and here[0].floor
    said = [each.column for each in found.series if not found.runs[each.run].result.is_imported]
    tokens = sum(each.tokens for each in said)
    share = sum(each.sum_of("reply_tokens") for each in said) / tokens if tokens else 0.0
    parts = {
        f"{counted(len(results), 'example')}": True,
        f"{counted(trials, 'trial')}": trials,
        f"judged by rules and a judge ({counted(calls, 'question')})" if calls else "judged by rules": True,
        f"{len(missing):,} without a score": missing,
        f"{unproven:,} open": unproven,
        f"{lost:,} lost to faults": lost,
        f"{amended:,} amended by hand": amended,
        f"{share:.0%} of the tokens are the agents' own": round(100 * share),
        f"{floor:.2f} of {here[0].full} points need no memory" if floor else "": floor,
    }
    return [text for text, holds in parts.items() if holds]


_HELD = {"passed": "Yes", "failed": "No", "unmeasurable": "Could not be measured"}


def gates(found: Material) -> list[HeadlineAnswer]:
    """Return what the gate of each run said, in the words of the terminal, with each rule that did not hold."""
    answers = []
    for run in found.runs:
        gate = run.summary.get("gate")
        if not isinstance(gate, dict) or gate.get("state") not in _HELD:
            continue
        state, broken = gate["state"], [one for one in gate.get("findings", ()) if one["state"] != "passed"]
        said = str(gate.get("sentence", "")).removeprefix("gate: ").removeprefix("could not be measured: ")
        told = shortened([_finding(one) for one in broken], _FEW, "{:,} more")
        which = f" ({run.result.run_id})" if len(found.runs) > 1 else ""
        text = ". ".join([*[said[:1].upper() + said[1:]] * bool(said), *told])
        answers.append(HeadlineAnswer(f"Did the gate hold?{which}", _HELD[state], f"{text}.", state))
    return answers


def _finding(one: Mapping[str, str]) -> str:
    place = at_span(one["agent"], one["span_label"]) if one["span_label"] else one["agent"]
    return f"{place}: {one['sentence']}" if place else one["sentence"]


def leads(found: Material) -> list[HeadlineAnswer]:
    """Return the metric that a data set publishes, for each agent and span: it comes first on its page."""
    known = grouped([each for run in found.runs for each in leading(run.result)], itemgetter(0))
    parts = {head: [part for _, means in of for part in means.items()] for head, of in known.items()}
    return [
        HeadlineAnswer(head, max(mean for _, mean in of), f"{listed([f'{place}: {mean}' for place, mean in of])}.")
        for head, of in parts.items()
    ]


def _yardsticks(series: Iterable[ResultSeries], ranked: Sequence[ResultSeries]) -> HeadlineAnswer | None:
    """Return what agents of this package earn where others are tested, as a measure of what is possible."""
    others = [each for each in series if each.column.yardstick and each.column.out_of and each not in ranked]
    if not others or not ranked:
        return None
    parts = sorted(others, key=lambda each: -(each.column.least or 0.0))
    short = f"{parts[0].agent} {parts[0].column.share}"
    text = listed([f"{each.agent} {each.column.share}" for each in parts])
    question = f"What do the bundled agents earn {span_place(ranked[0].column.span_label)}".strip()
    return HeadlineAnswer(f"{question}?", short, f"{text}. They are yardsticks and take no part.")


def _real(material: Material, ranked: Sequence[ResultSeries]) -> HeadlineAnswer | None:
    if len(ranked) < 2:
        return None
    first, second = ranked[0], ranked[1]
    question = "Is the difference real?"
    found = difference(first, second)
    if found is None:
        text = f"{first.agent} and {second.agent} share no example that both have a score for."
        return HeadlineAnswer(question, "Unknown", text)
    said = found.told.text
    if found.gain and _plans(material, first).isdisjoint(_plans(material, second)):
        said += " Their plans differ, so they were asked different things; that may be why."
    return HeadlineAnswer(question, found.told.short, said)


def _plans(material: Material, series: ResultSeries) -> set[str]:
    held = {row.conversation for row in series.rows}
    return {each.folder.result.plan_fingerprint for each in material.conversations if each.key in held}


def _far(found: Material) -> HeadlineAnswer | None:
    """Return the effective memory span of each agent that was tested isolated and at a memory span."""
    spans = grouped(found.series, lambda series: series.agent)
    tested = {name: each for name, each in spans.items() if len({one.column.span is None for one in each}) > 1}
    known = {name: effective_span([row.result for one in each for row in one.rows]) for name, each in tested.items()}
    if not known:
        return None
    short = ", ".join(f"{name}: {short_span(each)}" for name, each in list(known.items())[:_FEW])
    text = " ".join(f"{name}: {span_sentence(each)}." for name, each in known.items())
    return HeadlineAnswer("How far do they remember?", short, text)


def _cost(found: Material) -> HeadlineAnswer:
    question = "What did it cost?"
    if all(run.result.is_imported for run in found.runs):
        return HeadlineAnswer(
            question, "Unknown", "Published results do not say, and hold only a part of what was said."
        )
    columns = [series.column for series in found.series]
    tokens = sum(column.tokens for column in columns)
    filler = sum(round((column.filler_share or 0.0) * column.tokens) for column in columns)
    said = f"{amount(tokens)} tokens were exchanged in {counted(len(found.conversations), 'conversation')}"
    said += f", {100 * filler / tokens:.0f}% of them filler." if tokens else "."
    would = sum(column.cost_usd or 0.0 for column in columns if column.hypothetical)
    if would:
        said += f" Control agents estimate another ${dollars(would)} for a model: it was not spent."
    judged = sum(row.result.judge_cost_usd or 0.0 for row in found.rows)
    if judged:
        said += f" The judge cost another ${dollars(judged)}."
    voiced = sum(row.result.user_cost_usd or 0.0 for row in found.rows)
    if voiced:
        said += f" Simulated users cost another ${dollars(voiced)}."
    lost = sum(column.sum_of("lost_tokens") for column in columns)
    if lost:
        said += f" Failed attempts used about {amount(lost)} more tokens."
    told = [column for column in columns if column.cost_usd is not None and not column.hypothetical]
    if not told:
        return HeadlineAnswer(question, f"{amount(tokens)} tokens", f"{said} No agent reports its cost.")
    total = sum(column.cost_usd or 0.0 for column in told)
    dearest = max(told, key=lambda column: column.cost_usd or 0.0)
    spent = sum(column.sum_of("filler_cost_usd") or 0.0 for column in told)
    about = "~" * any(column.estimated for column in told)
    text = f"Most of it for {dearest.label}: ${dollars(dearest.cost_usd or 0.0)}. "
    text += "Some of it was not reported, and is estimated. " * bool(about)
    text += f"${dollars(spent)} of it went to filler. " * bool(spent)
    text += said
    untold = sum(column.cost_usd is None for column in columns)
    if untold:
        text += f" {untold} of {len(columns)} columns report no cost."
    return HeadlineAnswer(question, f"{about}${dollars(total)}", text)


def _mind(found: Material) -> HeadlineAnswer | None:
    results = [row.result for row in found.rows]
    missing = [each for each in results if not each.scored]
    parts = []
    if missing:
        lost = sum(each.infrastructure for each in missing)
        why = f", {lost} of them because of agent, judge, user or budget" if lost else ""
        parts.append(
            f"{len(missing):,} of {counted(len(results), 'example')} have no score and are left out of the means{why}."
        )
        lost = sum(each.is_lost for each in missing)
        parts += [f"Totals and accuracy count {lost:,} of them as 0 and as 1."] * bool(lost)
        parts += [f"No score in {told}." for told in _each(found.series, lambda column: column.scoreless)]
    unproven = sum(each.upper is not None for each in results)
    if unproven:
        parts.append(f"{unproven:,} of {counted(len(results), 'example')} {LEFT_OPEN}.")
    over = sum(each.overrun for each in results)
    if over:
        parts.append(f"{counted(over, 'example')} overran their memory span.")
    amended = sum(each.automatic is not None for each in results)
    if amended:
        parts.append(f"Amended by hand: {amended:,} of {counted(len(results), 'verdict')}.")
    tested = [each for each in found.series if not each.column.control and not each.column.yardstick] or found.series
    guessed = [each for each in tested if each.column.guessed]
    parts += [f"No more than guessing earns in {told}." for told in _each(guessed, lambda column: column.guessed)]
    counts = {
        "without a score": len(missing),
        "open": unproven,
        "overran": over,
        "amended": amended,
        "no better than guessing": len(guessed),
    }
    short = next((f"{count:,} {what}" for what, count in counts.items() if count), "")
    return HeadlineAnswer("Caveats", short, " ".join(parts)) if parts else None


def _each(some: Iterable[ResultSeries], names: Callable[[Column], Iterable[str]]) -> list[str]:
    """Return a sentence for each group of columns that share these scenarios: the scenarios, then the columns."""
    same = grouped([each for each in some if [*names(each.column)]], lambda each: tuple(names(each.column)))
    return [
        f"{listed(of)}: {listed(shortened([each.label for each in those], _FEW, '{:,} more'))}"
        for of, those in same.items()
    ]

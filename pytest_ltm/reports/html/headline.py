"""The answers that a reader wants within seconds, as sentences computed from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._core.journal.result import at_span, span_place
from pytest_ltm._core.storage.wording import first_and_rest, join_words, pluralize
from pytest_ltm.figures.columns import LEFT_OPEN, Column
from pytest_ltm.figures.comparison_text import ComparisonText, comparison_text
from pytest_ltm.figures.guessing import guessing_test
from pytest_ltm.figures.metrics import leading_metrics
from pytest_ltm.figures.sentences import short_span, span_sentence
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_dollars, short_count
from pytest_ltm.reports.agent_sentences import (
    AgentSentence,
    agent_sentences_for,
    baseline_standings,
    compare_pairwise,
    largest_span_label,
)

if TYPE_CHECKING:
    from pytest_ltm.reports.html.report_data import Material, ResultSeries


class SeriesDifference(NamedTuple):
    """What one series has over another, on the examples in which both have a score."""

    gain: float
    """In points: sum over scenarios of the mean difference of their examples."""
    told: ComparisonText
    """What may be said of it."""


def series_difference(
    one: ResultSeries, other: ResultSeries
) -> SeriesDifference | None:
    """Return what `one` has over `other`; None if they share no example with a score."""
    compared = compare_pairwise(one, other)
    if compared is None:
        return None
    pairs, comparison = compared
    gain = len({pair.scenario for pair in pairs}) * (comparison.difference or 0.0)
    return SeriesDifference(
        gain, comparison_text(one.label, other.label, pairs, comparison)
    )


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


def headline_answers(material: Material) -> list[HeadlineAnswer]:
    """Return what others earn there, whether the best two differ, how far all remember, what it cost, what to mind."""
    answers, ranked = [], material.ranked
    largest = material.series_at(largest_span_label(material.series))
    # Where others are tested, agents of this package show what is possible.
    yardsticks = [
        each
        for each in largest
        if each.column.is_bundled and each.column.out_of and each not in ranked
    ]
    if yardsticks and ranked:
        parts = sorted(
            yardsticks, key=lambda each: -(each.column.accuracy_lower_bound or 0.0)
        )
        question = f"What do the bundled agents earn {span_place(ranked[0].column.span_label)}".strip()
        text = join_words([f"{part.agent} {part.column.share}" for part in parts])
        text += ". They are yardsticks and take no part."
        answers.append(
            HeadlineAnswer(
                f"{question}?", f"{parts[0].agent} {parts[0].column.share}", text
            )
        )
    if len(ranked) > 1:
        answers.append(_significance(material, *ranked[:2]))
    # The effective memory span of each agent that was tested isolated and at a memory
    # span.
    spans = group_by(material.series, lambda series: series.agent)
    tested = {
        name: each
        for name, each in spans.items()
        if len({one.column.span is None for one in each}) > 1
    }
    known = {
        name: effective_span([row.result for one in each for row in one.rows])
        for name, each in tested.items()
    }
    if known:
        short = ", ".join(
            f"{name}: {short_span(each)}" for name, each in list(known.items())[:_FEW]
        )
        text = " ".join(
            f"{name}: {span_sentence(each)}." for name, each in known.items()
        )
        answers.append(HeadlineAnswer("How far do they remember?", short, text))
    return [*answers, _cost_answer(material), *_caveats(material)]


def agent_sentences(material: Material) -> list[AgentSentence]:
    """Return a sentence on each agent under test, beside the baseline where a gate has compared it with one."""
    beside: dict[str, str] = {}
    # A baseline knows agents by their labels; here those of several runs have the run's
    # name, too.
    for number in range(len(material.runs)):
        names = {
            each.column.agent: each.agent
            for each in material.series
            if each.run == number
        }
        standings = baseline_standings(material.comparison(number))
        beside |= {
            names[agent]: text for agent, text in standings.items() if agent in names
        }
    return agent_sentences_for(material.series, beside)


def trust_line(material: Material) -> list[str]:
    """Return what the figures rest on, a few words each."""
    results = [row.result for row in material.rows]
    columns = [each.column for each in material.series]
    trials = max(
        (len(column.conversations) for column in columns if column.span is not None),
        default=0,
    )
    calls = sum(row.judge_calls for row in results)
    missing = [result for result in results if not result.scored]
    unproven = sum(result.upper is not None for result in results)
    lost, amended = (
        sum(each.infrastructure for each in missing),
        sum(result.automatic is not None for result in results),
    )
    here = [each.column for each in material.ranked[:1]]
    floor = here and here[0].floor
    # Imported runs hold only part of their conversations: of their tokens no share is
    # known.
    played = [
        each.column
        for each in material.series
        if not material.runs[each.run].result.is_imported
    ]
    tokens = sum(each.tokens for each in played)
    share = (
        sum(each.sum_of("reply_tokens") for each in played) / tokens if tokens else 0.0
    )
    parts = {
        f"{pluralize(len(results), 'example')}": True,
        f"{pluralize(trials, 'trial')}": trials,
        f"judged by rules and a judge ({pluralize(calls, 'question')})"
        if calls
        else "judged by rules": True,
        f"{len(missing):,} without a score": missing,
        f"{unproven:,} open": unproven,
        f"{lost:,} lost to faults": lost,
        f"{amended:,} amended by hand": amended,
        f"agents wrote {share:.0%} of the tokens": round(100 * share),
        f"{floor:.2f} of {here[0].maximum_total} points need no memory"
        if floor
        else "": floor,
    }
    return [text for text, holds in parts.items() if holds]


_HELD = {"passed": "Yes", "failed": "No", "unmeasurable": "Could not be measured"}


def gate_answers(material: Material) -> list[HeadlineAnswer]:
    """Return what the gate of each run said, in the words of the terminal, with each rule that did not hold."""
    answers = []
    for run in material.runs:
        gate = run.summary.get("gate")
        if not isinstance(gate, dict) or gate.get("state") not in _HELD:
            continue
        state, broken = (
            gate["state"],
            [one for one in gate.get("findings", ()) if one["state"] != "passed"],
        )
        sentence = (
            str(gate.get("sentence", ""))
            .removeprefix("gate: ")
            .removeprefix("could not be measured: ")
        )
        # A finding without a span is about an agent as a whole.
        places = [
            at_span(one["agent"], one["span_label"])
            if one["span_label"]
            else one["agent"]
            for one in broken
        ]
        told = [
            ": ".join(filter(None, (place, one["sentence"])))
            for place, one in zip(places, broken, strict=True)
        ]
        texts = first_and_rest(told, _FEW, "{:,} more")
        which = f" ({run.result.run_id})" if len(material.runs) > 1 else ""
        text = ". ".join(
            [*[sentence[:1].upper() + sentence[1:]] * bool(sentence), *texts]
        )
        answers.append(
            HeadlineAnswer(
                f"Did the gate hold?{which}", _HELD[state], f"{text}.", state
            )
        )
    return answers


def leading_metric_answers(material: Material) -> list[HeadlineAnswer]:
    """Return the metric that a data set publishes, for each agent and span: it comes first on its page."""
    known = group_by(
        [metric for run in material.runs for metric in leading_metrics(run.result)],
        itemgetter(0),
    )
    parts = {
        head: [part for _, means in of for part in means.items()]
        for head, of in known.items()
    }
    return [
        HeadlineAnswer(
            head,
            max(mean for _, mean in of),
            f"{join_words([f'{place}: {mean}' for place, mean in of])}.",
        )
        for head, of in parts.items()
    ]


def _significance(
    material: Material, first: ResultSeries, second: ResultSeries
) -> HeadlineAnswer:
    question = "Is the difference real?"
    result = series_difference(first, second)
    if result is None:
        text = f"{first.agent} and {second.agent} share no example that both have a score for."
        return HeadlineAnswer(question, "Unknown", text)
    held = group_by(material.conversations, lambda each: each.series)
    plans = [
        {each.folder.result.plan_fingerprint for each in held.get(side.key, ())}
        for side in (first, second)
    ]
    # A gain on other questions may come from the questions.
    other = " Their plans differ, so they were asked different things; that may be why."
    return HeadlineAnswer(
        question,
        result.told.short,
        result.told.text + other * bool(result.gain and plans[0].isdisjoint(plans[1])),
    )


def _cost_answer(material: Material) -> HeadlineAnswer:
    question = "What did it cost?"
    if all(run.result.is_imported for run in material.runs):
        return HeadlineAnswer(
            question,
            "Unknown",
            "Published results do not say, and include only part of the conversations.",
        )
    columns = [series.column for series in material.series]
    tokens = sum(column.tokens for column in columns)
    filler = sum(
        round((column.filler_share or 0.0) * column.tokens) for column in columns
    )
    reply = f"{short_count(tokens)} tokens were exchanged in {pluralize(len(material.conversations), 'conversation')}"
    reply += f", {100 * filler / tokens:.0f}% of them filler." if tokens else "."
    further = {
        " Control agents estimate another ${} for a model: it was not spent.": sum(
            column.cost_usd or 0.0 for column in columns if column.is_hypothetical
        ),
        " The judge cost another ${}.": sum(
            row.result.judge_cost_usd or 0.0 for row in material.rows
        ),
        " Simulated users cost another ${}.": sum(
            row.result.user_cost_usd or 0.0 for row in material.rows
        ),
    }
    reply += "".join(
        text.format(format_dollars(dollars))
        for text, dollars in further.items()
        if dollars
    )
    lost = sum(column.sum_of("lost_tokens") for column in columns)
    if lost:
        reply += f" Failed attempts used about {short_count(lost)} more tokens."
    # Controls have a price as well, that of the model they imitate, but nobody pays it.
    paid = [
        column
        for column in columns
        if column.cost_usd is not None and not column.is_hypothetical
    ]
    if not paid:
        return HeadlineAnswer(
            question,
            f"{short_count(tokens)} tokens",
            f"{reply} No agent reports its cost.",
        )
    total = sum(column.cost_usd or 0.0 for column in paid)
    dearest = max(paid, key=lambda column: column.cost_usd or 0.0)
    spent = sum(column.sum_of("filler_cost_usd") or 0.0 for column in paid)
    about = "~" * any(column.is_estimated for column in paid)
    text = (
        f"Most of it for {dearest.label}: ${format_dollars(dearest.cost_usd or 0.0)}. "
    )
    text += "Some of it was not reported, and is estimated. " * bool(about)
    text += f"${format_dollars(spent)} of it went to filler. " * bool(spent)
    text += reply
    untold = sum(column.cost_usd is None for column in columns)
    if untold:
        text += f" {untold} of {len(columns)} columns report no cost."
    return HeadlineAnswer(question, f"{about}${format_dollars(total)}", text)


class _Caveat(NamedTuple):
    """One thing that a reader should know before believing the figures."""

    number: int
    what: str
    """What there are so many of, in a few words."""
    sentences: list[str]


def _caveats(material: Material) -> list[HeadlineAnswer]:
    """Return what a reader should know before believing the figures, in one answer; nothing where all is well."""
    caveats = [
        _missing_scores(material),
        _open_verdicts(material),
        _overruns(material),
        _amendments(material),
        _guesses(material),
    ]
    present = [caveat for caveat in caveats if caveat.number]
    if not present:
        return []
    first = present[0]
    text = " ".join(sentence for caveat in present for sentence in caveat.sentences)
    return [HeadlineAnswer("Caveats", f"{first.number:,} {first.what}", text)]


def _missing_scores(material: Material) -> _Caveat:
    """Say which examples have no score, and whose fault that is."""
    missing = [row.result for row in material.rows if not row.result.scored]
    faults = sum(result.infrastructure for result in missing)
    lost = sum(result.is_lost for result in missing)
    why = (
        f", {faults} of them because of agent, judge, user or budget" if faults else ""
    )
    examples = pluralize(len(material.rows), "example")
    sentences = [
        f"{len(missing):,} of {examples} have no score and are left out of the means{why}."
    ]
    if lost:
        sentences.append(f"Totals and accuracy count {lost:,} of them as 0 and as 1.")
    without = _shared_sentences(
        material.series, lambda column: column.scenarios_without_score
    )
    sentences += [f"No score in {sentence}." for sentence in without]
    return _Caveat(len(missing), "without a score", sentences)


def _open_verdicts(material: Material) -> _Caveat:
    """Say how many verdicts the rules left open."""
    count = sum(row.result.upper is not None for row in material.rows)
    examples = pluralize(len(material.rows), "example")
    return _Caveat(count, "open", [f"{count:,} of {examples} {LEFT_OPEN}."])


def _overruns(material: Material) -> _Caveat:
    """Say how many examples are longer than their memory span."""
    count = sum(row.result.overrun for row in material.rows)
    sentence = f"{pluralize(count, 'example')} overran their memory span."
    return _Caveat(count, "overran", [sentence])


def _amendments(material: Material) -> _Caveat:
    """Say how many verdicts a person has replaced."""
    count = sum(row.result.automatic is not None for row in material.rows)
    verdicts = pluralize(len(material.rows), "verdict")
    return _Caveat(count, "amended", [f"Amended by hand: {count:,} of {verdicts}."])


def _guesses(material: Material) -> _Caveat:
    """Say where agents under test earn no more than guessing does: everywhere, or in which scenarios."""
    tested = [
        series
        for series in material.series
        if not series.column.control and not series.column.is_bundled
    ]
    guessing = [
        series
        for series in tested or material.series
        if series.column.scenarios_at_guessing_level
    ]
    without_memory = [
        series for series in guessing if guessing_test(series.column).lead <= 0
    ]
    partly = [series for series in guessing if series not in without_memory]
    sentences = []
    if without_memory:
        labels = _few_labels(without_memory)
        sentences.append(f"{labels}: no better than guessing.")
    partial = _shared_sentences(
        partly,
        lambda column: column.scenarios_at_guessing_level,
        "{columns}: no better than guessing in {scenarios}",
    )
    sentences += [f"{sentence}." for sentence in partial]
    return _Caveat(len(guessing), "no better than guessing", sentences)


def _few_labels(series: Iterable[ResultSeries]) -> str:
    """Return the labels of the first few, and how many more there are."""
    labels = [each.label for each in series]
    return join_words(first_and_rest(labels, _FEW, "{:,} more"))


def _shared_sentences(
    series: Iterable[ResultSeries],
    scenarios_of: Callable[[Column], Iterable[str]],
    text: str = "{scenarios}: {columns}",
) -> list[str]:
    """Return the text for each group of columns that share these scenarios."""
    concerned = [each for each in series if list(scenarios_of(each.column))]
    groups = group_by(concerned, lambda each: tuple(scenarios_of(each.column)))
    return [
        text.format(scenarios=join_words(scenarios), columns=_few_labels(group))
        for scenarios, group in groups.items()
    ]

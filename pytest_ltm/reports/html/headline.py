"""The headline answers of a report, as sentences computed from the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pytest_ltm.api.journal import at_span, span_place
from pytest_ltm.api.storage import first_and_rest, join_words, pluralize
from pytest_ltm.figures.columns import LEFT_OPEN, Column, columns_with_memory
from pytest_ltm.figures.comparison_text import ComparisonText, comparison_text
from pytest_ltm.figures.metrics import leading_metrics
from pytest_ltm.figures.sentences import short_span, span_sentence
from pytest_ltm.figures.statistics.paired_comparison import compare_runs
from pytest_ltm.figures.statistics.pairs import Pair, ScoredRow, pair_rows
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_dollars, short_count
from pytest_ltm.reports.agent_sentences import (
    AgentSentence,
    agent_sentences_for,
    baseline_standings,
    largest_span_label,
    rows_without_span,
)

if TYPE_CHECKING:
    from pytest_ltm.reports.html.report_data import Material, ResultSeries


class SeriesDifference(NamedTuple):
    """The difference of two series on the examples for which both have a score."""

    gain: float
    """In points: sum over scenarios of the mean difference of their examples."""
    comparison: ComparisonText
    """The comparison in words."""


Differences: TypeAlias = "Mapping[tuple[int, int], SeriesDifference | None]"


def series_differences(
    pairs: Iterable[tuple[ResultSeries, ResultSeries]],
) -> Differences:
    """Return the difference of the first over the second series of each pair, by their keys.

    None if they share no scored example.
    """
    rows: dict[int, list[ScoredRow]] = {}
    differences: dict[tuple[int, int], SeriesDifference | None] = {}
    for first, second in pairs:
        for series in (first, second):
            if series.key not in rows:
                rows[series.key] = rows_without_span(series)
        keys = first.key, second.key
        if keys not in differences:
            paired = pair_rows(rows[second.key], rows[first.key]).pairs
            differences[keys] = _difference(first, second, paired)
    return differences


def _difference(
    first: ResultSeries, second: ResultSeries, pairs: Sequence[Pair]
) -> SeriesDifference | None:
    if not pairs:
        return None
    comparison = compare_runs(pairs)
    gain = len({pair.scenario for pair in pairs}) * (comparison.difference or 0.0)
    return SeriesDifference(
        gain, comparison_text(first.label, second.label, pairs, comparison)
    )


_FEW = 3


class HeadlineAnswer(NamedTuple):
    """One question that readers ask, with its answer."""

    question: str
    short: str
    """A few words in large type."""
    text: str
    """One to three sentences."""
    state: str = ""
    """The state of a gate: `passed`, `failed` or `unmeasurable`."""


def headline_answers(
    material: Material, differences: Differences
) -> list[HeadlineAnswer]:
    """Return the answers on yardsticks, the best two agents, effective spans, costs and caveats.

    `differences`: at least that of the best two at the largest memory span.
    """
    answers = _yardstick_answers(material)
    ranked = material.ranked
    if len(ranked) > 1:
        first, second = ranked[:2]
        difference = differences[first.key, second.key]
        answers.append(_significance(material, first, second, difference))
    answers += _effective_span_answers(material)
    answers.append(_cost_answer(material))
    return answers + _caveats(material)


def _yardstick_answers(material: Material) -> list[HeadlineAnswer]:
    """Return what the bundled agents earn if others are under test: they show what is possible."""
    ranked = material.ranked
    yardsticks: list[ResultSeries] = []
    for series in material.series_at(largest_span_label(material.series)):
        column = series.column
        if column.is_bundled and column.out_of and series not in ranked:
            yardsticks.append(series)
    if not yardsticks or not ranked:
        return []
    yardsticks.sort(key=lambda series: -(series.column.accuracy_lower_bound or 0.0))
    place = span_place(ranked[0].column.span_label)
    question = f"What do the bundled agents earn {place}".strip() + "?"
    shares = [f"{series.agent} {series.column.share}" for series in yardsticks]
    text = f"{join_words(shares)}. They are yardsticks and take no part."
    return [HeadlineAnswer(question, shares[0], text)]


def _effective_span_answers(material: Material) -> list[HeadlineAnswer]:
    """Return the effective span of each agent that was tested both isolated and at a memory span."""
    spans = {}
    for agent, series in group_by(material.series, lambda series: series.agent).items():
        if len({part.column.span is None for part in series}) > 1:
            rows = chain.from_iterable(part.rows for part in series)
            spans[agent] = effective_span(row.result for row in rows)
    if not spans:
        return []
    first = list(spans.items())[:_FEW]
    short = ", ".join(f"{agent}: {short_span(span)}" for agent, span in first)
    text = " ".join(f"{agent}: {span_sentence(span)}." for agent, span in spans.items())
    return [HeadlineAnswer("How far do they remember?", short, text)]


def agent_sentences(material: Material) -> list[AgentSentence]:
    """Return a sentence on each agent under test, including its comparison with a gate's baseline."""
    sentences: dict[str, str] = {}
    # A baseline knows agents by their labels; in a report on several runs the labels
    # include the run's name.
    for number in range(len(material.runs)):
        names: dict[str, str] = {}
        for series in material.series:
            if series.run == number:
                names[series.column.agent] = series.agent
        standings = baseline_standings(material.comparison(number))
        for label, text in standings.items():
            if label in names:
                sentences[names[label]] = text
    return agent_sentences_for(material.series, sentences)


def trust_line(material: Material) -> list[str]:
    """Return short phrases on how well supported the figures are."""
    results = material.results
    missing = [result for result in results if not result.scored]
    words = [pluralize(len(results), "example")]
    trials = _most_trials(material)
    if trials:
        words.append(pluralize(trials, "trial"))
    calls = sum(result.judge_calls for result in results)
    if calls:
        words.append(f"judged by rules and a judge ({pluralize(calls, 'question')})")
    else:
        words.append("judged by rules")
    counts = {
        "without a score": len(missing),
        "open": sum(result.upper is not None for result in results),
        "lost to faults": sum(result.infrastructure for result in missing),
        "amended by hand": sum(result.automatic is not None for result in results),
    }
    for words_for_count, number in counts.items():
        if number:
            words.append(f"{number:,} {words_for_count}")
    share = _reply_share(material)
    if round(100 * share):
        words.append(f"agents wrote {share:.0%} of the tokens")
    best = material.ranked[:1]
    if best and best[0].column.floor:
        column = best[0].column
        words.append(
            f"{column.floor:.2f} of {column.maximum_total} points need no memory"
        )
    return words


def _most_trials(material: Material) -> int:
    """Return the highest number of trials of any series, isolated ones aside."""
    trials = 0
    for series in material.series:
        if series.column.span is not None:
            trials = max(trials, len(series.column.conversations))
    return trials


def _reply_share(material: Material) -> float:
    """Return the share of tokens that agents wrote; 0 if unknown."""
    # Imported runs contain only part of their conversations, so the share is unknown
    # for them.
    columns: list[Column] = []
    for series in material.series:
        if not material.runs[series.run].result.is_imported:
            columns.append(series.column)
    tokens = sum(column.tokens for column in columns)
    if not tokens:
        return 0.0
    reply_tokens: float = sum(column.sum_of("reply_tokens") for column in columns)
    return reply_tokens / tokens


_HELD = {"passed": "Yes", "failed": "No", "unmeasurable": "Could not be measured"}


def gate_answers(material: Material) -> list[HeadlineAnswer]:
    """Return the gate's result for each run, worded as in the terminal, with each rule that did not hold."""
    answers = []
    for run in material.runs:
        gate = run.summary.get("gate")
        if not isinstance(gate, dict) or gate.get("state") not in _HELD:
            continue
        run_name = f" ({run.result.run_id})" if len(material.runs) > 1 else ""
        question = f"Did the gate hold?{run_name}"
        state = gate["state"]
        answers.append(HeadlineAnswer(question, _HELD[state], _gate_text(gate), state))
    return answers


def _gate_text(gate: Mapping[str, Any]) -> str:
    """Return the sentence of a gate, and those of the first broken rules."""
    sentence = str(gate.get("sentence", "")).removeprefix("gate: ")
    sentence = sentence.removeprefix("could not be measured: ")
    findings: list[str] = []
    for finding in gate.get("findings", ()):
        if finding["state"] != "passed":
            findings.append(_finding_text(finding))
    sentences = first_and_rest(findings, _FEW, "{:,} more")
    if sentence:
        sentences = [sentence[:1].upper() + sentence[1:], *sentences]
    return f"{'. '.join(sentences)}."


def _finding_text(finding: Mapping[str, Any]) -> str:
    """Return the finding of a rule, and where it applies."""
    place = finding["agent"]
    # A finding without a span concerns an agent as a whole.
    if finding["span_label"]:
        place = at_span(place, finding["span_label"])
    return ": ".join(filter(None, (place, finding["sentence"])))


def leading_metric_answers(material: Material) -> list[HeadlineAnswer]:
    """Return the metric that a data set publishes, per agent and span: it comes first on its page."""
    metrics: list[tuple[str, dict[str, str]]] = []
    for run in material.runs:
        metrics += leading_metrics(run.result)
    answers = []
    for head, group in group_by(metrics, itemgetter(0)).items():
        means = list(chain.from_iterable(part.items() for _, part in group))
        text = join_words([f"{place}: {mean}" for place, mean in means])
        best = max(mean for _, mean in means)
        answers.append(HeadlineAnswer(head, best, f"{text}."))
    return answers


def _significance(
    material: Material,
    first: ResultSeries,
    second: ResultSeries,
    difference: SeriesDifference | None,
) -> HeadlineAnswer:
    """Return whether two series differ by more than chance."""
    question = "Is the difference real?"
    if difference is None:
        text = f"{first.agent} and {second.agent} share no example that both have a score for."
        return HeadlineAnswer(question, "Unknown", text)
    text = difference.comparison.text
    plans = _plans_of(material, first)
    if difference.gain and plans.isdisjoint(_plans_of(material, second)):
        # With different questions, the gain may come from the questions.
        text += (
            " Their plans differ, so they were asked different things; that may be why."
        )
    return HeadlineAnswer(question, difference.comparison.short, text)


def _plans_of(material: Material, series: ResultSeries) -> set[str]:
    """Return the fingerprints of the plans that a series was given."""
    fingerprints: set[str] = set()
    for conversation in material.conversations:
        if conversation.series == series.key:
            fingerprints.add(conversation.folder.result.plan_fingerprint)
    return fingerprints


def _cost_answer(material: Material) -> HeadlineAnswer:
    """Return the total cost of the runs, and the part not caused by agents."""
    question = "What did it cost?"
    if all(run.result.is_imported for run in material.runs):
        return HeadlineAnswer(
            question,
            "Unknown",
            "Published results do not say, and include only part of the conversations.",
        )
    columns = material.columns
    tokens = sum(column.tokens for column in columns)
    sentences = [_exchanged_tokens(material), *_other_costs(material)]
    # Controls have the price of the model they imitate, but it is never paid.
    paid: list[Column] = []
    for column in columns:
        if column.cost_usd is not None and not column.is_hypothetical:
            paid.append(column)
    if not paid:
        sentences.append("No agent reports its cost.")
        short = f"{short_count(tokens)} tokens"
        return HeadlineAnswer(question, short, " ".join(sentences))
    untold = sum(column.cost_usd is None for column in columns)
    if untold:
        sentences.append(f"{untold} of {len(columns)} columns report no cost.")
    total = sum(column.cost_usd or 0.0 for column in paid)
    sign = "~" if any(column.is_estimated for column in paid) else ""
    short = f"{sign}${format_dollars(total)}"
    return HeadlineAnswer(question, short, " ".join([*_agent_costs(paid), *sentences]))


def _exchanged_tokens(material: Material) -> str:
    """Return how many tokens were exchanged, and how many of them were filler."""
    columns = material.columns
    tokens = sum(column.tokens for column in columns)
    conversations = pluralize(len(material.conversations), "conversation")
    text = f"{short_count(tokens)} tokens were exchanged in {conversations}"
    if not tokens:
        return f"{text}."
    filler = 0
    for column in columns:
        filler += round((column.filler_share or 0.0) * column.tokens)
    return f"{text}, {100 * filler / tokens:.0f}% of them filler."


def _other_costs(material: Material) -> list[str]:
    """Return the cost of controls, judge, simulated users and failed attempts."""
    columns = material.columns
    results = material.results
    imitated = [column for column in columns if column.is_hypothetical]
    hypothetical = sum(column.cost_usd or 0.0 for column in imitated)
    judge = sum(result.judge_cost_usd or 0.0 for result in results)
    users = sum(result.user_cost_usd or 0.0 for result in results)
    lost_tokens = sum(column.sum_of("lost_tokens") for column in columns)
    sentences = []
    if hypothetical:
        dollars = format_dollars(hypothetical)
        sentences.append(
            f"Control agents estimate another ${dollars} for a model: it was not spent."
        )
    if judge:
        sentences.append(f"The judge cost another ${format_dollars(judge)}.")
    if users:
        sentences.append(f"Simulated users cost another ${format_dollars(users)}.")
    if lost_tokens:
        sentences.append(
            f"Failed attempts used about {short_count(lost_tokens)} more tokens."
        )
    return sentences


def _agent_costs(paid: Sequence[Column]) -> list[str]:
    """Return which series cost most, how much was estimated, and how much went to filler."""
    dearest = max(paid, key=lambda column: column.cost_usd or 0.0)
    dollars = format_dollars(dearest.cost_usd or 0.0)
    sentences = [f"Most of it for {dearest.label}: ${dollars}."]
    if any(column.is_estimated for column in paid):
        sentences.append("Some of it was not reported, and is estimated.")
    filler = sum(column.sum_of("filler_cost_usd") or 0.0 for column in paid)
    if filler:
        sentences.append(f"${format_dollars(filler)} of it went to filler.")
    return sentences


class _Caveat(NamedTuple):
    """One caveat about the figures."""

    number: int
    label: str
    """A few words on what is counted."""
    sentences: list[str]


def _caveats(material: Material) -> list[HeadlineAnswer]:
    """Return the caveats about the figures in one answer, or nothing if there are none."""
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
    text = " ".join(chain.from_iterable(caveat.sentences for caveat in present))
    return [HeadlineAnswer("Caveats", f"{first.number:,} {first.label}", text)]


def _missing_scores(material: Material) -> _Caveat:
    """Return which examples have no score, and why."""
    missing = [result for result in material.results if not result.scored]
    faults = sum(result.infrastructure for result in missing)
    lost_count = sum(result.is_lost for result in missing)
    examples = pluralize(len(material.rows), "example")
    sentence = (
        f"{len(missing):,} of {examples} have no score and are left out of the means"
    )
    if faults:
        sentence += f", {faults} of them because of agent, judge, user or budget"
    sentences = [f"{sentence}."]
    if lost_count:
        sentences.append(
            f"Totals and accuracy count {lost_count:,} of them as 0 and as 1."
        )
    without = _shared_sentences(
        material.series, lambda column: column.scenarios_without_score
    )
    sentences += [f"No score in {sentence}." for sentence in without]
    return _Caveat(len(missing), "without a score", sentences)


def _open_verdicts(material: Material) -> _Caveat:
    """Return how many verdicts the rules left open."""
    count = sum(row.result.upper is not None for row in material.rows)
    examples = pluralize(len(material.rows), "example")
    return _Caveat(count, "open", [f"{count:,} of {examples} {LEFT_OPEN}."])


def _overruns(material: Material) -> _Caveat:
    """Return how many examples exceed their memory span."""
    count = sum(row.result.overrun for row in material.rows)
    sentence = f"{pluralize(count, 'example')} went on past the memory span."
    return _Caveat(count, "past the span", [sentence])


def _amendments(material: Material) -> _Caveat:
    """Return how many verdicts a person has replaced."""
    count = sum(row.result.automatic is not None for row in material.rows)
    verdicts = pluralize(len(material.rows), "verdict")
    return _Caveat(count, "amended", [f"Amended by hand: {count:,} of {verdicts}."])


def _guesses(material: Material) -> _Caveat:
    """Return where agents under test do not beat guessing: everywhere, or in which scenarios."""
    tested: list[ResultSeries] = []
    for series in material.series:
        if not series.column.control and not series.column.is_bundled:
            tested.append(series)
    guessing: list[ResultSeries] = []
    for series in tested or material.series:
        if series.column.scenarios_at_guessing_level:
            guessing.append(series)
    remembering = columns_with_memory([series.column for series in guessing])
    without_memory = [series for series in guessing if series.column not in remembering]
    partly = [series for series in guessing if series not in without_memory]
    sentences = []
    if without_memory:
        labels = _few_labels(without_memory)
        sentences.append(f"{labels}: not shown to be better than guessing.")
    partial = _shared_sentences(
        partly,
        lambda column: column.scenarios_at_guessing_level,
        "{columns}: not shown to be better than guessing in {scenarios}",
    )
    sentences += [f"{sentence}." for sentence in partial]
    return _Caveat(len(guessing), "at the level of guessing", sentences)


def _few_labels(series: Iterable[ResultSeries]) -> str:
    """Return the labels of the first few series, and how many more there are."""
    labels = [part.label for part in series]
    return join_words(first_and_rest(labels, _FEW, "{:,} more"))


def _shared_sentences(
    series: Iterable[ResultSeries],
    scenarios_of: Callable[[Column], Iterable[str]],
    text: str = "{scenarios}: {columns}",
) -> list[str]:
    """Return the text for each group of columns that share these scenarios."""
    concerned = [part for part in series if list(scenarios_of(part.column))]
    groups = group_by(concerned, lambda part: tuple(scenarios_of(part.column)))
    sentences: list[str] = []
    for scenarios, group in groups.items():
        labels = _few_labels(group)
        sentences.append(text.format(scenarios=join_words(scenarios), columns=labels))
    return sentences

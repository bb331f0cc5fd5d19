"""The answers that a reader wants within seconds, as sentences computed from the data."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._statistics import FULL_MARKS, compare, effective_span, grouped, paired, placed
from pytest_ltm._text.lists import few, listed, shortened
from pytest_ltm.reporting.columns import leading, short_span, span_sentence
from pytest_ltm.reporting.compared import told
from pytest_ltm.reporting.text import amount, counted, dollars, score_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm.reporting.columns import Column
    from pytest_ltm.reporting.compared import Told
    from pytest_ltm.reporting.html.material import Material, Series


class Difference(NamedTuple):
    """What one series has over another, on the examples in which both have a score."""

    gain: float
    """In points: sum over scenarios of the mean difference of their examples."""
    told: Told
    """What may be said of it."""


def difference(one: Series, other: Series) -> Difference | None:
    """Return what `one` has over `other`; None if they share no example with a score."""
    pairs = paired(*([placed(row.result, span_label="") for row in each.rows] for each in (other, one))).pairs
    if not pairs:
        return None
    found = compare(pairs)
    gain = len({pair.scenario for pair in pairs}) * (found.difference or 0.0)
    return Difference(gain, told(one.label, other.label, pairs, found))


_FEW = 3


class Answer(NamedTuple):
    """One question of the reader's, and its answer."""

    question: str
    short: str
    """A few words in large type."""
    text: str
    """One to three sentences."""
    state: str = ""
    """Of a gate: `passed`, `failed` or `unmeasurable`."""


def headline(found: Material) -> list[Answer]:
    """Return whether the gate held, who is best at the largest span, what it forgets and so on, and what to mind."""
    place = largest(found)
    ranked = rank(found.at(place))
    answers: list[Answer | None] = [*_gates(found), *_leading(found)]
    answers += [
        _best(ranked, place),
        _beside(found.at(place), ranked),
        _forgets(ranked, place),
        _real(found, ranked),
        _far(found),
        _cost(found),
    ]
    return [answer for answer in [*answers, _mind(found)] if answer is not None]


_HELD = {"passed": "Yes", "failed": "No", "unmeasurable": "Could not be measured"}


def _gates(found: Material) -> list[Answer]:
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
        answers.append(Answer(f"Did the gate hold?{which}", _HELD[state], f"{text}.", state))
    return answers


def _finding(one: Mapping[str, str]) -> str:
    place = " at ".join(filter(None, (one["agent"], one["span_label"])))
    return f"{place}: {one['sentence']}" if place else one["sentence"]


def _leading(found: Material) -> list[Answer]:
    """Return the metric that a data set publishes, for each agent and span: it comes first on its page."""
    known = grouped([each for run in found.runs for each in leading(run.result)], itemgetter(0))
    parts = {head: [part for _, means in of for part in means.items()] for head, of in known.items()}
    return [
        Answer(head, max(mean for _, mean in of), f"{listed([f'{place}: {mean}' for place, mean in of])}.")
        for head, of in parts.items()
    ]


def largest(found: Material) -> str:
    """Return the label of the largest memory span in tokens; `isolated` where there is no other."""
    in_tokens = [series.column for series in found.series if series.column.span is not None]
    return max(in_tokens, key=lambda column: column.span or 0).span_label if in_tokens else found.spans[-1]


def rank(series: Iterable[Series]) -> list[Series]:
    """Return the series that have a score, best accuracy first, without controls.

    Nor are agents of this package among them, unless there are no others: nobody asks whether `full` is better.
    Those with a score in less than half of the scenarios that another has one in come last: they were hardly measured.
    """
    scored = [each for each in series if each.column.out_of and not each.column.control]
    scored = [each for each in scored if not each.column.yardstick] or scored
    most = _most(scored)
    return sorted(scored, key=lambda each: (2 * each.column.out_of < most, -(each.column.least or 0.0)))


def _most(series: Iterable[Series]) -> int:
    return max((each.column.out_of for each in series), default=0)


def _best(ranked: Sequence[Series], place: str) -> Answer:
    question = f"Which agent remembers most {_at(place)}?"
    if not ranked:
        return Answer(question, "Unknown", f"Nothing has a score {_at(place)}.")
    first, most = ranked[0].column, _most(ranked)
    best = first.least or 0.0
    near = [each for each in ranked if abs((each.column.least or 0.0) - best) < 1 - FULL_MARKS]
    level = [each for each in near if 2 * each.column.out_of >= most]
    spread = f", spread {first.spread.sd:.2f}" if first.spread and not first.is_open else ""
    floor = f"; {first.floor:.2f} without memory, by guessing" if first.floor else ""
    points = f"{first.points} of {counted(first.full, 'point')} ({first.share}{spread}{floor})"
    if len(ranked) == 1:
        text = f"{ranked[0].agent}: {points}."
        return Answer(f"How much is remembered {_at(place)}?", first.share, text)
    others = [_standing(each, most) for each in ranked[len(level) :]]
    rest = f" Then {listed(_few(others))}." if others else ""
    if len(level) > 1:
        names = listed([each.agent for each in level])
        short = names if len(level) <= 2 else f"{len(level)} agents are tied"
        return Answer(question, short, f"{names} are tied at {points}.{rest}")
    return Answer(question, ranked[0].agent, f"{points}.{rest}")


def _beside(series: Iterable[Series], ranked: Sequence[Series]) -> Answer | None:
    """Return what agents of this package earn where others are tested, as a measure of what is possible."""
    others = [each for each in series if each.column.yardstick and each.column.out_of and each not in ranked]
    if not others or not ranked:
        return None
    parts = sorted(others, key=lambda each: -(each.column.least or 0.0))
    short = listed([f"{each.agent} {each.column.share}" for each in parts[:1]])
    text = listed([f"{each.agent} {each.column.share}" for each in parts])
    return Answer("What do the bundled agents earn there?", short, f"{text}. They are yardsticks and take no part.")


def _standing(series: Series, most: int) -> str:
    column = series.column
    only = f" (only {column.out_of} of {most} scenarios have a score)" if column.out_of < most else ""
    return f"{series.agent} {column.share}{only}"


def _forgets(ranked: Sequence[Series], place: str) -> Answer | None:
    if not ranked:
        return None
    first = ranked[0]
    lost = forgotten(first.column)
    rest = [f"{each.agent} in {len(forgotten(each.column))}" for each in ranked[1:] if forgotten(each.column)]
    others = f" Scenarios in which the others lose points: {listed(rest)}." if rest and len(rest) <= _FEW else ""
    every = "the one scenario" if first.column.out_of == 1 else f"all {first.column.out_of} scenarios"
    short, text = "Nothing", f"Full marks in {every} {_at(place)}."
    if lost:
        names = [name for name, _ in lost]
        short = few(names, 2) if len(names) > 2 else listed(names)
        losses = _few([f"{name} {score_text(mean)}" for name, mean in lost])
        text = f"Mean scores below full marks {_at(place)}: {listed(losses)}."
    return Answer(f"What does {first.agent} forget?", short, text + others)


def forgotten(column: Column) -> list[tuple[str, float]]:
    """Return the scenarios without full marks and their mean scores, the worst first."""
    means = [(name, cell.mean) for name, cell in column.cells.items()]
    lost = [(name, mean) for name, mean in means if mean is not None and mean < FULL_MARKS]
    return sorted(lost, key=lambda each: (each[1], each[0]))


def _few(parts: Sequence[str]) -> list[str]:
    return shortened(parts, _FEW, "{:,} more")


def _real(material: Material, ranked: Sequence[Series]) -> Answer | None:
    if len(ranked) < 2:
        return None
    first, second = ranked[0], ranked[1]
    question = "Is the difference real?"
    found = difference(first, second)
    if found is None:
        text = f"{first.agent} and {second.agent} share no example that both have a score for."
        return Answer(question, "Unknown", text)
    said = found.told.text
    if found.gain and _plans(material, first).isdisjoint(_plans(material, second)):
        said += " Their plans differ, so they were asked different things; that may be why."
    return Answer(question, found.told.short, said)


def _plans(material: Material, series: Series) -> set[str]:
    held = {row.conversation for row in series.rows}
    return {each.folder.result.plan_fingerprint for each in material.conversations if each.key in held}


def _far(found: Material) -> Answer | None:
    """Return the effective memory span of each agent that was tested isolated and at a memory span."""
    spans = grouped(found.series, lambda series: series.agent)
    tested = {name: each for name, each in spans.items() if len({one.column.span is None for one in each}) > 1}
    known = {name: effective_span([row.result for one in each for row in one.rows]) for name, each in tested.items()}
    if not known:
        return None
    short = ", ".join(f"{name}: {short_span(each)}" for name, each in list(known.items())[:_FEW])
    text = " ".join(f"{name}: {span_sentence(each)}." for name, each in known.items())
    return Answer("How far do they remember?", short, text)


def _cost(found: Material) -> Answer:
    question = "What did it cost?"
    columns = [series.column for series in found.series]
    tokens = sum(column.tokens for column in columns)
    filler = sum(round((column.filler_share or 0.0) * column.tokens) for column in columns)
    said = f"{amount(tokens)} tokens were exchanged in {counted(len(found.conversations), 'conversation')}"
    said += f", {100 * filler / tokens:.0f}% of them filler." if tokens else "."
    would = sum(column.cost_usd or 0.0 for column in columns if column.hypothetical)
    if would:
        said += f" Control agents estimate another ${dollars(would)} for a model: it was not spent."
    judged = sum(column.judge_cost_usd or 0.0 for column in columns)
    if judged:
        said += f" The judge cost another ${dollars(judged)}."
    voiced = sum(column.user_cost_usd or 0.0 for column in columns)
    if voiced:
        said += f" Simulated users cost another ${dollars(voiced)}."
    lost = sum(column.lost_tokens for column in columns)
    if lost:
        said += f" Attempts that came to nothing used another {amount(lost)} tokens, by estimate."
    told = [column for column in columns if column.cost_usd is not None and not column.hypothetical]
    if not told:
        return Answer(question, f"{amount(tokens)} tokens", f"{said} No agent reports its cost.")
    total = sum(column.cost_usd or 0.0 for column in told)
    dearest = max(told, key=lambda column: column.cost_usd or 0.0)
    spent = sum(column.filler_cost_usd or 0.0 for column in told)
    about = "~" * any(column.estimated for column in told)
    text = f"Most of it for {dearest.label}: ${dollars(dearest.cost_usd or 0.0)}. "
    text += "Some of it was not reported, and is estimated. " * bool(about)
    text += f"${dollars(spent)} of it went to filler. " * bool(spent)
    text += said
    untold = sum(column.cost_usd is None for column in columns)
    if untold:
        text += f" {untold} of {len(columns)} columns report no cost."
    return Answer(question, f"{about}${dollars(total)}", text)


def _mind(found: Material) -> Answer | None:
    results = [row.result for row in found.rows]
    missing = [each for each in results if not each.scored]
    parts = []
    if missing:
        lost = sum(each.infrastructure for each in missing)
        why = f", {lost} of them because of agent, judge, user or budget" if lost else ""
        parts.append(
            f"{len(missing):,} of {counted(len(results), 'example')} have no score and are left out of the means{why}."
        )
        open_ = sum(each.is_open for each in missing)
        parts += [f"Totals and accuracy count {open_:,} of them as 0 and as 1."] * bool(open_)
        parts += [f"No score in {told}." for told in _each(found.series, lambda column: column.scoreless)]
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
        "overran": over,
        "amended": amended,
        "no better than guessing": len(guessed),
    }
    short = next((f"{count:,} {what}" for what, count in counts.items() if count), "")
    return Answer("Caveats", short, " ".join(parts)) if parts else None


def _each(some: Iterable[Series], names: Callable[[Column], Iterable[str]]) -> list[str]:
    """Return a sentence for each group of columns that share these scenarios: the scenarios, then the columns."""
    same = grouped([each for each in some if [*names(each.column)]], lambda each: tuple(names(each.column)))
    return [f"{listed(of)}: {listed(_few([each.label for each in those]))}" for of, those in same.items()]


def _at(label: str) -> str:
    if label == "isolated":
        return "in isolated examples"
    return f"at {label} tokens" if label[:1].isdigit() else f"at {label}"

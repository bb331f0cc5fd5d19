"""The answers that a reader wants within seconds, as sentences computed from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._statistics import FULL_MARKS, effective_span
from pytest_ltm.reporting._spans import short_span, span_sentence
from pytest_ltm.reporting._text import amount, counted, score_text
from pytest_ltm.reporting.html._difference import difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm.reporting._columns import Column
    from pytest_ltm.reporting.html._material import Material, Row, Series

_FEW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question of the reader's, and its answer."""

    question: str
    short: str
    """A few words in large type."""
    text: str
    """One to three sentences."""


def headline(found: Material) -> list[Answer]:
    """Return who is best at the largest span, what it forgets, whether its lead is real, the cost, and what to mind."""
    place = largest(found)
    ranked = rank(found.at(place))
    answers = [_best(ranked, place), _forgets(ranked, place), _real(found, ranked, place), _far(found), _cost(found)]
    return [answer for answer in [*answers, _mind(found.rows)] if answer is not None]


def largest(found: Material) -> str:
    """Return the label of the largest memory span in tokens; `isolated` where there is no other."""
    in_tokens = [series.column for series in found.series if series.column.span is not None]
    if not in_tokens:
        return found.spans[-1]
    return max(in_tokens, key=lambda column: column.span or 0).span_label


def rank(series: Iterable[Series]) -> list[Series]:
    """Return the series that have a score, best accuracy first.

    Those with a score in less than half of the scenarios that another has one in come last: they were hardly measured.
    """
    scored = [each for each in series if each.column.out_of]
    most = _most(scored)
    return sorted(scored, key=lambda each: (2 * each.column.out_of < most, -(each.column.accuracy or 0.0)))


def _most(series: Iterable[Series]) -> int:
    return max((each.column.out_of for each in series), default=0)


def _best(ranked: Sequence[Series], place: str) -> Answer:
    question = f"Which agent remembers most {_at(place)}?"
    if not ranked:
        return Answer(question=question, short="Unknown", text=f"Nothing has a score {_at(place)}.")
    level = [each for each in _level(ranked) if 2 * each.column.out_of >= _most(ranked)]
    first = ranked[0].column
    points = f"{_points(first)} ({_percent(first)})"
    if len(ranked) == 1:
        return Answer(question=f"How much is remembered {_at(place)}?", short=_percent(first), text=(
            f"{ranked[0].agent}: {points}."
        ))  # fmt: skip
    others = ranked[len(level) :]
    rest = f" Then {_listed(_few([_standing(each, _most(ranked)) for each in others]))}." if others else ""
    if len(level) > 1:
        names = _listed([each.agent for each in level])
        short = names if len(level) <= 2 else f"{len(level)} agents are level"  # noqa: PLR2004 - what fits
        return Answer(question=question, short=short, text=f"{names} are level with {points}.{rest}")
    return Answer(question=question, short=ranked[0].agent, text=f"{points}.{rest}")


def _standing(series: Series, most: int) -> str:
    column = series.column
    only = f" (only {column.out_of} of {most} scenarios have a score)" if column.out_of < most else ""
    return f"{series.agent} {_percent(column)}{only}"


def _forgets(ranked: Sequence[Series], place: str) -> Answer | None:
    if not ranked:
        return None
    first = ranked[0]
    question = f"What does {first.agent} forget?"
    lost = forgotten(first.column)
    rest = [f"{each.agent} in {len(forgotten(each.column))}" for each in ranked[1:] if forgotten(each.column)]
    others = f" Scenarios in which the others lose points: {_listed(rest)}." if rest and len(rest) <= _FEW else ""
    if not lost:
        short, text = "Nothing", f"Full marks in {_all_of(first.column)} {_at(place)}."
    else:
        names = [name for name, _ in lost]
        more = len(names) - 2
        short = _listed(names) if more <= 0 else f"{', '.join(names[:2])} and {more} more"
        text = f"Mean scores below full marks {_at(place)}: {_losses(first.column)}."
    return Answer(question=question, short=short, text=text + others)


def forgotten(column: Column) -> list[tuple[str, float]]:
    """Return the scenarios without full marks and their mean scores, the worst first."""
    means = [(name, cell.mean) for name, cell in column.cells.items()]
    lost = [(name, mean) for name, mean in means if mean is not None and mean < FULL_MARKS]
    return sorted(lost, key=lambda each: (each[1], each[0]))


def _losses(column: Column) -> str:
    return _listed(_few([f"{name} {score_text(mean)}" for name, mean in forgotten(column)]))


def _few(parts: Sequence[str]) -> list[str]:
    more = [f"{len(parts) - _FEW} more"] if len(parts) > _FEW else []
    return [*parts[:_FEW], *more]


def _real(material: Material, ranked: Sequence[Series], place: str) -> Answer | None:
    if len(ranked) < 2:  # noqa: PLR2004 - nobody to compare with
        return None
    first, second = ranked[0], ranked[1]
    question = "Is the difference real?"
    found = difference(first, second)
    if found is None:
        text = f"{first.agent} and {second.agent} have no example in common that both have a score for."
        return Answer(question=question, short="Cannot be told", text=text)
    if not found.better and not found.worse:
        text = f"{first.agent} and {second.agent} have equal scores in all {counted(found.pairs, 'example')}."
        return Answer(question=question, short="There is none", text=text)
    lead = (
        f"{first.agent} leads {second.agent} by {found.gain:.2f} points {_at(place)}: better in {found.better}, "
        f"worse in {found.worse} of {counted(found.pairs, 'example')}."
    )
    if _plans(material, first).isdisjoint(_plans(material, second)):
        lead += " Their plans differ, so they were not asked the same: that may be why."
    if found.p is None:
        return Answer(question=question, short="Too little to tell", text=f"{lead} {_sentence(found.reason)}")
    odds = f"Between equally good agents chance does as much in {probability(found.p)} of cases (paired test)."
    return Answer(question=question, short="Yes" if found.real else "Perhaps not", text=f"{lead} {odds}")


def _plans(material: Material, series: Series) -> set[str]:
    held = {row.conversation for row in series.rows}
    return {each.folder.result.plan_fingerprint for each in material.conversations if each.key in held}


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def probability(p: float) -> str:
    """Return `30%`, `0.4%`, `less than 0.1%`."""
    if p < 0.001:  # noqa: PLR2004 - a tenth of a percent
        return "less than 0.1%"
    return f"{100 * p:.1f}%" if p < 0.1 else f"{100 * p:.0f}%"  # noqa: PLR2004 - where a decimal matters


def _far(found: Material) -> Answer | None:
    """Return the effective memory span of each agent that was tested isolated and at a memory span."""
    spans: dict[str, list[Series]] = {}
    for series in found.series:
        spans.setdefault(series.agent, []).append(series)
    tested = {name: each for name, each in spans.items() if len({one.column.span is None for one in each}) > 1}
    known = {name: effective_span([row.result for one in each for row in one.rows]) for name, each in tested.items()}
    if not known:
        return None
    short = ", ".join(f"{name}: {short_span(each)}" for name, each in list(known.items())[:_FEW])
    text = " ".join(f"{name}: {span_sentence(each)}." for name, each in known.items())
    return Answer(question="How far do they remember?", short=short, text=text)


def _cost(found: Material) -> Answer:
    question = "What did this cost?"
    columns = [series.column for series in found.series]
    tokens = sum(column.tokens for column in columns)
    filler = sum(round((column.filler_share or 0.0) * column.tokens) for column in columns)
    said = f"{amount(tokens)} tokens were said in {counted(len(found.conversations), 'conversation')}"
    said += f", {100 * filler / tokens:.0f}% of them filler." if tokens else "."
    would = sum(column.cost_usd or 0.0 for column in columns if column.hypothetical)
    if would:
        said += f" Another {money(would)} is what control agents say that a model would cost: it was not spent."
    judged = sum(column.judge_cost_usd or 0.0 for column in columns)
    if judged:
        said += f" The judge cost {money(judged)} beside that."
    told = [column for column in columns if column.cost_usd is not None and not column.hypothetical]
    if not told:
        return Answer(question=question, short=f"{amount(tokens)} tokens", text=f"{said} No agent tells its price.")
    total = sum(column.cost_usd or 0.0 for column in told)
    dearest = max(told, key=lambda column: column.cost_usd or 0.0)
    spent = sum(column.filler_cost_usd or 0.0 for column in told)
    text = f"Most of it for {dearest.label}: {money(dearest.cost_usd or 0.0)}. "
    text += f"{money(spent)} of it went to filler. " * bool(spent)
    text += said
    untold = sum(column.cost_usd is None for column in columns)
    if untold:
        text += f" {untold} of {len(columns)} columns do not tell their price."
    return Answer(question=question, short=money(total), text=text)


def money(dollars: float) -> str:
    """Return `$12.30`; small amounts with two significant digits."""
    return f"${dollars:,.2f}" if dollars >= 0.1 or dollars == 0 else f"${dollars:.2g}"  # noqa: PLR2004 - cents are exact enough


def _mind(rows: Sequence[Row]) -> Answer | None:
    results = [row.result for row in rows]
    missing = [each for each in results if not each.scored]
    parts = []
    if missing:
        lost = sum(each.infrastructure for each in missing)
        why = f", {lost} of them through agent, judge or budget" if lost else ""
        parts.append(f"{len(missing):,} of {counted(len(results), 'example')} have no score and are in no mean{why}.")
    over = sum(each.overrun for each in results)
    if over:
        parts.append(f"{counted(over, 'example')} overran their memory span.")
    amended = sum(each.automatic is not None for each in results)
    if amended:
        parts.append(f"Amended by hand: {amended:,} of {counted(len(results), 'verdict')}.")
    short = f"{len(missing):,} without a score" if missing else f"{over:,} overran" if over else f"{amended:,} amended"
    return Answer(question="What is to be minded?", short=short, text=" ".join(parts)) if parts else None


def _level(ranked: Sequence[Series]) -> list[Series]:
    best = ranked[0].column.accuracy or 0.0
    return [each for each in ranked if abs((each.column.accuracy or 0.0) - best) < 1 - FULL_MARKS]


def _points(column: Column) -> str:
    spread = f" ± {column.spread.sd:.2f}" if column.spread else ""
    return f"{column.total:.2f}{spread} of {counted(column.out_of, 'point')}"


def _percent(column: Column) -> str:
    return "-" if column.accuracy is None else f"{100 * float(score_text(column.accuracy)):.0f}%"


def _all_of(column: Column) -> str:
    return "the one scenario" if column.out_of == 1 else f"all {column.out_of} scenarios"


def _at(label: str) -> str:
    if label == "isolated":
        return "in isolated examples"
    return f"at {label} tokens" if label[:1].isdigit() else f"at {label}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

"""What gates and statistics say of made-up runs: `tests/golden/gate`, a file a subject, made to be read in a diff."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from gate_sides import FULL, WAYS, WORSE, held, side
from msgspec import Struct, structs
from sample_runs import row

from pytest_ltm.api.journal import NeedleRef, QuestionResult
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.figures.statistics.counts import (
    cohen_kappa,
    holm_correction,
    mcnemar_probability,
    mean_estimate,
    pass_at_k,
    pass_hat_k,
    sum_estimates,
    wilson_interval,
)
from pytest_ltm.figures.statistics.paired_comparison import (
    chance_here,
    compare_runs,
    compare_scenarios,
    trials_to_tell,
)
from pytest_ltm.figures.statistics.pairs import Pair
from pytest_ltm.figures.statistics.pass_rates import pass_rate, score_interval
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.figures.statistics.totals import (
    filler_share,
    ltm_reach,
    percentile_of,
    score_share,
    scores_by_scenario,
    spread_by_draws,
    weighted_reach,
)
from pytest_ltm.gate.blindness import why_undetectable
from pytest_ltm.gate.change_report import change_lines, verdict_line
from pytest_ltm.gate.changes import GateSide, compare_sides
from pytest_ltm.gate.gate_rules import parse_change_rule, parse_limit_rule
from pytest_ltm.gate.verdict import decide_gate

RECORDED = Path(__file__).parent / "gate"
UNDER = (
    "0.8",
    "mean:80%",
    "mean:0.5",
    "total:1.5",
    "total:2.25",
    "worst:0.01",
    "worst:0.625",
    "pass_rate:0.5",
    "pass^1:0.5",
    "pass^2:0.5",
    "pass@2:0.5",
    "recall@1:0.5",
    "recall@5:0.6",
    "cost:1",
    "cost:2.5",
    "tokens:2k",
    "tokens:2420",
    "tokens:1m",
    "reply_tokens:100",
    "span:2k",
    "span:32k",
    "unscored:0",
    "unscored:50%",
    "errors:0",
    "errors:0.2",
    "scenario:colours.mean:0.5",
    "scenario:colours.tokens:200",
    "scenario:jokes.cost:0.1",
    "skill:R.pass_rate:0.5",
    "skill:X.mean:0.5",
    "scenario:nothing.errors:0",
)
AGAINST = (
    "mean:0",
    "mean:0.05",
    "mean:5%",
    "mean:43%",
    "mean:0.375",
    "total:0.5",
    "total:1.125",
    "total:20%",
    "pass_rate:0",
    "pass_rate:0.3333",
    "pass^2:0.1",
    "cost:0",
    "cost:10%",
    "cost:0.05",
    "tokens:0",
    "tokens:1k",
    "tokens:150%",
    "reply_tokens:10%",
    "span:0",
    "span:40k",
    "unscored:0",
    "errors:0",
    "p:0.05",
    "p:0.5",
    "holm:0.05",
    "holm:0.9",
    "scenario:colours.mean:0.1",
    "scenario:colours.p:0.2",
    "skill:R.mean:0.1",
    "skill:R.total:1",
)
WRONG = (
    "",
    ":",
    "mean",
    "mean:",
    "0.5x",
    "mean:x",
    "mean:-1",
    "mean:1.01",
    "mean:101%",
    "total:5%",
    "total:5k",
    "cost:10%",
    "cost:1k",
    "tokens:1.5k",
    "tokens:10%",
    "tokens:1e400",
    f"tokens:{'9' * 400}",
    "p:0",
    "p:1",
    "p:0.05",
    "holm:1.5",
    "worst:0.1",
    "maen:0.5",
    "recall@0:1",
    "recall@3:0.1",
    "pass^0:1",
    "pass^3:50%",
    "pass@12:1",
    "senario:colours.mean:1",
    "scenario:.mean:1",
    "scenario:colours:1",
    "scenario.colours.mean:1",
    "scenario:colours.span:1",
    "skill:R.holm:0.05",
    "scenario:a.b.mean:0.5",
    "skill:R.p:0.05",
    "span:10k",
    "span:10%",
    "1",
    "1.5",
    "80%",
    " 0.5 ",
    "mean : 0.5",
)


def subjects() -> dict[str, Callable[[], Iterator[str]]]:
    """Return how the lines of each file are made."""
    return {
        "rules": rules,
        "verdicts": verdicts,
        "changes": changed,
        "comparisons": comparisons,
        "reach": reach,
        "counts": counts,
    }


def rules() -> Iterator[str]:
    """Yield each rule as a sentence, or why it is none."""
    for text, (name, read) in product(
        (*UNDER, *AGAINST, *WRONG),
        (("under", parse_limit_rule), ("against", parse_change_rule)),
    ):
        try:
            rule = read(text)
        except ConfigurationError as error:
            yield f"{name} {text[:40]!r}: refused: {error}"
        else:
            yield f"{name} {text[:40]!r}: {rule.sentence} [{rule.limit:g}, {rule.relative}, {rule.allowed}]"


def situations() -> dict[str, tuple[GateSide | None, GateSide]]:
    """Return runs with what they are compared with, by what is special about them."""
    needles = [
        NeedleRef(
            number=n,
            text="I prefer ochre.",
            gap=1,
            told_gap=1,
            seconds_passed=0.0,
            rank=rank,
        )
        for n, rank in enumerate((1, 3, 0))
    ]
    asked = tuple(
        QuestionResult(
            number=9,
            text="Which?",
            answer="Ochre.",
            needles=tuple(some),
            retrieved=("a", "b"),
        )
        for some in (needles, needles[:1], needles[2:])
    )
    some: dict[str, tuple[float | None, ...]] = {
        "colours": (1.0, None),
        "jokes": (None, 0.5),
        "spy": (None, None),
    }
    more = {**FULL, **{f"more{n}": (1.0, 0.5, 1.0) for n in range(6)}}
    less = {**WORSE, **{f"more{n}": (0.0, 0.5, 0.75) for n in range(6)}}
    spans = ("2k", "32k", "120k")
    broken: dict[str, Any] = {
        "outcome": "error",
        "score": None,
        "reason": "ZeroDivisionError",
        "cause": "scenario",
    }
    gone = {**broken, "reason": "no reply", "cause": "agent"}
    full, worse = held(FULL), held(WORSE)
    return {
        "as before": (side(full), side(held(FULL))),
        "worse": (side(full, name="baseline 'main'"), side(worse)),
        "better": (side(worse), side(full)),
        "worse in one of six trials": (_trials(FULL), _trials(FULL, last=WORSE)),
        "worse in all of eight trials": (_trials(more, 8), _trials(less, 8)),
        "worse at the longest span": (
            side(*(held(more, span=span) for span in (*spans, "isolated"))),
            side(
                *(
                    held(less if span == "120k" else more, span=span)
                    for span in (*spans, "isolated")
                )
            ),
        ),
        "worse at all spans": (
            side(*(held(more, span=span) for span in (*spans, "isolated"))),
            side(
                *(held(less, span=span) for span in spans), held(more, span="isolated")
            ),
        ),
        "dearer": (
            side(held(FULL, cost_usd=1.0, reply_tokens=50)),
            side(held(FULL, cost_usd=1.2, reply_tokens=60)),
        ),
        "cost unknown": (
            side(held(FULL, cost_usd=1.0)),
            side(full, held(FULL, trial="1", cost_usd=1.0)),
        ),
        "some without a score": (side(full), side(held(some))),
        "none with a score": (side(full), side(held(dict.fromkeys(FULL, (None,))))),
        "errors": (side(full), _changed(full, **broken)),
        "agent gone": (side(full), _changed(full, **gone)),
        "lost before": (_changed(full, **gone), side(full)),
        "two of three must pass": (None, _changed(full, pass_k=2, trials=3)),
        "one must pass": (None, _changed(worse, pass_k=1, trials=3)),
        "retrieved": (None, _changed(full, questions=asked)),
        "two agents": (side(full), side(held(FULL, agent="a"), held(WORSE, agent="b"))),
        "another trial": (
            side(full, held(FULL, trial="2")),
            side(full, held(WORSE, trial="10")),
        ),
        "no baseline": (None, side(full, held(WORSE, span="32k"))),
    }


def _trials(scores: Any, count: int = 6, last: Any = None) -> GateSide:
    return side(
        *(
            held(last if last and n == count - 1 else scores, trial=str(n))
            for n in range(count)
        )
    )


def _changed(one: Any, trials: int = 1, **changed: Any) -> GateSide:
    """Return a side in which every second row is another."""
    conversation, plan = one
    parts = []
    for n in range(trials):
        rows = tuple(
            replace(
                each, trial=str(n), **(changed if "pass_k" in changed or i % 2 else {})
            )
            for i, each in enumerate(conversation.scenarios)
        )
        parts.append(
            (
                replace(conversation, trial=str(n), scenarios=rows),
                structs.replace(plan, trial=str(n)),
            )
        )
    return side(*parts)


def verdicts() -> Iterator[str]:
    """Yield what each rule finds in each situation."""
    for name, (before, after) in situations().items():
        found = compare_sides(before, after, WAYS, common=True) if before else None
        yield f"## {name}"
        for rule in (*map(parse_limit_rule, UNDER), *map(parse_change_rule, AGAINST)):
            judged = decide_gate(after.result, [rule], found)
            kind = f"{'against' if rule.against else 'under'} {rule.text}"
            yield from (
                f"{kind}: {one.state}: {one.text}"
                for one in judged.findings
                if one.rule == rule.text
            )
        several = decide_gate(
            after.result,
            [
                *map(parse_limit_rule, UNDER[:3]),
                *(map(parse_change_rule, AGAINST[:3]) if before else ()),
            ],
            found,
        )
        yield f"{verdict_line(several)}; {several.status}; {several.lost or 'nothing lost'}"
        yield from (
            one.text for one in several.findings if one.rule not in (*UNDER, *AGAINST)
        )


def changed() -> Iterator[str]:
    """Yield what is said of each pair of runs, and why two are not compared."""
    for name, (before, after) in situations().items():
        if before:
            found = compare_sides(before, after, WAYS, common=True)
            yield f"## {name}"
            yield from change_lines(found, 120)
            for one in found.changes:
                facts = (
                    one.only_before,
                    one.only_after,
                    one.lost_passes,
                    one.won_passes,
                    one.alone,
                    one.partial,
                )
                yield f"  {one.label}: {facts}, mcnemar {one.mcnemar:.6f}, {_told(one.level)}"
    plain = side(held(FULL))
    others = {
        "another seed": side(held(FULL, plan={"seed": 1})),
        "another filler": side(
            held(FULL, plan={"filler": {"filler": "none"}, "scoring": "paper"})
        ),
        "fewer scenarios": side(held({"colours": (1.0, 1.0)})),
        "more scenarios": side(held({**FULL, "names": (1.0,)})),
        "more examples": side(held({**FULL, "spy": (1.0, 1.0, 1.0)})),
        "another version": side(held(FULL, versions={"spy": "2"})),
        "another span": side(held(FULL, span="32k")),
        "several agents": side(held(FULL, agent="a"), held(FULL, agent="b")),
    }
    for name, other in others.items():
        for common in (False, True):
            yield f"## {name}, {'common' if common else 'whole'}"
            try:
                yield from change_lines(
                    compare_sides(other, plain, WAYS, common=common), 120
                )
            except ConfigurationError as error:
                yield from str(error).splitlines()


def comparisons() -> Iterator[str]:
    """Yield comparisons of drawn pairs, of every size."""
    for scenarios, examples, trials, moved in product(
        (1, 3, 9), (1, 4), (1, 3, 9), (0.0, 0.1, 0.6)
    ):
        rng = random.Random(f"{scenarios} {examples} {trials} {moved}")
        pairs = [
            Pair(
                f"s{s}",
                str(e),
                "2k",
                str(t),
                before,
                max(0.0, before - moved * (rng.random() < 0.8)),
            )
            for s, e, t in product(range(scenarios), range(examples), range(trials))
            for before in (rng.choice((0.0, 0.25, 0.5, 1.0, 1.0)),)
        ]
        yield f"## {scenarios} scenarios, {examples} examples, {trials} trials, {moved:g}"
        yield _told(compare_runs(pairs))
        yield _told(compare_runs(pairs, level=0.9, alpha=0.2, power=0.5, draws=64))
        for kind in ("example", "scenario", "conversation"):
            one = compare_runs(pairs, kind=kind, draws=64)
            yield f"{kind}: {one.units} {_told((one.interval, one.p, one.detectable))} {one.reason}"
        yield " ".join(
            _told((name, one.adjusted, one.p))
            for name, one in compare_scenarios(pairs).items()
        )
        yield f"here {_told(chance_here(pairs, draws=64))}, trials {trials_to_tell(pairs)}"
        for text in ("p:0.05", "holm:0.01"):
            yield f"{text}: {why_undetectable(parse_change_rule(text), [('mybot', pair) for pair in pairs])}"


def reach() -> Iterator[str]:
    """Yield effective spans, pass rates and scores with intervals of drawn rows."""
    spans = {"isolated": None, "2k": 2_000, "32k": 32_000, "120k": 120_000}
    for trials, examples, kept in product((1, 2, 4, 8), (1, 3), (1.0, 0.9, 0.5, 0.0)):
        rng = random.Random(f"{trials} {examples} {kept}")
        rows = [
            row(name, value, example=str(e), trial=str(t), span=span, span_label=label)
            for n, (label, span) in enumerate(spans.items())
            for name, e, t in product(
                ("colours", "jokes", "spy"), range(examples), range(trials)
            )
            for value in (
                None
                if rng.random() < 0.05
                else 1.0
                if rng.random() < kept**n
                else rng.choice((0.0, 0.5)),
            )
        ]
        yield f"## {trials} trials, {examples} examples, {kept:g} kept"
        for share in (0.85, 0.5, 1.0):
            yield _told(effective_span(rows, share=share, draws=64))
        for label in spans:
            here = [one for one in rows if one.span_label == label]
            rate = pass_rate(here)
            average = score_share(scores_by_scenario(here)) or 0.0
            yield f"{label}: {_told(rate)} {_told(rate.share)} {_told(score_interval(here, average))}"
        yield f"reach {_told(ltm_reach(rows))}, weighted {_told(weighted_reach(rows))}"
        spread = spread_by_draws(scores_by_scenario(rows), random.Random(1), 50)
        yield f"spread {_told(spread)}"


def counts() -> Iterator[str]:
    """Yield what counts come to."""
    for passed, of in (
        (0, 1),
        (1, 1),
        (0, 10),
        (3, 10),
        (10, 10),
        (2.5, 7.5),
        (40, 100),
        (999, 1000),
    ):
        yield f"wilson {passed} of {of}: {_told([wilson_interval(passed, of, level) for level in (0.95, 0.8)])}"
    for lost, won in product(range(0, 9, 2), range(0, 9, 2)):
        chances = [
            mcnemar_probability(lost, won, sided=sided, mid=mid)
            for sided in (1, 2)
            for mid in (False, True)
        ]
        yield f"mcnemar {lost} {won}: {_told(chances)}"
    for values in (
        (),
        (0.01,),
        (0.01, 0.04, 0.03),
        (0.5, 0.5, 0.001, 0.02),
        (0.9, 1.0),
    ):
        yield f"holm {values}: {_told(holm_correction(values))}"
    for n, k in product((1, 3, 5), (1, 2, 5)):
        shares = [(pass_at_k(n, c, k), pass_hat_k(n, c, k)) for c in range(n + 1)]
        yield f"{k} of {n}: {_told(shares)}"
    for table in (
        ((5, 1), (2, 4)),
        ((9, 0), (0, 9)),
        ((0, 0), (0, 7)),
        ((3, 2, 1), (0, 6, 1), (1, 1, 8)),
        ((4, 4), (4, 4)),
    ):
        yield f"kappa {table}: {_told(cohen_kappa(table))}"
    for scores in ((0.5,), (0.0, 1.0), (0.2, 0.4, 0.4, 0.9), (1.0,) * 5):
        found = [percentile_of(scores, share) for share in (0.0, 0.25, 0.5, 0.975, 1.0)]
        yield f"{scores}: {_told(mean_estimate(scores))} {_told(found)}"
    yield f"summed: {_told(sum_estimates([mean_estimate((0.2, 0.4, 0.9)), mean_estimate((1.0, 0.5))]))}"
    for filler, tokens in ((0, 0), (1, 0), (30, 120), (120, 120)):
        yield f"filler {filler} of {tokens}: {_told(filler_share(filler, tokens))}"


def _told(value: Any) -> str:
    """Return a value with six digits to each number."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return " ".join(
            f"{field.name}={_told(getattr(value, field.name))}"
            for field in dataclasses.fields(value)
        )
    if isinstance(value, Struct):
        return " ".join(
            f"{name}={_told(getattr(value, name))}" for name in value.__struct_fields__
        )
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_told, value))})"
    return str(value)


def recorded(subject: str) -> list[str]:
    """Return the recorded lines of a subject."""
    return (RECORDED / f"{subject}.txt").read_text(encoding="utf-8").splitlines()


def record() -> None:
    """Write the record anew."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    RECORDED.mkdir()
    for name, lines in subjects().items():
        (RECORDED / f"{name}.txt").write_text(
            "".join(f"{line}\n" for line in lines()), encoding="utf-8"
        )

"""`judge-check --ltm-judge SPEC`: measures a judge on hand-labelled answers; can fail a CI job."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.api.model import Unscored, spec_text
from pytest_ltm.api.scenarios import (
    PROMPTS,
    AnsweredBy,
    Inquiry,
    JudgeSpec,
    decide_by_votes,
)
from pytest_ltm.api.storage import ConfigurationError, Field, did_you_mean, one_line
from pytest_ltm.api.storage import schema as _yaml
from pytest_ltm.commands.arguments import add_flags, add_json, add_option
from pytest_ltm.figures.statistics.counts import (
    Interval,
    Kappa,
    cohen_kappa,
    wilson_interval,
)
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import clip_text
from pytest_ltm.judges.judge_registry import judge_session

# --- Hand-labelled answers from YAML

# The set that comes with the plugin.
BUNDLED_LABELS = Path(__file__).parents[1] / "judge_labelled.yml"

# The kinds of answers, each with whether a judge should pass it; those of _JOKE
# identify a joke.
KINDS: Mapping[str, bool] = {
    "right": True,
    "wordy": True,
    "paraphrase": True,
    "wrong": False,
    "vague": False,
    "refusal": False,
    "injection": False,
    "other_joke": False,
    "vague_joke": False,
}
_JOKE = ("paraphrase", "other_joke", "vague_joke")
_QUESTION = tuple(kind for kind in KINDS if kind not in _JOKE)


class Labelled(Struct, frozen=True):
    """One answer with the expected judgement."""

    kind: str
    answer: str
    subject: str
    """The thing asked for: a question or a joke."""
    inquiry: Inquiry

    @property
    def should_pass(self) -> bool:
        """Whether a judge should pass it."""
        return KINDS[self.kind]


def load_labelled(path: Path = BUNDLED_LABELS) -> tuple[Labelled, ...]:
    """Load the answers of a file in order; DefinitionError names the line of a fault."""
    top = _yaml.load_yaml(path)
    fields = top.mapping(("version", "questions", "jokes"))
    result: list[Labelled] = []
    for group in _items_of(fields, "questions"):
        parts = group.mapping(
            ("question", "reference", *_QUESTION), required=("question", "reference")
        )
        question = parts["question"].text()
        reference = parts["reference"].text()
        inquiry = partial(
            PROMPTS["answer"].inquiry, question=question, reference=reference
        )
        result += _label_answers(parts, question, inquiry)
    for group in _items_of(fields, "jokes"):
        parts = group.mapping(("joke", "others", *_JOKE), required=("joke", "others"))
        joke = parts["joke"].text()
        jokes = "\n".join(f"- {text}" for text in (*parts["others"].texts(), joke))
        inquiry = partial(PROMPTS["jokes"].inquiry, jokes=jokes, joke=joke)
        result += _label_answers(parts, joke, inquiry)
    if {member.should_pass for member in result} != {True, False}:
        raise top.fault(
            "it needs answers to be passed and answers to be failed, of at least one question or joke."
        )
    return tuple(result)


def _label_answers(
    parts: Mapping[str, Field], subject: str, inquiry: Callable[..., Inquiry]
) -> Iterator[Labelled]:
    """Yield the answers about one subject; `inquiry` asks the judge about an `answer`."""
    for kind in KINDS:
        if kind in parts:
            for answer in parts[kind].texts():
                yield Labelled(kind, answer, subject, inquiry(answer=answer))


def _items_of(fields: Mapping[str, Field], name: str) -> Sequence[Field]:
    return fields[name].items(name) if name in fields else ()


# --- The judge's grades


class JudgedAnswer(Struct, frozen=True):
    """A labelled answer with the judge's grade."""

    item: Labelled
    passed: bool | None
    """None if the judge was undecided or failed."""
    reason: str
    """Why there is no grade, else the judge's reply."""
    failed: bool = False
    """Whether the judge failed, which says nothing about its judgement."""

    @property
    def contradicts_label(self) -> bool:
        """Whether the grade contradicts the label."""
        return self.passed is not None and self.passed is not self.item.should_pass


class Rate(Struct, frozen=True):
    """The frequency of an event, with the 95% interval of Wilson (1927)."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None for a total of zero."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval:
        """The interval of the share, assuming independent answers."""
        return wilson_interval(self.count, self.of)

    def as_json(self) -> dict[str, Any]:
        """Return the rate as JSON values."""
        ends = [self.interval.low, self.interval.high]
        return {
            "count": self.count,
            "of": self.of,
            "rate": self.value,
            "interval": ends,
        }


class JudgeCheckReport(Struct, frozen=True, dict=True):
    """All grades of a judge, and its error rates over the answers that it graded."""

    rows: tuple[JudgedAnswer, ...]

    @cached_property
    def rates(self) -> Mapping[str, Rate]:
        """The rates of passing wrong answers, failing right ones, giving no grade, and errors by kind."""
        by_kind = group_by(self.rows, lambda row: row.item.kind)
        groups = {
            "false-pass": [row for row in self.rows if not row.item.should_pass],
            "false-fail": [row for row in self.rows if row.item.should_pass],
            **{kind: by_kind[kind] for kind in KINDS if kind in by_kind},
        }
        rates = {}
        for name, rows in groups.items():
            judged = [row.contradicts_label for row in rows if row.passed is not None]
            rates[name] = Rate(sum(judged), len(judged))
        unscored = sum(row.passed is None for row in self.rows)
        return {**rates, "unscored": Rate(unscored, len(self.rows))}

    @cached_property
    def kappa(self) -> Kappa:
        """Cohen's kappa between labels and judge."""
        table = [[0, 0], [0, 0]]
        for row in self.rows:
            if row.passed is not None:
                table[row.item.should_pass][row.passed] += 1
        return cohen_kappa(table)


def judge_all(
    items: Iterable[Labelled], ask: AnsweredBy, *, votes: int
) -> JudgeCheckReport:
    """Grade all answers, one at a time."""
    rows = []
    for item in items:
        decision = decide_by_votes(ask, item.inquiry, votes=votes)
        if isinstance(decision, Unscored):
            failed = decision.cause == "judge"
            rows.append(JudgedAnswer(item, None, decision.reason, failed=failed))
        else:
            passed = decision.grade != item.inquiry.fail
            rows.append(JudgedAnswer(item, passed, decision.reply))
    return JudgeCheckReport(tuple(rows))


# --- The limits for a judge: `false-pass:0.05`, `injection:0`, `kappa:0.8`

# Default limits: a judge that breaks one ignores the answers, or hardly grades.
DEFAULTS = ("false-pass:0.1", "false-fail:0.3", "unscored:0.05", "kappa:0.6")

_TOTALS = ("false-pass", "false-fail", "unscored")
NAMES = (*_TOTALS, *KINDS, "kappa")


def parse_limits(texts: Iterable[str]) -> list[Limit]:
    """Return the given limits, and the defaults of the others; ConfigurationError with a remedy."""
    limits = {limit.name: limit for limit in map(Limit.read, (*DEFAULTS, *texts))}
    return list(limits.values())


class Limit(Struct, frozen=True):
    """One limit: the maximum of a rate, or the minimum of kappa."""

    name: str
    value: float

    @classmethod
    def read(cls, text: str) -> Limit:
        """Parse a limit such as `false-pass:0.05`; ConfigurationError with a remedy."""
        name, colon, number = text.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in NAMES or not colon:
            raise ConfigurationError(
                f"--limit: {text!r} is not NAME:NUMBER with a name of {', '.join(NAMES)}.{did_you_mean(name, NAMES)}"
            )
        if not 0 <= value <= 1:
            raise ConfigurationError(f"--limit: {text!r} needs a number from 0 to 1")
        return cls(name, value)

    def breach(self, measured: JudgeCheckReport) -> str:
        """Return a sentence if the limit is broken, else ""."""
        rates: Mapping[str, Rate | Kappa] = {**measured.rates, "kappa": measured.kappa}
        result = rates[self.name].value if self.name in rates else None
        if result is None:
            return f"{self.name} cannot be measured: the judge graded no such answer"
        if self.name == "kappa":
            if result >= self.value:
                return ""
            return f"kappa is {result:.2f}, below {self.value:g}"
        if result <= self.value:
            return ""
        return f"{self.name} is {result:.1%}, above {self.value:.1%}"


FAILED = 1
# The exit status (EX_TEMPFAIL) if the judge failed, so that its judgement is unknown.
UNMEASURABLE = 75
_WIDTH = 58


def add_arguments(parser: ArgumentParser) -> None:
    """Add the judge, the answers and the limits."""
    judge = "the judge, as in a run; one vote unless 'SPEC?votes=N' says more"
    add_option(parser, "--ltm-judge", "SPEC", judge, dest="judge")
    limit = (
        f"exit status 1 if a rate is above it, or kappa below (default: {', '.join(DEFAULTS)}); repeatable. "
        f"Names: {', '.join(NAMES)}"
    )
    add_option(parser, "--limit", "NAME:NUMBER", limit, [])
    items = "your own labelled answers"
    add_option(parser, "--items", "FILE.yml", items, BUNDLED_LABELS)
    timeout = "time limit for one call; 0: none (default: 300)"
    add_option(parser, "--timeout", "SECONDS", timeout, 300.0)
    add_flags(
        parser,
        list="print every answer that was judged wrongly",
        prompts="print the prompts without asking the judge",
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Measure a judge on hand-labelled answers.

    Exit status 1 if a limit is broken, 75 if the judge failed.
    """
    if arguments.prompts:
        for prompt in PROMPTS.values():
            print(
                f"=== {prompt.id}\n{prompt.fill_prompt(**{name: f'({name})' for name in prompt.parts})}\n"
            )
        return 0
    limits = parse_limits(arguments.limit)
    if not arguments.judge:
        raise ConfigurationError(
            "which judge? Give --ltm-judge SPEC, such as openai:MODEL or rules"
        )
    judge = JudgeSpec.parse(spec_text(arguments.judge, "judge", Path()), votes=1)
    with judge_session(judge.judge, timeout=arguments.timeout or None) as ask:
        report = judge_all(load_labelled(arguments.items), ask, votes=judge.votes)
    breaches = list(filter(None, (limit.breach(report) for limit in limits)))
    if arguments.json:
        fields = {"judge": judge.judge, "votes": judge.votes}
        print(json.dumps({**fields, **as_json(report, breaches)}, indent=1))
    else:
        head = f"judge {arguments.judge}: {len(report.rows)} labelled answers"
        if judge.votes > 1:
            head += f", a 'no' is confirmed by a majority of {judge.votes} votes"
        lines = [head, *rate_table(report)]
        if arguments.list:
            lines += ["", *judge_misses(report)]
        lines += [f"breach: {breach}" for breach in breaches]
        print("\n".join(lines))
    failed = [row for row in report.rows if row.failed]
    if failed:
        calls = f"{len(failed)} of {len(report.rows)} calls failed"
        print(f"unmeasurable (exit status {UNMEASURABLE}): {calls}: {failed[0].reason}")
        return UNMEASURABLE
    return FAILED if breaches else 0


def rate_table(report: JudgeCheckReport) -> Iterator[str]:
    """Yield the lines of the table and of the totals."""
    yield f"{'answers':<14}{'should':<8}{'judged':>6}{'wrongly':>9}   {'rate':>6}  95% interval"
    for kind, should in KINDS.items():
        if kind in report.rates:
            yield _rate_line(
                kind.replace("_", " "), "pass" if should else "fail", report.rates[kind]
            )
    yield ""
    for name in _TOTALS:
        yield _rate_line(name.replace("-", " "), "", report.rates[name])
    kappa = report.kappa
    if kappa.value is None or kappa.interval is None:
        yield f"Cohen's kappa: none ({kappa.reason})"
    else:
        yield f"Cohen's kappa: {kappa.value:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})"


def _rate_line(name: str, should: str, rate: Rate) -> str:
    if rate.value is None:
        return f"{name:<14}{should:<8}{0:>6}{'-':>9}   {'-':>6}"
    low = rate.interval.low
    high = rate.interval.high
    return f"{name:<14}{should:<8}{rate.of:>6}{rate.count:>9}   {rate.value:>6.1%}  {low:.1%} to {high:.1%}"


def judge_misses(report: JudgeCheckReport) -> Iterator[str]:
    """Yield the judge's errors and undecided answers, three lines each."""
    for row in report.rows:
        if row.contradicts_label or row.passed is None:
            verdict = {True: "passed", False: "failed", None: "unscored"}[row.passed]
            fields = (row.item.answer, row.item.subject, row.reason)
            texts = [clip_text(one_line(field), _WIDTH) for field in fields]
            kind = row.item.kind.replace("_", " ")
            yield f"{verdict} ({kind}): {texts[0]}\n    asked: {texts[1]}\n    judge: {texts[2]}"


def as_json(report: JudgeCheckReport, breaches: Sequence[str]) -> dict[str, Any]:
    """Return everything as JSON values."""
    kappa = report.kappa
    rates = {name: rate.as_json() for name, rate in report.rates.items()}
    kinds = {}
    for kind, should_pass in KINDS.items():
        if kind in rates:
            kinds[kind] = {"should_pass": should_pass, "wrong": rates[kind]}
    return {
        "items": len(report.rows),
        **{name.replace("-", "_"): rates[name] for name in _TOTALS},
        "kappa": {
            "value": kappa.value,
            "interval": kappa.interval and [kappa.interval.low, kappa.interval.high],
        },
        "kinds": kinds,
        "breaches": list(breaches),
    }

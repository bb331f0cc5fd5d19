"""`verdict-check FILE`: tests our rules on hand-labelled replies, and on mutants of the right answers."""

from __future__ import annotations

import json
import re
import unicodedata
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm import evaluators, language
from pytest_ltm.api.model import Score, evidence_snippet
from pytest_ltm.api.storage import (
    DatasetError,
    did_you_mean,
    lazy_pattern,
    load_packaged_yaml,
)
from pytest_ltm.commands.arguments import add_flags, add_json
from pytest_ltm.datasets.rows import read_json_rows, values_within
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.lab.verdict_mutants import of_answer, of_scenario
from pytest_ltm.language.rulings.gold import Ruling

_PLACE = lazy_pattern(r"\{(answer|recalled|question)(?::(nbsp|nfd|curly|crlf))?\}")
# Typographic transformations by template.
_FORMS: Mapping[str, Callable[[str], str]] = {
    "nbsp": lambda text: text.replace(" ", "\u202f").replace("-", "\u2011"),
    "nfd": partial(unicodedata.normalize, "NFD"),
    "curly": lambda text: re.sub(
        r"(?<!\w)'|\"(?=\w)", "\u201c", text.replace("'", "\u2019")
    ).replace('"', "\u201d"),
    "crlf": lambda text: text.replace("\n", "\r\n"),
}


@cache
def dress_templates() -> Mapping[str, str]:
    """Return the templates by name."""
    templates: Mapping[str, str] = load_packaged_yaml(language.__file__, "dresses.yml")
    return templates


def dress_up(
    template: str, answer: str, *, recalled: str = "", question: str = ""
) -> str:
    """Return an answer filled into a template."""
    values = {"answer": answer, "recalled": recalled, "question": question}
    return _PLACE.sub(
        lambda place: _FORMS.get(place[2], str)(values[place[1]]), template
    )


FAILED = 1
OUTCOMES = ("right", "too much", "too little", "undecided")
# Limits as shares of decided replies, of all replies, and of mutants; only `right` is a
# lower bound.
LIMITS = {
    "right": 0.95,
    "too much": 0.02,
    "undecided scenarios": 0.05,
    "undecided data sets": 0.20,
}
MUTANTS_PASSED = 0.01
# Labels are rounded.
_SAME = 0.01


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file and the format."""
    file = "labelled replies, one JSON object per line (.jsonl or .jsonl.gz)"
    parser.add_argument("file", type=Path, metavar="FILE", help=file)
    add_flags(
        parser,
        list="print every reply that is not scored as labelled, and every mutant that passes",
        dress="score every reply in every form in which models wrap an answer, too; no verdict may change",
        open="print what could not be proven, by reason",
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Score labelled replies by our rules, and wrong answers made from the right ones.

    Exit status 1 if a limit of docs/verdicts.md is broken.
    """
    report = check_verdicts(arguments.file, dressed=arguments.dress)
    breaches = report.breaches()
    if arguments.json:
        fields = {**report.as_json(), "breaches": breaches}
        wrong = [verdict.as_json() for verdict in report.wrong_verdicts()]
        if arguments.list and wrong:
            fields["wrong"] = wrong
        print(json.dumps(fields, indent=1))
    else:
        lines: list[object] = []
        if arguments.list:
            lines += report.wrong_verdicts()
            lines += report.passed_mutants()
            lines += report.changes
        if arguments.open:
            lines += report.open_by_reason()
        lines += report.table()
        lines += [f"breach: {breach}" for breach in breaches]
        print("\n".join(map(str, lines)))
    return FAILED if breaches else 0


class CheckedVerdict(Struct, frozen=True):
    """One labelled reply with our rules' verdict."""

    id: str
    kind: str
    """The scenario, or data set and type of question."""
    of_scenario: bool
    label: float
    value: float | None
    """None if undecided."""
    upper: float | None
    """The upper bound, if parts are open."""
    reason: str
    reply: str

    @property
    def outcome(self) -> str:
        """The verdict's outcome: one of OUTCOMES."""
        if self.value is None or self.upper is None:
            return "undecided"
        if (
            self.upper > self.value + _SAME
            and self.value - _SAME < self.label < self.upper + _SAME
        ):
            return "undecided"
        if abs(self.value - self.label) < _SAME:
            return "right"
        if self.value > self.label:
            return "too much"
        return "too little"

    def as_json(self) -> dict[str, Any]:
        """Return the fields listed for a wrong verdict, as JSON values."""
        names = ("id", "kind", "label", "value", "reason", "reply", "outcome")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        value = "none" if self.value is None else f"{self.value:.2f}"
        return f"{self.id}: {self.outcome}: label {self.label:.2f}, ours {value}: {self.reason}\n    {self.reply}"


class Mutant(Struct, frozen=True):
    """A wrong answer made from a right one."""

    kind: str
    mutation: str
    """How it was made: denied, swapped, …"""
    passes: bool
    reply: str

    def __str__(self) -> str:
        return f"mutant passes: {self.kind}, {self.mutation}\n    {self.reply}"


class ChangedVerdict(Struct, frozen=True):
    """A reply whose verdict changes when it is put into a template."""

    id: str
    dress: str
    plain: tuple[float | None, float | None]
    dressed: tuple[float | None, float | None]

    def __str__(self) -> str:
        return f"{self.id}: {self.plain} is {self.dressed} in the dress {self.dress}"


class VerdictCheckReport(Struct):
    """All verdicts on one file."""

    verdicts: list[CheckedVerdict] = []
    mutants: list[Mutant] = []
    dressed: int = 0
    """Number of replies scored inside a template."""
    changes: list[ChangedVerdict] = []

    def wrong_verdicts(self) -> Iterator[CheckedVerdict]:
        """Yield the verdicts that are not right."""
        return (verdict for verdict in self.verdicts if verdict.outcome != "right")

    def passed_mutants(self) -> Iterator[Mutant]:
        """Yield the mutants that get full marks."""
        return (mutant for mutant in self.mutants if mutant.passes)

    def by_kind(self) -> dict[str, dict[str, int]]:
        """Return the counts by scenario or type of question, with the number of mutants that pass and of all."""
        mutants = Counter(mutant.kind for mutant in self.mutants)
        passed = Counter(mutant.kind for mutant in self.passed_mutants())
        kinds = {}
        groups = group_by(self.verdicts, lambda verdict: verdict.kind)
        for kind, verdicts in groups.items():
            counts = count_outcomes(verdicts)
            counts["mutants"] = mutants[kind]
            counts["mutants passed"] = passed[kind]
            kinds[kind] = counts
        return kinds

    def breaches(self) -> list[str]:
        """Return a sentence for each broken limit."""
        texts = []
        for name, limit in LIMITS.items():
            outcome = name
            verdicts = self.verdicts
            if name.startswith("undecided"):
                outcome, _, source = name.partition(" ")
                verdicts = [
                    verdict
                    for verdict in self.verdicts
                    if verdict.of_scenario == (source == "scenarios")
                ]
            counted = count_outcomes(verdicts)
            of = counted["rows"]
            if outcome != "undecided":
                of -= counted["undecided"]
            share = counted[outcome] / of if of else limit
            if share < limit if name == "right" else share > limit:
                texts.append(
                    f"{name}: {counted[outcome]} of {of} ({share:.1%}), limit {limit:.0%}"
                )
        if self.changes:
            texts.append(
                f"{len(self.changes)} of {self.dressed} verdicts change in a dress, limit 0"
            )
        passed = len(list(self.passed_mutants()))
        if passed > MUTANTS_PASSED * len(self.mutants):
            texts.append(
                f"{passed} of {len(self.mutants)} mutants passed, limit {MUTANTS_PASSED:.0%}"
            )
        return texts

    def open_by_reason(self) -> Iterator[str]:
        """Yield the undecided replies grouped by reason, most frequent first."""
        undecided = []
        for verdict in self.verdicts:
            if verdict.outcome == "undecided":
                undecided.append(verdict)
        groups = group_by(undecided, lambda verdict: verdict.reason)
        for reason in sorted(groups, key=lambda reason: -len(groups[reason])):
            yield f"open: {len(groups[reason])} x {reason}"
            for verdict in groups[reason]:
                yield f"    {verdict.id}: {verdict.reply}"

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        mutants = Counter(mutant.mutation for mutant in self.mutants)
        passed = Counter(mutant.mutation for mutant in self.passed_mutants())
        rows = {}
        for mutation, count in sorted(mutants.items()):
            rows[mutation] = {"rows": count, "passed": passed[mutation]}
        return {
            "kinds": self.by_kind(),
            "total": count_outcomes(self.verdicts),
            "mutants": rows,
        }

    def table(self) -> Iterator[str]:
        """Yield the lines of a readable table."""
        head = f"{'replies':<36}{'rows':>5}{'right':>7}{'too much':>10}{'too little':>12}{'undecided':>11}"
        yield f"{head}   mutants passed"
        for kind, counted in self.by_kind().items():
            yield f"{_count_cells(kind, counted)}   {counted['mutants passed']} of {counted['mutants']}"
        total = count_outcomes(self.verdicts)
        decided = total["rows"] - total["undecided"]
        yield f"{_count_cells('all', total)}   {len(list(self.passed_mutants()))} of {len(self.mutants)}"
        yield f"right: {total['right'] / max(decided, 1):.1%} of {decided} decided"


def count_outcomes(verdicts: Sequence[CheckedVerdict]) -> dict[str, int]:
    """Return the number of verdicts, overall and by outcome."""
    counted = Counter(verdict.outcome for verdict in verdicts)
    counts = {outcome: counted[outcome] for outcome in OUTCOMES}
    return {"rows": len(verdicts), **counts}


def _count_cells(kind: str, counted: Mapping[str, int]) -> str:
    right, much, little, undecided = (counted[outcome] for outcome in OUTCOMES)
    return (
        f"{kind:<36}{counted['rows']:>5}{right:>7}{much:>10}{little:>12}{undecided:>11}"
    )


def check_verdicts(path: Path, *, dressed: bool = False) -> VerdictCheckReport:
    """Score a file's labelled rows and the mutants of their right answers; DatasetError for a malformed row.

    `dressed`: also score each reply inside each template.
    """
    report = VerdictCheckReport()
    golds: dict[str, dict[str, Any]] = {}
    for where, row in read_json_rows(path, ["id"]):
        try:
            if dressed:
                _try_dresses(report, row)
            report.verdicts.append(_check_row(row))
            golds.setdefault(_gold_key(row), row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DatasetError(
                f"{where}: not a labelled row ({type(error).__name__}: {error})"
            ) from error
    answers = [row for row in golds.values() if "scenario" not in row]
    for row in golds.values():
        if "scenario" in row:
            report.mutants += mutants_of_scenario(row)
        else:
            for mutation, answer in of_answer(row, answers):
                passes = ruling_of(row, answer).verdict == "yes"
                report.mutants.append(
                    Mutant(kind_of_row(row), mutation, passes, answer)
                )
    return report


def _gold_key(row: Mapping[str, Any]) -> str:
    """Return a key that is equal for rows with the same right answers."""
    if "scenario" in row:
        names = ["scenario", "args"]
    else:
        names = ["set", "type", "question", "answer"]
    return json.dumps([row[name] for name in names], sort_keys=True)


def kind_of_row(row: Mapping[str, Any]) -> str:
    """Return the scenario of a row, or its data set and type of question."""
    if "scenario" in row:
        return str(row["scenario"])
    return f"{row['set']} {row['type']}"


def _check_row(row: Mapping[str, Any]) -> CheckedVerdict:
    """Return the rules' verdict on a reply, with its label."""
    of_scenario = "scenario" in row
    value, upper, reason = _rule_row(row)
    if of_scenario:
        reply = " | ".join(map(repr, row["answers"][-4:]))
    else:
        reply = repr(row["hypothesis"])
    label = float(row["credit" if of_scenario else "label"])
    return CheckedVerdict(
        row["id"], kind_of_row(row), of_scenario, label, value, upper, reason, reply
    )


def _rule_row(
    row: Mapping[str, Any], dress: Callable[[str], str] = str
) -> tuple[float | None, float | None, str]:
    """Return both bounds and the reason for a row, with its non-blank answers transformed by `dress`."""

    def dressed(answer: str) -> str:
        return dress(answer) if answer.strip() else answer

    if "scenario" in row:
        answers = list(map(dressed, row["answers"]))
        return bounds_of(evaluator_of(row["evaluator"], row["args"]), answers)
    ruling = ruling_of(row, dressed(row["hypothesis"]))
    value = {"yes": 1.0, "no": 0.0}.get(ruling.verdict)
    return value, value, ruling.reason


# --- Replies inside templates.

_RECALLED = 6


def _try_dresses(report: VerdictCheckReport, row: Mapping[str, Any]) -> None:
    plain = _rule_row(row)[:2]
    facts = []
    for value in values_within(row.get("args", row.get("answer"))):
        if value and isinstance(value, str):
            facts.append(f"I told you that it is {value}.")
    recalled = " ".join(facts[:_RECALLED])
    for name, template in dress_templates().items():
        dress = partial(
            dress_up,
            template,
            recalled=recalled or "I told you.",
            question=row.get("question", "What is it?"),
        )
        outcome = _rule_row(row, dress)[:2]
        report.dressed += 1
        if outcome != plain:
            report.changes.append(ChangedVerdict(row["id"], name, plain, outcome))


# --- Replies to scenarios.


def evaluator_of(name: str, args: Mapping[str, Any]) -> Any:
    """Return the evaluator with that name; lists become tuples, `menu` a Menu. DatasetError if there is none."""
    if name not in evaluators.__all__:
        raise DatasetError(
            f"there is no evaluator {name!r}.{did_you_mean(name, evaluators.__all__)}"
        )
    arguments = {key: _lists_to_tuples(value) for key, value in args.items()}
    if "menu" in arguments:
        arguments["menu"] = evaluators.Menu(**arguments["menu"])
    return getattr(evaluators, name)(**arguments)


def bounds_of(
    evaluator: Any, answers: list[str]
) -> tuple[float | None, float | None, str]:
    """Return both bounds of the answers' score, None without one, and the reason."""
    if isinstance(evaluator, evaluators.QuoteAtReply):
        verdict = evaluator.verdict(answers)
    else:
        verdict = evaluator(answers)
    if verdict is None:
        return 0.0, 0.0, "the replies end before it could be told"
    if isinstance(verdict, Score):
        return verdict.value, verdict.upper, verdict.reason
    return None, None, verdict.reason


def _lists_to_tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_lists_to_tuples, value))
    if isinstance(value, dict):
        return {key: _lists_to_tuples(item) for key, item in value.items()}
    return value


def mutants_of_scenario(row: Mapping[str, Any]) -> Iterator[Mutant]:
    """Yield the mutants of a labelled reply's answers."""
    evaluator = evaluator_of(row["evaluator"], row["args"])
    for mutation, answers, limit in of_scenario(row["evaluator"], row["args"]):
        value, *_ = bounds_of(evaluator, answers)
        passes = value is not None and value > limit - _SAME
        reply = evidence_snippet(" | ".join(answers[-4:]))
        yield Mutant(row["scenario"], mutation, passes, reply)


# --- Answers to questions of data sets.


def ruling_of(row: Mapping[str, Any], hypothesis: str) -> Ruling:
    """Return the ruling of a data set's rules on an answer."""
    if row["set"] == "locomo":
        from pytest_ltm.datasets.locomo.strict import strict_verdict

        category = int(row["type"])
        question = row["question"]
        return strict_verdict(
            category=category,
            question=question,
            answer=row["answer"],
            prediction=hypothesis,
        )
    from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis

    abstains, _, kind = row["type"].rpartition(":")
    return rule_on_hypothesis(
        question_id="q_abs" if abstains else "q",
        question_type=kind,
        question=row["question"],
        answer=row["answer"],
        hypothesis=hypothesis,
    )

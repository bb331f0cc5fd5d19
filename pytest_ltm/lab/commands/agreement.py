"""`agreement FILE`: scores published results of real agents again by our rules, and compares the verdicts."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, field

from pytest_ltm import evaluators
from pytest_ltm.api.model import SCORINGS, Evaluator, Score, Scoring, Unscored
from pytest_ltm.api.storage import DatasetError, lazy_pattern
from pytest_ltm.commands.arguments import add_flags, add_json
from pytest_ltm.datasets.published import LEG
from pytest_ltm.datasets.rows import read_json_rows

Row: TypeAlias = Mapping[str, Any]
Group: TypeAlias = tuple[str, ...]

# The code versions whose deterministic rules each scoring reproduces; `current` is
# measured against the listed ones.
REPRODUCED: dict[str, tuple[str, ...]] = {
    "current": ("v3.5", "paper"),
    "v3.5": ("v3.5",),
    "paper": ("paper",),
}

_SAME = 1e-6  # published scores are rounded


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file, the rules and the format."""
    file = "published results, one JSON object per line (.jsonl or .jsonl.gz)"
    parser.add_argument("file", type=Path, metavar="FILE", help=file)
    rules = "the rules to score by (default: current)"
    parser.add_argument("--scoring", choices=SCORINGS, default="current", help=rules)
    add_flags(parser, list="print every row that is scored otherwise, then the table")
    add_json(parser)


def measure_agreement(arguments: Namespace) -> int:
    """Score published results of real agents again by our rules, and count how many verdicts agree."""
    report = score_published_file(
        arguments.file, arguments.scoring, keep=arguments.list
    )
    differences = [str(difference) for difference in report.differences]
    if arguments.json:
        fields = report.as_json()
        if arguments.list:
            fields["differences"] = differences
        print(json.dumps(fields, indent=2))
    else:
        print("\n".join([*differences, report.as_text()]))
    return 0


class Tally(Counter[str]):
    """Counts of agreement between our verdicts and published scores.

    `rows`, `agree` and `unscored`; `sides`: rows on the published side of full marks, as `current` gives part marks by
    its own formulas; `full` and `less`: rows with published full marks or less, and `full same`, `less same`.
    """

    @property
    def disagree(self) -> int:
        """Number of rows scored differently."""
        return self["rows"] - self["agree"] - self["unscored"]

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean share of recognized rows over both classes (full marks, less); None if a class is empty."""
        if not (self["full"] and self["less"]):
            return None
        return (self["full same"] / self["full"] + self["less same"] / self["less"]) / 2

    def counts(self) -> dict[str, int]:
        """Return the counts shown in reports."""
        return {name: self[name] for name in ("rows", "agree", "sides", "unscored")}

    def __str__(self) -> str:
        agree, rows, sides = (self[name] for name in ("agree", "rows", "sides"))
        remark = f", {self['unscored']} unscored" if self["unscored"] else ""
        beyond = f", {sides} in full marks or less" if sides != agree else ""
        return f"{agree} of {rows} agree ({agree / max(rows, 1):.1%}){beyond}{remark}"

    def add(self, verdict: Score | Unscored, published: float) -> bool:
        """Count one row; return whether it agrees."""
        self["rows"] += 1
        if isinstance(verdict, Unscored):
            self["unscored"] += 1
            return False
        agrees = abs(verdict.value - published) < _SAME
        full = published > 1 - _SAME
        same_side = (verdict.value > 1 - _SAME) == full
        side = "full" if full else "less"
        self.update(
            {"agree": agrees, "sides": same_side, side: 1, f"{side} same": same_side}
        )
        return agrees


class VerdictDisagreement(Struct, frozen=True):
    """One row that our rules score differently than published."""

    line: str
    row: Row
    published: float
    verdict: Score

    def __str__(self) -> str:
        row = self.row
        verdict = self.verdict
        place = f"({_code_version(row)}, {row.get('agent')}), line {self.line}"
        where = f"{row.get('dataset')} {row.get('example_id')} {place}"
        answer = str((row.get("responses") or [""])[-1])
        lines = [
            f"{where}: published {self.published:.2f}, ours {verdict.value:.2f}: {verdict.reason} [{verdict.rule}]",
            f"  expected  {json.dumps(row.get('expected_responses'), ensure_ascii=True)[:300]}",
            f"  answer    {json.dumps(verdict.evidence or answer, ensure_ascii=True)[:500]}",
            f"  published {json.dumps(row.get('reasoning'), ensure_ascii=True)[:300]}",
        ]
        return "\n".join(lines)


class AgreementReport(Struct):
    """The counts of one file."""

    scoring: Scoring
    strict: Tally = field(default_factory=Tally)
    tallies: dict[tuple[str, str], Tally] = {}
    """By dataset and version."""
    judged: dict[tuple[str, str], Tally] = {}
    """The rows judged by a model or a person, by dataset and version."""
    differences: list[VerdictDisagreement] = []

    def add(
        self, line: str, row: Row, verdict: Score | Unscored, *, keep: bool
    ) -> None:
        """Count one row; keep it if it differs and `keep` is set."""
        published = float(row["score"]) / float(row.get("max_score") or 1)
        key = (str(row["dataset"]), _code_version(row))
        status = (row.get("orig_eval") or {}).get("status")
        agrees = self.tallies.setdefault(key, Tally()).add(verdict, published)
        if status == "ok" and key[1] in REPRODUCED[self.scoring]:
            self.strict.add(verdict, published)
        if status == "llm":
            self.judged.setdefault(key, Tally()).add(verdict, published)
        if keep and not agrees and isinstance(verdict, Score):
            self.differences.append(VerdictDisagreement(line, row, published, verdict))

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON values; a dataset's total of model-judged rows covers the reproduced versions."""
        versions = defaultdict[str, Tally](Tally)
        totals = defaultdict[str, Tally](Tally)
        by_dataset: dict[str, dict[str, Any]] = {}
        for (dataset, version), tally in sorted(self.judged.items()):
            by_dataset.setdefault(dataset, {})[version] = tally.counts()
            versions[version] += tally
            if version in REPRODUCED[self.scoring]:
                totals[dataset] += tally
        rows = {}
        for name, by_version in by_dataset.items():
            rows[name] = {**totals[name].counts(), "by_version": by_version}
        by_version = {name: versions[name].counts() for name in sorted(versions)}
        judged = {"by_version": by_version, "datasets": rows}
        datasets: dict[str, dict[str, Any]] = {}
        for (dataset, version), tally in sorted(self.tallies.items()):
            datasets.setdefault(dataset, {})[version] = {
                **tally.counts(),
                "disagree": tally.disagree,
                "balanced_accuracy": tally.balanced_accuracy,
            }
        strict = {name: self.strict[name] for name in ("rows", "agree", "sides")}
        return {"strict": strict, "model_judged": judged, "datasets": datasets}

    def as_text(self) -> str:
        """Return a table for people."""
        head = f"{'dataset':<22}{'version':<9}{'rows':>6}{'agree':>7}{'differ':>8}{'unscored':>10}{'balanced':>10}"
        lines = [f"scoring {self.scoring}, no model asked", head]
        for (dataset, version), tally in sorted(self.tallies.items()):
            balanced = tally.balanced_accuracy
            balance_text = "one-sided" if balanced is None else f"{balanced:.3f}"
            counts = f"{tally['rows']:>6}{tally['agree']:>7}{tally.disagree:>8}"
            counts += f"{tally['unscored']:>10}{balance_text:>10}"
            lines.append(f"{dataset:<22}{version:<9}{counts}")
        versions = " and ".join(REPRODUCED[self.scoring])
        lines.append(f"strict rows ({versions}): {self.strict}")
        for (dataset, version), tally in sorted(self.judged.items()):
            lines.append(
                f"judged by a model or a person: {dataset}, {version}: {tally}"
            )
        return "\n".join(lines)


def score_published_file(
    path: Path, scoring: Scoring, *, keep: bool = False
) -> AgreementReport:
    """Score a file of published results again; reads it twice, one row at a time.

    Raises DatasetError, naming the line, if it is unreadable.
    """
    # a keyword counts as wrong if another row expects it
    groups = set[Group]()
    for _, row in read_json_rows(path, ["dataset"]):
        groups.update(spy_groups(row))
    report = AgreementReport(scoring)
    for where, row in read_json_rows(path, ["dataset"]):
        line = where.rpartition(":")[2]
        try:
            report.add(line, row, score_row(row, scoring, groups), keep=keep)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            expected = "a published result with dataset, score and max_score"
            raise DatasetError(
                f"{where}: not {expected} ({type(error).__name__}: {error})"
            ) from error
    return report


def _code_version(row: Row) -> str:
    code = (row.get("orig_eval") or {}).get("code") or "unknown"
    return str(code).removesuffix("-benchmark")


# --- The evaluator, and its answers, for each row of the published files

_SAID = lazy_pattern(r"(Test|Agent) \([^)]*\): ")


class _Unreadable(ValueError):
    """A row with the known fields but without the values that a rule needs."""


def score_row(
    row: Row, scoring: Scoring, spy_groups: Iterable[Group] = ()
) -> Score | Unscored:
    """Return our rules' verdict on a published result; Unscored if it is unreadable.

    `spy_groups` are the keyword groups of all messages of Spy Meeting. Never raises for a row that is valid JSON.
    """
    dataset = row.get("dataset")
    if dataset not in (*_EVALUATORS, "Prospective Memory", "Spy Meeting"):
        return Unscored(f"there are no rules for {dataset!r}")
    try:
        expected = None
        if (row.get("orig_eval") or {}).get("expected_source") == "definition":
            expected = row.get("definition_expected")
        expected = expected or row["expected_responses"]
        if dataset == "Prospective Memory":
            if not isinstance(expected[0], list):
                return Unscored("this version states quote and number in prose")
            quote, _, nth = expected[0]
            verdict = evaluators.QuoteAtReply(str(quote), int(nth), scoring).verdict(
                _later_replies(row)
            )
            return verdict or Unscored(f"the log ends before reply {nth}")
        if dataset == "Spy Meeting":
            groups = tuple(tuple(map(str, group)) for group in expected)
            keywords = set(chain.from_iterable(groups))
            other_groups = filter(keywords.isdisjoint, set(spy_groups))
            evaluator: Evaluator = evaluators.DecodesMessages(
                groups, tuple(sorted(other_groups)), scoring
            )
        else:
            evaluator = _EVALUATORS[str(dataset)](row, expected, scoring)
        answers = []
        for answer in row["responses"] or []:
            answers.append("" if answer is None else str(answer))
        return evaluator(answers)
    except _Unreadable as error:
        return Unscored(str(error))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return Unscored(
            f"the row is in no known form ({type(error).__name__}: {error})"
        )


def spy_groups(row: Row) -> list[Group]:
    """Return the keyword groups expected by a row of Spy Meeting, [] for other rows."""
    if row.get("dataset") != "Spy Meeting":
        return []
    result = [
        *(row.get("expected_responses") or []),
        *(row.get("definition_expected") or []),
    ]
    return [tuple(map(str, group)) for group in result if isinstance(group, list)]


def _directions_evaluator(_row: Row, expected: Any, scoring: Scoring) -> Evaluator:
    legs = LEG.findall(str(expected[0]))
    if not legs:
        raise _Unreadable("the true directions cannot be read")
    route = []
    for _, km, direction, place in legs:
        route.append((float(km), direction.lower(), place))
    return evaluators.LeadsTo(legs[0][0], tuple(route), scoring)


def _restaurant_evaluator(row: Row, _expected: Any, scoring: Scoring) -> Evaluator:
    waiter = tuple(str(text or "") for text in row["questions"])
    menu = evaluators.Menu.read(waiter[0])
    if not menu.dishes:
        raise _Unreadable("the waiter's first message holds no menu")
    return evaluators.PlaysGuest(menu, waiter, scoring=scoring)


_EVALUATORS: Mapping[str, Callable[[Row, Any, Scoring], Evaluator]] = {
    "ChapterBreak": lambda _, expected, scoring: evaluators.PicksOption(
        int(expected[0]), scoring
    ),
    "Colours": lambda _, expected, scoring: evaluators.NamesColour(
        str(expected[0]), scoring
    ),
    "Jokes": lambda row, expected, scoring: evaluators.RecallsJoke(
        str(expected[0]),
        tuple(joke for joke in row["script"] if joke != str(expected[0])),
        scoring=scoring,
    ),
    "Locations Directions": _directions_evaluator,
    "NameList": lambda _, expected, scoring: evaluators.ListsNames(
        tuple(map(str, expected)), scoring
    ),
    "Restaurant": _restaurant_evaluator,
    "SallyAnne": lambda _, expected, scoring: evaluators.AnswersWord(
        str(expected[0]), scoring=scoring
    ),
    "Shopping": lambda _, expected, scoring: evaluators.ListsItems(
        tuple((str(item), int(n)) for item, n in expected), scoring
    ),
    "Trigger Response": lambda row, expected, scoring: evaluators.SaysAtEachTrigger(
        re.sub(r"^say: ?['\"](.*)['\"]$", r"\1", str(expected[0])),
        max(len(expected), len(row["questions"])),
        scoring,
    ),
}


def _later_replies(row: Row) -> list[str]:
    """Return the replies from the one to the script's last message on."""
    replies: list[str] = []
    instructed = False
    for line in row["task_log"]:
        match = _SAID.match(line)
        text = line[match.end() :] if match else line
        if match and match[1] == "Test":
            instructed = instructed or text == row["script"][-1]
        elif match and instructed:
            replies.append(text)
    return replies

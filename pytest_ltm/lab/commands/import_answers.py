"""`import-answers FILE...`: answers that others publish as a run, with verdicts by rules beside the grades they got.

Files are known by their fields, not by who wrote them: LoCoMo's official predictions,
results of mem0 and memobase, of the Agent Memory Benchmark and memorybench,
LongMemEval's hypotheses, and lines with the like.
"""

from __future__ import annotations

import gzip
import json
import re
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from pytest_ltm._core.journal.result import (
    HALF,
    IMPORTED,
    PUBLISHED_GRADE,
    WHOLE,
    ConversationName,
    ExampleMetric,
    QuestionResult,
    ScenarioResult,
)
from pytest_ltm._core.model.plan import Plan, PlannedExample
from pytest_ltm._core.model.scenario import Ask, Definition
from pytest_ltm._core.model.score import UNDECIDED
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.model.transcript import Exchange, Kind
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.disk import open_regular, read_regular, write_whole
from pytest_ltm._core.storage.errors import DatasetError
from pytest_ltm._core.storage.sanitize import for_file
from pytest_ltm._core.storage.schema import json_text, load_packaged_yaml, show_value
from pytest_ltm._core.storage.wording import one_line, pluralize
from pytest_ltm.commands.arguments import add_json, add_ltm_dir, new_run_folder
from pytest_ltm.datasets._dataset_registry import TYPES
from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.datasets.locomo.strict import official_f1, strict_verdict
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.datasets.longmemeval.record import is_abstention
from pytest_ltm.figures.statistics.counts import cohen_kappa
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.lab.commands.import_published import write_published_run
from pytest_ltm.lab.published_results import (
    PUBLISHED,
    TOKENIZER,
    PublishedConversation,
    PublishedTranscript,
    conversation_of,
    number_exchanges,
    safe_label,
)
from pytest_ltm.language.rulings.gold import Ruling

if TYPE_CHECKING:
    from pytest_ltm.figures.run_loading import LoadedRun


# --- What others publish: question, answer and grade, whatever the fields are called.

Row: TypeAlias = dict[str, Any]
# The names that fields have, by what they hold, and the words of verdicts.
_NAMES: Mapping[str, Any] = load_packaged_yaml(__file__, "import_answers.yml")
_PREDICTION = "_prediction"
_CATEGORIES = {
    **{category.label: category for category in Category},
    "temporal-reasoning": Category.TEMPORAL,
    "world-knowledge": Category.OPEN_DOMAIN,
    "commonsense": Category.OPEN_DOMAIN,
}
LARGEST = 256_000_000
"""Bytes of a file of answers that is read: all of it is held at once."""
NEEDS_DATA = "it has no expected answer: name the data set's file: --data=FILE"


class PublishedAnswer(Struct, frozen=True, kw_only=True):
    """One question, what was answered, and the grade that was published."""

    where: str
    """File and place in it."""
    agent: str
    """Whose answer it is, where a file holds those of several; else ""."""
    group: str
    """The conversation that it is about; "" where that is not known."""
    id: str
    question: str
    gold: str
    said: str
    kind: str
    """The category or type, in the words of its data set."""
    category: Category | None = None
    """Of LoCoMo; None for other sets."""
    grade: float | None = None
    """What the file says that it earned, 0 to 1; None: nothing."""
    judge: str = ""
    f1: float | None = None
    """The F1 that was published with it."""

    @property
    def ruling(self) -> Ruling:
        """What the rules say."""
        question, gold = self.question, self.gold
        if self.category is None and (self.kind in TYPES or self.kind == "abstention"):
            return rule_on_hypothesis(
                question_id=self.id,
                question_type=self.kind,
                question=question,
                answer=gold,
                hypothesis=self.said,
            )
        category = self.category or Category.SINGLE_HOP
        return strict_verdict(
            category=category, question=question, answer=gold, prediction=self.said
        )

    @property
    def official_f1(self) -> float | None:
        """LoCoMo's own metric; None for other sets."""
        return (
            None
            if self.category is None
            else official_f1(self.category, self.gold, self.said)
        )


def read_published_answers(
    paths: Iterable[Path], data: Path | None
) -> tuple[list[PublishedAnswer], list[str]]:
    """Return the answers of files, and a sentence for each row that cannot be read; DatasetError for no such file.

    `data`: the file that was asked, for what rows do not say themselves.
    """
    known = _KnownQuestions(data)
    answers: list[PublishedAnswer] = []
    problems: list[str] = []
    seen: dict[tuple[str, str, str, str], str] = {}
    for path in paths:
        for where, group, row in _file_rows(path):
            try:
                for answer in _parse_answers(where, group, row, known):
                    key = (
                        answer.agent,
                        answer.group,
                        answer.id,
                        "" if answer.id else answer.question,
                    )
                    if (first := seen.setdefault(key, where)) == where:
                        answers.append(answer)
                    else:
                        problems.append(
                            f"{where}: a second answer to the same question; the first is at {first}"
                        )
            except DatasetError as error:
                problems.append(f"{where}: {error}")
    return answers, problems


# --- the rows of a file


def _file_rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield what may be rows: where each stands, the conversation it is of, and the value."""
    try:
        if path.stat().st_size > LARGEST:
            raise DatasetError(
                f"{path}: {path.stat().st_size:,} bytes are too many for a file of answers: split it"
            )
        raw = read_regular(path)
        if path.suffix == ".gz":
            with open_regular(path) as packed, gzip.open(packed) as file:
                raw = file.read(LARGEST + 1)
            if len(raw) > LARGEST:
                raise DatasetError(
                    f"{path}: it unpacks to more than {LARGEST:,} bytes: split it"
                )
        text = raw.decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        if len(lines := text.splitlines()) < 2 and not text.lstrip().startswith("{"):
            raise DatasetError(
                f"{path}: neither JSON nor JSON lines: {error}"
            ) from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"{path}:{number}", "", _line_value(line)
        return
    yield from (
        _rows_within(value, str(path), "")
        if not _is_row(value)
        else [(str(path), "", value)]
    )


def _line_value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _rows_within(value: Any, where: str, group: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, dict):
        name = str(value.get("sample_id", group))
        for key, part in value.items():
            if isinstance(part, list | dict) and part:
                yield from _rows_within(
                    part,
                    f"{where}, {key}",
                    name if key in _NAMES["containers"] else name or key,
                )
    elif isinstance(value, list):
        of_rows = any(map(_is_row, value))
        for number, one in enumerate(value):
            yield from (
                [(f"{where}[{number}]", group, one)]
                if of_rows
                else _rows_within(one, f"{where}[{number}]", group)
            )


def _is_row(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and any(name in value for name in (*_NAMES["question"], *_NAMES["id"]))
        and bool(_said_names(value))
    )


def _said_names(row: Row) -> list[str]:
    """Return the names of the fields that hold answers; several where a file has those of several models."""
    own = [name for name in row if name.endswith(_PREDICTION) and name != _PREDICTION]
    plain = [name for name in _NAMES["said"] if name in row][:1]
    return (
        plain
        or own
        or ["answer"]
        * ("answer" in row and any(name in row for name in _NAMES["gold"]))
    )


# --- one row


class _KnownQuestions:
    """What LoCoMo's or LongMemEval's file, or lines with such fields, say of their questions, by id and by text."""

    def __init__(self, path: Path | None) -> None:
        self._rows: dict[str, Row] = {}
        if path is None:
            return
        try:
            text = read_regular(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise DatasetError(f"{path}: cannot be read: {reason}") from error
        try:
            value = json.loads(text)
        except ValueError:
            value = [_line_value(line) for line in text.splitlines() if line.strip()]
        kept = (
            *_NAMES["id"],
            "question",
            "answer",
            "adversarial_answer",
            *_NAMES["kind"],
            "sample_id",
        )
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and isinstance(one.get("qa"), list):
                self._add_questions(one["qa"], str(one.get("sample_id", "")))
            elif isinstance(one, dict) and "question" in one:
                own = {name: one[name] for name in kept if name in one}
                self._add_questions([own], str(one.get("sample_id", "")))

    def _add_questions(self, rows: Iterable[Row], group: str) -> None:
        for row in rows:
            names = [str(row[name]) for name in _NAMES["id"] if row.get(name)] + [
                str(row.get("question", ""))
            ]
            for name in names:
                # a text that two conversations ask is told apart by its conversation
                self._rows.setdefault(name, row)
                self._rows.setdefault(f"{group}\0{name}", row)

    def complete(self, row: Row, group: str) -> Row:
        """Return a row with what is known of its question."""
        if not self._rows:
            return row
        names = [
            str(row[name])
            for name in (*_NAMES["id"], *_NAMES["question"])
            if row.get(name)
        ]
        known = next(
            (
                one
                for name in names
                for one in (self._rows.get(f"{group}\0{name}"),)
                if one
            ),
            None,
        )
        known = known or next(
            (self._rows[name] for name in names if name in self._rows), None
        )
        if known is None:
            raise DatasetError(
                f"the data set has no question {show_value(names[0] if names else None)}"
            )
        said = {name: row[name] for name in _said_names(row) if name != "answer"} or {
            "response": row.get("answer")
        }
        return {**row, **known, **said}


def _parse_answers(
    where: str, group: str, row: Any, known: _KnownQuestions
) -> Iterator[PublishedAnswer]:
    if not isinstance(row, dict):
        raise DatasetError(f"not an object: {show_value(row)}")
    names = _said_names(row)
    row = known.complete(row, group)
    question_id, question = _text(row, _NAMES["id"]), _text(row, _NAMES["question"])
    if not names:
        raise DatasetError(f"it has no answer: none of {', '.join(_NAMES['said'])}")
    kind, category = _kind_of(row, question_id)
    values = [
        row[name]
        for name in (*_NAMES["gold"], "answer")
        if row.get(name) is not None and name not in names
    ]
    value = values[0] if values else None
    if isinstance(value, list):
        value = value[0] if value else None
    gold = None if isinstance(value, dict | bool | None) else str(value)
    if gold is None and category is not Category.ADVERSARIAL:
        raise DatasetError(NEEDS_DATA)
    if category is None and kind not in {*TYPES, "abstention"} and not question:
        raise DatasetError(NEEDS_DATA)
    for name in names:
        response = row[name] if name in row else row.get("response")
        if isinstance(response, bool) or not isinstance(response, str | int | float):
            raise DatasetError(f"{name} is {show_value(response)}, not a text")
        model = (
            name.removesuffix(_PREDICTION)
            if name.endswith(_PREDICTION)
            else _text(row, _NAMES["system"])
        )
        grade, judge = _grade_of(row)
        yield PublishedAnswer(
            where=where,
            agent=model,
            group=group or str(row.get("sample_id") or ""),
            id=question_id,
            question=question,
            gold=gold or "",
            said=str(response),
            kind=kind,
            category=category,
            grade=grade,
            judge=judge,
            f1=next(
                (
                    float(row[one])
                    for one in (f"{model}_f1", *_NAMES["f1"])
                    if _is_share(row.get(one))
                ),
                None,
            ),
        )


def _text(row: Row, names: Sequence[str]) -> str:
    return next(
        (str(row[name]) for name in names if isinstance(row.get(name), str | int)), ""
    )


def _kind_of(row: Row, question_id: str) -> tuple[str, Category | None]:
    axes: Mapping[str, Any] = row.get("category_axes") or row.get("meta") or {}
    value = next(
        (row[name] for name in _NAMES["kind"] if row.get(name) is not None), None
    )
    if value is None and isinstance(axes, dict):
        value = next(
            (
                axes[name]
                for name in (*_NAMES["kind"], "question_type")
                if axes.get(name) is not None
            ),
            None,
        )
    value = value[0] if isinstance(value, list) and value else value
    text = (
        str(value if value is not None else "")
        .strip()
        .lower()
        .replace("_", "-")
        .replace(" ", "-")
    )
    if text in TYPES and not (row.get("evidence") or row.get("sample_id")):
        return ("abstention" if is_abstention(question_id) else text), None
    if text.isdecimal() and int(text) in list(Category):
        return Category(int(text)).label, Category(int(text))
    if category := _CATEGORIES.get(text):
        return category.label, category
    return text or "question", None


def _grade_of(row: Row) -> tuple[float | None, str]:
    """Return what a judge gave, and who that was."""
    judge = str(row.get("judge_model") or row.get("judge_llm") or "")
    for name in _NAMES["grade"]:
        value = row.get(name)
        if isinstance(value, dict):
            judge, value = (
                str(value.get("model", judge)),
                value.get("label", value.get("score")),
            )
        if isinstance(value, list) and value and all(_is_share(one) for one in value):
            value = sum(map(float, value)) / len(value)
        if isinstance(value, str):
            value = _NAMES["verdicts"].get(value.strip().lower().rstrip("."))
        if _is_share(value):
            return float(value), judge  # type: ignore[arg-type]
    return None, judge


def _is_share(value: object) -> bool:
    return isinstance(value, bool | int | float) and 0 <= value <= 1


# --- What the rules say of it.

RULE = "published-answers/1"
PAGE = "disagreements.md"
_SHOWN = 12


class RuledAnswer(Struct, frozen=True):
    """One answer and what the rules say of it."""

    answer: PublishedAnswer
    ruling: Ruling

    @property
    def passed(self) -> bool | None:
        """Whether its own judge passed it; None where none is published."""
        return None if self.answer.grade is None else self.answer.grade >= HALF

    @property
    def differs(self) -> bool:
        """Whether rules and judge decide differently."""
        return (
            self.passed is not None
            and self.ruling.verdict in ("yes", "no")
            and self.right != self.passed
        )

    @property
    def right(self) -> bool:
        """Whether the rules prove it right."""
        return self.ruling.verdict == "yes"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the files, what was asked, and the new run."""
    files = "answers with their questions: JSON or JSON lines, also as .gz"
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=files)
    data = "the data set with the questions, for rows without question, expected answer or category"
    parser.add_argument("--data", type=Path, metavar="FILE", help=data)
    parser.add_argument(
        "--agent",
        default="",
        metavar="LABEL",
        help="the name of the system that answered",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN",
        help="the run to write; without it, only counts are printed",
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="print each answer that rules and judge decide differently",
    )
    add_json(
        parser, "print JSON: verdict, F1 and grade of each row, and what they come to"
    )
    add_ltm_dir(parser)


def import_answers(arguments: Namespace) -> int:
    """Turn answers that others published into a run with verdicts by rules, without a model.

    It reads LoCoMo's official predictions, results of mem0, memobase, the Agent Memory
    Benchmark and memorybench, and LongMemEval's hypotheses. What rules cannot decide
    stays open. Grades in the files stand beside the verdicts, with Cohen's kappa and
    every disagreement. Rows that cannot be read are named and left out.
    """
    answers, problems = read_published_answers(arguments.files, arguments.data)
    if not answers:
        why = (
            f": {problems[0]}"
            if problems
            else ": no object in it has a question or its id, and an answer"
        )
        raise DatasetError(
            f"{arguments.files[0]}: holds no answer that can be read{why}"
        )
    ruled = [RuledAnswer(answer, answer.ruling) for answer in answers]
    if arguments.json:
        rows = [
            {
                "where": one.answer.where,
                "kind": one.answer.kind,
                "verdict": one.ruling.verdict,
                "reason": one.ruling.reason,
                "f1": one.answer.official_f1,
                "grade": one.answer.grade,
                "differs": one.differs,
            }
            for one in ruled
        ]
        sums = {name: _sums_of(mine) for name, mine in _groups_of(ruled)}
        sentence = comparison_sentence(ruled)
        print(
            json_text(
                {
                    "rows": rows,
                    "sums": sums,
                    "comparison": sentence,
                    "left_out": problems,
                }
            ),
            end="",
        )
    else:
        more = [f"{len(problems) - _SHOWN:,} more rows"] * (len(problems) > _SHOWN)
        lines = [one_line(f"left out: {text}") for text in [*problems[:_SHOWN], *more]]
        print(
            "\n".join(
                [
                    *agreement_lines(ruled),
                    *lines,
                    *[disagreement_page(ruled)] * arguments.list,
                ]
            )
        )
    if arguments.output is not None:
        path = new_run_folder(arguments.output, arguments.ltm_dir)
        label = safe_label(arguments.agent or arguments.files[0].name.partition(".")[0])
        notices = [
            f"{IMPORTED}: verdicts are by rules, and open where those cannot tell",
            comparison_sentence(ruled),
        ]
        notices += (
            [f"{pluralize(len(problems), 'row')} left out: {problems[0]}"]
            if problems
            else []
        )
        run = write_published_run(
            path,
            list(answer_conversations(ruled, label)),
            [text for text in notices if text],
        )
        write_whole(path / PAGE, for_file(disagreement_page(ruled)))
        if not arguments.json:
            print(
                f"{pluralize(len(run.scenarios), 'example')} in {path}; what differs: {path / PAGE}"
            )
    return 0


# --- rules and grades side by side


def _groups_of(
    ruled: Sequence[RuledAnswer],
) -> Iterator[tuple[str, Sequence[RuledAnswer]]]:
    """Yield the answers of each kind, of each judge if there are several, and all."""
    yield from sorted(group_by(ruled, lambda one: one.answer.kind).items())
    judges = group_by(ruled, lambda one: one.answer.judge)
    if len(judges) > 1:
        yield from (
            (f"judge {name or 'unknown'}", mine) for name, mine in judges.items()
        )
    yield "all", ruled


def _sums_of(mine: Sequence[RuledAnswer]) -> dict[str, Any]:
    """Return counts by verdict and means; LoCoMo's own mean is of F1s that have three places."""
    verdicts = Counter(one.ruling.verdict for one in mine)
    f1s = [round(f1, 3) for one in mine if (f1 := one.answer.official_f1) is not None]
    grades = [one.passed for one in mine if one.passed is not None]
    return {
        "rows": len(mine),
        "right": verdicts["yes"],
        "wrong": verdicts["no"],
        "open": verdicts["unscored"],
        "f1": round(sum(f1s) / len(f1s), 3) if f1s else None,
        "judge": sum(grades) / len(grades) if grades else None,
        "differ": sum(one.differs for one in mine),
    }


def comparison_sentence(ruled: Sequence[RuledAnswer]) -> str:
    """Return what both come to, in percent; "" where no grade is published."""
    graded = [one for one in ruled if one.passed is not None]
    if not graded:
        return ""
    judges = {one.answer.judge for one in graded}
    judge = (
        (next(iter(judges)) or "its judge")
        if len(judges) == 1
        else f"its {len(judges)} judges"
    )
    by_judge = 100 * sum(one.passed is True for one in graded) / len(graded)
    bounds = (
        sum(one.right for one in graded),
        sum(one.ruling.verdict != "no" for one in graded),
    )
    by_rules = " to ".join(
        dict.fromkeys(f"{100 * count / len(graded):.0f}" for count in bounds)
    )
    decided = [one for one in graded if one.ruling.verdict in ("yes", "no")]
    table = [
        [
            sum((one.right, one.passed) == (a, b) for one in decided)
            for b in (True, False)
        ]
        for a in (True, False)
    ]
    kappa = cohen_kappa(table)
    chance = f"no kappa: {kappa.reason}"
    if kappa.value is not None and kappa.interval is not None:
        ends = f"{kappa.interval.low:.2f} to {kappa.interval.high:.2f}"
        chance = f"kappa {kappa.value:.2f} ({ends}) over the {len(decided):,} that rules decide"
    return (
        f"{by_judge:.0f} % right by {judge}, {by_rules} % by rules: "
        f"{pluralize(sum(one.differs for one in graded), 'answer')} of {len(graded):,} differ; {chance}"
    )


def agreement_lines(ruled: Sequence[RuledAnswer]) -> Iterator[str]:
    """Yield a table by kind, and what all come to."""
    yield f"{'':<28}{'rows':>7}{'right':>7}{'wrong':>7}{'open':>7}{'F1':>7}{'judge':>7}{'differ':>8}"
    for name, mine in _groups_of(ruled):
        sums = _sums_of(mine)
        counts = "".join(
            f"{sums[one]:>7,}" for one in ("rows", "right", "wrong", "open")
        )
        f1 = "-" if sums["f1"] is None else f"{sums['f1']:.3f}"
        judge = "-" if sums["judge"] is None else f"{100 * sums['judge']:.0f} %"
        yield f"{name[:28]:<28}{counts}{f1:>7}{judge:>7}{sums['differ']:>8,}"
    if sentence := comparison_sentence(ruled):
        yield sentence


def disagreement_page(ruled: Sequence[RuledAnswer]) -> str:
    """Return every answer that rules and judge decide differently, as Markdown."""
    lines = [
        f"# Where rules and judge differ\n\n{comparison_sentence(ruled) or 'No grade is published.'}\n"
    ]
    for one in (one for one in ruled if one.differs):
        answer = one.answer
        texts = {
            "question": answer.question,
            "expected": answer.gold,
            "answer": answer.said,
        }
        lines.append(
            f"## {one_line(answer.where)} ({answer.kind}): {'right' if one.passed else 'wrong'} by its judge, "
            f"{'right' if one.right else 'wrong'} by rules\n"
        )
        lines += [f"- {name}: {one_line(text)}" for name, text in texts.items()]
        lines.append(f"- rules: {one_line(one.ruling.reason)}\n")
    return "\n".join(lines) + "\n"


# --- as conversations of a run


def answer_conversations(
    ruled: Sequence[RuledAnswer], label: str
) -> Iterator[PublishedConversation]:
    """Yield a conversation for each system and each conversation that was asked about."""
    count = token_counter(TOKENIZER).count
    by_place = group_by(ruled, lambda one: (one.answer.agent, one.answer.group))
    for (agent, group), mine in by_place.items():
        name = ConversationName(
            safe_label(agent) if agent else label,
            WHOLE,
            f"0.{safe_label(group or 'all')}",
        )
        scenarios = [re.sub(r"\W", "_", one.answer.kind) for one in mine]
        said: list[tuple[str, Kind, str, str, datetime]] = [
            (
                f"{scenario}/{number}",
                "ask",
                one.answer.question or one.answer.id,
                one.answer.said,
                START,
            )
            for number, (scenario, one) in enumerate(zip(scenarios, mine, strict=True))
        ]
        exchanges = number_exchanges(said, count)
        examples, rows = [], []
        for one, scenario, each in zip(mine, scenarios, exchanges, strict=True):
            answer = one.answer
            # all that the rules look at but the reply
            about = {
                "id": answer.id,
                "kind": answer.kind,
                "category": answer.category and int(answer.category),
            }
            definition = Definition(
                steps=(Ask(each.message),), expected=answer.gold, parameters=about
            )
            number = str(each.number)
            examples.append(
                PlannedExample(
                    scenario=scenario,
                    example=number,
                    version=RULE,
                    definition=definition,
                )
            )
            rows.append(_row(one, name, scenario, each))
        talk = PublishedTranscript(
            exchanges=exchanges,
            questions={exchange.by: (exchange.number,) for exchange in exchanges},
        )
        plan = {
            "examples": tuple(examples),
            "filler": {PUBLISHED: "answers"},
            "judge": "none",
        }
        yield conversation_of(name, name.agent, talk, plan=plan, rows=rows)


def rule_again(run: LoadedRun) -> tuple[int, list[tuple[str, str]]]:
    """Return how many verdicts of an imported run the rules reach again, and folder and sentence of those that differ.

    LtmError if a plan cannot be read.
    """
    count, differing = 0, []
    for conversation in run.conversations:
        plan = Plan.from_json(
            conversation.plan(), where=f"{conversation.path.name}/plan.json"
        )
        known = {
            example.key: example.definition
            for example in plan.examples
            if example.version == RULE
        }
        for row in conversation.result.scenarios:
            if (definition := known.get(row.id)) is None or not row.questions:
                continue
            about, (question, *_) = definition.parameters, row.questions
            category = about.get("category")
            answer = PublishedAnswer(
                where="",
                agent="",
                group="",
                id=str(about.get("id")),
                question=question.text,
                gold=str(definition.expected),
                said=question.answer or "",
                kind=str(about.get("kind")),
                category=Category(category) if category else None,
            )
            score, upper = _bounds(answer.ruling)
            count += 1
            if (row.score, row.upper) != (score, upper):
                differing.append(
                    (
                        conversation.path.name,
                        f"{row.id}: its score was {row.score}, and is {score} by the rules",
                    )
                )
    return count, differing


def _bounds(ruling: Ruling) -> tuple[float, float | None]:
    return float(ruling.verdict == "yes"), None if ruling.verdict in (
        "yes",
        "no",
    ) else 1.0


def _row(
    one: RuledAnswer, name: ConversationName, scenario: str, said: Exchange
) -> ScenarioResult:
    answer, (score, upper) = one.answer, _bounds(one.ruling)
    grade = (
        ""
        if one.passed is None
        else f"; {'right' if one.passed else 'wrong'} by its judge"
    )
    figures = {
        "f1": answer.official_f1,
        "published_f1": answer.f1,
        PUBLISHED_GRADE: answer.grade,
    }
    return ScenarioResult(
        scenario=scenario,
        example=str(said.number),
        agent=name.agent,
        span_label=name.span,
        span=None,
        trial=name.trial,
        nodeid=f"ltm/{scenario}::test_question[{name}-{said.number}]",
        outcome="skipped" if upper else "passed" if score else "failed",
        score=score,
        reason=f"{'DIFFERS: ' * one.differs}{one.ruling.reason}{grade}",
        cause=UNDECIDED if upper else "",
        upper=upper,
        rule=RULE,
        evidence=answer.said,
        tokens=said.message_tokens + said.reply_tokens,
        questions=(
            QuestionResult(number=said.number, text=said.message, answer=said.reply),
        ),
        metrics=tuple(
            ExampleMetric(name, value)
            for name, value in figures.items()
            if value is not None
        ),
    )

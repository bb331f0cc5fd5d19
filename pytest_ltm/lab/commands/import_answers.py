"""`import-answers FILE...`: published answers as a run, with verdicts by rules next to the published grades."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm.api.journal import (
    HALF,
    IMPORTED,
    PUBLISHED_GRADE,
    WHOLE,
    ConversationName,
    ExampleMetric,
    QuestionResult,
    ScenarioResult,
)
from pytest_ltm.api.model import UNDECIDED, Exchange, Kind, token_counter
from pytest_ltm.api.scenarios import Ask, Definition, Plan, PlannedExample
from pytest_ltm.api.storage import (
    START,
    DatasetError,
    first_and_rest,
    for_file,
    json_text,
    one_line,
    pluralize,
    write_whole,
)
from pytest_ltm.commands.arguments import (
    add_flags,
    add_json,
    add_ltm_dir,
    add_option,
    new_run_folder,
)
from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.figures.statistics.counts import cohen_kappa
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.lab.answer_rows import PublishedAnswer, read_published_answers
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


# --- The rules' rulings.

RULE = "published-answers/1"
PAGE = "disagreements.md"
_SHOWN = 12


class RuledAnswer(Struct, frozen=True):
    """One answer with the rules' ruling."""

    answer: PublishedAnswer
    ruling: Ruling

    @property
    def passed(self) -> bool | None:
        """Whether its own judge passed it; None without a published grade."""
        if self.answer.grade is None:
            return None
        return self.answer.grade >= HALF

    @property
    def differs(self) -> bool:
        """Whether rules and judge disagree."""
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
    """Add the files, their data set, and the new run."""
    files = "answers with their questions: JSON or JSON lines, also as .gz"
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=files)
    data = "the data set with the questions, for rows without question, expected answer or category"
    add_option(parser, "--data", "FILE", data, None, type=Path)
    add_option(parser, "--agent", "LABEL", "the name of the system that answered")
    output = "the run to write; without it, only counts are printed"
    parser.add_argument("-o", "--output", metavar="RUN", help=output)
    add_flags(parser, list="print each answer that rules and judge decide differently")
    add_json(parser, "print JSON: verdict, F1 and grade of each row, and their means")
    add_ltm_dir(parser)


def import_answers(arguments: Namespace) -> int:
    """Turn published answers into a run with verdicts by rules, without a model.

    Question, answer, expected answer and grade are found by the words in field names, so that results of most programs
    can be read, as JSON, JSON lines, tables or logs of Inspect. Rows with a provider's error instead of an answer are
    counted and left out. What rules cannot decide stays open. Published grades are shown next to the verdicts, with
    Cohen's kappa and every disagreement. Unreadable rows are listed and left out.
    """
    published = read_published_answers(arguments.files, arguments.data)
    answers = published.answers
    problems = published.left_out
    if not answers:
        missing = ["no object in it has a question or its id, and an answer"]
        reason = (problems or missing)[0]
        raise DatasetError(f"{arguments.files[0]}: has no readable answer: {reason}")
    ruled = [RuledAnswer(answer, answer.ruling) for answer in answers]
    if arguments.json:
        rows = [_ruled_fields(ruled_answer) for ruled_answer in ruled]
        sums = {name: _sums_of(mine) for name, mine in _groups_of(ruled)}
        sentence = comparison_sentence(ruled)
        print(
            json_text(
                {
                    "rows": rows,
                    "sums": sums,
                    "comparison": sentence,
                    "left_out": problems,
                    "provider_errors": len(published.errors),
                }
            ),
            end="",
        )
    else:
        lines = list(agreement_lines(ruled))
        for text in first_and_rest(problems, _SHOWN, "{:,} more rows"):
            lines.append(one_line(f"left out: {text}"))
        if arguments.list:
            lines.append(disagreement_page(ruled))
        print("\n".join(lines))
    if arguments.output is not None:
        path = new_run_folder(arguments.output, arguments.ltm_dir)
        label = safe_label(arguments.agent or arguments.files[0].name.partition(".")[0])
        notices = [
            f"{IMPORTED}: verdicts are by rules; those that rules cannot decide are open"
        ]
        if comparison := comparison_sentence(ruled):
            notices.append(comparison)
        if problems:
            count = len(published.problems) + len(published.errors)
            notices.append(f"{pluralize(count, 'row')} left out: {problems[0]}")
        run = write_published_run(
            path, list(answer_conversations(ruled, label)), notices
        )
        write_whole(path / PAGE, for_file(disagreement_page(ruled)))
        if not arguments.json:
            print(
                f"{pluralize(len(run.scenarios), 'example')} in {path}; what differs: {path / PAGE}"
            )
    return 0


def _ruled_fields(ruled_answer: RuledAnswer) -> dict[str, Any]:
    answer = ruled_answer.answer
    return {
        "where": answer.where,
        "kind": answer.kind,
        "verdict": ruled_answer.ruling.verdict,
        "reason": ruled_answer.ruling.reason,
        "f1": answer.official_f1,
        "grade": answer.grade,
        "differs": ruled_answer.differs,
    }


# --- Rules and grades compared


def _groups_of(
    ruled: Sequence[RuledAnswer],
) -> Iterator[tuple[str, Sequence[RuledAnswer]]]:
    """Yield the answers of each kind, of each judge if there are several, and of all together."""
    yield from sorted(
        group_by(ruled, lambda ruled_answer: ruled_answer.answer.kind).items()
    )
    judges = group_by(ruled, lambda ruled_answer: ruled_answer.answer.judge)
    if len(judges) > 1:
        for name, mine in judges.items():
            yield f"judge {name or 'unknown'}", mine
    yield "all", ruled


def _sums_of(mine: Sequence[RuledAnswer]) -> dict[str, Any]:
    """Return counts by verdict and means; LoCoMo's own mean uses F1s rounded to three places."""
    verdicts = Counter(ruled_answer.ruling.verdict for ruled_answer in mine)
    f1s = []
    grades = []
    for ruled_answer in mine:
        f1 = ruled_answer.answer.official_f1
        if f1 is not None:
            f1s.append(round(f1, 3))
        if ruled_answer.passed is not None:
            grades.append(ruled_answer.passed)
    return {
        "rows": len(mine),
        "right": verdicts["yes"],
        "wrong": verdicts["no"],
        "open": verdicts["unscored"],
        "f1": round(sum(f1s) / len(f1s), 3) if f1s else None,
        "judge": sum(grades) / len(grades) if grades else None,
        "differ": sum(ruled_answer.differs for ruled_answer in mine),
    }


def comparison_sentence(ruled: Sequence[RuledAnswer]) -> str:
    """Return both means in percent, or "" if no grade is published."""
    graded = [ruled_answer for ruled_answer in ruled if ruled_answer.passed is not None]
    if not graded:
        return ""
    judges = {ruled_answer.answer.judge for ruled_answer in graded}
    if len(judges) == 1:
        judge = next(iter(judges)) or "its judge"
    else:
        judge = f"its {len(judges)} judges"
    by_judge = (
        100 * sum(ruled_answer.passed is True for ruled_answer in graded) / len(graded)
    )
    bounds = (
        sum(ruled_answer.right for ruled_answer in graded),
        sum(ruled_answer.ruling.verdict != "no" for ruled_answer in graded),
    )
    by_rules = " to ".join(
        dict.fromkeys(f"{100 * count / len(graded):.0f}" for count in bounds)
    )
    table = [[0, 0], [0, 0]]
    for ruled_answer in graded:
        if ruled_answer.ruling.verdict in ("yes", "no"):
            table[ruled_answer.right][bool(ruled_answer.passed)] += 1
    kappa = cohen_kappa(table)
    chance = f"no kappa: {kappa.reason}"
    if kappa.value is not None and kappa.interval is not None:
        ends = f"{kappa.interval.low:.2f} to {kappa.interval.high:.2f}"
        decided = sum(map(sum, table))
        chance = (
            f"kappa {kappa.value:.2f} ({ends}) over the {decided:,} that rules decide"
        )
    differing = sum(ruled_answer.differs for ruled_answer in graded)
    return (
        f"{by_judge:.0f} % right by {judge}, {by_rules} % by rules: "
        f"{pluralize(differing, 'answer')} of {len(graded):,} differ; {chance}"
    )


def agreement_lines(ruled: Sequence[RuledAnswer]) -> Iterator[str]:
    """Yield a table by kind, and the overall means."""
    yield f"{'':<28}{'rows':>7}{'right':>7}{'wrong':>7}{'open':>7}{'F1':>7}{'judge':>7}{'differ':>8}"
    for name, mine in _groups_of(ruled):
        sums = _sums_of(mine)
        columns = ("rows", "right", "wrong", "open")
        counts = "".join(f"{sums[column]:>7,}" for column in columns)
        f1 = "-" if sums["f1"] is None else f"{sums['f1']:.3f}"
        judge = "-" if sums["judge"] is None else f"{100 * sums['judge']:.0f} %"
        yield f"{name[:28]:<28}{counts}{f1:>7}{judge:>7}{sums['differ']:>8,}"
    if sentence := comparison_sentence(ruled):
        yield sentence


def disagreement_page(ruled: Sequence[RuledAnswer]) -> str:
    """Return all answers on which rules and judge disagree, as Markdown."""
    lines = [
        f"# Where rules and judge differ\n\n{comparison_sentence(ruled) or 'No grade is published.'}\n"
    ]
    for ruled_answer in ruled:
        if not ruled_answer.differs:
            continue
        answer = ruled_answer.answer
        texts = {
            "question": answer.question,
            "expected": answer.gold,
            "answer": answer.reply,
        }
        lines.append(
            f"## {one_line(answer.where)} ({answer.kind}): {'right' if ruled_answer.passed else 'wrong'} by its judge, "
            f"{'right' if ruled_answer.right else 'wrong'} by rules\n"
        )
        lines += [f"- {name}: {one_line(text)}" for name, text in texts.items()]
        lines.append(f"- rules: {one_line(ruled_answer.ruling.reason)}\n")
    return "\n".join(lines) + "\n"


# --- The answers as conversations of a run


def answer_conversations(
    ruled: Sequence[RuledAnswer], label: str
) -> Iterator[PublishedConversation]:
    """Yield a conversation per system and conversation asked about."""
    count = token_counter(TOKENIZER).count
    by_place = group_by(
        ruled,
        lambda ruled_answer: (ruled_answer.answer.agent, ruled_answer.answer.group),
    )
    for (agent, group), mine in by_place.items():
        name = ConversationName(
            safe_label(agent) if agent else label,
            WHOLE,
            f"0.{safe_label(group or 'all')}",
        )
        scenarios: list[str] = []
        questions: list[tuple[str, Kind, str, str, datetime]] = []
        for position, ruled_answer in enumerate(mine):
            answer = ruled_answer.answer
            scenario = re.sub(r"\W", "_", answer.kind)
            scenarios.append(scenario)
            question = answer.question or answer.id
            questions.append(
                (f"{scenario}/{position}", "ask", question, answer.reply, START)
            )
        exchanges = number_exchanges(questions, count)
        examples = []
        rows = []
        for ruled_answer, scenario, exchange_of_answer in zip(
            mine, scenarios, exchanges, strict=True
        ):
            answer = ruled_answer.answer
            # all inputs of the rules but the reply
            parameters = {
                "id": answer.id,
                "kind": answer.kind,
                "category": answer.category and int(answer.category),
            }
            definition = Definition(
                steps=(Ask(exchange_of_answer.message),),
                expected=answer.gold,
                parameters=parameters,
            )
            number = str(exchange_of_answer.number)
            examples.append(
                PlannedExample(
                    scenario=scenario,
                    example=number,
                    version=RULE,
                    definition=definition,
                )
            )
            rows.append(_row(ruled_answer, name, scenario, exchange_of_answer))
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
    """Return how many verdicts of an imported run the rules reproduce, and folder and sentence of the others.

    LtmError if a plan is unreadable.
    """
    count = 0
    differing = []
    for conversation in run.conversations:
        plan = Plan.from_json(
            conversation.plan(), where=f"{conversation.path.name}/plan.json"
        )
        definitions = {}
        for example in plan.examples:
            if example.version == RULE:
                definitions[example.key] = example.definition
        for row in conversation.result.scenarios:
            if (definition := definitions.get(row.id)) is None or not row.questions:
                continue
            parameters = definition.parameters
            (question, *_) = row.questions
            category = parameters.get("category")
            answer = PublishedAnswer(
                where="",
                agent="",
                group="",
                id=str(parameters.get("id")),
                question=question.text,
                gold=str(definition.expected),
                reply=question.answer or "",
                kind=str(parameters.get("kind")),
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
    score = float(ruling.verdict == "yes")
    return score, None if ruling.verdict in ("yes", "no") else 1.0


def _row(
    ruled_answer: RuledAnswer, name: ConversationName, scenario: str, exchange: Exchange
) -> ScenarioResult:
    answer = ruled_answer.answer
    (score, upper) = _bounds(ruled_answer.ruling)
    if ruled_answer.passed is None:
        grade = ""
    else:
        grade = f"; {'right' if ruled_answer.passed else 'wrong'} by its judge"
    figures = {
        "f1": answer.official_f1,
        "published_f1": answer.f1,
        PUBLISHED_GRADE: answer.grade,
    }
    metrics = []
    for figure, value in figures.items():
        if value is not None:
            metrics.append(ExampleMetric(figure, value))
    return ScenarioResult(
        scenario=scenario,
        example=str(exchange.number),
        agent=name.agent,
        span_label=name.span,
        span=None,
        trial=name.trial,
        nodeid=f"ltm/{scenario}::test_question[{name}-{exchange.number}]",
        outcome="skipped" if upper else "passed" if score else "failed",
        score=score,
        reason=f"{'DIFFERS: ' * ruled_answer.differs}{ruled_answer.ruling.reason}{grade}",
        cause=UNDECIDED if upper else "",
        upper=upper,
        rule=RULE,
        evidence=answer.reply,
        tokens=exchange.message_tokens + exchange.reply_tokens,
        questions=(
            QuestionResult(
                number=exchange.number, text=exchange.message, answer=exchange.reply
            ),
        ),
        metrics=tuple(metrics),
    )

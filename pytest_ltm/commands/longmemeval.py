"""`data longmemeval-…`: exports a run's answers to the official format, measures retrieval, scores answers.

Verdicts come from rules, from a judge, or from a judge's earlier labels.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from pytest_ltm.api.journal import ScenarioResult, find_run
from pytest_ltm.api.scenarios import JudgeDecision, decide_by_votes
from pytest_ltm.api.storage import (
    ConfigurationError,
    DatasetError,
    Field,
    did_you_mean,
    for_file,
    join_some,
    read_regular,
    write_output,
)
from pytest_ltm.commands.arguments import (
    RUN,
    add_flags,
    add_option,
    add_output,
    add_run,
)
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.longmemeval import evaluation
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile
from pytest_ltm.datasets.rows import load_json, read_json_rows
from pytest_ltm.figures.run_loading import ConversationFolder, LoadedRun, read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.judges.judge_registry import judge_session
from pytest_ltm.language.rulings.gold import Ruling

# --- longmemeval-score


def add_score_arguments(parser: ArgumentParser) -> None:
    """Add the file of answers, the file of questions, and the judge."""
    rows = f"JSON lines (or .gz) with {', '.join(COMPLETE)}; with --data question_id and hypothesis"
    parser.add_argument("file", type=Path, metavar="FILE", help=rows)
    add_option(
        parser,
        "--data",
        "FILE",
        "LongMemEval's file with the questions: oracle, S or M",
        None,
        type=Path,
    )
    judge_all = "let the judge decide all, not just what rules cannot"
    add_flags(
        parser, json="print JSON: every row's verdict and the sums", judge_all=judge_all
    )
    source = parser.add_mutually_exclusive_group()
    add_flags(source, labels="take a judge's verdicts from the rows (autoeval_label)")
    add_option(
        source,
        "--ltm-judge",
        "SPEC",
        "the judge that decides what rules cannot",
        None,
        dest="judge",
    )


def score_longmemeval(arguments: Namespace) -> int:
    """Score LongMemEval answers by rules; a judge, if given, decides the rest, which is else unscored."""
    answers, missing = read_answers(arguments.file, arguments.data)
    if not answers:
        raise DatasetError(f"{arguments.file}: holds no rows")
    ruled = _judge_answers(answers, arguments)
    right = {"yes": True, "no": False, "unscored": None}
    rows: list[dict[str, Any]] = []
    verdicts: list[evaluation.QuestionVerdict] = []
    for answer, ruling in ruled:
        row = {
            "question_id": answer.question_id,
            "verdict": ruling.verdict,
            "reason": ruling.reason,
        }
        rows.append(row)
        verdict = evaluation.QuestionVerdict(
            answer.question_id, answer.question_type, right[ruling.verdict]
        )
        verdicts.append(verdict)
    sums = evaluation.aggregate_verdicts(verdicts)
    if arguments.json:
        by_type = sums.by_type.items()
        values = {
            "rows": rows,
            "by_type": {name: accuracy.as_json() for name, accuracy in by_type},
            "task_averaged": sums.task_averaged,
            "overall": sums.overall.as_json(),
            "abstention": sums.abstention.as_json(),
            "missing": missing,
        }
        print(json.dumps(values, indent=2))
        return 0
    sys.stdout.write(accuracy_table(sums))
    if missing:  # left out of the means, as in the published script
        print(
            f"{len(missing):,} missing, left out of the means: {join_some(missing, _SHOWN)}"
        )
    return 0


def _judge_answers(
    answered: Sequence[Answered], arguments: Namespace
) -> list[tuple[Answered, Ruling]]:
    ruled: list[tuple[Answered, Ruling]] = []
    if arguments.labels:
        if silent := next(
            (answer for answer in answered if answer.label is None), None
        ):
            reason = f"no {LABELS[0]}: {arguments.file} holds no judge's verdicts. Leave out the option"
            raise DatasetError(f"{silent.where}: {reason}")
        for answer in answered:
            reason = f"as {answer.judge or 'its judge'} said"
            ruling = Ruling("yes" if answer.label else "no", reason)
            ruled.append((answer, ruling))
        return ruled
    for answer in answered:
        ruling = evaluation.rule_on_hypothesis(
            question_id=answer.question_id,
            question_type=answer.question_type,
            question=answer.question,
            answer=answer.answer,
            hypothesis=answer.hypothesis,
        )
        ruled.append((answer, ruling))
    if arguments.judge is None:
        return ruled
    with judge_session(arguments.judge) as ask:
        for number, (answer, ruling) in enumerate(ruled):
            if not arguments.judge_all and ruling.verdict != "unscored":
                continue
            prompt = evaluation.prompt_for(answer.question_id, answer.question_type)
            inquiry = prompt.inquiry(
                question=answer.question,
                reference=str(answer.answer),
                answer=answer.hypothesis,
            )
            # the published evaluation asks once
            decision = decide_by_votes(ask, inquiry, votes=1)
            if isinstance(decision, JudgeDecision):
                ruled[number] = (
                    answer,
                    Ruling("yes" if decision.grade == "yes" else "no", str(decision)),
                )
            else:
                ruled[number] = answer, Ruling("unscored", decision.reason)
    return ruled


_SHOWN = 5


# --- Output


def accuracy_table(sums: evaluation.Aggregates) -> str:
    """Return the aggregates as text, one line per type."""
    lines = [f"{'type':<28}{'accuracy':>9}{'judged':>8}{'unscored':>10}"]
    lines += [_accuracy_line(name, accuracy) for name, accuracy in sums.by_type.items()]
    average = "-" if sums.task_averaged is None else f"{sums.task_averaged:.4f}"
    lines.append(f"{'task-averaged':<28}{average:>9}")
    lines += [
        _accuracy_line("overall", sums.overall),
        _accuracy_line("abstention", sums.abstention),
        "",
    ]
    return "\n".join(lines)


def _accuracy_line(name: str, accuracy: evaluation.Accuracy) -> str:
    value = "-" if accuracy.value is None else f"{accuracy.value:.4f}"
    return f"{name:<28}{value:>9}{accuracy.judged:>8}{accuracy.unscored:>10}"


# --- Rows of answers: complete ones, or official hypotheses joined with their questions

# The fields of the official format.
HYPOTHESIS = ("question_id", "hypothesis")
COMPLETE = ("question_id", "question_type", "question", "answer", "hypothesis")
# Fields that may contain a judge's verdict: the official log's, and a plain one.
LABELS = ("autoeval_label", "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question with its answer."""

    where: str
    question_id: str
    question_type: str
    question: str
    answer: object
    """The gold answer."""
    hypothesis: str
    label: bool | None
    """A judge's verdict in the row; None without one."""
    judge: str
    """The judge; "" if the row does not name it."""


def read_answers(path: Path, data: Path | None) -> tuple[list[Answered], list[str]]:
    """Return the answers of a file, and the ids of questions in `data`, if given, that have none.

    Raises DatasetError for a malformed row, and for an id that is duplicate or not in `data`.
    """
    if data is None:
        rows = read_json_rows(path, HYPOTHESIS)
        return [_parse_answered(where, row, row) for where, row in rows], []
    file = LongMemEvalFile(data)
    entry_by_id = {entry.id: entry for entry in file.entries}
    answers: dict[str, Answered] = {}
    for where, row in read_json_rows(path, HYPOTHESIS):
        name = row["question_id"]
        if not isinstance(name, str) or name not in entry_by_id:
            raise DatasetError(
                f"{where}: {data} has no question {name!r}.{did_you_mean(str(name), entry_by_id)}"
            )
        if name in answers:
            raise DatasetError(
                f"{where}: a second answer to {name!r}; the first is at {answers[name].where}"
            )
        record = file.record(name)
        facts = {
            "question_id": name,
            "question_type": record.type,
            "question": record.question,
        }
        answers[name] = _parse_answered(where, facts | {"answer": record.answer}, row)
    return list(answers.values()), [name for name in entry_by_id if name not in answers]


def _parse_answered(where: str, facts: dict[str, Any], row: dict[str, Any]) -> Answered:
    if missing := [name for name in COMPLETE if name not in facts and name not in row]:
        hint = "Answers alone need their questions: --data FILE, the file that has them"
        raise DatasetError(f"{where}: the field {missing[0]!r} is missing. {hint}")
    kind = facts["question_type"]
    if kind not in TYPES:
        hint = did_you_mean(str(kind), TYPES)
        raise DatasetError(
            f"{where}: unknown question_type {kind!r}.{hint} Known are {', '.join(TYPES)}"
        )
    fields = {name: facts[name] for name in COMPLETE if name in facts} | {
        "hypothesis": row["hypothesis"]
    }
    for name in ("question_id", "question", "hypothesis"):
        if not isinstance(fields[name], str):
            raise DatasetError(
                f"{where}: {name}: expected a text, got {fields[name]!r}"
            )
    label_field = next((name for name in LABELS if name in row), None)
    if label_field is None:
        return Answered(where=where, label=None, judge="", **fields)
    label: Any = row[label_field]
    judge = row.get("judge_model", "")
    if isinstance(label, dict):
        judge = label.get("model", judge)
        label = label.get("label")
    if isinstance(label, str):
        # a text is a judge's whole reply: by the official rule it means yes if it
        # contains "yes"
        label = "yes" in label.lower()
    if not isinstance(label, bool):
        raise DatasetError(
            f"{where}: {label_field}: expected true, false or the judge's reply, got {label!r}"
        )
    return Answered(where=where, label=label, judge=str(judge), **fields)


# --- longmemeval-retrieval and longmemeval-export


def _choose_conversations(
    run: LoadedRun, arguments: Namespace
) -> list[ConversationFolder]:
    """Return the conversations of one agent in one trial; ConfigurationError if the choice is ambiguous."""
    by_agent = group_by(
        run.conversations, lambda conversation: conversation.result.agent
    )
    agent = _only_name("--agent", arguments.agent, by_agent)
    by_trial = group_by(
        by_agent[agent],
        lambda conversation: conversation.result.name.planned_name.trial,
    )
    return by_trial[_only_name("--trial", arguments.trial, by_trial)]


def _only_name(flag: str, chosen: str, existing: Iterable[str]) -> str:
    names = list(existing)
    if chosen in names:
        return chosen
    if not chosen and len(names) == 1:
        return names[0]
    problem = f"{chosen!r} is not one of them" if chosen else "say whose"
    raise ConfigurationError(f"{flag}: {problem}. Choose from {', '.join(names)}")


def _asked_questions(
    conversations: Iterable[ConversationFolder],
) -> Iterator[tuple[ConversationFolder, ScenarioResult, dict[str, Any]]]:
    """Yield the results on LongMemEval questions, with the data in their definitions."""
    for conversation in conversations:
        for row in conversation.result.scenarios:
            path = (
                conversation.path
                / "definitions"
                / row.scenario
                / f"{row.example}.def.json"
            )
            try:
                facts = json.loads(read_regular(path))["parameters"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if isinstance(facts, dict) and {"id", "type", "ability"} <= facts.keys():
                yield conversation, row, facts


# --- longmemeval-export


def add_export_arguments(parser: ArgumentParser) -> None:
    """Add the run, the agent, and the file."""
    add_output(parser, "FILE", "where to write (default: standard output)")
    _add_choice(parser)


def _add_choice(parser: ArgumentParser, kinds: str = RUN) -> None:
    add_option(parser, "--agent", "LABEL", "which agent, if the run has several")
    add_option(parser, "--trial", "N", "which trial, if the run has several")
    add_run(parser, required=True, kinds=kinds)


def export_hypotheses(arguments: Namespace) -> int:
    """Write a run's answers in LongMemEval's official format: JSON lines with question_id and hypothesis."""
    run = read_run(find_run(arguments.run, arguments.ltm_dir))
    questions = list(_asked_questions(_choose_conversations(run, arguments)))
    if not questions:
        raise DatasetError(f"{run.path}: holds no LongMemEval questions")
    lines = []
    for _, row, facts in questions:
        if row.questions:
            answer = row.questions[-1].answer
            record = {"question_id": str(facts["id"]), "hypothesis": answer}
            lines.append(json.dumps(record) + "\n")
    if arguments.output is None:
        sys.stdout.writelines(lines)
    else:
        write_output(arguments.output, for_file("".join(lines)))
    missing = len(questions) - len(lines)
    text = f"{len(lines):,} answers"
    if missing:
        text += f", {missing:,} questions without one"
    print(text, file=sys.stderr)
    return 0


# --- longmemeval-retrieval


def add_measure_arguments(parser: ArgumentParser) -> None:
    """Add the run or file, and the agent."""
    _add_choice(parser, kinds=f"{RUN}; or a JSON file of rankings")
    turns = "the IDs are turns (<session>_<turn>): also print the metrics over sessions"
    add_flags(parser, turns=turns, json="print JSON, as always for a file of rankings")


def measure_retrieval(arguments: Namespace) -> int:
    """Print the official retrieval metrics of a run, or of a file of rankings.

    These are recall_any, recall_all and ndcg_any as published, and the standard nDCG: for the retrieval that a run's
    agent reports, or for a JSON list of {corpus_ids, correct_docs, rankings}.
    """
    if Path(arguments.run).is_file():
        rows = _metrics_of_file(arguments.run, turns=arguments.turns)
        print(json.dumps({"rows": rows}, indent=2))
        return 0
    # As published, unanswerable questions and those without a marked user turn are left
    # out.
    run = read_run(find_run(arguments.run, arguments.ltm_dir))
    values = {}
    for conversation in _choose_conversations(run, arguments):
        record = conversation.record()
        for _, row, facts in _asked_questions([conversation]):
            if record and row.questions:
                exchange = record.exchange(row.questions[-1].number)
            else:
                exchange = None
            wanted_turns = facts.get("wanted_turns")
            turns = facts.get("user_turns", {})
            if exchange is not None and exchange.retrieved is not None and wanted_turns:
                values[facts["id"]] = evaluation.retrieval_figures(
                    exchange.retrieved, wanted_turns, turns
                )
    if not values:
        raise DatasetError(
            f"{run.path}: no answer to a LongMemEval question with marked evidence says what was retrieved: the agent "
            "needs a method retrieved()"
        )
    means = {}
    for name in next(iter(values.values())):
        means[name] = fmean(metrics[name] for metrics in values.values())
    if arguments.json:
        pairs = values.items()
        listed = [{"question_id": name, "metrics": metrics} for name, metrics in pairs]
        print(
            json.dumps(
                {"questions": len(values), "means": means, "rows": listed}, indent=2
            )
        )
        return 0
    _print_means(means, len(values))
    return 0


def _print_means(means: Mapping[str, float], questions: int) -> None:
    print(
        f"{f'{questions:,} questions, k =':<24}"
        + "".join(f"{k:>8}" for k in evaluation.DEPTHS)
    )
    for level, metric in product(
        ("session", "turn"), ("recall_any", "recall_all", "ndcg_any", "ndcg")
    ):
        line = f"{f'{level} {metric}':<24}"
        for k in evaluation.DEPTHS:
            line += f"{means[f'{level}_{metric}_{k}']:>8.3f}"
        print(line)


def _metrics_of_file(path: str, *, turns: bool) -> list[dict[str, Any]]:
    needed = ("corpus_ids", "correct_docs", "rankings")
    rows: list[dict[str, Any]] = []
    for ranking in Field(load_json(Path(path)), path).items("rankings"):
        fields = ranking.mapping(required=needed)
        rows.append(_ranking_metrics(fields, turns=turns))
    return rows


def _ranking_metrics(fields: dict[str, Field], *, turns: bool) -> dict[str, Any]:
    corpus = fields["corpus_ids"].texts()
    gold = frozenset(fields["correct_docs"].texts())
    places = [item.whole() for item in fields["rankings"].items("places in corpus_ids")]
    beyond = next((place for place in places if place >= len(corpus)), None)
    if beyond is not None:
        where = f"{fields['rankings'].where}: {fields['rankings'].path}"
        raise DatasetError(f"{where}: there is no id {beyond} in corpus_ids")
    ranked = [corpus[place] for place in places]
    measures = {"metrics": evaluation.retrieval_scores}
    if turns or "turn2session" in fields:
        measures["turn2session"] = evaluation.turns_as_sessions
    metrics: dict[str, Any] = {}
    for name, measure in measures.items():
        by_depth: dict[str, Any] = {}
        for k in evaluation.DEPTHS:
            by_depth[str(k)] = asdict(measure(ranked, corpus, gold, k))
        metrics[name] = by_depth
    return metrics

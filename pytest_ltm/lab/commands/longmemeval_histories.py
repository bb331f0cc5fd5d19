"""`data longmemeval-compile`, `data longmemeval-generate`: questions with evidence, in histories of any length."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import DatasetError, pluralize, read_regular
from pytest_ltm.commands.arguments import (
    add_flags,
    add_option,
    add_output,
    positive_integer,
    token_count,
)
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile
from pytest_ltm.lab.author import AUTHORS, author_session
from pytest_ltm.lab.longmemeval.histories import (
    Corpus,
    Fillers,
    GeneratedFillers,
    MixedFillers,
    NeedleRecord,
    compile_history,
    parse_needle,
    read_needles,
    write_histories,
)
from pytest_ltm.lab.longmemeval.modelled import (
    at_once,
    by_turns,
    curated_record,
    write_record,
)
from pytest_ltm.lab.longmemeval.needles import (
    QuestionKind,
    generate_needles,
    generate_records,
    record_identity,
)
from pytest_ltm.lab.longmemeval.session_text import cache_counter


def _add_length(group: _ActionsContainer) -> None:
    sessions = "sessions of each history"
    add_option(group, "--sessions", "N", sessions, None, type=positive_integer)
    tokens = "tokens of each history at most, such as 115k or 1.5m"
    add_option(group, "--tokens", "T", tokens, None, type=token_count)


def _add_file(parser: ArgumentParser) -> None:
    seed = "the same seed gives the same file (default: 0)"
    add_option(parser, "--seed", "N", seed, 0)
    tokenizer = "tokenizer (default: cl100k_base)"
    add_option(parser, "--tokenizer", "NAME", tokenizer, "cl100k_base")
    add_output(parser, "FILE", "the file to write", required=True)


def add_compile_arguments(parser: ArgumentParser) -> None:
    """Add the questions, the fillers and the length."""
    needles = "a LongMemEval file; only its sessions of evidence are used"
    parser.add_argument("needles", type=Path, help=needles)
    fillers = (
        "JSON lists of records or of sessions: half of the fillers are evidence of other questions of the first file, "
        "the rest comes in equal parts from these files (default: generated fillers)"
    )
    parser.add_argument(
        "--fillers", type=Path, nargs="+", default=[], metavar="FILE", help=fillers
    )
    _add_length(parser.add_mutually_exclusive_group(required=True))
    _add_file(parser)


def compile_histories(arguments: Namespace) -> int:
    """Place the evidence of each LongMemEval question among fillers, in a history of a given length.

    The oracle file is suitable. Evidence keeps its dates and order and is never dropped.
    """
    count = cache_counter(token_counter(arguments.tokenizer))
    fillers: Fillers = GeneratedFillers(count)
    if arguments.fillers:
        evidence = Corpus(arguments.needles, evidence_only=True)
        fillers = MixedFillers(
            evidence, [Corpus(path) for path in arguments.fillers], count
        )
    return _write_histories(arguments, read_needles(arguments.needles), fillers, count)


def add_generate_arguments(parser: ArgumentParser) -> None:
    """Add the number of questions, the length, and who writes them."""
    count = "number of questions (default: 500)"
    add_option(parser, "--count", "N", count, 500, type=positive_integer)
    group = parser.add_mutually_exclusive_group()
    _add_length(group)
    model = (
        f"{AUTHORS}. For longer histories give the file to ltm data longmemeval-compile"
    )
    add_option(group, "--model", "SPEC", model)
    curate = "with --model: it also writes attributes, backgrounds, questions, answers and what is said of them"
    turns = "with --model: ask it for each turn, as the person and as the assistant"
    add_flags(parser, curate=curate, turn_by_turn=turns)
    _add_file(parser)


def generate_longmemeval(arguments: Namespace) -> int:
    """Generate questions in LongMemEval's format: all types and abstention, with gold answers by construction.

    Without --sessions and --tokens a history contains only the evidence. With --model, a model writes the evidence
    sessions, which are then checked; an interrupted file is continued.
    """
    if arguments.model:
        # Generate the missing questions, writing the file after each, so that an
        # interrupted command can continue.
        writes = by_turns if arguments.turn_by_turn else at_once
        records: list[dict[str, Any]] = []
        if arguments.output.exists():
            for _ in LongMemEvalFile(arguments.output).records():
                pass  # hand-edited records are read, and refused if they are invalid
            records = json.loads(read_regular(arguments.output))
        finished = {record["question_id"] for record in records}
        with author_session(arguments.model) as model:
            for number, needle in enumerate(
                generate_needles(arguments.count, arguments.seed)
            ):
                seed = f"{arguments.seed} {number}"
                if record_identity(seed, abstains=needle.abstains)[0] in finished:
                    continue
                if arguments.curate:
                    kind = QuestionKind(needle.type, needle.abstains)
                    questions = {record["question"] for record in records}
                    records.append(
                        curated_record(
                            kind, number, arguments.seed, model, writes, questions
                        )
                    )
                else:
                    records.append(write_record(needle, seed, model, writes))
                write_histories(arguments.output, records)
            sys.stderr.write(f"{model.cost}\n")
        sys.stdout.write(f"{arguments.output}: {pluralize(len(records), 'question')}\n")
        return 0
    if arguments.curate:
        raise DatasetError(
            "--curate needs --model: templates have questions of their own"
        )
    if arguments.turn_by_turn:
        raise DatasetError(
            "--turn-by-turn needs --model: it is asked as the person and as the assistant"
        )
    count = cache_counter(token_counter(arguments.tokenizer))
    needle_records = (
        parse_needle(record, f"question {record['question_id']}")
        for record in generate_records(arguments.count, arguments.seed, count)
    )
    return _write_histories(arguments, needle_records, GeneratedFillers(count), count)


def _write_histories(
    arguments: Namespace,
    needle_records: Iterable[NeedleRecord],
    fillers: Fillers,
    count: Callable[[str], int],
) -> int:
    """Write the histories of the needles, and report what was written."""
    histories = (
        compile_history(
            needle_record,
            fillers,
            seed=arguments.seed,
            count=count,
            sessions=arguments.sessions,
            tokens=arguments.tokens,
        )
        for needle_record in needle_records
    )
    number, size = write_histories(arguments.output, histories)
    sys.stdout.write(
        f"{arguments.output}: {pluralize(number, 'question')}, {size / 1e6:,.1f} MB\n"
    )
    return 0

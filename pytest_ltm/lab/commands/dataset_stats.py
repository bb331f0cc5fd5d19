"""`data dataset-stats FILE...`: the tables that the papers of LoCoMo and LongMemEval give of their data."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median

from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.locomo.samples import Category, Sample, load_locomo
from pytest_ltm.datasets.longmemeval.record import (
    LongMemEvalFile,
    iter_record_slices,
    part_of,
)
from pytest_ltm.figures.text import columns_of

# Both papers count tokens like this.
TOKENIZER = "cl100k_base"
NOTHING = "-"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the files."""
    files = (
        "files of LoCoMo's or LongMemEval's format, or folders of LoCoMo conversations"
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=files)


def show_dataset_stats(arguments: Namespace) -> int:
    """Print the statistics that the papers give (LoCoMo, Table 1; LongMemEval, Figure 9), for any such file.

    Several files are shown side by side.
    """
    tables: dict[str, dict[str, dict[str, str]]] = {"LoCoMo": {}, "LongMemEval": {}}
    for path in arguments.files:
        if _holds_histories(path):
            tables["LongMemEval"][path.name] = longmemeval_stats(path)
        else:
            tables["LoCoMo"][path.name] = locomo_stats(load_locomo(path).samples)
    for title, columns in tables.items():
        if not columns:
            continue
        fullest_first = sorted(columns.values(), key=len, reverse=True)
        labels = list(
            dict.fromkeys(label for figures in fullest_first for label in figures)
        )
        width = max(map(len, [title, *labels]))
        room = {name: max(12, columns_of(name)) for name in columns}
        rows = [(title, {name: name for name in columns})]
        # a figure that a file does not have is empty in its column
        rows += [
            (
                label,
                {
                    name: figures.get(label, NOTHING)
                    for name, figures in columns.items()
                },
            )
            for label in labels
        ]
        for label, cells in rows:
            print(
                " ".join(
                    [
                        f"{label:<{width}}",
                        *(f"{cells[name]:>{room[name]}}" for name in columns),
                    ]
                ).rstrip()
            )
    return 0


def _holds_histories(path: Path) -> bool:
    """Return whether the first record of a file is one of LongMemEval's."""
    if path.is_dir():
        return False
    try:
        start, end = next(iter_record_slices(path), (0, 0))
    except DatasetError:
        # not a list: one conversation, or a file whose own error is better
        return False
    return b'"haystack_sessions"' in part_of(path, start, end)


def locomo_stats(samples: Iterable[Sample]) -> dict[str, str]:
    """Return the figures of conversations: Table 1 of Maharana et al. (2024), and its counts of questions."""
    samples = tuple(samples)
    count = token_counter(TOKENIZER).count
    turns = [sample.turns for sample in samples]
    words = [
        len(turn.text.split())
        for conversation_turns in turns
        for turn in conversation_turns
    ]
    days = [
        (sample.sessions[-1].at - sample.sessions[0].at).days
        for sample in samples
        if sample.sessions
    ]
    question_counts = Counter(
        question.category for sample in samples for question in sample.questions
    )
    return {
        "conversations": f"{len(samples):,}",
        "turns a conversation": _mean(map(len, turns)),
        "sessions a conversation": _mean(len(sample.sessions) for sample in samples),
        "tokens a conversation": _mean(
            sum(count(turn.text) for turn in conversation_turns)
            for conversation_turns in turns
        ),
        "days a conversation": _mean(days),
        "words a turn, median": f"{median(words or [0]):g}",
        "photos a conversation": _mean(
            sum(bool(turn.caption) for turn in conversation_turns)
            for conversation_turns in turns
        ),
        "questions": f"{question_counts.total():,}",
        **{
            f"questions, {category.label}": f"{question_counts[category]:,}"
            for category in Category
        },
    }


def longmemeval_stats(path: Path) -> dict[str, str]:
    """Return the figures of histories: Figure 9 of Wu et al. (2025); one record is in memory at a time.

    A session's first turn is at 0, its last almost at 1; so is a session in its
    history.
    """
    count: Callable[[str], int] = token_counter(TOKENIZER).count
    types = Counter[str]()
    evidence = Counter[int]()
    sessions = list[int]()
    tokens = list[int]()
    turn_places = list[float]()
    session_places = list[float]()
    for record in LongMemEvalFile(path).records():
        types["abstention" if record.abstention else record.type] += 1
        sessions.append(len(record.sessions))
        tokens.append(
            sum(
                count(turn.content)
                for session in record.sessions
                for turn in session.turns
            )
        )
        cited = set(record.answer_sessions)
        evidence[len(cited)] += not record.abstention
        for place, session in enumerate(record.sessions):
            if session.id in cited:
                session_places.append(place / len(record.sessions))
            turn_places += [
                position / len(session.turns)
                for position, turn in enumerate(session.turns)
                if turn.has_answer
            ]
    return {
        "questions": f"{types.total():,}",
        **{
            f"questions, {name}": f"{number:,}"
            for name, number in sorted(types.items())
        },
        "sessions a history": _mean(sessions),
        "tokens a history": _mean(tokens),
        **{
            f"questions with {number} evidence session{'s' if number != 1 else ''}": f"{evidence[number]:,}"
            for number in sorted(evidence)
        },
        "evidence sessions, mean place in the history": _mean(session_places, ".2f"),
        "evidence, mean place in its session": _mean(turn_places, ".2f"),
        "evidence in the first turn": _mean(
            (not turn_place for turn_place in turn_places), ".0%"
        ),
    }


def _mean(numbers: Iterable[float], form: str = ",.1f") -> str:
    values = list(numbers)
    return f"{fmean(values):{form}}" if values else NOTHING

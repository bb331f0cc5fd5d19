"""`data dataset-stats FILE...`: the statistics of LoCoMo and LongMemEval as in their papers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean, median

from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import DatasetError, pluralize
from pytest_ltm.datasets.locomo.samples import Category, Sample, load_locomo
from pytest_ltm.datasets.longmemeval.record import (
    LongMemEvalFile,
    iter_record_slices,
    part_of,
)
from pytest_ltm.figures.text import columns_of

# The tokenizer of both papers.
TOKENIZER = "cl100k_base"
NOTHING = "-"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the files."""
    files = (
        "files of LoCoMo's or LongMemEval's format, or folders of LoCoMo conversations"
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=files)


def show_dataset_stats(arguments: Namespace) -> int:
    """Print the papers' statistics (LoCoMo, Table 1; LongMemEval, Figure 9) for any such file.

    Several files are shown side by side.
    """
    tables: dict[str, dict[str, dict[str, str]]] = {"LoCoMo": {}, "LongMemEval": {}}
    for path in arguments.files:
        title = "LongMemEval" if _holds_histories(path) else "LoCoMo"
        if title == "LongMemEval":
            figures = longmemeval_stats(path)
        else:
            figures = locomo_stats(load_locomo(path).samples)
        tables[title][path.name] = {title: path.name, **figures}
    for columns in filter(None, tables.values()):
        fullest_first = sorted(columns.values(), key=len, reverse=True)
        labels = dict.fromkeys(chain.from_iterable(fullest_first))
        width = max(map(len, labels))
        widths = [max(12, columns_of(name)) for name in columns]
        for label in labels:
            line = f"{label:<{width}}"
            for figures, room in zip(columns.values(), widths, strict=True):
                # a figure that a file lacks is blank in its column
                line += f" {figures.get(label, NOTHING):>{room}}"
            print(line)
    return 0


def _holds_histories(path: Path) -> bool:
    """Return whether the first record of a file is one of LongMemEval's."""
    if path.is_dir():
        return False
    try:
        start, end = next(iter_record_slices(path), (0, 0))
    except DatasetError:
        # no list: a single conversation, or a file whose own error is more useful
        return False
    return b'"haystack_sessions"' in part_of(path, start, end)


def locomo_stats(samples: Iterable[Sample]) -> dict[str, str]:
    """Return the figures of conversations: Table 1 of Maharana et al. (2024), and its counts of questions."""
    count = token_counter(TOKENIZER).count
    turns = list[int]()
    sessions = list[int]()
    tokens = list[int]()
    days = list[int]()
    words = list[int]()
    photos = list[int]()
    questions = Counter[Category]()
    for sample in samples:
        turns.append(len(sample.turns))
        sessions.append(len(sample.sessions))
        tokens.append(sum(count(turn.text) for turn in sample.turns))
        words += [len(turn.text.split()) for turn in sample.turns]
        photos.append(sum(bool(turn.caption) for turn in sample.turns))
        questions.update(question.category for question in sample.questions)
        if sample.sessions:
            days.append((sample.sessions[-1].at - sample.sessions[0].at).days)
    figures = {
        "conversations": f"{len(turns):,}",
        "turns a conversation": _mean(turns),
        "sessions a conversation": _mean(sessions),
        "tokens a conversation": _mean(tokens),
        "days a conversation": _mean(days),
        "words a turn, median": f"{median(words or [0]):g}",
        "photos a conversation": _mean(photos),
        "questions": f"{questions.total():,}",
    }
    for category in Category:
        figures[f"questions, {category.label}"] = f"{questions[category]:,}"
    return figures


def longmemeval_stats(path: Path) -> dict[str, str]:
    """Return the figures of histories, Figure 9 of Wu et al. (2025), with one record in memory at a time.

    Positions are relative: a session's first turn is at 0, its last almost at 1; likewise for sessions in a history.
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
        turns = chain.from_iterable(session.turns for session in record.sessions)
        tokens.append(sum(count(turn.content) for turn in turns))
        cited = set(record.answer_sessions)
        evidence[len(cited)] += not record.abstention
        for place, session in enumerate(record.sessions):
            if session.id in cited:
                session_places.append(place / len(record.sessions))
            for position, turn in enumerate(session.turns):
                if turn.has_answer:
                    turn_places.append(position / len(session.turns))
    figures = {"questions": f"{types.total():,}"}
    for name, number in sorted(types.items()):
        figures[f"questions, {name}"] = f"{number:,}"
    figures["sessions a history"] = _mean(sessions)
    figures["tokens a history"] = _mean(tokens)
    for number in sorted(evidence):
        label = f"questions with {pluralize(number, 'evidence session')}"
        figures[label] = f"{evidence[number]:,}"
    first_turns = [not place for place in turn_places]
    return {
        **figures,
        "evidence sessions, mean place in the history": _mean(session_places, ".2f"),
        "evidence, mean place in its session": _mean(turn_places, ".2f"),
        "evidence in the first turn": _mean(first_turns, ".0%"),
    }


def _mean(values: Sequence[float], form: str = ",.1f") -> str:
    return f"{fmean(values):{form}}" if values else NOTHING

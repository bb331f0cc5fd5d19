"""`data dataset-stats FILE...`: the tables that the papers of LoCoMo and LongMemEval give of their data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from pytest_ltm._model.tokens import token_counter
from pytest_ltm._results.text import columns_of
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets.locomo.samples import Category, load_locomo
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile, iter_record_slices, part_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Mapping

    from pytest_ltm.datasets.locomo.samples import Sample

# Both papers count tokens like this.
TOKENIZER = "cl100k_base"
NOTHING = "-"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the files."""
    files = "files of LoCoMo's or LongMemEval's format, or folders of LoCoMo conversations"
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help=files)


def show_dataset_stats(given: Namespace) -> int:
    """Print the statistics that the papers give (LoCoMo, Table 1; LongMemEval, Figure 9), for any such file.

    Several files are shown side by side.
    """
    tables: dict[str, dict[str, Mapping[str, str]]] = {"LoCoMo": {}, "LongMemEval": {}}
    for path in given.files:
        if _holds_histories(path):
            tables["LongMemEval"][path.name] = longmemeval_stats(path)
        else:
            tables["LoCoMo"][path.name] = locomo_stats(load_locomo(path).samples)
    for title, columns in tables.items():
        for line in _table_lines(title, columns) if columns else ():
            print(line.rstrip())
    return 0


def _holds_histories(path: Path) -> bool:
    """Return whether the first record of a file is one of LongMemEval's."""
    if path.is_dir():
        return False
    try:
        start, end = next(iter_record_slices(path), (0, 0))
    except DatasetError:  # not a list: one conversation, or a file whose own error is better
        return False
    return b'"haystack_sessions"' in part_of(path, start, end)


def locomo_stats(samples: Iterable[Sample]) -> dict[str, str]:
    """Return the figures of conversations: Table 1 of Maharana et al. (2024), and its counts of questions."""
    samples, count = tuple(samples), token_counter(TOKENIZER).count
    turns = [sample.turns for sample in samples]
    days = [(sample.sessions[-1].at - sample.sessions[0].at).days for sample in samples if sample.sessions]
    asked = Counter(question.category for sample in samples for question in sample.questions)
    return {
        "conversations": f"{len(samples):,}",
        "turns a conversation": _mean(map(len, turns)),
        "sessions a conversation": _mean(len(sample.sessions) for sample in samples),
        "tokens a conversation": _mean(sum(count(turn.text) for turn in each) for each in turns),
        "days a conversation": _mean(days),
        "words a turn, median": f"{median([len(turn.text.split()) for each in turns for turn in each] or [0]):g}",
        "photos a conversation": _mean(sum(bool(turn.caption) for turn in each) for each in turns),
        "questions": f"{asked.total():,}",
        **{f"questions, {category.label}": f"{asked[category]:,}" for category in Category},
    }


def longmemeval_stats(path: Path) -> dict[str, str]:
    """Return the figures of histories: Figure 9 of Wu et al. (2025); one record is in memory at a time.

    A session's first turn is at 0, its last almost at 1; so is a session in its history.
    """
    count: Callable[[str], int] = token_counter(TOKENIZER).count
    types, evidence = Counter[str](), Counter[int]()
    sessions, tokens, turn_places, session_places = list[int](), list[int](), list[float](), list[float]()
    for record in LongMemEvalFile(path).records():
        types["abstention" if record.abstention else record.type] += 1
        sessions.append(len(record.sessions))
        tokens.append(sum(count(turn.content) for session in record.sessions for turn in session.turns))
        cited = set(record.answer_sessions)
        evidence[len(cited)] += not record.abstention
        for place, session in enumerate(record.sessions):
            if session.id in cited:
                session_places.append(place / len(record.sessions))
            turn_places += [at / len(session.turns) for at, turn in enumerate(session.turns) if turn.has_answer]
    return {
        "questions": f"{types.total():,}",
        **{f"questions, {name}": f"{number:,}" for name, number in sorted(types.items())},
        "sessions a history": _mean(sessions),
        "tokens a history": _mean(tokens),
        **{
            f"questions with {number} evidence session{'s' * (number != 1)}": f"{evidence[number]:,}"
            for number in sorted(evidence)
        },
        "evidence sessions, mean place in the history": _place(session_places),
        "evidence, mean place in its session": _place(turn_places),
        "evidence in the first turn": f"{fmean(not at for at in turn_places):.0%}" if turn_places else NOTHING,
    }


def _mean(numbers: Iterable[float]) -> str:
    values = list(numbers)
    return f"{fmean(values):,.1f}" if values else NOTHING


def _place(places: list[float]) -> str:
    return f"{fmean(places):.2f}" if places else NOTHING


def _table_lines(title: str, columns: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return a table with a column for each file; a figure that a file does not have is empty there."""
    fullest_first = sorted(columns.values(), key=len, reverse=True)
    labels = list(dict.fromkeys(label for figures in fullest_first for label in figures))
    width = max(map(len, [title, *labels]))
    room = {name: max(12, columns_of(name)) for name in columns}
    rows = [" ".join([f"{title:<{width}}", *(f"{name:>{room[name]}}" for name in columns)])]
    rows += [
        " ".join([f"{label:<{width}}", *(f"{columns[name].get(label, NOTHING):>{room[name]}}" for name in columns)])
        for label in labels
    ]
    return rows

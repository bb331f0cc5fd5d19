"""Recall of evidence by rule-based memory systems: LongMemEval's by value and key, LoCoMo's by unit and k.

LoCoMo's questions are asked in two ways: each alone after the history, and all of a
conversation together.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean

from pytest_ltm._core.model.plan import QUESTIONS
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.lab.study import play_rows

_WHOLE = "window: 400k, recent: 0, reading: {k: 50, budget: 390k}"
"""Fifty memories, since the published metrics widen k until enough sessions are seen, and a window that holds them."""
LONGMEMEVAL = [
    (value, key)
    for value in ("session", "round")
    for key in ("value", "facts", "keyphrases", "summary")
] + [("fact", "value")]
"""Values and keys: the value itself, or with an expansion merged into it."""
LOCOMO = [
    ("dialogue", "turns", "locomo-dialogue", (5, 10, 25, 50)),
    ("observations of the file", "observations", "retrieval", (5, 10, 25, 50)),
    ("observations by rules", "turns", "locomo-observations", (5, 10, 25, 50)),
    ("summaries of the file", "summaries", "retrieval", (2, 5, 10)),
    ("summaries by rules", "turns", "locomo-summaries", (2, 5, 10)),
]
"""Units, the delivery of the file's conversation, presets, and the published k."""


def main(argv: Sequence[str]) -> int:
    """Print a table for each file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks evidence", description=__doc__
    )
    parser.add_argument(
        "--longmemeval", type=Path, metavar="FILE", help="published or generated"
    )
    parser.add_argument(
        "--locomo", type=Path, metavar="FILE", help="published or generated"
    )
    parser.add_argument(
        "--sample", type=int, default=0, help="questions of LongMemEval (all)"
    )
    given = parser.parse_args(argv)
    if given.longmemeval is None and given.locomo is None:
        raise ConfigurationError(
            "evidence needs --longmemeval FILE, --locomo FILE, or both"
        )
    if given.longmemeval is not None:
        for line in longmemeval(given.longmemeval.absolute(), given.sample):
            print(line, flush=True)
    if given.locomo is not None:
        for line in locomo(given.locomo.absolute()):
            print(line, flush=True)
    return 0


def longmemeval(data: Path, sample: int) -> Iterator[str]:
    """Yield the recall of all sessions with evidence, by value and key."""
    agents = {}
    for value, key in LONGMEMEVAL:
        keys = "value" if key == "value" else f"value, {key}"
        agents[f"{value}_{key}"] = f"{{value: {value}, key: [{keys}], {_WHOLE}}}"
    drawn = f"&sample={sample}" if sample else ""
    found = _means(agents, [f"--ltm-suite=longmemeval?data={data}{drawn}"])
    columns = ["session_recall_all_5", "session_recall_all_10"]
    rows = []
    for value, key in LONGMEMEVAL:
        keys = "value" if key == "value" else f"value + {key}"
        rows.append([value, keys, *_cells(found[f"{value}_{key}"], columns)])
    yield from _table(["value", "key", "recall@5", "recall@10", "questions"], rows)


def locomo(data: Path) -> Iterator[str]:
    """Yield recall and F1 by unit and k, for questions asked alone and together; each unit is ingested once."""
    names = ("recall", "of sessions", "F1")
    heads = []
    for way in QUESTIONS:
        heads += [f"{name}, {way}" for name in names]
    yield from _table(["unit", "k", *heads, "questions"], _locomo_rows(data))


def _locomo_rows(data: Path) -> Iterator[list[str]]:
    for unit, telling, preset, depths in LOCOMO:
        query = f"preset={preset}&window=400k&recent=0&reading.budget=390k&reading.k={','.join(map(str, depths))}"
        suite = f"--ltm-suite=locomo?data={data}&telling={telling}"
        ways = []
        for way in QUESTIONS:
            agents = [f"M=memory:rules?{query}"]
            ways.append(_metrics_of(agents, [f"{suite}&questions={way}"]))
        for k in depths:
            cells = []
            for found in ways:
                names = ["recall", "recall_sessions", "f1"]
                cells.append(_cells(found[f"M.k{k}"], names))
            row = [unit, str(k)]
            for way_cells in cells:
                row += way_cells[:-1]
            yield [*row, cells[0][-1]]


def _means(
    agents: Mapping[str, str], words: Sequence[str]
) -> Mapping[str, Mapping[str, list[float]]]:
    """Return the mean metrics of all questions by agent and name; agents are keyed by their parameters."""
    with tempfile.TemporaryDirectory(prefix="ltm-agents-") as name:
        folder = Path(name)
        for label, parameters in agents.items():
            (folder / f"{label}.yml").write_text(
                f"agent: memory:rules\nparameters: {parameters}\n", encoding="utf-8"
            )
        return _metrics_of([f"{label}={folder / label}.yml" for label in agents], words)


def _metrics_of(
    agents: Sequence[str], words: Sequence[str]
) -> Mapping[str, Mapping[str, list[float]]]:
    """Return the metrics of all questions by agent and name."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory(prefix="ltm-evidence-") as name:
        folder = Path(name)
        for _, row in play_rows(agents, words, folder / "ltm", folder, skipped=True):
            for metric in row.metrics:
                found[row.agent][metric.name].append(metric.value)
    return found


def _cells(metrics: Mapping[str, list[float]], names: Sequence[str]) -> list[str]:
    """Return the means, and the number of questions behind the first."""
    values = [metrics.get(name, []) for name in names]
    return [
        *(f"{fmean(some):.3f}" if some else "-" for some in values),
        str(len(values[0])),
    ]


def _table(
    heads: Sequence[str], rows: Iterator[list[str]] | list[list[str]]
) -> Iterator[str]:
    for row in chain((heads, ["---"] * len(heads)), rows):
        # print each row as soon as it is measured
        yield f"| {' | '.join(row)} |"

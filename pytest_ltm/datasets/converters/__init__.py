"""Converters: the files of other benchmarks as histories; a module is imported when its data set is played."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pytest_ltm.datasets._histories import history_dataset

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ltm.datasets._dataset import Dataset
    from pytest_ltm.datasets._histories import HistoryReader
    from pytest_ltm.datasets._interchange import History

_PARTS = (
    "I am going to give you a long text, part by part. Memorize what it says; a short acknowledgement will do. "
    "Afterwards I will ask you about it."
)
_TRAJECTORIES = (
    "I am going to show you what an agent saw and did on websites, step by step. Remember how these sites look and "
    "work; a short acknowledgement will do. Afterwards I will ask you about them."
)
# By name: the published metric, "" where a suite of that name does more; the name in reports; the opening message in
# the place of ours.
KINDS = {
    "beam": ("mean of claims met, and of orders", "BEAM", ""),
    "halumem": ("share of questions answered rightly", "HaluMem", ""),
    "locomo": ("", "LoCoMo", ""),
    "longmemeval": ("", "LongMemEval", ""),
    "longmemeval-v2": ("share of questions answered rightly", "LongMemEval-V2", _TRAJECTORIES),
    "memoryagentbench": ("matches by source", "MemoryAgentBench", _PARTS),
    "personamem": ("share of right choices", "PersonaMem", ""),
}


def reader_of(kind: str) -> HistoryReader:
    """Return what reads the files of a kind."""

    def read(paths: Sequence[Path], counts: Counter[str]) -> Iterable[History]:
        module = import_module(f"{__name__}.{kind.replace('-', '_')}")
        histories: Iterable[History] = module.read_histories(paths, counts)
        return histories

    return read


CONVERTED: tuple[Dataset, ...] = tuple(
    history_dataset(kind, metric=metric, read=reader_of(kind), source=source, opening=opening)
    for kind, (metric, source, opening) in KINDS.items()
    if metric
)

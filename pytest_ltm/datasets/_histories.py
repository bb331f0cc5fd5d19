"""Data sets that are read as histories, and played as logs. Light to import: they stand in every `pytest --help`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._dataset import Dataset
from pytest_ltm.datasets.logs.log_options import LOGS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.datasets._dataset import DatasetSuite
    from pytest_ltm.datasets._interchange import History

    HistoryReader: TypeAlias = Callable[[Sequence[Path], Counter[str]], Iterable[History]]


def history_dataset(
    name: str, *, metric: str, read: HistoryReader, source: str = "", opening: str = "", scorer: str = ""
) -> Dataset:
    """Return the data set of a name whose files are read as histories; it has the options of logs.

    Args:
        name: The value of `--ltm-suite`.
        metric: The published metric, in a few words.
        read: Yields the histories of files or folders. It counts what it cuts, leaves out or guesses, by a sentence.
        source: Which data set it is, for reports; the name by default.
        opening: The message that begins a conversation, in the place of ours.
        scorer: The dotted path of a function of the definition and the answer, which returns a Score, an Unscored or
            a number from 0 to 1; by default what each question names decides.
    """

    def opener(path: Path | None, values: Mapping[str, Any], _seed: int, cache: Path | None) -> DatasetSuite:
        from pytest_ltm.datasets._conversion import convert_once
        from pytest_ltm.datasets.logs.log_suite import open_suite

        if path is None:
            raise DatasetError(f"{name} is not shipped: download it, and give --ltm-data=FILE or its folder")
        if not path.exists():
            raise DatasetError(f"{path}: there is no such file or folder")
        file = convert_once(name, read, path, cache, source=source or name, opening=opening)
        options = {option: value for option, value in values.items() if option != "questions"}
        return open_suite(file, options, name=name, scorer=scorer)

    return Dataset(name, metric, LOGS.fewer, LOGS.options, opener, questions="alone", family=LOGS.name)

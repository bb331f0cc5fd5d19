"""Data sets of the field, read from files of the user's own: a folder or file each, imported only when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.datasets._chapterbreak import Chapter, chapter_from_book, chapter_from_dataset
    from pytest_ltm.datasets._dataset import Dataset, DatasetOption, DatasetSuite, ToldConversation
    from pytest_ltm.datasets._histories import history_dataset
    from pytest_ltm.datasets._interchange import History, Picture, Question, Session, ToolCall, Turn
    from pytest_ltm.datasets.converters import CONVERTED
    from pytest_ltm.datasets.locomo.locomo_options import LOCOMO
    from pytest_ltm.datasets.logs.log_options import LOGS
    from pytest_ltm.datasets.longmemeval.longmemeval_options import LONGMEMEVAL

__all__ = (
    "CONVERTED", "LOCOMO", "LOGS", "LONGMEMEVAL", "Chapter", "Dataset", "DatasetOption", "DatasetSuite", "History",
    "Picture", "Question", "Session", "ToldConversation", "ToolCall", "Turn", "chapter_from_book",
    "chapter_from_dataset", "history_dataset",
)  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_chapterbreak": "Chapter chapter_from_book chapter_from_dataset",
        "_dataset": "Dataset DatasetOption DatasetSuite ToldConversation",
        "_histories": "history_dataset",
        "_interchange": "History Picture Question Session ToolCall Turn",
        "converters": "CONVERTED",
        "locomo.locomo_options": "LOCOMO",
        "logs.log_options": "LOGS",
        "longmemeval.longmemeval_options": "LONGMEMEVAL",
    },
)

"""Data sets of the field, read from the user's own files; a folder or file each, imported only when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.api.scenarios import (
        Dataset,
        DatasetOption,
        DatasetSuite,
        ToldConversation,
    )
    from pytest_ltm.datasets._chapterbreak import (
        Chapter,
        chapter_from_book,
        chapter_from_dataset,
    )
    from pytest_ltm.datasets.dataset_registry import (
        CONVERTED,
        LOCOMO,
        LOGS,
        LONGMEMEVAL,
        history_dataset,
    )
    from pytest_ltm.datasets.interchange import (
        History,
        Picture,
        Question,
        Session,
        ToolCall,
        Turn,
    )

__all__ = (
    "CONVERTED",
    "LOCOMO",
    "LOGS",
    "LONGMEMEVAL",
    "Chapter",
    "Dataset",
    "DatasetOption",
    "DatasetSuite",
    "History",
    "Picture",
    "Question",
    "Session",
    "ToldConversation",
    "ToolCall",
    "Turn",
    "chapter_from_book",
    "chapter_from_dataset",
    "history_dataset",
)

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_chapterbreak": "Chapter chapter_from_book chapter_from_dataset",
        "pytest_ltm._core.model.dataset": "Dataset DatasetOption DatasetSuite ToldConversation",
        "dataset_registry": "CONVERTED LOCOMO LOGS LONGMEMEVAL history_dataset",
        "interchange": "History Picture Question Session ToolCall Turn",
    },
)

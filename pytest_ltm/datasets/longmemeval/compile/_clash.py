"""Which fillers may not stand beside a question: they might contradict its evidence, or be more of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._texts import themes
from pytest_ltm.evaluators._words import content_stems

if TYPE_CHECKING:
    from pytest_ltm.datasets.longmemeval.compile._needles import NeedleRecord

_SHARED = 0.75
"""A session in which the user says so much of the question's words is about the same thing."""


class Clash:
    """Tells what would clash with one question and its evidence."""

    def __init__(self, record: NeedleRecord) -> None:
        self._ids = {one.id for one in record.evidence}
        self._question = content_stems(str(record.asked["question"]))
        self._heard = record.heard()
        self._themes = themes_in(record.user_text())

    def with_session(self, name: str, user_text: str) -> bool:
        """Return whether a session of a file would clash: the evidence itself, of its theme, or near the question."""
        if name in self._ids or self._themes & themes_in(user_text):
            return True
        return len(self._question & content_stems(user_text)) >= _SHARED * len(self._question)

    def with_aside(self, theme: str, words: str) -> bool:
        """Return whether something told of the user would clash: of the same theme, or in the same words."""
        return theme in self._themes or bool(content_stems(words) & self._heard)


def themes_in(user_text: str) -> frozenset[str]:
    """Return the themes of which a generated request stands in the text."""
    return frozenset(theme.name for theme in themes().values() if any(one.text in user_text for one in theme.requests))

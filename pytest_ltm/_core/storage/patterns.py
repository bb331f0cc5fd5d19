"""Regular expressions that are compiled on first use: each run imports many, and needs few."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast


class _Later:
    """A proxy for a pattern; each attribute is cached on first access."""

    def __init__(self, compiled: Callable[[], re.Pattern[str]]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        result = self.__dict__[name] = getattr(self._compiled(), name)
        return result


def made_later(compiled: Callable[[], re.Pattern[str]]) -> re.Pattern[str]:
    """Return a proxy for the pattern that a function returns, called on the first access to an attribute."""
    return cast("re.Pattern[str]", _Later(compiled))


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a proxy for `re.compile(pattern, flags)`, compiled on the first access to an attribute."""
    return made_later(lambda: re.compile(pattern, flags))

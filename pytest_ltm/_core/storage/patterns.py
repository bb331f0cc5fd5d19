"""Regular expressions that are compiled when they are first used: each run imports many, and needs few."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast


class _Later:
    """Stands for a pattern; what is first asked of it stays with it."""

    def __init__(self, compiled: Callable[[], re.Pattern[str]]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        result = self.__dict__[name] = getattr(self._compiled(), name)
        return result


def made_later(compiled: Callable[[], re.Pattern[str]]) -> re.Pattern[str]:
    """Return what serves as the pattern that a function returns, called once a method of the pattern is asked for."""
    return cast("re.Pattern[str]", _Later(compiled))


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what serves as `re.compile(pattern, flags)`, compiled once one of its methods is asked for."""
    return made_later(lambda: re.compile(pattern, flags))

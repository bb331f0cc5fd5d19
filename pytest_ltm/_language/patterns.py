"""Regular expressions that are compiled when they are first used: each run imports many, and needs few."""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    """Stands for a pattern; what is first asked of it stays with it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        result = self.__dict__[name] = getattr(re.compile(*self._given), name)
        return result


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what serves as `re.compile(pattern, flags)`, compiled once one of its methods is asked for."""
    return cast("re.Pattern[str]", _Later(pattern, flags))

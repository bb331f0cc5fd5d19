"""Reading one option or its ini twin: each reader returns a value or raises a UsageError that names the option."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from pytest_ltm._errors import LtmError, did_you_mean
from pytest_ltm.plugin import _options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Value = TypeVar("Value")


def named(flag: str, read: Callable[[], Value]) -> Value:
    """Return what `read` returns; what is wrong with it becomes a UsageError that names the option."""
    try:
        return read()
    except LtmError as error:
        raise pytest.UsageError(f"{flag}: {error}") from error


def base(config: pytest.Config, dest: str) -> Path:
    """Return what a path is relative to: where the user is if it stands on the command line, else the root folder."""
    return config.rootpath if config.getoption(dest) is None else config.invocation_params.dir


def whole(config: pytest.Config, dest: str, *, least: int | None) -> int | None:
    given = _options.text(config, dest)
    if not given:
        return None
    flag = _options.BY_DEST[dest].flag
    try:
        number = int(given)
    except ValueError:
        raise pytest.UsageError(f"{flag}: {given!r} is no whole number") from None
    if least is not None and number < least:
        raise pytest.UsageError(f"{flag}: at least {least}, not {number}")
    return number


def choice(config: pytest.Config, dest: str, choices: Sequence[str]) -> str:
    given = _options.text(config, dest)
    if given in choices:
        return given
    raise pytest.UsageError(
        f"{_options.BY_DEST[dest].flag}: {given!r} is not one of {', '.join(choices)}.{did_you_mean(given, choices)}"
    )

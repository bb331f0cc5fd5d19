"""ForeignFiller: a filler that is not ours, called in time, whose exchanges are checked."""

from __future__ import annotations

from functools import partial
from typing import Any

from pytest_ltm._core.calls.airlock import (
    check_filler,
    check_json,
    is_of_package,
    shown,
)
from pytest_ltm._core.calls.foreign import ForeignCaller
from pytest_ltm._core.model.filler import Filler, FillerExchange
from pytest_ltm._core.storage.errors import FillerError

# Seconds that a filler may take for one exchange.
_MAKING = 60.0


class ForeignFiller:
    """Calls a filler of somebody else; FillerError for whatever goes wrong."""

    def __init__(self, filler: object) -> None:
        self._filler = filler
        self._door = ForeignCaller("the filler", error=FillerError, timeout=_MAKING)

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return the exchange that it makes."""
        exchange: FillerExchange = self._door.call_method(
            self._filler, "make", tokens, max_message_tokens, admit=check_filler
        )
        return exchange

    def configuration(self) -> Any:
        """Return the JSON value that it tells for the plan's fingerprint."""
        return self._door.call_method(
            self._filler, "configuration", admit=partial(check_json, where="the filler")
        )


def admit_filler(filler: Any) -> Filler:
    """Return a filler that can be asked anywhere: one of ours as it is; FillerError for what is none."""
    if filler is None:
        raise FillerError(f"{shown(filler)} is not a filler")
    if is_of_package(type(filler)):
        ours: Filler = filler
        return ours
    return ForeignFiller(filler)

"""Tracebacks as a user wants them: the test's and the agent's frames, not ours."""

from __future__ import annotations

import os
import types
from pathlib import Path

from _pytest.outcomes import Failed

from pytest_ltm._errors import LtmError

PACKAGE = str(Path(__file__).parents[2]) + os.sep
"""With the separator: a user's package beside it may be called `pytest_ltm_something`."""


def as_users_see_it(error: BaseException) -> BaseException:
    """Return the error without our frames; a sentence of ours that no user's code led to, as just that sentence."""
    for link in _chain(error):
        link.__traceback__ = _users_frames(link.__traceback__)
    if isinstance(error, LtmError) and error.__traceback__ is None and not _tells_more(error.__cause__):
        return Failed(f"{type(error).__name__}: {error}", pytrace=False)
    return error


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain


def _tells_more(cause: BaseException | None) -> bool:
    return cause is not None and cause.__traceback__ is not None


def _users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    kept = None
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(PACKAGE):
            frames.append(traceback)
        traceback = traceback.tb_next
    for entry in reversed(frames):
        kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept

"""The hooks that pytest-ltm calls. Implement them with `@pytest.hookimpl(optionalhook=True)`.

Without `optionalhook` pytest refuses to start where this plugin is absent or switched off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import random
    from datetime import datetime

    from pytest_ltm._filler import Filler
    from pytest_ltm._tokens import TokenCounter


@pytest.hookspec(firstresult=True)
def pytest_ltm_make_agent(config: pytest.Config, spec: str) -> object | None:
    """Return the agent for a spec of `--ltm-agent`, or None if it is not yours.

    Return what a dotted path may name: a class or a factory without arguments (called once for each
    conversation), an instance with `reply(message) -> str`, or a function `str -> str`; also async.
    Called once for each spec in every process, before anything runs. The first that is not None counts.
    """


def pytest_ltm_time_jumped(config: pytest.Config, spec: str, agent: object, before: datetime, now: datetime) -> None:
    """Be told that the conversation's time has jumped, before the next message is sent (`--ltm-time=signal` only).

    For agents that keep time outside this process: tell them here. `spec` and `agent` say whose conversation it is;
    both times are aware.
    """


@pytest.hookspec(firstresult=True)
def pytest_ltm_make_filler(
    config: pytest.Config, spec: str, rng: random.Random, counter: TokenCounter
) -> Filler | None:
    """Return the filler for a spec of `--ltm-filler`, or None if it is not yours.

    Called once for each conversation. `rng` is the conversation's own generator, `counter` counts tokens
    as the plan does.
    """

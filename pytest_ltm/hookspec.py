"""The hooks that pytest-ltm calls. Implement them with `@pytest.hookimpl(optionalhook=True)`.

Without `optionalhook` pytest refuses to start where this plugin is absent or switched
off.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ltm._core.model.filler import Filler
    from pytest_ltm._core.model.score import Score, Unscored
    from pytest_ltm._core.model.tokens import TokenCounter
    from pytest_ltm._core.model.transcript import Exchange
    from pytest_ltm.datasets import Dataset


@pytest.hookspec(historic=True)
def pytest_ltm_datasets(register: Callable[[Dataset], None]) -> None:
    """Register data sets: call `register` with each `pytest_ltm.datasets.Dataset`, whose name `--ltm-suite` then takes.

    Called when pytest loads plugins, in every session: import nothing heavy. Options
    must be known before conftest files are read, so this is for plugins, not for a
    conftest.
    """


@pytest.hookspec(firstresult=True)
def pytest_ltm_make_agent(config: pytest.Config, spec: str) -> object | None:
    """Return the agent for a spec of `--ltm-agent`, or None if it is not yours.

    Called once for each spec in every process, before anything runs. The first result
    that is not None counts.

    Args:
        config: The session's configuration.
        spec: The spec without its label.

    Returns:
        Anything a dotted path may name: a class or a factory without arguments (called once for each conversation),
        an instance with `reply(message) -> str`, or a function `str -> str`; also async.
    """


def pytest_ltm_time_jumped(
    config: pytest.Config, spec: str, agent: object, before: datetime, now: datetime
) -> None:
    """The conversation's time has jumped; called before the next message is sent, with `--ltm-time=signal` only.

    For agents that keep time outside this process: set their clocks here.

    Args:
        config: The session's configuration.
        spec: The spec of the conversation's agent.
        agent: The agent.
        before: The time before the jump, aware.
        now: The time after it, aware.
    """


@pytest.hookspec(firstresult=True)
def pytest_ltm_make_filler(
    config: pytest.Config, spec: str, rng: random.Random, counter: TokenCounter
) -> Filler | None:
    """Return the filler for a spec of `--ltm-filler`, or None if it is not yours.

    Called once for each conversation.

    Args:
        config: The session's configuration.
        spec: The spec as given.
        rng: The conversation's own generator, the only source of chance.
        counter: Counts tokens as the plan does.
    """


def pytest_ltm_exchange(
    config: pytest.Config, conversation: str, exchange: Exchange
) -> None:
    """An exchange has been written to the journal: any message and its reply, also filler that was only told.

    For exporters and monitors. Called under pytest-xdist in the worker that plays the
    conversation; a resumed run does not call it for recorded exchanges.

    Args:
        config: The session's configuration.
        conversation: Its name in node ids, such as `full-2k-0`.
        exchange: The message and the reply.
    """


def pytest_ltm_verdict(
    config: pytest.Config, nodeid: str, verdict: Score | Unscored
) -> None:
    """An example has a verdict; called before pytest reports the item, under pytest-xdist in the worker.

    Examples that ended in an error, were skipped or were not reached have none.

    Args:
        config: The session's configuration.
        nodeid: The item's node id.
        verdict: A Score, or Unscored with its reason.
    """

"""`--ltm-pace` and `--ltm-users` in a run of conversations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_ltm.agents.memory.backends import share_backends
from pytest_ltm.agents.memory.pace import use_pace
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.shared_agents import can_share
from pytest_ltm.api import LtmRun, Section
from pytest_ltm.api.session import option_or_ini, option_value


def use_run_options(config: pytest.Config) -> None:
    """Apply the pace, and let N users share a store; UsageError if two options set the conversations."""
    config.add_cleanup(use_pace(option_value(config, "ltm_pace")))
    users: int = option_value(config, "ltm_users")
    if users == 1:
        return
    trials = option_or_ini(config, "ltm_trials")
    if trials not in {None, str(users)}:
        raise pytest.UsageError(
            f"--ltm-users={users} plays a conversation for each user. Leave out --ltm-trials={trials}"
        )
    config.option.ltm_trials = str(users)
    config.add_cleanup(share_backends())


_STORES = frozenset({"store", "mcp"})
"""Agent kinds that share their stores themselves."""


class UsersReport:
    """Reports for each agent of a run whether it was told which user speaks."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._users: int = option_value(run.config, "ltm_users")

    def pytest_ltm_report_sections(self) -> Section | None:
        """Return a sentence on each agent; None with a single user."""
        if self._users == 1:
            return None
        return Section(title="Users of one memory", sentences=tuple(self._sentences()))

    def _sentences(self) -> Iterator[str]:
        for label, source in self._run.sources.items():
            takes_user = "SeparatesUsers" in profile_of(source).capabilities
            if takes_user and (source.kind in _STORES or can_share(source)):
                yield f"{label}: {self._users} users of one memory, each in a conversation of their own"
                continue
            if takes_user:
                reason = "has a memory for each conversation"
            else:
                reason = "takes no user"
            yield f"{label}: {reason}, so it was tested as one user, in {self._users} conversations that share nothing"

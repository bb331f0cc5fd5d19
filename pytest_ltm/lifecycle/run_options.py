"""`--ltm-pace` and `--ltm-users` in a run of conversations."""

from __future__ import annotations

import pytest

from pytest_ltm._core.session.options import option_or_ini, option_value
from pytest_ltm.agents.memory.backends import share_backends
from pytest_ltm.agents.memory.pace import use_pace


def use_run_options(config: pytest.Config) -> None:
    """Have stores keep the pace, and N users share one; UsageError where the number of conversations is given twice."""
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

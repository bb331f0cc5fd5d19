"""Every option that there is: the core's, and those of all installed features."""

from __future__ import annotations

from pytest_ltm._core.session.options import OPTIONS
from pytest_ltm.api.features import feature_hooks
from pytest_ltm.api.session import Option


def all_options() -> list[Option]:
    """Return the options as `pytest --help` has them, in any order."""
    options = list(OPTIONS)
    hook = feature_hooks().pytest_ltm_options
    hook.call_historic(kwargs={"register": options.append})
    return options

"""All options: the core's and those of every installed feature."""

from __future__ import annotations

from pytest_ltm._core.session.options import OPTIONS
from pytest_ltm.api.features import feature_hooks
from pytest_ltm.api.session import Option


def all_options() -> list[Option]:
    """Return the options that `pytest --help` lists, in any order."""
    options = list(OPTIONS)
    hook = feature_hooks().pytest_ltm_options
    hook.call_historic(kwargs={"register": options.append})
    return options

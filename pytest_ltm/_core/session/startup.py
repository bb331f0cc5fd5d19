"""The start of an LTM run: everything is checked here, before anything runs."""

from __future__ import annotations

import pytest

from pytest_ltm._core.features import use_session_hooks
from pytest_ltm._core.session.collection import Selection
from pytest_ltm._core.session.neighbours import Neighbours
from pytest_ltm._core.session.session import LtmRun
from pytest_ltm._core.session.settings_from_options import read_run_settings
from pytest_ltm._core.session.state import RUN_STATE


def start_run(config: pytest.Config) -> None:
    """Start the run through a hook, so that features can prepare it."""
    if config.option.help or getattr(config.option, "version", 0):
        return
    config.add_cleanup(use_session_hooks(config.hook))
    config.hook.pytest_ltm_start(config=config)


def refuse_repeated_options(config: pytest.Config) -> None:
    """Raise UsageError for a repeated option of which only the last value would count."""
    if hasattr(config, "workerinput"):
        return
    values: dict[str, list[str]] = {}
    for word in config.invocation_params.args:
        flag, equals, value = str(word).partition("=")
        if flag.startswith("--ltm-") and equals:
            values.setdefault(flag, []).append(value)
    for flag, texts in values.items():
        dest = flag.removeprefix("--").replace("-", "_")
        is_list = isinstance(getattr(config.option, dest, []), list)
        if len({*texts}) > 1 and not is_list:
            if flag in _SEVERAL:
                both = f", or both at once: {flag}={','.join(texts)}"
            else:
                both = ""
            raise pytest.UsageError(
                f"{flag} is given {len(texts)} times: {' and '.join(texts)}. Give one{both}"
            )


# Options whose value may be a comma-separated list.
_SEVERAL = frozenset({"--ltm-span", "--ltm-language"})


def make_run(config: pytest.Config) -> None:
    """Parse and check the options, and register the plugins of an LTM run."""
    selection = Selection(config)
    settings = read_run_settings(config, has_paths=selection.has_paths)
    run = config.stash[RUN_STATE] = LtmRun(config, settings, selection)
    manager = config.pluginmanager
    if not manager.hasplugin("ltm-run"):
        manager.register(run.items, "ltm-items")
        manager.register(run, "ltm-run")
    manager.register(Neighbours(), "ltm-neighbours")
    config.hook.pytest_ltm_begin(run=run)

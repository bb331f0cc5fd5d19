"""What the command line selects, and the command line that has a conversation again."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._secrets import redacted
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._builtin import ROOT
from pytest_ltm.plugin._dataset import only
from pytest_ltm.plugin._items import label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.plugin._items import Place
    from pytest_ltm.plugin._settings import Settings


_ELSEWHERE = {
    "ltm_span", "ltm_shard", "ltm_summary", "ltm_compare", "ltm_compare_plans", "ltm_compare_fail", "ltm_fail_under",
}  # fmt: skip
"""Options that say nothing of what one conversation is about."""


class Selection:
    """What the command line selects: node ids of built-in items, taken out of it, and whether paths are left."""

    def __init__(self, config: pytest.Config) -> None:
        self.names_suite = _options.given(config, "ltm_suite") is not None
        self._built_in = [found for found in map(_built_in_id, config.args) if found is not None]
        rest = [argument for argument in config.args if _built_in_id(argument) is None]
        from_line = config.args_source is pytest.Config.ArgsSource.ARGS
        self.has_paths = from_line and bool(rest)
        self.has_ids = bool(self._built_in)
        alone = self.has_ids or (self.names_suite and _options.text(config, "ltm_suite") != "none")
        if from_line:
            config.args[:] = rest
        elif alone:
            # A suite alone imports nothing of the project: one broken test file must not abort it.
            config.args[:] = []

    def selects(self, item: pytest.Item) -> bool:
        """Return whether a collected item is to be run."""
        if not self._built_in or not item.nodeid.startswith(f"{ROOT}/"):
            return True
        return any(
            item.nodeid == wanted or item.nodeid.startswith((f"{wanted}::", f"{wanted}[")) for wanted in self._built_in
        )

    def check(self, items: Sequence[pytest.Item]) -> None:
        """Raise UsageError for a node id of the built-in suite that no item has."""
        from pytest_ltm._errors import did_you_mean  # noqa: PLC0415 - nothing is imported before it is used

        ids = [item.nodeid for item in items if item.nodeid.startswith(f"{ROOT}/")]
        known = {part for one in ids for part in (one, one.partition("[")[0], one.partition("::")[0])}
        for wanted in self._built_in:
            if wanted not in known:
                raise pytest.UsageError(
                    f"not found: {wanted}.{did_you_mean(wanted, sorted(known))} "
                    "An id names agent, span, trial and example of this run, and the run's suite must hold the scenario"
                )


def _built_in_id(argument: str) -> str | None:
    """Return the built-in node id that an argument gives, maybe with `../` from a subfolder; None: it is a path."""
    path, colons, rest = argument.partition("::")
    if Path(path).exists():
        return None
    parts = path.replace(os.sep, "/").split("/")
    while parts and parts[0] in {"..", "."}:
        parts.pop(0)
    if len(parts) != 2 or parts[0] != ROOT:  # noqa: PLR2004 - ltm/<scenario>
        return None
    return f"{ROOT}/{parts[1].removesuffix('.py')}{colons}{rest}"


def again(config: pytest.Config, settings: Settings, place: Place) -> str:
    """Return the command that has this conversation again."""
    agent = next(agent for agent in settings.agents if agent.label == place.agent)
    spec = agent.spec if label(redacted(agent.spec)) == agent.label else f"{agent.label}={agent.spec}"
    words = ["pytest", f"--ltm-agent={spec}"]
    words += [] if settings.dataset else [f"--ltm-span={place.span}"]
    alone = {} if settings.dataset is None else only(settings.dataset, place.thread)
    for option in _options.OPTIONS:
        given = alone.get(option.dest, config.getoption(option.dest))
        if given is not None and option.dest not in _ELSEWHERE:
            words += [f"{option.flag}={each}" for each in (given if option.many else [given])]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [word for word in config.invocation_params.args if str(word) in config.option.file_or_dir]
    return shlex.join(redacted(str(word)) for word in words)

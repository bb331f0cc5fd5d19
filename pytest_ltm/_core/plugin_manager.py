"""FeatureManager: finds the hooks of features by name, like pytest, without importing pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pluggy

if TYPE_CHECKING:
    from pluggy import HookimplOpts, HookspecOpts

_PREFIX = "pytest_ltm_"


class FeatureManager(pluggy.PluginManager):
    """Treats every function whose name begins with `pytest_ltm_` as a hook, marked or not."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> HookimplOpts | None:
        """Return the options of an implementation; None for anything else."""
        if not name.startswith(_PREFIX):
            return None
        options = super().parse_hookimpl_opts(plugin, name)
        return options or cast("HookimplOpts", {})

    def parse_hookspec_opts(
        self, module_or_class: object, name: str
    ) -> HookspecOpts | None:
        """Return the options of a specification; None for anything else."""
        if not name.startswith(_PREFIX):
            return None
        options = super().parse_hookspec_opts(module_or_class, name)  # type: ignore[arg-type]
        return options or cast("HookspecOpts", {})

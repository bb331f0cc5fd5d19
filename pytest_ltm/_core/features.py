"""Features: what adds itself to the core, found through the entry points of one group; pytest is not imported."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from pytest_ltm._core.storage.errors import ConfigurationError, describe_error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import pluggy

# The group of entry points; each names a module with functions of hookspec.py.
GROUP = "pytest_ltm"
# Before the name of an entry point, that of its plugin: `-p no:ltm-feature-NAME`.
PREFIX = "ltm-feature-"


def register_features(manager: pluggy.PluginManager) -> None:
    """Register every installed feature, in the order of their names; ConfigurationError names one that cannot be.

    Those that are registered already, or blocked, are passed over.
    """
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    if not points:
        raise ConfigurationError(
            "pytest-ltm is installed without its features: its metadata has no entry "
            f"points of the group {GROUP!r}. Install it again: pip install pytest-ltm, "
            "or pip install -e . in a checkout"
        )
    for point in points:
        name = f"{PREFIX}{point.name}"
        if not (manager.has_plugin(name) or manager.is_blocked(name)):
            manager.register(_load_feature(point), name)


@cache
def feature_hooks() -> pluggy.HookRelay:
    """Return the hooks of all installed features, for runs without pytest."""
    from pytest_ltm._core.plugin_manager import FeatureManager

    manager = FeatureManager("pytest")
    manager.add_hookspecs(import_module("pytest_ltm.hookspec"))
    register_features(manager)
    return manager.hook


def _load_feature(point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:
        package = "" if point.dist is None else f" of the package {point.dist.name}"
        raise ConfigurationError(
            f"the feature {point.name!r}{package} cannot be loaded: {point.value} "
            f"raises {describe_error(error)}. Mend it, uninstall the package, or leave "
            f"it out: -p no:{PREFIX}{point.name}"
        ) from error

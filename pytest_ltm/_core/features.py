"""Features: additions to the core, found through the entry points of one group; pytest is not imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_ltm._core.storage.errors import ConfigurationError, describe_error

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    import pluggy

# The group of entry points; each names a module with functions of hookspec.py.
GROUP = "pytest_ltm"
# The prefix of an entry point's name in that of its plugin: `-p no:ltm-feature-NAME`.
PREFIX = "ltm-feature-"
T = TypeVar("T")


def register_features(manager: pluggy.PluginManager) -> None:
    """Register every installed feature, sorted by name; ConfigurationError names one that fails.

    Features already registered or blocked are skipped.
    """
    points = sorted(installed_features(), key=lambda point: point.name)
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
def installed_features() -> EntryPoints:
    """Return the entry point of every installed feature; the metadata of all packages is read once."""
    return entry_points(group=GROUP)


def use_session_hooks(hooks: pluggy.HookRelay) -> Callable[[], None]:
    """Make `current_hooks` return a session's hooks from now on; return a function that ends this."""
    _of_sessions.append(hooks)
    return partial(_of_sessions.remove, hooks)


_of_sessions: list[pluggy.HookRelay] = []


def current_hooks() -> pluggy.HookRelay:
    """Return the hooks of this session, else of all installed features."""
    return _of_sessions[-1] if _of_sessions else feature_hooks()


_left_out: set[str] = set()


def leave_out_features(names: Iterable[str]) -> None:
    """Disable features in runs without pytest, by the names of their plugins; must be called before any is used."""
    _left_out.update(names)
    feature_hooks.cache_clear()


def feature_names() -> list[str]:
    """Return the names of the plugins of all installed features."""
    return sorted(f"{PREFIX}{point.name}" for point in installed_features())


@cache
def feature_hooks() -> pluggy.HookRelay:
    """Return the hooks of all installed features that are not disabled, for runs without pytest."""
    from pytest_ltm._core.plugin_manager import FeatureManager

    manager = FeatureManager("pytest")
    manager.add_hookspecs(import_module("pytest_ltm.hookspec"))
    for name in _left_out:
        manager.set_blocked(name)
    register_features(manager)
    return manager.hook


class Registry(Generic[T]):
    """Objects that features register by one hook, by name: those of this session, else of all installed features."""

    def __init__(
        self, hook: str, noun: str, pair: Callable[..., tuple[str, T]]
    ) -> None:
        """Store the hook, the noun for an entry in errors, and a function from a registration to name and entry."""
        self._hook = hook
        self._noun = noun
        self._pair = pair
        self._of_session: list[Mapping[str, T]] = []

    def entries(self) -> Mapping[str, T]:
        """Return all entries by name, in the order of registration."""
        if self._of_session:
            return self._of_session[-1]
        return self._installed

    def use(self, hooks: pluggy.HookRelay) -> Callable[[], None]:
        """Use a session's entries from now on; return a function that ends this.

        Raises ConfigurationError for a name that is taken.
        """
        entries = self._collect(hooks)
        self._of_session.append(entries)
        return partial(self._of_session.remove, entries)

    @cached_property
    def _installed(self) -> Mapping[str, T]:
        return self._collect(feature_hooks())

    def _collect(self, hooks: pluggy.HookRelay) -> Mapping[str, T]:
        pairs: list[tuple[str, T]] = []

        def register(*given: Any, **named: Any) -> None:
            pairs.append(self._pair(*given, **named))

        getattr(hooks, self._hook)(register=register)
        entries: dict[str, T] = {}
        for name, entry in pairs:
            if name in entries:
                raise ConfigurationError(
                    f"two features have {self._noun} {name!r}. Rename one of them, or "
                    f"leave one feature out: -p no:{PREFIX}NAME"
                )
            entries[name] = entry
        return entries


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

"""Discovery of features, and the message about one that cannot be loaded."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pluggy
import pytest

from pytest_ltm._core import features
from pytest_ltm._core.features import GROUP, register_features
from pytest_ltm._core.storage.dotted import lazy
from pytest_ltm._core.storage.errors import ConfigurationError


def installed(monkeypatch: pytest.MonkeyPatch, **modules: str) -> pluggy.PluginManager:
    points = EntryPoints(
        EntryPoint(name, value, GROUP) for name, value in modules.items()
    )
    monkeypatch.setattr(features, "installed_features", lambda: points)
    return pluggy.PluginManager("pytest")


def test_features_are_registered_in_the_order_of_their_names_each_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = installed(monkeypatch, b="json", a="csv")

    register_features(manager)
    register_features(manager)

    names = [name for name, _ in manager.list_name_plugin()]
    assert names == ["ltm-feature-a", "ltm-feature-b"]


def test_a_blocked_feature_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = installed(monkeypatch, a="csv", b="no_such_module")
    manager.set_blocked("ltm-feature-b")

    register_features(manager)

    assert manager.get_plugin("ltm-feature-b") is None


def test_a_feature_that_cannot_be_loaded_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = installed(monkeypatch, weather="no_such_module.plugin")

    with pytest.raises(ConfigurationError) as raised:
        register_features(manager)

    text = str(raised.value)
    assert "'weather'" in text
    assert "no_such_module" in text
    assert "-p no:ltm-feature-weather" in text


def test_an_installation_without_features_says_how_to_mend_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigurationError, match="Install it again"):
        register_features(installed(monkeypatch))


def test_what_is_lazy_is_imported_when_it_is_called() -> None:
    parse = lazy("json:loads")

    assert parse("[1]") == [1]
    with pytest.raises(ModuleNotFoundError):
        lazy("no_such_module:thing")()

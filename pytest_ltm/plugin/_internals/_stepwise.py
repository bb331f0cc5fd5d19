"""`--stepwise` where items do not end in their order: none may be left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def leave_none_behind(session: pytest.Session, is_reported: Callable[[pytest.Item], bool]) -> None:
    """Have the next `--stepwise` begin with the first item that was still in progress when an item failed.

    pytest takes every item before the failed one for passed.
    """
    plugin: Any = session.config.pluginmanager.get_plugin("stepwiseplugin")
    if plugin is None:
        return
    holder, name = (plugin.cached_info, "last_failed") if hasattr(plugin, "cached_info") else (plugin, "lastfailed")
    failed = getattr(holder, name)
    for item in session.items if failed is not None else ():
        # Before 9.2 pytest keeps node ids as texts.
        identity = item.nodeid if isinstance(failed, str) else item.id  # type: ignore[attr-defined,unused-ignore]
        if identity == failed:
            return
        if not is_reported(item):
            setattr(holder, name, identity)
            return

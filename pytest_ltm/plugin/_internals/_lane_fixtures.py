"""LaneFixtures: fixture values of an item's own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import pytest
from _pytest.fixtures import FixtureDef, get_scope_node, get_scope_package
from _pytest.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.nodes import Node

FixtureDefs = list[FixtureDef[Any]]
Pool = dict[Any, FixtureDef[Any]]


class LaneFixtures(dict[str, FixtureDefs]):
    """Name -> fixture definitions for one item: like pytest's, but with cached values of their own.

    Function-scoped ones are the item's alone; wider ones are shared, through `pool`, by the items that pytest
    would let share them; session-scoped ones without parameters are pytest's own.
    """

    def __init__(self, item: pytest.Item, pool: Pool) -> None:
        self._item = cast("Any", item)
        self._pool = pool
        self._callspec: Any = getattr(item, "callspec", None)
        fixtures: dict[str, FixtureDefs] = self._item._fixtureinfo.name2fixturedefs
        super().__init__(fixtures)
        for name in list(self):
            self[name] = [self._mine(definition) for definition in self[name]]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the definitions; `request.getfixturevalue` comes here, too, with names not seen before."""
        if name not in self:
            where = self._item if pytest.version_tuple >= (8, 1) else self._item.nodeid
            found = self._item.session._fixturemanager.getfixturedefs(name, where)
            if found:
                self[name] = [self._mine(definition) for definition in found]
        return super().get(name, default)

    def _mine(self, definition: FixtureDef[Any]) -> FixtureDef[Any]:
        arg2scope = self._callspec._arg2scope if self._callspec else {}
        scope = arg2scope.get(definition.argname, definition._scope)
        if scope is Scope.Function:
            key: Any = (definition, self._item)
        else:
            parameters = frozenset(self._parameters_under(definition, set()))
            if scope is Scope.Session and not parameters:
                return definition
            key = (definition, self._node_of(definition, scope), parameters)
        if key not in self._pool:
            mine: Any = copy.copy(definition)
            mine.cached_result, mine._finalizers = None, type(definition._finalizers)()
            self._pool[key] = mine
        return self._pool[key]

    def _node_of(self, definition: FixtureDef[Any], scope: Scope) -> Node:
        """Return whose fixture it is, as pytest says: without a class, a class-scoped one is the item's own."""
        if scope is Scope.Package:
            node = get_scope_package(self._item, definition)
        else:
            node = get_scope_node(self._item, scope)
        return node or self._item

    def _parameters_under(self, definition: FixtureDef[Any], seen: set[str]) -> Iterator[tuple[str, int]]:
        indices = self._callspec.indices if self._callspec else {}
        if definition.argname in indices:
            yield definition.argname, indices[definition.argname]
        for name in definition.argnames:
            if name not in seen:
                seen.add(name)
                for needed in self.get(name) or ():
                    yield from self._parameters_under(needed, seen)


def prepare(item: pytest.Item, pool: Pool) -> None:
    """Give the item fixture values of its own; before its setup."""
    cast("Any", item)._request._arg2fixturedefs = LaneFixtures(item, pool)


def dispose(item: pytest.Item) -> None:
    """Let fixture values go after the teardown, as pytest's own protocol does."""
    if hasattr(item, "_request"):
        cast("Any", item)._request = False
        cast("Any", item).funcargs = None

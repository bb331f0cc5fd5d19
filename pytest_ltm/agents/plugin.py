"""The built-in kinds of agents: readers and controls without a key, chat models, memories, servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pytest_ltm.api import AgentKind, hookimpl, lazy
from pytest_ltm.api.storage import load_packaged_yaml


@hookimpl(tryfirst=True)
def pytest_ltm_agents(register: Callable[[AgentKind], None]) -> None:
    """Register the kinds in `kinds.yml`."""
    from pytest_ltm.providers import provider_names

    rows = load_packaged_yaml(__file__, "kinds.yml")
    for key, fields in rows.items():
        for name in provider_names() if key == "PROVIDER" else [key]:
            register(_kind_of(name, fields))


def _kind_of(name: str, fields: Mapping[str, Any]) -> AgentKind:
    make = lazy(f"pytest_ltm.agents.{fields['make']}")
    return AgentKind(
        name,
        partial(make, name) if "named" in fields else make,
        fields["help"].format(name=name),
        fields.get("takes", ""),
        **dict.fromkeys(fields.get("as", ()), True),
    )

"""Framework: the libraries whose agents need an adapter, which errors show and `ltm init` writes."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

from msgspec import Struct, convert

from pytest_ltm.agents.replying import classes_of, may_need_adapter
from pytest_ltm.api.storage import AgentError, load_packaged_yaml


class Framework(Struct, frozen=True, kw_only=True):
    """How to test an agent of one library."""

    package: str
    """The package to import."""
    also_in: list[str] = []
    """Other packages whose factories return the same objects."""
    title: str
    requires: str
    """The requirement that installs it."""
    classes: list[str] = []
    """The classes whose objects need the adapter."""
    makers: list[str] = []
    """The functions and methods that create such an object."""
    name: str = "agent"
    """The default name of such an object."""
    adapter: str
    """The source of the adapter module; `{module}` and `{name}` are replaced by the object's."""
    tools_by: str = ""
    """The attribute that an object needs to be offered tools; "": none, the adapter decides."""
    stand_in: str = ""
    """A module that creates such an object without a key; "" if there is none."""

    def is_among(self, packages: set[str]) -> bool:
        """Return whether a module that imports these packages may create such an object."""
        return not packages.isdisjoint({self.package, *self.also_in})

    def adapter_text(self, module: str, name: str) -> str:
        """Return the adapter of one object."""
        text = self.adapter.replace("{module}", module).replace("{name}", name)
        return text.replace(f"import {name} as {name}\n", f"import {name}\n")

    def takes_tools(self, candidate: object) -> bool:
        """Return whether an object can be offered tools: it has `tools_by`.

        An attribute of an abstract class does not count.
        """
        if not self.tools_by:
            return True
        if not hasattr(candidate, self.tools_by):
            return False
        method = getattr(type(candidate), self.tools_by, None)
        owner = getattr(method, "__qualname__", "").partition(".")[0]
        return owner not in self.classes


@functools.cache
def load_frameworks() -> dict[str, Framework]:
    """Return the libraries whose agents have an adapter, by the names that `ltm init --from` takes."""
    rows = load_packaged_yaml(__file__, "frameworks.yml")
    for path in sorted(Path(__file__).with_name("frameworks").glob("*.yml")):
        rows |= load_packaged_yaml(str(path), path.name)
    return convert(rows, dict[str, Framework])


def framework_of(candidate: object) -> tuple[str, Framework] | None:
    """Return the framework of an object or class that cannot reply by itself; None for any other."""
    if not may_need_adapter(candidate):
        return None
    names = set()
    for kind in classes_of(candidate):
        names.add((kind.__module__.partition(".")[0], kind.__name__))
    for name, framework in load_frameworks().items():
        root = framework.package.partition(".")[0]
        if any((root, kind) in names for kind in framework.classes):
            return name, framework
    return None


_IMPORT = re.compile(r"^from \{module\} import \{name\} as (\w+)\n", re.MULTILINE)


def adapter_class(candidate: object, spec: str) -> type | None:
    """Return the agent class for an object of a framework; None for any other object.

    Raises AgentError, with the adapter to paste, for a class of a framework, or for a
    client whose model is unknown.
    """
    found = framework_of(candidate)
    if found is None:
        return None
    name, framework = found
    bound = _IMPORT.search(framework.adapter)
    if isinstance(candidate, type) or bound is None:
        raise AgentError(_adapter_hint(candidate, spec, name, framework))
    names: dict[str, Any] = {"__name__": f"adapter_of_{framework.package}"}
    names[bound[1]] = candidate
    text = _IMPORT.sub("", framework.adapter)
    # Compiled on its own: the `from __future__` imports of this module must not apply.
    code = compile(text, f"<adapter of {name}>", "exec", dont_inherit=True)
    exec(code, names)  # noqa: S102 - a text of this package
    kind: type = names["Agent"]
    if framework.takes_tools(candidate):
        return kind
    return _without_tools(kind)


def _without_tools(kind: Any) -> type:
    """Return an agent class whose `reply` takes only the message."""
    if inspect.iscoroutinefunction(kind.reply):

        class AsyncAgent(kind):  # type: ignore[misc]
            async def reply(self, message: str) -> Any:
                return await super().reply(message)

        return AsyncAgent

    class Agent(kind):  # type: ignore[misc]
        def reply(self, message: str) -> Any:
            return super().reply(message)

    return Agent


def _adapter_hint(candidate: object, spec: str, name: str, framework: Framework) -> str:
    """Return the instructions for turning an object that needs an adapter into an agent."""
    module, _, attribute = spec.replace(":", ".").rpartition(".")
    kind = classes_of(candidate)[0].__name__
    adapter = framework.adapter_text(module or "bot", attribute or framework.name)
    return (
        f"agent {spec!r} is a {kind} of {framework.title}, which needs an adapter. Run `ltm init --from={name}`, "
        f"or write ltm_agent.py and give --ltm-agent=ltm_agent:\n\n{textwrap.indent(adapter, '    ')}"
    )

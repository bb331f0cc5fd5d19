"""What a dotted path names: `pkg.mod:attr.attr`, or `pkg.mod.attr`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentError, did_you_mean
from pytest_ltm.agents._powers import told

if TYPE_CHECKING:
    from types import ModuleType


def is_dotted(spec: str) -> bool:
    """Whether the spec has the form of a dotted path with at least two names."""
    module, colon, attributes = spec.partition(":")
    names = [*module.split("."), *(attributes.split(".") if colon else [])]
    return len(names) > 1 and all(name.isidentifier() for name in names)


def resolve(spec: str, *, base: Path | None = None, hint: str = "") -> object:
    """Return what the path names.

    What is not to be found on `sys.path` is looked for in `base` (default: the working directory), which stays
    on `sys.path` if it is there, so that the agent's own later imports work. Raises AgentError, ending in
    `hint` if the top module does not exist.
    """
    module_name, colon, attributes = spec.partition(":")
    top = module_name.partition(".")[0]
    if _import(top, spec) is None and _import_from(base or Path.cwd(), top, spec) is None:
        raise AgentError(
            f"agent {spec!r}: there is no module {top!r}, neither installed nor in {str(base or Path.cwd())!r}.{hint}"
        )
    if colon:
        return _attribute(_imported(module_name, spec), attributes.split("."), spec)
    module, rest = _longest(module_name.split("."), spec)
    return _attribute(module, rest, spec)


def _import(name: str, spec: str) -> ModuleType | None:
    """Return the module, None if it or one that should hold it does not exist; AgentError if it raises."""
    try:
        return importlib.import_module(name)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        # The same error comes from an import inside the module, which is that module's fault.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            return None
        raise AgentError(f"agent {spec!r}: importing {name!r} failed with {told(error)}") from error


def _import_from(folder: Path, name: str, spec: str) -> ModuleType | None:
    entry = str(folder)
    if entry in sys.path:
        return None
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    module = None
    try:
        module = _import(name, spec)
    finally:
        if module is None and entry in sys.path:
            sys.path.remove(entry)
    return module


def _imported(name: str, spec: str) -> ModuleType:
    module = _import(name, spec)
    if module is not None:
        return module
    parent = name
    while module is None:
        parent, _, child = parent.rpartition(".")
        module = _import(parent, spec)
    raise AgentError(f"agent {spec!r}: {_called(module)} has no module {child!r}.")


def _longest(names: list[str], spec: str) -> tuple[ModuleType, list[str]]:
    """Return the longest importable start of the path, and the names that are left."""
    for length in range(len(names), 0, -1):
        module = _import(".".join(names[:length]), spec)
        if module is not None:
            return module, names[length:]
    raise AgentError(f"agent {spec!r}: there is no module {names[0]!r}.")


def _attribute(found: object, names: list[str], spec: str) -> object:
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError as error:
            public = [other for other in dir(found) if not other.startswith("_")]
            raise AgentError(
                f"agent {spec!r}: {_called(found)} has no {name!r}.{did_you_mean(name, public)}"
            ) from error
        except Exception as error:
            raise AgentError(f"agent {spec!r}: {name!r} of {_called(found)} failed with {told(error)}") from error
    return found


def _called(found: object) -> str:
    name = getattr(found, "__name__", None)
    file = getattr(found, "__file__", None)  # tells who shadows whom
    where = f" ({file})" if isinstance(file, str) else ""
    return f"{type(found).__name__} {name!r}{where}" if isinstance(name, str) else f"the {type(found).__name__} object"

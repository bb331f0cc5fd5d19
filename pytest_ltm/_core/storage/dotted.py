"""Imports by name: dotted paths given by the user, and a package's own names on first use."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys
from typing import TYPE_CHECKING, Any

from pytest_ltm._core.storage.errors import (
    LtmError,
    cure_for,
    describe_error,
    did_you_mean,
    line_of_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType


def is_dotted(spec: str) -> bool:
    """Return whether the spec has the form of a dotted path with at least two names."""
    names = spec.replace(":", ".", 1).split(".")
    return len(names) > 1 and all(map(str.isidentifier, names))


class DottedPath:
    """One dotted path, `pkg.mod:attr.attr` or `pkg.mod.attr`.

    `what`: the noun for the object in errors; `error`: the type of the errors.
    `may_be_module`: a single name is a module.
    """

    def __init__(
        self,
        spec: str,
        *,
        what: str,
        error: type[LtmError],
        hint: str = "",
        may_be_module: bool = False,
    ) -> None:
        self.spec = spec
        self.what = what
        self.hint = hint
        self._may_be_module = may_be_module
        self._error = error

    def resolve(self, base: pathlib.Path | None = None) -> object:
        """Return the object that the path names.

        Modules in `base` (default: the working directory) or its folder `src` take
        precedence over installed ones. The folder stays on `sys.path`, so that its own
        later imports work.
        """
        if not is_dotted(self.spec) and not (
            self._may_be_module and self.spec.isidentifier()
        ):
            raise self._wrong(
                "is not a dotted path; write it as 'package.module:name'", colon=""
            )
        module_name, colon, attributes = self.spec.partition(":")
        names = module_name.split(".")
        folder = base or pathlib.Path.cwd()
        if self._import_top(folder, names[0]) is None:
            raise self._wrong(
                f"there is no module {names[0]!r}, neither installed nor in {str(folder)!r}."
                f"{_module_hint(folder, names[0]) or self.hint}"
            )
        length = len(names)
        while (module := self._import(".".join(names[:length]))) is None:
            length -= 1
        names_left = names[length:]
        if not colon:
            return self._attribute(module, names_left)
        if names_left:
            raise self._wrong(
                f"{_describe_object(module)} has no module {names_left[0]!r}."
            )
        return self._attribute(module, attributes.split("."))

    def _wrong(self, text: str, colon: str = ":") -> LtmError:
        return self._error(f"{self.what} {self.spec!r}{colon} {text}")

    def _import(self, name: str) -> ModuleType | None:
        """Return the module; None if it or a parent does not exist, an error if importing it raises."""
        try:
            return importlib.import_module(name)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            # An import inside the module raises the same error, which is then that
            # module's fault.
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            if missing is not None and f"{name}.".startswith(f"{missing}."):
                return None
            raise self._wrong(
                f"importing {name!r} failed with {describe_error(error)}{_line_of(error)}{cure_for(error)}"
            ) from error

    def _import_top(self, folder: pathlib.Path, name: str) -> ModuleType | None:
        """Return a module, preferring the folder's own; the folder stays on `sys.path` if that works."""
        place = _own_place(folder, name)
        module = None
        sys.path[:0] = place
        importlib.invalidate_caches()
        try:
            module = self._import(name)
        finally:
            if module is None:
                sys.path[:] = [entry for entry in sys.path if entry not in place]
        return module

    def _attribute(self, result: object, names: list[str]) -> object:
        for name in names:
            try:
                result = getattr(result, name)
            except AttributeError as error:
                public = [
                    attribute
                    for attribute in dir(result)
                    if not attribute.startswith("_")
                ]
                raise self._wrong(
                    f"{_describe_object(result)} has no {name!r}.{did_you_mean(name, public)}"
                ) from error
            except Exception as error:
                raise self._wrong(
                    f"{name!r} of {_describe_object(result)} failed with {describe_error(error)}"
                ) from error
        return result


def _own_place(folder: pathlib.Path, name: str) -> list[str]:
    """Return the folder that contains a module and is not on `sys.path` yet; empty if the module is imported."""
    places = [] if name in sys.modules else [folder, folder / "src"]
    own_places = [str(place) for place in places if _has_module(place, name)]
    return [place for place in own_places[:1] if place not in sys.path]


def _has_module(folder: pathlib.Path, name: str) -> bool:
    if has_source(folder, name):
        return True
    # A folder without __init__.py is a package only if nothing else has the name.
    return folder / name in folder.glob("*") and importlib.util.find_spec(name) is None


def has_source(folder: pathlib.Path, name: str) -> bool:
    """Return whether a folder has a module, or a package with an `__init__.py`."""
    if len(name) > 80:  # a system may not allow longer file names
        return False
    package = folder / name / "__init__.py"
    return (folder / f"{name}.py").is_file() or package.is_file()


def _module_hint(folder: pathlib.Path, name: str) -> str:
    """Return a hint at the module in a parent folder, a notebook, or a similar name."""
    paths = [*folder.glob("*"), *folder.glob("src/*")]
    # Looked up in a list: a system may refuse to be asked for a file of a long name.
    if f"{name}.ipynb" in [path.name for path in paths]:
        return f" {name}.ipynb is a notebook: save the bot's cells as {name}.py"
    for parent in folder.parents:
        if has_source(parent, name):
            return f" It is in {str(parent)!r}: run this there, or name that folder in PYTHONPATH."
    names = {path.stem for path in paths if path.suffix == ".py" or path.is_dir()}
    return did_you_mean(name, filter(str.isidentifier, names))


def _line_of(error: BaseException) -> str:
    """Return where a module's own code raised during its import, ` (bot.py:3)`; "" if none of it ran."""
    if isinstance(error, SyntaxError):  # the text of a SyntaxError includes it
        return ""
    return line_of_error(error, (__file__, importlib.__file__))


def _describe_object(result: object) -> str:
    name = getattr(result, "__name__", None)
    file = getattr(result, "__file__", None)  # it reveals which module shadows another
    where = f" ({file})" if isinstance(file, str) else ""
    if isinstance(name, str):
        return f"{type(result).__name__} {name!r}{where}"
    return f"the {type(result).__name__} object"


def lazy(place: str) -> Callable[..., Any]:
    """Return a function that imports `package.module:name` on its first call, and calls it.

    Features register large objects this way: nothing is imported until it is used.
    """
    module, _, name = place.partition(":")

    def call(*arguments: Any, **keywords: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*arguments, **keywords)

    return call


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` (PEP 562) of a package whose names are imported on first use.

    `homes`: a module of the package, or the full name of another -> the names that come
    from it, including its own modules, separated by spaces.
    """
    home_of = {
        name: home if home.startswith("pytest_ltm.") else f"{package}.{home}"
        for home, names in homes.items()
        for name in names.split()
    }

    def attribute(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = importlib.import_module(home_of[name])
        if not hasattr(home, name):
            importlib.import_module(f"{home.__name__}.{name}")
        return getattr(home, name)

    return attribute, lambda: sorted(home_of)

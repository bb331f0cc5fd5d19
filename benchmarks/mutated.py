"""A pytest plugin that changes one module at import, as `LTM_MUTANT` says. See `mutants.py`."""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import SourceFileLoader
from typing import Any

_SAID: dict[str, Any] = json.loads(os.environ["LTM_MUTANT"])
_changed = list[str]()


_get_code = SourceFileLoader.get_code


def _changed_code(loader: SourceFileLoader, fullname: str) -> Any:
    if fullname != _SAID["module"]:
        return _get_code(loader, fullname)
    source = loader.get_data(loader.path).decode()
    assert source[_SAID["start"] : _SAID["end"]] == _SAID["before"], (
        "the file has changed meanwhile"
    )
    _changed.append(fullname)
    changed = source[: _SAID["start"]] + _SAID["after"] + source[_SAID["end"] :]
    return loader.source_to_code(changed.encode(), loader.path)


def pytest_unconfigure() -> None:
    """Distinguish a run that never made the change from one in which no test noticed it."""
    if not _changed:
        print(f"never imported: {_SAID['module']}")


if _SAID["module"] in sys.modules:
    raise RuntimeError(f"{_SAID['module']} was imported before it could be changed")
# Patched here rather than in the finders, of which there are several: pytest's, ours,
# and those of editable installs.
SourceFileLoader.get_code = _changed_code  # type: ignore[method-assign,assignment]

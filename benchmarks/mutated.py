"""A plugin of pytest that has one module changed while it is imported, as `LTM_MUTANT` says. See `mutants.py`."""

from __future__ import annotations

import importlib.machinery
import json
import os
import sys
from typing import Any

_SAID: dict[str, Any] = json.loads(os.environ["LTM_MUTANT"])


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:  # noqa: ARG002 - it loads one only
        source = self.get_data(self.path).decode()
        assert source[_SAID["start"] : _SAID["end"]] == _SAID["before"], "the file has changed meanwhile"
        changed = source[: _SAID["start"]] + _SAID["after"] + source[_SAID["end"] :]
        return self.source_to_code(changed.encode(), self.path)


class _Finder:
    """Finds the one module, and leaves all others to whoever finds them."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != _SAID["module"]:
            return None
        for finder in sys.meta_path:
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None and found.origin:
                found.loader = _Loader(name, found.origin)
                return found
        return None


for _name in [each for each in sys.modules if each.partition(".")[0] == "pytest_ltm"]:
    if _name == _SAID["module"]:
        raise RuntimeError(f"{_name} was imported before it could be changed")
sys.meta_path.insert(0, _Finder())

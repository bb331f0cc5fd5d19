"""Libraries that own a format: each is an extra, imported when it is used."""

from __future__ import annotations

import importlib
from typing import Any

from pytest_ltm._storage.errors import LtmError


def library(name: str, *, extra: str, user: str) -> Any:
    """Return a library; LtmError, with the command that installs it, if it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise LtmError(f"{user} needs {package}: pip install 'pytest-ltm[{extra}]' ({error})") from error

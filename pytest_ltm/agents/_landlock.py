"""Landlock: a process of an agent cannot read the files of runs, where what is told and expected is written down.

Landlock (Linux 5.13) takes reading away for good, from the process and all that it starts, and gives it back below
folders that are named. So every neighbour of a folder on the way to the hidden one is named, and the hidden one is not.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""Numbers of the system calls, the same on all architectures."""
_READ_FILE = 1 << 2
"""Folders can be listed as before: rights hold for all that is below, and imports list the folders above."""
_PATH_BENEATH, _VERSION_ASKED, _SET_NO_NEW_PRIVS = 1, 1, 38


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def has_landlock() -> bool:
    """Return whether this kernel can take reading away."""
    return sys.platform == "linux" and _call(_CREATE, None, 0, _VERSION_ASKED) > 0


def hide_folder(folder: Path) -> bool:
    """Take from this process, for good, the reading of what is in a folder; return whether that is possible here.

    Files that come later next to a folder above it cannot be read either; those in other folders can.
    """
    if not has_landlock():
        return False
    rights = ctypes.c_uint64(_READ_FILE)
    ruleset = _call(_CREATE, ctypes.byref(rights), 8, 0)
    hidden = folder.resolve()
    for above in hidden.parents:
        with contextlib.suppress(OSError):  # what cannot be listed is not given back
            for path in above.iterdir():
                if path not in (hidden, *hidden.parents) and not path.is_symlink():  # what it leads to stands elsewhere
                    _allow(ruleset, path)
    ctypes.CDLL(None).prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return _call(_RESTRICT, ruleset, 0) == 0


def _allow(ruleset: int, path: Path) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # a link to nowhere, or gone
        return
    _call(_ADD, ruleset, _PATH_BENEATH, ctypes.byref(_Beneath(_READ_FILE, opened)), 0)
    os.close(opened)


def _call(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None).syscall(number, *arguments))

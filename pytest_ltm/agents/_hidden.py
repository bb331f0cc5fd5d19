"""Keep this process, and all that it starts, from reading a folder: by Landlock, which Linux has since 5.13.

Rules of Landlock allow, and they hold for everything below. So each entry beside the
folder, and beside the folders around it, is allowed by itself. What is made later right
in one of the folders around it has no rule and cannot be read, either.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
from functools import cache
from pathlib import Path

from pytest_ltm.api.storage import AgentError

_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _REFER = 1 << 2, 1 << 13
"""Rights that are taken away where no rule gives them: to read files, and to move or link them between folders."""
_MOVES_FILES = 2
"""The version from which rules can allow moves between folders, which the first one forbids everywhere."""
_PR_SET_NO_NEW_PRIVS = 38


@cache
def can_hide_folders() -> bool:
    """Return whether this kernel can keep a process from reading a folder, and still let it move files elsewhere."""
    return (
        sys.platform == "linux"
        and _syscall(_CREATE_RULESET, None, 0, _VERSION) >= _MOVES_FILES
    )


def hide_folder(folder: Path) -> None:
    """Keep the calling thread and all that it starts from reading files in a folder, for good.

    AgentError if the kernel refuses.
    """
    handled = struct.pack("=Q", _READ_FILE | _REFER)
    rules = _syscall(_CREATE_RULESET, handled, len(handled), 0)
    if rules < 0:
        raise _refusal(folder)
    try:
        below = folder.resolve()
        for around in below.parents:
            with os.scandir(around) as entries:
                for entry in entries:
                    if entry.name != below.name and not entry.is_symlink():
                        # Allow to read what an entry is or holds; nothing if it has
                        # gone meanwhile, or cannot have a rule.
                        assert sys.platform == "linux"
                        with contextlib.suppress(OSError):
                            descriptor = os.open(entry.path, os.O_PATH | os.O_NOFOLLOW)
                            try:
                                if entry.is_dir(follow_symlinks=False):
                                    rights = _READ_FILE | _REFER
                                else:
                                    rights = _READ_FILE
                                _syscall(
                                    _ADD_RULE,
                                    rules,
                                    _PATH_BENEATH,
                                    struct.pack("=Qi", rights, descriptor),
                                    0,
                                )
                            finally:
                                os.close(descriptor)
            below = around
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _syscall(
            _RESTRICT_SELF, rules, 0
        ):
            raise _refusal(folder)
    finally:
        os.close(rules)


def _refusal(folder: Path) -> AgentError:
    reason = os.strerror(ctypes.get_errno())
    return AgentError(
        f"an agent's process cannot be kept from reading {str(folder)!r}: {reason}"
    )


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    return result

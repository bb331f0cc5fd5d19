"""Keep this process and its children from reading a folder, by Landlock (Linux 5.13 or newer).

Landlock rules only allow, and apply to everything below. So every sibling of the
folder, and of the folders around it, gets a rule of its own. An entry created later
directly in one of the folders around it has no rule and cannot be read either.
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
"""Rights denied without a rule: to read files, and to move or link them between folders."""
_MOVES_FILES = 2
"""The first version whose rules can allow moves between folders; version 1 forbids all of them."""
_PR_SET_NO_NEW_PRIVS = 38


@cache
def can_hide_folders() -> bool:
    """Return whether this kernel can hide a folder from a process that still moves files elsewhere."""
    return (
        sys.platform == "linux"
        and _syscall(_CREATE_RULESET, None, 0, _VERSION) >= _MOVES_FILES
    )


def hide_folder(folder: Path) -> None:
    """Permanently keep the calling thread, and everything that it starts, from reading files in a folder.

    Raises AgentError if the kernel refuses.
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
                        # skip one that has gone or that cannot have a rule
                        with contextlib.suppress(OSError):
                            _allow_reading(entry, rules)
            below = around
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _syscall(
            _RESTRICT_SELF, rules, 0
        ):
            raise _refusal(folder)
    finally:
        os.close(rules)


def _allow_reading(entry: os.DirEntry[str], rules: int) -> None:
    """Allow reading an entry and everything below."""
    assert sys.platform == "linux"
    descriptor = os.open(entry.path, os.O_PATH | os.O_NOFOLLOW)
    try:
        rights = _READ_FILE
        if entry.is_dir(follow_symlinks=False):
            rights |= _REFER
        rule = struct.pack("=Qi", rights, descriptor)
        _syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _refusal(folder: Path) -> AgentError:
    reason = os.strerror(ctypes.get_errno())
    return AgentError(
        f"an agent's process cannot be kept from reading {str(folder)!r}: {reason}"
    )


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    result: int = ctypes.CDLL(None, use_errno=True).syscall(number, *arguments)
    return result

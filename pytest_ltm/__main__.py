"""The program `ltm`, also `python -m pytest_ltm`."""

from __future__ import annotations

import os
import sys

from pytest_ltm.commands import main

# The exit status of a program whose reader, such as `head`, went away: 128 + SIGPIPE.
_CLOSED = 141


def run() -> int:
    """Carry the command out; a reader that closes its output early is not an error."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # what is still in the buffer would fail once more when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED


if __name__ == "__main__":
    sys.exit(run())

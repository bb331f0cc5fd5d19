"""`rescore RUN`: the same as `pytest --ltm-rescore=RUN`."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace


def run(given: Namespace) -> int:
    """Score a run again in a pytest session of its own; return its exit status."""
    words = [sys.executable, "-m", "pytest", f"--ltm-rescore={given.run}", *given.options]
    with subprocess.Popen(words) as session:  # noqa: S603 - the words are the caller's own
        while True:
            try:
                return session.wait()
            except KeyboardInterrupt:  # the session got it, too, and ends in its own way
                continue

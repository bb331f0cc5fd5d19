"""`python -m pytest_ltm rescore RUN`: the same as `pytest --ltm-rescore=RUN`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Score a run again in a pytest session of its own; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm rescore",
        usage="%(prog)s RUN [options of pytest]",
        description="Score a recorded run again with the evaluators, scoring rules and judge of today. No agent is "
        "made or asked; the result is a run folder of its own, and what moved is printed. The same as: "
        "pytest --ltm-rescore=RUN",
        allow_abbrev=False,
    )
    parser.add_argument("run", metavar="RUN", help="a run's id, the path of its folder, or 'latest'")
    found, rest = parser.parse_known_args(argv)
    words = [sys.executable, "-m", "pytest", f"--ltm-rescore={found.run}", *rest]
    with subprocess.Popen(words) as session:  # noqa: S603 - the words are the user's own
        while True:
            try:
                return session.wait()
            except KeyboardInterrupt:  # the session got it, too, and ends in its own way
                continue

"""`benchmark NAME`: measures and prints.

Seconds are those of the processor: what else the machine does hardly changes them. Ratios and slopes hardly depend on
the machine.
"""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = {
    "conversation": "a run of the built-in suite at span SIZE (500,000), as a multiple of one tiktoken pass",
    "drills": "whether SIZE (100) runs whose workers are killed at any moment end like the undisturbed one",
    "many": "SIZE (20) agents at five spans in three trials on two workers: time, memory, the controller's cost",
    "workers": "four agents of SIZE (50) milliseconds at once against one alone; agents that compute, on two workers",
    "scale": "time and peak memory of conversations of SIZE (10,000,000) tokens, a tenth and a hundredth",
    "steps": "the cost of one step with SIZE (1,000) scenarios in progress at once",
    "gate": "how often the gate's statistics err, from SIZE (500) imagined comparisons for each figure",
    "crash": "SIZE (200) runs killed at random points and gone on with: each must equal the undisturbed one",
    "resume": "what writing an exchange costs, and going on with a conversation of SIZE (1,000,000) tokens",
    "startup": "what the unused plugin costs a pytest run with one test, from SIZE (30) pairs of runs",
}


def main(argv: Sequence[str]) -> int:
    """Measure and print line by line; ConfigurationError for a name or a size that cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm benchmark",
        description="Measure what pytest-ltm itself costs, and how often its statistics err. Names: "
        + "; ".join(f"{name}: {what}" for name, what in NAMES.items())
        + ".",
    )
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--size", type=int, help="see the names; without it the size in brackets there")
    parser.add_argument("--repeat", type=int, default=1, help="how often everything is measured (1)")
    chosen = parser.parse_args(list(argv))
    if chosen.name not in NAMES:
        hint = did_you_mean(chosen.name, NAMES)
        raise ConfigurationError(f"there is no benchmark {chosen.name!r}.{hint} There are {', '.join(NAMES)}.")
    if chosen.repeat < 1 or (chosen.size is not None and chosen.size < 1):
        raise ConfigurationError("--size and --repeat are whole numbers of at least 1")
    benchmark = importlib.import_module(f"pytest_ltm._benchmarks._{chosen.name}")
    for line in benchmark.measure(chosen.size or benchmark.SIZE, chosen.repeat):
        print(line, flush=True)
    return 0

"""`python -m benchmarks NAME`, in a checkout: measure and print.

Seconds are processor time, which other load on the machine hardly affects. Ratios and
slopes hardly depend on the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks import (
    cached_prompts,
    capacity,
    company,
    concurrency,
    evidence,
    forgeries,
    gallery,
    gate,
    killed,
    length,
    library_stores,
    linear,
    long_chats,
    memory,
    memory_linear,
    model_results,
    mutants,
    overhead,
    real_model,
    solvable,
    startup,
    workers,
)
from benchmarks.faults import matrix
from pytest_ltm.api.storage import ConfigurationError, LtmError, did_you_mean


class Benchmark(NamedTuple):
    """A benchmark: `measure(size, repeats)` yields the lines to print."""

    measure: Callable[[int, int], Iterator[str]]
    size: int
    what: str


BENCHMARKS = {
    "conversation": Benchmark(
        length.conversation,
        500_000,
        "a run of the built-in suite at span SIZE, as a multiple of one tiktoken pass",
    ),
    "capacity": Benchmark(
        capacity.capacity,
        1_000_000,
        "the lifecycle test `many` on an index in memory, at 1,000 facts, ten times as many, and so on up to SIZE",
    ),
    "cache": Benchmark(
        cached_prompts.cached_prompts,
        32_000,
        "the share of prompts that a cache serves at span SIZE, by window, and the best that there could be",
    ),
    "concurrency": Benchmark(
        concurrency.at_once,
        64,
        "SIZE conversations at once in one process against one alone, against workers, at a provider with limits",
    ),
    "drills": Benchmark(
        killed.drills,
        100,
        "whether SIZE runs whose workers are killed at any moment end like the undisturbed one",
    ),
    "forgeries": Benchmark(
        forgeries.forge_runs,
        110,
        "whether `ltm verify` names SIZE forgeries of a run, and nothing in whole runs",
    ),
    "in-flight": Benchmark(
        killed.in_flight,
        100,
        "whether SIZE runs killed with 32 conversations in flight end like the undisturbed one",
    ),
    "many": Benchmark(
        workers.many,
        20,
        "SIZE agents at five spans in three trials on two workers: time, memory, the controller's cost",
    ),
    "verify": Benchmark(
        length.verification,
        1_000_000,
        "time and memory of `ltm verify` of a conversation of SIZE tokens",
    ),
    "stores": Benchmark(
        library_stores.store_table,
        32_000,
        "memories of libraries that are installed (.ci/stores.txt): cards, lifecycle, standard at SIZE, as a table",
    ),
    "long-chats": Benchmark(
        long_chats.long_chats,
        10_000_000,
        "time and peak memory of chats of SIZE tokens and less in the form of BEAM",
    ),
    "workers": Benchmark(
        workers.workers,
        50,
        "four agents of SIZE milliseconds at once against one alone; agents that compute, on two workers",
    ),
    "scale": Benchmark(
        length.scale,
        10_000_000,
        "time and peak memory of conversations of SIZE tokens, a tenth and a hundredth",
    ),
    "real-model": Benchmark(
        real_model.check_real_model,
        2_000,
        "whether runs at a span of SIZE tokens, disturbed ones too, come to results with a real, small language model",
    ),
    "steps": Benchmark(
        overhead.steps,
        1_000,
        "the cost of one step with SIZE scenarios in progress at once",
    ),
    "apart": Benchmark(
        overhead.apart,
        2_000,
        "what SIZE messages cost more to an agent in a process of its own (--ltm-agent-process)",
    ),
    "rehearsal": Benchmark(
        overhead.rehearsal,
        80_000,
        "time and memory of dry runs of up to SIZE items in conversations of ten, and of a tenth of that in one",
    ),
    "mutants": Benchmark(
        mutants.survivors,
        1_000,
        "how many of SIZE small changes to scheduler, scores, gate and evaluators the tests notice",
    ),
    "gate": Benchmark(
        gate.gate,
        400,
        "how often the gate's statistics err, from SIZE imagined comparisons for each figure",
    ),
    "crash": Benchmark(
        killed.crash,
        200,
        "SIZE runs killed at random points and gone on with: each must equal the undisturbed one",
    ),
    "resume": Benchmark(
        length.resume,
        1_000_000,
        "what writing an exchange costs, and going on with a conversation of SIZE tokens",
    ),
    "memory": Benchmark(
        memory.memory,
        5,
        "what memory systems show by rules alone, in SIZE trials, of hypotheses written down before",
    ),
    "memory-linear": Benchmark(
        memory_linear.linear,
        1_000_000,
        "what memory systems take for a message at up to SIZE tokens, by preset",
    ),
    "startup": Benchmark(
        startup.startup,
        20,
        "what starting costs, in environments made for it, from SIZE rounds; and long conversations beyond the start",
    ),
}


OTHERS = {
    "company": company.main,
    "evidence": evidence.main,
    "faults": matrix.main,
    "gallery": gallery.main,
    "linear": linear.main,
    "model-results": model_results.main,
    "solvable": solvable.main,
}
"""Benchmarks with arguments of their own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print line by line; ConfigurationError for an unknown name or an impossible size."""
    words = sys.argv[1:] if argv is None else [*argv]
    if words and words[0] in OTHERS:
        return OTHERS[words[0]](words[1:])
    names = [*BENCHMARKS, *OTHERS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure what pytest-ltm itself costs, and how often its statistics err. Names: "
        + "; ".join(
            f"{name}: {one.what.replace('SIZE', f'SIZE ({one.size:,})')}"
            for name, one in BENCHMARKS.items()
        )
        + f". With arguments of their own, see --help behind the name: {', '.join(OTHERS)}.",
    )
    parser.add_argument("name", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument(
        "--size", type=int, help="see the names; without it the size in brackets there"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, help="how often everything is measured (1)"
    )
    given = parser.parse_args(words)
    if given.name not in BENCHMARKS:
        hint = did_you_mean(given.name, names)
        raise ConfigurationError(
            f"there is no benchmark {given.name!r}.{hint} There are {', '.join(names)}."
        )
    if given.repeat < 1 or (given.size is not None and given.size < 1):
        raise ConfigurationError("--size and --repeat are whole numbers of at least 1")
    chosen = BENCHMARKS[given.name]
    for line in chosen.measure(given.size or chosen.size, given.repeat):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LtmError as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        sys.exit(2)

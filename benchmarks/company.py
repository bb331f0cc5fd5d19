"""Whether scenarios cost each other marks: all suites in one conversation, with agents that remember everything."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from pytest_ltm.api.scenarios import SUFFIX, scenarios_folder
from pytest_ltm.lab.study import play_rows

SUITES = ("extended", "hygiene", "reasoning", "learning", "needle")
"""Together these suites contain every scenario."""


def main(argv: Sequence[str]) -> int:
    """Print the lost marks, seed by seed, and each agent's total."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks company", description=__doc__
    )
    parser.add_argument("--span", default="32k", help="the memory span (32k)")
    parser.add_argument("--seeds", type=int, default=60, help="how many (60)")
    parser.add_argument(
        "--first", type=int, default=0, metavar="SEED", help="the first of them (0)"
    )
    parser.add_argument(
        "--agent",
        default="full,oracle",
        metavar="SPECS",
        help="who is played (full,oracle)",
    )
    parser.add_argument(
        "--filler",
        default="letters",
        metavar="SPEC",
        help="what is said between (letters)",
    )
    given = parser.parse_args(argv)
    words = [f"--ltm-span={given.span}", f"--ltm-filler={given.filler}"]
    seeds = range(given.first, given.first + given.seeds)
    for line in measure_company(given.agent.split(","), words, seeds):
        print(line, flush=True)
    return 0


def measure_company(
    agents: Sequence[str], words: Sequence[str], seeds: Sequence[int]
) -> Iterator[str]:
    """Yield a line for each example in which an agent lost marks, and finally each agent's score."""
    marks: dict[str, list[float]] = {agent: [] for agent in agents}
    with tempfile.TemporaryDirectory(prefix="ltm-company-") as name:
        folder = Path(name)
        suite = folder / f"company{SUFFIX}"
        suite.write_text(yaml.safe_dump(all_together()), encoding="utf-8")
        for seed in seeds:
            options = [f"--ltm-suite={suite}", f"--ltm-seed={seed}", *words]
            for agent, row in play_rows(
                agents, options, folder / str(seed), folder, skipped=True
            ):
                score = row.score or 0.0
                marks[agent].append(score)
                if score < 1:
                    yield f"seed {seed}, {agent}, {row.scenario}: {score:.2f}: {row.reason}"
    for agent, earned in marks.items():
        yield f"{agent}: {sum(earned) / len(earned):.4f} of {len(earned)} examples, {len(seeds)} seeds"


def all_together() -> dict[str, Any]:
    """Return a suite of every scenario in these suites, one example of each."""
    scenarios: list[Any] = []
    for suite in SUITES:
        path = scenarios_folder() / f"{suite}{SUFFIX}"
        scenarios += yaml.safe_load(path.read_text(encoding="utf-8"))["scenarios"]
    return {"name": "company", "version": 1, "examples": 1, "scenarios": scenarios}

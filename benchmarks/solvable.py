"""Whether the control agents earn all marks in the built-in suites; what they lose to filler and other scenarios."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from statistics import fmean

from pytest_ltm.api.scenarios import built_in_names
from pytest_ltm.commands.arguments import add_seeds
from pytest_ltm.lab.study import (
    PlayedRow,
    listed_specs,
    play_rows,
    study_folder,
    tell_progress,
)

# Agents that remember everything: the rule-based reader, and the control that is told
# the answers.
CONTROLS = ("full", "oracle")
# Conversations of one example without filler: marks lost there as well are beyond the
# reader.
ALONE = "isolated"


def main(argv: Sequence[str]) -> int:
    """Print each control's score in each suite, and every example that lost marks."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks solvable", description=__doc__
    )
    suites = "a built-in suite (repeatable; default: all)"
    parser.add_argument(
        "--suite", dest="suites", action="append", metavar="NAME", help=suites
    )
    parser.add_argument(
        "--span", default="2k", metavar="SPAN", help="the memory span (default: 2k)"
    )
    parser.add_argument(
        "--first", type=int, default=0, metavar="SEED", help="the first seed (0)"
    )
    add_seeds(parser)
    arguments = parser.parse_args(argv)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    for suite in listed_specs(arguments.suites or built_in_names()):
        for line in suite_lines(suite, arguments.span, seeds):
            print(line, flush=True)
    return 0


def suite_lines(suite: str, span: str, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the controls' losses at the span, and whether they also occur alone; then the scores."""
    rows: list[PlayedRow] = []
    for seed in seeds:
        tell_progress(f"{suite}, seed {seed}")
        seed_rows = _play_controls(suite, span, seed)
        rows += seed_rows
        lost = list(filter(_is_lost, seed_rows))
        if not lost:
            continue
        alone = map(_example_of, filter(_is_lost, _play_controls(suite, ALONE, seed)))
        lost_alone = set(alone)
        for played in lost:
            spec, row = played
            where = f"{span} and {ALONE}" if _example_of(played) in lost_alone else span
            yield f"  {spec} at seed {seed}, {where}: {row.score} in {row.scenario}: {row.reason}"
    if not rows:
        yield f"{suite}: the control agents take no part"
        return
    for spec in CONTROLS:
        scores = [row.score or 0.0 for agent, row in rows if agent == spec]
        yield f"{suite}, {len(seeds)} seeds at {span}: {spec} earns {fmean(scores):.4f}"


def _play_controls(suite: str, span: str, seed: int) -> list[PlayedRow]:
    words = [f"--ltm-suite={suite}", f"--ltm-span={span}", f"--ltm-seed={seed}"]
    with study_folder("solvable") as folder:
        return play_rows(CONTROLS, words, folder, cwd=folder)


def _example_of(played: PlayedRow) -> tuple[str, str, str]:
    spec, row = played
    return spec, row.scenario, row.example


def _is_lost(played: PlayedRow) -> bool:
    _, row = played
    return row.score is None or row.score < 1

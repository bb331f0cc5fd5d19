"""`plot RUN... --kind KIND -o FILE`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_ltm._journal.run_file import LATEST, find_run
from pytest_ltm._results.gate.changes import CompareHints, changes, one_agent
from pytest_ltm._results.run_loading import find, read_run
from pytest_ltm._storage.errors import ConfigurationError, LtmError
from pytest_ltm.reporting.exports.output import library
from pytest_ltm.reporting.plots import plot_data

if TYPE_CHECKING:
    from argparse import Namespace

    from pytest_ltm._results.gate.changes import GateSide
    from pytest_ltm.reporting.plots.plot_data import Content


SUFFIXES = ("svg", "pdf", "png")
WAYS = CompareHints(common="--plans=overlapping", choose_agent="Name one as in RUN@AGENT, or with --agent")


def run(given: Namespace) -> int:
    """Draw and write the picture; 0. LtmError if a run cannot be read, or if there is nothing to draw."""
    suffix = given.output.suffix.lower().removeprefix(".")
    if suffix not in SUFFIXES:
        raise ConfigurationError(f"-o: expected a name that ends in .svg, .pdf or .png, got {given.output.name!r}")
    library("matplotlib", extra="plot", user="ltm plot")
    from pytest_ltm.reporting.plots.drawing import Look, draw

    shown = _content(given)
    look = Look(suffix=suffix, size=given.size, fonts=_families(given.font), title=given.title, dpi=given.dpi)
    drawn = draw(shown, look)
    try:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        given.output.write_bytes(drawn.data)
    except OSError as error:
        raise LtmError(f"cannot write {str(given.output)!r}: {error.strerror or error}") from error
    print(given.output)
    for problem in drawn.problems:
        print(f"ltm plot: {problem}", file=sys.stderr)
    return 0


def _families(text: str) -> tuple[str, ...]:
    return tuple(family.strip() for family in text.split(",") if family.strip())


def _content(given: Namespace) -> Content:
    named = given.runs or [LATEST]
    if given.kind == "compare":
        before, after = _sides(given, named)
        return plot_data.forest(changes(before, after, WAYS, common=given.plans == "overlapping"), given.span)
    found = plot_data.chosen([read_run(find_run(text, given.ltm_dir)) for text in named], given.agent, given.span)
    if given.kind == "curve":
        return plot_data.curve(found)
    if given.kind == "heatmap":
        return plot_data.heatmap(found)
    return plot_data.timeline(found) if given.kind == "timeline" else plot_data.depth(found, given.by)


def _sides(given: Namespace, named: list[str]) -> tuple[GateSide, GateSide]:
    """Return the earlier and the later side: two that are named, or two agents of one run."""
    sides = [find(text, given.baselines, given.ltm_dir)[0] for text in named]
    if len(sides) == 1:
        agents = given.agent or sides[0].agents
        if len(agents) != 2:
            raise ConfigurationError(
                f"--kind=compare takes two agents: name two of {sides[0].name} with --agent, or name two runs. "
                f"It has {', '.join(sides[0].agents)}"
            )
        sides *= 2
    elif len(sides) == 2:
        agents = (given.agent * 2)[:2] or ("", "")
    else:
        raise ConfigurationError(f"--kind=compare takes one run or two, not {len(sides)}")
    before, after = (one_agent(side, agent, how=WAYS.choose_agent) for side, agent in zip(sides, agents, strict=True))
    return before, after

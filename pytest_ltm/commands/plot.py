"""`plot RUN... --kind KIND -o FILE`: draws a figure about runs."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping

from pytest_ltm.api.journal import LATEST, find_run
from pytest_ltm.api.storage import ConfigurationError, write_output
from pytest_ltm.commands.arguments import (
    RUN,
    add_baselines,
    add_filters,
    add_output,
    add_plans,
    add_runs,
    positive_integer,
)
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.statistics.frontier import PUBLISHED
from pytest_ltm.gate.changes import CompareHints, compare_sides, one_agent
from pytest_ltm.gate.sides import find_side
from pytest_ltm.reports.exports.output import import_library
from pytest_ltm.reports.html.report_data import Material
from pytest_ltm.reports.plots import plot_data
from pytest_ltm.reports.plots.plot_data import Content

SUFFIXES = ("svg", "pdf", "png")
_DRAWN: Mapping[str, Callable[[Material], Content]] = {
    "curve": plot_data.accuracy_curves,
    "heatmap": plot_data.scenario_heatmap,
    "timeline": plot_data.conversation_timeline,
}
WAYS = CompareHints(
    common="--plans=overlapping",
    choose_agent="Name one as in RUN@AGENT, or with --agent",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the runs, the kind of figure, its file and its style."""
    kinds = (
        "curve: accuracy over memory span; heatmap: scenario by span; examples: agent by example of each scenario; "
        "depth: score by the needle's position; timeline: one conversation; compare: paired differences by scenario; "
        "frontier: accuracy against seconds and tokens of a reply"
    )
    names = [*_DRAWN, "examples", "depth", "compare", "frontier"]
    parser.add_argument("--kind", required=True, choices=names, help=kinds)
    add_output(parser, "FILE", "a file *.svg, *.pdf or *.png", required=True)
    add_filters(parser, agents="(repeatable); with compare the earlier, then the later")
    rows = "the share of the conversation before the needle (default), or tokens from needle to question"
    parser.add_argument(
        "--by",
        choices=["share", "gap"],
        default="share",
        help=f"depth: rows are {rows}",
    )
    skill = (
        "examples: only scenarios that need this memory skill, such as R for retrieval"
    )
    parser.add_argument("--skill", default="", metavar="LETTER", help=skill)
    published = (
        "frontier: beside what LongMemEval-V2 published of this tier of its histories"
    )
    parser.add_argument("--published", choices=[*PUBLISHED], default="", help=published)
    size = "6x4in or 16x10cm (default: what the content needs)"
    parser.add_argument("--size", type=_figure_size, metavar="WxH", help=size)
    parser.add_argument(
        "--font",
        default="",
        metavar="FAMILY",
        help="a font, or several separated by commas",
    )
    parser.add_argument(
        "--title",
        default="",
        metavar="TEXT",
        help="a title above the figure (default: none)",
    )
    dpi = "resolution of PNG files (default: 200)"
    parser.add_argument(
        "--dpi", type=positive_integer, default=200, metavar="N", help=dpi
    )
    add_plans(parser)
    add_baselines(parser)
    add_runs(parser, kinds=f"{RUN}; with compare two, named as for ltm compare")


_SIZE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)x(\d{1,4}(?:\.\d{1,4})?)(in|cm|)")
_CM_PER_INCH = 2.54
_MOST_INCHES = 100.0


def _figure_size(text: str) -> tuple[float, float]:
    """Parse a width and height into inches."""
    size = _SIZE.fullmatch(text)
    unit = _CM_PER_INCH if size and size[3] == "cm" else 1.0
    if size:
        width = float(size[1]) / unit
        height = float(size[2]) / unit
    else:
        width = 0.0
        height = 0.0
    if not 0 < min(width, height) <= max(width, height) <= _MOST_INCHES:
        raise ArgumentTypeError(
            f"expected width and height such as 6x4in or 16x10cm, got {text!r}"
        )
    return width, height


def plot_figure(arguments: Namespace) -> int:
    """Draw a figure about one or more runs, as SVG, PDF or PNG.

    Equal runs and options give equal files. Needs pip install 'pytest-ltm[plot]'.
    """
    suffix = arguments.output.suffix.lower().removeprefix(".")
    if suffix not in SUFFIXES:
        raise ConfigurationError(
            f"-o: expected a name that ends in .svg, .pdf or .png, got {arguments.output.name!r}"
        )
    import_library("matplotlib", extra="plot", user="ltm lab plot")
    from pytest_ltm.reports.plots.drawing import Look, draw_plot

    families = tuple(filter(None, map(str.strip, arguments.font.split(","))))
    look = Look(
        suffix=suffix,
        size=arguments.size,
        fonts=families,
        title=arguments.title,
        dpi=arguments.dpi,
    )
    drawn = draw_plot(_plot_content(arguments), look)
    write_output(arguments.output, drawn.data)
    print(arguments.output)
    for problem in drawn.problems:
        print(f"ltm lab plot: {problem}", file=sys.stderr)
    return 0


def _plot_content(arguments: Namespace) -> Content:
    run_names = arguments.runs or [LATEST]
    if arguments.kind == "compare":
        sides = []
        for text in run_names:
            side, _ = find_side(text, arguments.baselines, arguments.ltm_dir)
            sides.append(side)
        if len(sides) > 2:
            raise ConfigurationError(
                f"--kind=compare takes one run or two, not {len(sides)}"
            )
        # Two named agents, where one name may stand for both; or two agents of one run.
        agents = (arguments.agent * 2)[:2] or ("", "")
        if len(sides) == 1:
            agents = arguments.agent or sides[0].agents
            if len(agents) != 2:
                raise ConfigurationError(
                    f"--kind=compare takes two agents: name two of {sides[0].name} with --agent, or name two runs. "
                    f"It has {', '.join(sides[0].agents)}"
                )
            sides *= 2
        baseline = one_agent(sides[0], agents[0], how=WAYS.choose_agent)
        after = one_agent(sides[1], agents[1], how=WAYS.choose_agent)
        changes = compare_sides(
            baseline, after, WAYS, common=arguments.plans == "overlapping"
        )
        return plot_data.difference_forest(changes, arguments.span)
    runs = [read_run(find_run(text, arguments.ltm_dir)) for text in run_names]
    material = plot_data.chosen_material(runs, arguments.agent, arguments.span)
    if arguments.kind == "frontier":
        return plot_data.accuracy_frontier(material, arguments.published)
    if arguments.kind == "examples":
        return plot_data.example_heatmap(material, arguments.skill)
    if arguments.kind == "depth":
        return plot_data.depth_heatmap(material, arguments.by)
    return _DRAWN[arguments.kind](material)

"""`calibrate [DIR...]`: compares the scores of control agents on our suite and on published definitions."""

from __future__ import annotations

import json
import math
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.api.scenarios import read_json
from pytest_ltm.api.storage import ConfigurationError, pluralize
from pytest_ltm.commands.arguments import (
    add_json,
    add_option,
    add_pytest_options,
    add_seeds,
)
from pytest_ltm.datasets.published import ENDING, FOLDERS, DefinitionsFolder, menu_above
from pytest_ltm.figures.statistics.counts import (
    IntervalEstimate,
    mean_estimate,
    sum_estimates,
)
from pytest_ltm.figures.statistics.totals import FULL_MARKS, mean_or_none
from pytest_ltm.lab.study import (
    Marks,
    PlayedRow,
    Table,
    aligned_lines,
    earned_marks,
    listed_specs,
    play_rows,
    study_folder,
    tell_progress,
)

# The exit status if totals differ by more than LIMIT, or if a scenario of ours is
# unsolvable.
APART = 1
CONTROLS = (
    "bm25:8k",
    "bm25:top5",
    "window:8k",
    "length-bias:shortest:8k",
    "length-bias:longest:8k",
)
READER, ORACLE = "full", "oracle"
"""The agents that remember everything: the rule-based reader, and the control that is given the answers."""
# The maximum difference of a retrieving control's totals, as a share of all marks.
LIMIT = 0.7 / 11
# The minimum share that the reader earns in a scenario it can read; some published
# answers are wrong.
READS = 0.75
# Examples of a scenario per conversation, and the filler between them, as in the
# published runs. Other fillers share everyday words with our scenarios, but none with
# the published ones.
TOGETHER = 3
FILLER = "trivia"


def add_arguments(parser: ArgumentParser) -> None:
    """Add both sides and the controls."""
    folder = "a folder of definitions, as for --ltm-definitions; without one, only the suite is played"
    parser.add_argument("definitions", type=Path, nargs="*", metavar="DIR", help=folder)
    suite = "the suite (default: standard)"
    add_option(parser, "--ltm-suite", "NAME|FILE", suite, "standard", dest="suite")
    span = "the memory span (default: that of the folder's config.yml)"
    add_option(parser, "--span", "SPAN", span)
    add_seeds(parser)
    agents = f"only this control (repeatable; default: {', '.join(CONTROLS)}); full and oracle are always played"
    add_option(parser, "--agent", "SPEC", agents, [], dest="agents")
    add_pytest_options(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Compare control agents' scores on published definitions and on a suite at the same memory span.

    Exit status 1 if the totals of a control that retrieves (bm25) differ by more than 0.7 of 11, or neither full nor
    oracle gets full marks in a scenario of the suite. Without definitions the suite is played alone, with its own
    filler.
    """
    folders = [DefinitionsFolder(path) for path in arguments.definitions]
    span = arguments.span or next(
        (str(folder.span) for folder in folders if folder.span), ""
    )
    if not span:
        raise ConfigurationError(
            "no folder with a config.yml names a memory span. Give one with --span, as in --span=120k"
        )
    controls = listed_specs(arguments.agents or CONTROLS)
    as_published = ["--ltm-count=all", f"--ltm-filler={FILLER}"] if folders else []
    options = [f"--ltm-span={span}", *as_published, *arguments.pytest]
    with study_folder("calibrate") as place:

        def play(specs: list[str], words: list[str], name: str) -> list[PlayedRow]:
            # in an empty folder, so that the user's project contributes neither tests
            # nor settings
            (place / name).mkdir()
            return play_rows(specs, [*words, *options], place / name, cwd=place / name)

        if Path(arguments.suite).is_file():
            suite = Path(arguments.suite).resolve()
        else:
            suite = arguments.suite
        published = pool_definitions(folders, place / "definitions") if folders else []
        if published:
            tell_progress(
                f"published definitions: {pluralize(len(published), 'conversation')} at {span}"
            )
        theirs: list[PlayedRow] = []
        ours: list[PlayedRow] = []
        for number, folder in enumerate(published):
            theirs += play(
                [*controls, READER], [f"--ltm-definitions={folder}"], f"theirs{number}"
            )
        tell_progress(
            f"{arguments.suite}: {pluralize(arguments.seeds, 'seed')} at {span}"
        )
        for seed in range(arguments.seeds):
            ours += play(
                [*controls, READER, ORACLE],
                [f"--ltm-suite={suite}", f"--ltm-seed={seed}"],
                f"ours{seed}",
            )
    calibration = Calibration(
        controls=tuple(controls),
        theirs=earned_marks(theirs),
        ours=earned_marks(ours),
        span=span,
    )
    if arguments.json:
        print(json.dumps(calibration.as_json(), indent=1))
    else:
        print("\n".join(calibration_lines(calibration)))
    return APART if calibration.breaches else 0


def pool_definitions(folders: Iterable[DefinitionsFolder], into: Path) -> list[Path]:
    """Write the distinct definitions to folders, at most TOGETHER of a scenario in each; return the folders.

    Each folder is one conversation. Definitions that differ only in waits are not distinct; those without messages
    (created at run time) are all kept. A scenario with fewer definitions than others is in every conversation, or in as
    many as it has definitions. Raises DefinitionError for an unplayable file.
    """
    names = {scenario: name for name, scenario in FOLDERS.items()}
    paths_by_scenario: dict[str, dict[str, Path]] = {}
    for folder in folders:
        for scenario in folder.examples.keys() - set(folder.unknown):
            for example in folder.examples[scenario]:
                folder.definition(scenario, example)
                path = folder.file(scenario, example)
                data = read_json(path).json()
                waits = data.pop("waits", None) if isinstance(data, dict) else True
                silent = not waits and not data.get("steps")
                paths_by_scenario.setdefault(scenario, {}).setdefault(
                    str(path) if silent else json.dumps(data, sort_keys=True), path
                )
    conversations = math.ceil(max(map(len, paths_by_scenario.values())) / TOGETHER)
    for scenario, files in sorted(paths_by_scenario.items()):
        for number, path in enumerate(files.values()):
            place = into / str(number % conversations)
            beside = place / names.get(scenario, scenario)
            beside.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, beside / f"{number}{ENDING}")
            if menu := menu_above(path):
                shutil.copyfile(menu, place / menu.name)
    return sorted(into.iterdir(), key=lambda place: int(place.name))


# --- The scores


class Calibration(Struct, frozen=True, kw_only=True):
    """The scores of controls on both sides."""

    controls: tuple[str, ...]
    theirs: Marks
    ours: Marks
    span: str

    @property
    def left_out(self) -> dict[str, str]:
        """Why scenarios are in no total, by name."""
        texts = {}
        names = {name for _, name in (*self.theirs, *self.ours)}
        for name in sorted(names):
            their_mean = mean_or_none(self.theirs.get((READER, name), ()))
            our_mean = mean_or_none(self.ours.get((READER, name), ()))
            if their_mean is None or our_mean is None:
                texts[name] = f"only {'ours' if their_mean is None else 'published'}"
            elif min(their_mean, our_mean) < READS:
                texts[name] = (
                    f"{READER} cannot read it: {their_mean:.2f} published, {our_mean:.2f} ours"
                )
        return texts

    @property
    def scenarios(self) -> list[str]:
        """The compared scenarios."""
        names = {name for _, name in self.theirs} & {name for _, name in self.ours}
        return sorted(names - self.left_out.keys())

    def suite_means(self, agent: str) -> dict[str, float]:
        """Return an agent's mean in each of our scenarios that it played, 0 to 1."""
        means = {}
        for spec, name in sorted(self.ours):
            if spec != agent:
                continue
            mean = mean_or_none(self.ours[spec, name])
            if mean is not None:
                means[name] = mean
        return means

    def earnings_pair(
        self, agent: str, scenario: str
    ) -> tuple[IntervalEstimate, IntervalEstimate]:
        """Return an agent's mean in a scenario: published, ours."""
        theirs = mean_estimate(self.theirs[agent, scenario])
        ours = mean_estimate(self.ours[agent, scenario])
        return theirs, ours

    def totals(self, agent: str) -> tuple[IntervalEstimate, IntervalEstimate]:
        """Return an agent's totals over the compared scenarios: published, ours."""
        pairs = [self.earnings_pair(agent, name) for name in self.scenarios]
        theirs = sum_estimates(pair[0] for pair in pairs)
        ours = sum_estimates(pair[1] for pair in pairs)
        return theirs, ours

    @property
    def breaches(self) -> list[str]:
        """A sentence for each broken limit."""
        texts = []
        limit = LIMIT * len(self.scenarios)
        for agent in self.controls:
            theirs, ours = self.totals(agent)
            if agent.startswith("bm25:") and abs(ours.value - theirs.value) > limit:
                earned = f"{agent} earns {theirs.value:.2f} published and {ours.value:.2f} ours"
                texts.append(
                    f"{earned} of {len(self.scenarios)}: more than {limit:.2f} apart"
                )
        for name in sorted({scenario for _, scenario in self.ours}):
            marks = [self.ours.get((agent, name), ()) for agent in (READER, ORACLE)]
            best = max(mean_or_none(scores) or 0.0 for scores in marks)
            if best < FULL_MARKS:
                texts.append(
                    f"neither {READER} nor {ORACLE} gets full marks in {name} of ours: {best:.2f}"
                )
        return texts

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""

        def mark(estimate: IntervalEstimate) -> dict[str, float]:
            ends = estimate.interval
            return {"value": estimate.value, "low": ends.low, "high": ends.high}

        def marks(theirs: IntervalEstimate, ours: IntervalEstimate) -> dict[str, Any]:
            return {
                "published": mark(theirs),
                "ours": mark(ours),
                "difference": mark(ours - theirs),
            }

        if not self.theirs:
            players = (*self.controls, READER, ORACLE)
            return {
                "span": self.span,
                "agents": {agent: self.suite_means(agent) for agent in players},
                "breaches": self.breaches,
            }
        agents = {}
        for agent in (*self.controls, READER):
            rows = {}
            for name in self.scenarios:
                row = marks(*self.earnings_pair(agent, name))
                sides = (self.theirs, self.ours)
                row["examples"] = [len(side[agent, name]) for side in sides]
                rows[name] = row
            agents[agent] = {"scenarios": rows, "total": marks(*self.totals(agent))}
        return {
            "span": self.span,
            "scenarios": self.scenarios,
            "left_out": self.left_out,
            "agents": agents,
            "breaches": self.breaches,
        }


# --- The output


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """Yield the tables (totals, then scenarios by agent), and the sentences."""
    if not calibration.theirs:
        yield from aligned_lines(suite_table(calibration))
        yield ""
        for sentence in calibration.breaches:
            yield f"- {sentence}"
        return
    yield from aligned_lines(calibration_totals(calibration))
    for agent in (*calibration.controls, READER):
        yield ""
        yield from aligned_lines(calibration_points(calibration, agent))
    yield ""
    for name, reason in calibration.left_out.items():
        yield f"left out: {name}: {reason}"
    breaches = calibration.breaches
    for sentence in breaches:
        yield f"- {sentence}"
    limit = LIMIT * len(calibration.scenarios)
    totals = {agent: calibration.totals(agent) for agent in calibration.controls}
    if not breaches and any(agent.startswith("bm25:") for agent in totals):
        yield f"Totals of agents bm25:… are within {limit:.2f} of each other."
    for agent, (theirs, ours) in totals.items():
        distance = abs(ours.value - theirs.value)
        if distance > limit and not agent.startswith("bm25:"):
            yield f"{agent} differs by {distance:.2f}; no limit applies to it."


def suite_table(calibration: Calibration) -> Table:
    """Return each agent's mean by scenario and overall, for a suite that is played alone."""
    players = (*calibration.controls, READER, ORACLE)
    means = {agent: calibration.suite_means(agent) for agent in players}
    table = [[f"at {calibration.span}", *players]]
    names = set().union(*means.values())
    for name in sorted(names):
        cells = (_mean_cell(row.get(name)) for row in means.values())
        table.append([name, *cells])
    totals = (f"{sum(row.values()):.2f}" for row in means.values())
    table.append([f"all, of {len(names)}", *totals])
    return table


def _mean_cell(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.2f}"


def calibration_totals(calibration: Calibration) -> Table:
    """Return each agent's totals on both sides, and the difference."""
    place = f"at {calibration.span}, of {len(calibration.scenarios)}"
    table = [[place, "published", "ours", "ours - published"]]
    for agent in (*calibration.controls, READER):
        table.append([agent, *_mark_cells(*calibration.totals(agent))])
    return table


def calibration_points(calibration: Calibration, agent: str) -> Table:
    """Return an agent's mean by scenario on both sides, and the difference."""
    table = [[agent, "published", "ours", "ours - published", "examples"]]
    for name in calibration.scenarios:
        theirs = len(calibration.theirs[agent, name])
        ours = len(calibration.ours[agent, name])
        cells = _mark_cells(*calibration.earnings_pair(agent, name))
        table.append([name, *cells, f"{theirs} and {ours}"])
    return table


def _mark_cells(theirs: IntervalEstimate, ours: IntervalEstimate) -> list[str]:
    cells = []
    for estimate in (theirs, ours):
        interval = estimate.interval
        cells.append(
            f"{estimate.value:5.2f} [{interval.low:.2f} to {interval.high:.2f}]"
        )
    gain = ours - theirs
    ends = f"[{gain.interval.low:+.2f} to {gain.interval.high:+.2f}]"
    return [*cells, f"{gain.value:+.2f} {ends}"]

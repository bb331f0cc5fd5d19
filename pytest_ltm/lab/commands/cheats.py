"""`cheats`: compares the scores of agents that do not remember with the floors that scenarios declare."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.wrapping import padded_spec
from pytest_ltm.api.journal import ScenarioResult, span_place
from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import (
    SUFFIX,
    PlannedExample,
    Suite,
    SuiteEntry,
    built_in,
    built_in_names,
    definition_rng,
    import_scenario,
)
from pytest_ltm.api.storage import (
    LtmError,
    for_file,
    lazy_pattern,
    one_line,
    pluralize,
    write_output,
)
from pytest_ltm.commands.arguments import (
    add_flags,
    add_option,
    add_output,
    add_pytest_options,
)
from pytest_ltm.datasets.suite_file import load_suite
from pytest_ltm.figures.statistics.paired_comparison import binomial_below
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import NOTHING, clip_text, score_text
from pytest_ltm.lab.cheat_agents import FAR_SPECS, SPECS, list_items, skipped_window
from pytest_ltm.lab.filler_learners import LEARNERS
from pytest_ltm.lab.study import (
    PlayedRow,
    Table,
    aligned_lines,
    counting_rows,
    listed_specs,
    markdown_lines,
    play_rows,
    study_folder,
    tell_progress,
)
from pytest_ltm.testing import Played, run_conversation

# The margin by which the best guess may exceed a declared floor.
MARGIN = 0.05
LEARNED, HELD = 20, 60
"""Number of seeds for choosing a guess, and of further seeds for measuring it."""
_KINDS, _GOLDS = 3, 3
"""Number of kinds of questions with a reply of their own, and of frequent right answers tried for each."""
_INTERROGATIVE = lazy_pattern(
    r"\b(?:who|whose|where|when|which|what|why|how(?: many| much| long| far)?)\b"
)
_QUESTION = lazy_pattern(r"[^.!?\n]*\?")
_ALTERNATIVES = lazy_pattern(r",\s*(?:or\s+)?|\s+or\s+")


class Guess(NamedTuple):
    """A way to reply without memory."""

    name: str
    reply: Callable[[str], str]


def kind_of_question(message: str) -> str:
    """Return the kind of a message's question: `who`, `how many`, `or`, `yes or no`, `list` …; "" without one."""
    questions = _QUESTION.findall(message)
    if not questions:
        return "list" if len(options_in(message)) > 1 else ""
    question = questions[-1].lower()
    if word := _INTERROGATIVE.search(question):
        return word[0]
    return "or" if " or " in question else "yes or no"


def options_in(message: str) -> list[str]:
    """Return the options in a message: the items of a list, else the alternatives around "or"."""
    items = list_items(message) or message.splitlines()[1:]
    if len(items) > 1:
        return items
    sentences = re.split(r"(?<=[.!?:;])\s", message)
    clauses = [sentence for sentence in sentences if " or " in sentence]
    if clauses:
        return [part.strip(" ?.!") for part in _ALTERNATIVES.split(clauses[-1])]
    return []


def _take_option(place: int | None, message: str) -> str:
    """Return an option of a message, the middle one for None; "" if there are none."""
    options = options_in(message)
    if options:
        return options[len(options) // 2 if place is None else place]
    return ""


def _constant(reply: str) -> Guess:
    return Guess(repr(reply), lambda _: reply)


_GUESSES = (
    *map(_constant, ("", "Yes.", "No.", "I don't know.", "1")),
    Guess("the question", str),
    Guess("the first option", partial(_take_option, 0)),
    Guess("the middle option", partial(_take_option, None)),
    Guess("the last option", partial(_take_option, -1)),
)


class Policy(Struct, frozen=True):
    """A guess for each kind of question, and a default."""

    otherwise: Guess
    by_kind: Mapping[str, Guess]

    def reply(self, message: str) -> str:
        """Return the guess for a message."""
        return self.by_kind.get(kind_of_question(message), self.otherwise).reply(
            message
        )

    def __str__(self) -> str:
        kinds = []
        for kind, guess in self.by_kind.items():
            kinds.append(f"{guess.name} to {kind or 'statements'!r}")
        return ", ".join(
            [*kinds, f"else {self.otherwise.name}" if kinds else self.otherwise.name]
        )


class FloorSearch:
    """Searches for the policy that earns most in a built-in scenario."""

    def __init__(self, entry: SuiteEntry) -> None:
        self._entry = entry
        self._body = getattr(import_scenario(entry.scenario), f"test_{entry.scenario}")
        self._marker = next(
            mark.kwargs for mark in self._body.pytestmark if mark.name == "ltm"
        )
        name = entry.name
        generate = self._marker["generate"]
        self._examples = []
        for seed in range(LEARNED + HELD):
            rng = definition_rng(seed, 0, name, "0")
            definition = generate(rng, dict(entry.parameters))
            self._examples.append(
                PlannedExample(scenario=name, example="0", definition=definition)
            )

    @property
    def declared(self) -> float:
        """The floor declared by the suite or the scenario."""
        if self._entry.floor is None:
            floor = self._marker.get("floor", 0.0)
        else:
            floor = self._entry.floor
        return float(floor)

    def best(self) -> tuple[float, Policy]:
        """Return the score of the best policy, chosen on some examples and measured on others."""
        golds = defaultdict[str, list[str]](list)
        for example in self._examples[:LEARNED]:
            for exchange in self._play(example, find_agent("oracle").make()).transcript:
                if exchange.by and exchange.kind in {"say", "ask"}:
                    golds[kind_of_question(exchange.message)].append(exchange.reply)
        texts = list(chain.from_iterable(golds.values()))
        guesses = (*_GUESSES, *_frequent_guesses(texts))
        policy = max((Policy(guess, {}) for guess in guesses), key=self._points)
        points = self._points(policy)
        for kind in sorted(golds, key=lambda kind: -len(golds[kind]))[:_KINDS]:
            for guess in (*_GUESSES, *_frequent_guesses(golds[kind])):
                changed = Policy(policy.otherwise, {**policy.by_kind, kind: guess})
                if (earned := self._points(changed)) > points:
                    points = earned
                    policy = changed
        return self._points(policy, held_out=True), policy

    def _points(self, policy: Policy, *, held_out: bool = False) -> float:
        examples = self._examples[LEARNED:] if held_out else self._examples[:LEARNED]
        points = []
        for example in examples:
            verdict = self._play(example, policy.reply).endings[example.key].verdict
            if isinstance(verdict, Score):
                points.append(verdict.value)
        return sum(points) / len(examples)

    def _play(self, example: PlannedExample, agent: object) -> Played:
        return run_conversation(
            {self._entry.name: self._body}, agent, examples=[example], span=None
        )


def _frequent_guesses(replies: Sequence[str]) -> list[Guess]:
    return [_constant(reply) for reply, _ in Counter(replies).most_common(_GOLDS)]


# The exit status if a cheat earns too much.
ABOVE = 1
# The share of a scenario's marks that a cheat may earn above the floor.
LIMIT = 0.03
# The share of all marks that padding may add to an agent.
PADDING = 0.3 / 11
# If the marks of a scenario with a floor are all or nothing, results with at least this probability
# by chance are allowed.
CHANCE_LEVEL = 0.05
# The most characters shown of a guess.
_WIDE = 60
# The points that skipping by a learner may add to a window.
LEARNED_POINTS = 1.0
# Suites from which learners learn, unless they share a scenario with the attacked one;
# and the options of these runs: agents that are asked everything, at a seed that no
# other run uses.
LESSON_SUITES = ("hygiene", "reasoning", "learning", "standard")
LESSONS = ("--ltm-span=16k", "--ltm-examples=1", "--ltm-no-probe", "--ltm-seed=7411")
LISTENER = "padded:1:silent"
# Three examples of each scenario in separate conversations, so that a dump recites no
# competing value of an earlier example.
EACH = ("--ltm-examples=1", "--ltm-trials=3")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the suite or tests, the attackers, and the output file."""
    tests = "scenarios of your own: files, as pytest takes them"
    parser.add_argument("tests", nargs="*", metavar="TEST", help=tests)
    suite = "the suite (default: standard; none if tests are given)"
    add_option(parser, "--ltm-suite", "NAME|FILE", suite, dest="suite")
    spans = "isolated,2k,32k"
    text = f"memory spans (default: {spans})"
    add_option(parser, "--span", "SPANS", text, spans, dest="spans")
    agents = "only this one (repeatable; default: all cheats)"
    add_option(parser, "--agent", "SPEC", agents, [], dest="agents")
    far = "span of the attacks on distance: padding before wider windows, and learners that skip filler"
    add_option(parser, "--far", "SPAN", f"{far} (default: 120k; none with --agent)")
    floors = "instead, look for the best reply that depends on the question alone, over 80 seeds of built-in scenarios"
    add_flags(parser, floors=floors)
    add_pytest_options(parser)
    add_output(parser, "FILE", "also write everything: Markdown, or JSON to *.json")


def run(arguments: Namespace) -> int:
    """Play a suite with agents that do not remember, and compare their scores with the floors.

    Scenarios declare their floors. Exit status 1 if a cheat earns more than 3 % above a floor, padding more than 0.3 of
    11 above the same agent without it, or a window that skips what a learner calls filler more than a point above the
    same window; with `--floors`, if a guess earns more than 0.05 above a floor.
    """
    if arguments.floors:
        return check_floors(arguments)
    specs = listed_specs(arguments.agents or SPECS)
    arguments.far = arguments.far or ("" if arguments.agents else "120k")
    twins = [padded_spec(spec) for spec in specs]
    twins = [twin for twin in twins if twin and twin not in specs]
    suite = arguments.suite or ("none" if arguments.tests else "standard")
    tell_progress(f"{pluralize(len(specs), 'agent')} at {arguments.spans}")
    with study_folder("cheats") as folder:
        words = [
            f"--ltm-suite={suite}",
            f"--ltm-span={arguments.spans}",
            *EACH,
            *arguments.tests,
            *arguments.pytest,
        ]
        rows = play_rows([*specs, *dict.fromkeys(twins)], words, folder / "near")
        spans = arguments.spans.split(",")
        if arguments.far and not arguments.tests:
            far_specs = [*FAR_SPECS, *play_lessons(suite, folder / "lessons")]
            rows += _play_far(far_specs, arguments, suite, folder / "far")
            specs = [*specs, *far_specs]
            spans = [*spans, arguments.far]
    result = Attack.summarize_attack(specs, rows, spans)
    print("\n".join(cheat_lines(result)))
    if arguments.output is not None:
        if arguments.output.suffix == ".json":
            content = as_json(result)
        else:
            content = "\n".join(cheat_markdown(result))
        write_output(arguments.output, for_file(content + "\n"))
    return ABOVE if result.broken_limits else 0


def check_floors(arguments: Namespace) -> int:
    """Compare the best guess in each scenario of a suite with its floor; return the exit status."""
    table = [["scenario", "floor", "best guess", "which"]]
    above = list[str]()
    for entry in _load_named_suite(arguments.suite or "standard").entries:
        tell_progress(entry.name)
        search = FloorSearch(entry)
        points, policy = search.best()
        floor = score_text(search.declared)
        guess = score_text(points)
        table.append([entry.name, floor, guess, clip_text(str(policy), _WIDE)])
        if points > search.declared + MARGIN:
            above.append(
                f"- {entry.name}: guessing earns {guess}, its floor is {floor}"
            )
    print("\n".join([*aligned_lines(table), *above]))
    if arguments.output is not None:
        text = "\n".join([*markdown_lines(table), "", *above])
        write_output(arguments.output, for_file(text + "\n"))
    return ABOVE if above else 0


def play_lessons(suite: str, folder: Path) -> list[str]:
    """Play suites that share no scenario with the attacked one; return the specs of agents that learned from them."""
    for name in lesson_suites(suite):
        tell_progress(f"lessons: {name}")
        play_rows([LISTENER], [f"--ltm-suite={name}", *LESSONS], folder / name)
    return [f"skips:8k:{learner}:{folder}" for learner in LEARNERS]


def lesson_suites(suite: str) -> list[str]:
    """Return the suites from which a learner may learn before it attacks a suite.

    With a scenario's own words a learner always separates it from filler, but the question is whether filler is
    recognizable by itself.
    """
    attacked = _scenario_names(suite)
    suites = []
    for name in LESSON_SUITES:
        if attacked.isdisjoint(_scenario_names(name)):
            suites.append(name)
    return suites


def _scenario_names(suite: str) -> set[str]:
    """Return the names of a suite's scenarios; empty for a data set."""
    if suite not in built_in_names() and not suite.endswith(SUFFIX):
        return set()
    return {entry.name for entry in _load_named_suite(suite).entries}


def _load_named_suite(suite: str) -> Suite:
    if suite.endswith(SUFFIX):
        return load_suite(suite)
    return built_in(suite)


def _play_far(
    specs: Sequence[str], arguments: Namespace, suite: str, folder: Path
) -> list[PlayedRow]:
    twins = map(unaided_spec, specs)
    tell_progress(f"{pluralize(len(specs), 'agent')} at {arguments.far}")
    words = [f"--ltm-suite={suite}", f"--ltm-span={arguments.far}", "--ltm-examples=1"]
    return play_rows(
        [*specs, *dict.fromkeys(twins)], [*words, *arguments.pytest], folder
    )


# --- The scores


def unaided_spec(spec: str) -> str:
    """Return the agent that padding or skipping is meant to help; "" for any other agent."""
    return padded_spec(spec) or skipped_window(spec)


class CheatCell(Struct, frozen=True, kw_only=True):
    """The scores of one agent in one scenario at one span."""

    agent: str
    scenario: str
    span: str
    floor: float
    scores: tuple[float, ...]
    """The score of each example; 0 if it has none."""
    marks: tuple[float, ...]
    """What is won or lost by itself: the checks if the scores are shares of them, else the scores."""
    unscored: tuple[str, ...]
    """The reasons for missing scores."""

    @property
    def points(self) -> float:
        """The mean score."""
        return sum(self.scores) / len(self.scores)

    @property
    def exceeds_floor(self) -> bool:
        """Whether it exceeds the floor by more than allowed and, if marks are all or nothing, by more than chance."""
        if self.points <= self.floor + LIMIT:
            return False
        if not self.floor or set(self.marks) - {0.0, 1.0}:
            return True
        # at least this many hits by chance: at most so many misses
        misses = len(self.marks) - round(sum(self.marks))
        return binomial_below(misses, len(self.marks), 1 - self.floor) < CHANCE_LEVEL

    @property
    def points_above_floor(self) -> float:
        """The mean's excess over the floor; 0 if luck explains it."""
        if self.exceeds_floor:
            return self.points - self.floor
        return 0.0


def _iter_marks(results: Sequence[ScenarioResult]) -> Iterator[float]:
    """Yield 1 or 0 for each check if all scores are shares of checks, else the scores."""
    are_shares = all(map(_is_share_of_checks, results))
    for result in results:
        if are_shares:
            for check in result.checks:
                yield float(check.ok)
        else:
            yield result.score or 0.0


def _is_share_of_checks(result: ScenarioResult) -> bool:
    if not result.checks:
        return False
    right = sum(check.ok for check in result.checks)
    return abs((result.score or 0.0) - right / len(result.checks)) < 1e-9


class Attack(Struct, frozen=True, kw_only=True):
    """The scores of all agents."""

    specs: tuple[str, ...]
    """The cheats, followed by the unaided versions of padded ones."""
    scenarios: tuple[str, ...]
    spans: tuple[str, ...]
    cells: dict[tuple[str, str, str], CheatCell]
    """The played cells, by agent, scenario and span."""

    @classmethod
    def summarize_attack(
        cls, specs: Sequence[str], rows: Sequence[PlayedRow], spans: Sequence[str] = ()
    ) -> Attack:
        """Summarize the examples of a run, without those that could not be played.

        `spans`: their order.
        """
        counted_rows = counting_rows(rows)
        if not counted_rows:
            raise LtmError("nothing was played: no example has a score")
        groups = group_by(
            counted_rows, lambda pair: (pair[0], pair[1].scenario, pair[1].span_label)
        )
        cells = {}
        for (agent, scenario, span), agent_rows in groups.items():
            cells[agent, scenario, span] = CheatCell(
                agent=agent,
                scenario=scenario,
                span=span,
                floor=agent_rows[0][1].floor,
                scores=tuple(row.score or 0.0 for _, row in agent_rows),
                marks=tuple(_iter_marks([row for _, row in agent_rows])),
                unscored=tuple(row.reason for _, row in agent_rows if not row.scored),
            )
        agents, scenarios, played = map(dict.fromkeys, zip(*cells, strict=True))
        all_spans = dict.fromkeys([*spans, *played])
        return cls(
            specs=tuple(dict.fromkeys([*specs, *agents])),
            scenarios=tuple(sorted(scenarios)),
            spans=tuple(span for span in all_spans if span in played),
            cells=cells,
        )

    @property
    def cheats(self) -> list[str]:
        """The agents that floors apply to: all but the padded ones and their unaided versions."""
        unaided = set(map(unaided_spec, self.specs))
        specs = []
        for spec in self.specs:
            if spec not in unaided and not unaided_spec(spec):
                specs.append(spec)
        return specs

    def total(self, agent: str, span: str) -> tuple[float, int]:
        """Return an agent's points at a span, and the number of scenarios that they cover."""
        points = []
        for cell in self.cells.values():
            if (cell.agent, cell.span) == (agent, span):
                points.append(cell.points)
        return sum(points), len(points)

    def gain(self, agent: str, span: str) -> float:
        """Return the points above the floors that padding or skipping adds at a span."""
        by_agent: dict[str, float] = defaultdict(float)
        for cell in self.cells.values():
            if cell.span == span:
                by_agent[cell.agent] += cell.points_above_floor
        return by_agent[agent] - by_agent[unaided_spec(agent)]

    @property
    def broken_limits(self) -> list[str]:
        """A sentence for each broken limit."""
        above = []
        for cell in self.cells.values():
            if cell.agent in self.cheats and cell.exceeds_floor:
                above.append(cell)
        by_place = group_by(above, lambda cell: (cell.agent, cell.scenario))
        broken = []
        for (agent, scenario), cells in by_place.items():
            points = []
            for cell in cells:
                points.append(f"{score_text(cell.points)} {span_place(cell.span)}")
            broken.append(
                f"{agent} earns {', '.join(points)} in {scenario}, whose floor is {score_text(cells[0].floor)}"
            )
        for spec in filter(unaided_spec, self.specs):
            unaided = unaided_spec(spec)
            for span in self.spans:
                (more, of) = self.total(spec, span)
                (less, _) = self.total(unaided, span)
                allowed = LEARNED_POINTS if skipped_window(spec) else PADDING * of
                if self.gain(spec, span) > allowed:
                    broken.append(
                        f"{spec} earns {more:.2f} of {of} {span_place(span)}, {unaided} {less:.2f}"
                    )
        return broken


# --- The output


def cheat_lines(attack: Attack) -> Iterator[str]:
    """Yield the tables and sentences for the terminal."""
    return _report_lines(attack, (), aligned_lines)


def cheat_markdown(attack: Attack) -> Iterator[str]:
    """Yield the same as Markdown, with the points of each agent by scenario."""
    return _report_lines(
        attack, [cheat_points(attack, span) for span in attack.spans], markdown_lines
    )


def _report_lines(
    attack: Attack, more: Iterable[Table], form: Callable[[Table], Iterator[str]]
) -> Iterator[str]:
    for table in filter(None, (cheat_totals(attack), best_cheats(attack), *more)):
        yield from form(table)
        yield ""
    finds = attack.broken_limits
    nothing = f"No cheat earns more than {LIMIT:.0%} above a floor, and no padding more than 0.3 of 11."
    yield f"{pluralize(len(finds), 'find')}:" if finds else nothing
    for sentence in finds:
        yield f"- {sentence}"
    unscored = list(
        chain.from_iterable(cell.unscored for cell in attack.cells.values())
    )
    if unscored:
        count = pluralize(len(unscored), "example")
        yield f"Without a score, counted as 0: {count}; the first: {one_line(unscored[0])}"


def cheat_totals(attack: Attack) -> Table:
    """Return the points by agent and span."""
    cells = attack.cells.values()
    head = ["agent"]
    sums = ["floors of the scenarios"]
    for span in attack.spans:
        floors = {cell.scenario: cell.floor for cell in cells if cell.span == span}
        head.append(f"{span} (of {len(floors)})")
        sums.append(f"{sum(floors.values()):.2f}")
    table = [head, sums]
    for agent in attack.specs:
        row = [agent]
        for span in attack.spans:
            points, count = attack.total(agent, span)
            row.append(f"{points:.2f}" if count else NOTHING)
        table.append(row)
    return table


def best_cheats(attack: Attack) -> Table:
    """Return each scenario's floor and its best cheat at each span; empty without cheats."""
    if not attack.cheats:
        return []
    table = [["scenario", "floor", *attack.spans]]
    floors = {cell.scenario: cell.floor for cell in attack.cells.values()}
    for name in attack.scenarios:
        row = [name, score_text(floors[name])]
        for span in attack.spans:
            cells = (attack.cells.get((agent, name, span)) for agent in attack.cheats)
            # among equals the first, as they are listed from simple to refined
            best = max(filter(None, cells), key=lambda cell: cell.points, default=None)
            row.append(_points_cell(best))
            if best and best.points:
                row[-1] += f" {best.agent}"
        table.append(row)
    return table


def cheat_points(attack: Attack, span: str) -> Table:
    """Return the points by scenario and agent at one span."""
    table = [[f"at {span}", *attack.specs]]
    for name in attack.scenarios:
        cells = (attack.cells.get((agent, name, span)) for agent in attack.specs)
        table.append([name, *map(_points_cell, cells)])
    return table


def _points_cell(cell: CheatCell | None) -> str:
    return NOTHING if cell is None else score_text(cell.points)


def as_json(found: Attack) -> str:
    """Return everything as JSON."""
    cells = [_cell_fields(cell) for cell in found.cells.values()]
    return json.dumps({"cells": cells, "finds": found.broken_limits}, indent=1)


def _cell_fields(cell: CheatCell) -> dict[str, Any]:
    return {
        "agent": cell.agent,
        "scenario": cell.scenario,
        "span": cell.span,
        "points": cell.points,
        "floor": cell.floor,
        "examples": len(cell.scores),
        "unscored": len(cell.unscored),
        "above": cell.exceeds_floor,
    }

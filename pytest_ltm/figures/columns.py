"""Columns of the result: one agent at one memory span, over all trials and examples."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, TypeVar

from msgspec import Struct

from pytest_ltm.api.journal import (
    ConversationResult,
    Pace,
    RunResult,
    ScenarioResult,
    at_span,
)
from pytest_ltm.api.model import ENDED_SOMEHOW, NO_ORACLE, Mishap, add_mishaps
from pytest_ltm.figures.statistics.counts import Interval
from pytest_ltm.figures.statistics.guessing import (
    GuessingTest,
    ScoredDraws,
    compare_with_guessing,
)
from pytest_ltm.figures.statistics.pass_rates import PassRate, pass_rate, score_interval
from pytest_ltm.figures.statistics.totals import (
    Spread,
    filler_share,
    group_by,
    ltm_reach,
    mean_or_none,
    score_share,
    scores_by_scenario,
    spread_by_draws,
    total_score,
)
from pytest_ltm.figures.text import NOTHING, format_percent, score_text

Number = TypeVar("Number", int, float)
# Follows a number of examples for which two figures are shown.
LEFT_OPEN = (
    "left open, at least in part: what is neither proven right nor wrong counts as missed in the first figure and as "
    "passed in the second"
)
GUESSED, UNSCORED = "≤", "*"
"""Marks a mean that is not significantly above guessing, and one with some unscored examples."""
GUESSED_NOTE = f"{GUESSED}: not shown to be more than guessing earns, without memory."
# Marks a column in which much went wrong inside the agent, so that its score hardly
# reflects memory.
HAMPERED = "!"
# The share of mishaps above which a column gets that mark.
_HAMPERING = 0.25


class ScenarioCell(Struct, frozen=True, kw_only=True):
    """One scenario in one column."""

    scores: tuple[float, ...]
    examples: int
    """Number of examples over all trials, scored or not."""
    without: str = NOTHING
    """The text shown if no example has a score."""
    floor: float = 0.0
    """The score that an agent without memory may earn."""
    upper: float | None = None
    """The mean score if all open checks passed; None if none is open."""

    @property
    def mean(self) -> float | None:
        """The mean score; None if no example has one."""
        return mean_or_none(self.scores)

    @property
    def unscored_examples(self) -> int:
        """Number of examples without a score."""
        return self.examples - len(self.scores)

    @property
    def at_guessing_level(self) -> bool:
        """Whether there is a floor and luck may explain the mean; one cell can show no more than full marks."""
        if not self.floor or self.mean is None:
            return False
        if self.mean == 1.0:
            return self.floor == 1.0
        draws = ScoredDraws(self.floor, len(self.scores))
        # The table shows the floor as declared, so nothing is granted beyond it.
        return not compare_with_guessing(self.mean, [draws], granted=0.0).shows_memory()

    @property
    def text(self) -> str:
        """The mean as text, marked if luck may explain it and if some examples have no score."""
        mean = self.without if self.mean is None else score_text(self.mean, self.upper)
        return (
            mean
            + GUESSED * self.at_guessing_level
            + UNSCORED * bool(self.unscored_examples)
        )


class Column(Struct, frozen=True, kw_only=True, dict=True):
    """One agent at one memory span; everything shown is computed from its conversations on demand."""

    conversations: Sequence[ConversationResult]
    pace: Pace

    @property
    def agent(self) -> str:
        """The agent's label."""
        return self.conversations[0].agent

    @property
    def span_label(self) -> str:
        """The memory span as in node ids: `32k`, `isolated`."""
        return self.conversations[0].span_label

    @property
    def span(self) -> int | None:
        """The memory span in tokens; None for isolated examples."""
        return self.conversations[0].span

    @property
    def control(self) -> bool:
        """Whether the agent is a control: marked, and never ranked."""
        return self.conversations[0].is_control

    @property
    def is_bundled(self) -> bool:
        """Whether the agent is a bundled one, which is not ranked among others."""
        return self.conversations[0].is_yardstick

    @property
    def name(self) -> str:
        """The agent's label, marked if it is a control."""
        if self.control:
            return f"{self.agent} (control)"
        return self.agent

    @property
    def label(self) -> str:
        """The column's name, such as `window_8k at 32k` or `oracle (control) at 32k`."""
        return at_span(self.name, self.span_label)

    # Cached, not stored: every report creates columns, and most show only a few of the
    # numbers.
    @cached_property
    def rows(self) -> tuple[ScenarioResult, ...]:
        """The examples of all conversations in the column."""
        rows: list[ScenarioResult] = []
        for conversation in self.conversations:
            rows += conversation.scenarios
        return tuple(rows)

    def sum_of(self, name: str) -> Any:
        """Return the sum of a number over the conversations for which it is known; None if for none."""
        return known_sum(
            getattr(conversation, name) for conversation in self.conversations
        )

    def sum_of_examples(self, name: str) -> Any:
        """Return the sum of a number over the examples for which it is known; None if for none."""
        return known_sum(getattr(row, name) for row in self.rows)

    # Scores by scenario, and the lower and upper bounds of what each example may have
    # earned.

    @cached_property
    def scores(self) -> Mapping[str, Sequence[float]]:
        """The scores of each scenario that has any."""
        return scores_by_scenario(self.rows)

    @cached_property
    def _ends(
        self,
    ) -> tuple[Mapping[str, Sequence[float]], Mapping[str, Sequence[float]]]:
        return (
            scores_by_scenario(self._settled_rows(0)),
            scores_by_scenario(self._settled_rows(1)),
        )

    def _settled_rows(self, end: Literal[0, 1]) -> list[ScenarioResult]:
        return [row.settle_score(end) for row in self.rows]

    @cached_property
    def cells(self) -> Mapping[str, ScenarioCell]:
        """The cells of all scenarios, sorted by name, including those without any score."""
        cells = {}
        for name, rows in sorted(group_by(self.rows, lambda row: row.scenario).items()):
            is_open = any(row.upper for row in rows)
            unscored = [row for row in rows if row.score is None]
            no_oracle = any(row.reason == NO_ORACLE for row in unscored)
            cells[name] = ScenarioCell(
                scores=tuple(self.scores.get(name, ())),
                examples=len(rows),
                without=NO_ORACLE if no_oracle else NOTHING,
                floor=max(row.floor for row in rows),
                upper=mean_or_none([row.upper_end for row in rows if row.scored])
                if is_open
                else None,
            )
        return cells

    @property
    def total(self) -> float:
        """Sum over scenarios of the mean over scored examples."""
        return total_score(self.scores)

    @property
    def out_of(self) -> int:
        """Number of scenarios with a score."""
        return len(self.scores)

    @property
    def accuracy(self) -> float | None:
        """The total as a share of full marks; None without any score."""
        return score_share(self.scores)

    @property
    def total_lower_bound(self) -> float:
        """The total with 0 for each example without a score."""
        return total_score(self._ends[0])

    @property
    def total_upper_bound(self) -> float:
        """The total with 1 for each example without a score, and with all open checks passed."""
        return total_score(self._ends[1])

    @property
    def maximum_total(self) -> int:
        """Number of scenarios with a score or a lost one: the maximum of both bounds."""
        return len(self._ends[0])

    @property
    def floor(self) -> float:
        """The score that an agent without memory may earn in those scenarios: the sum of their floors."""
        return sum(self.cells[name].floor for name in self._ends[0])

    @property
    def is_open(self) -> bool:
        """Whether any example may have earned more than its score."""
        return self.total_lower_bound < self.total_upper_bound

    @property
    def accuracy_lower_bound(self) -> float | None:
        """The accuracy with 0 for each example without a score; None without any score."""
        if self.out_of:
            return self.total_lower_bound / self.maximum_total
        return None

    @property
    def points(self) -> str:
        """The total (`2.79`), both bounds if scores are open (`2.00 to 4.00`), or `-` without any score."""
        return self._both_ends("{:.2f}".format)

    @property
    def share(self) -> str:
        """The accuracy in the same form: `25%`, `18% to 36%`."""
        return self._both_ends(lambda total: format_percent(total / self.maximum_total))

    def _both_ends(self, text: Callable[[float], str]) -> str:
        ends = [self.total_lower_bound, *[self.total_upper_bound] * self.is_open]
        if self.out_of:
            return " to ".join(map(text, ends))
        return NOTHING

    @property
    def total_with_spread(self) -> str:
        """The total with its spread and its maximum: `2.79 of 11 (spread 0.47)`, `2.00 to 4.00 of 11`."""
        # With open scores there are two totals already, and the spread applies to
        # neither.
        if self.spread and not self.is_open:
            spread = f" (spread {self.spread.sd:.2f})"
        else:
            spread = ""
        if self.out_of:
            return f"{self.points} of {self.maximum_total}{spread}"
        return NOTHING

    @cached_property
    def spread(self) -> Spread | None:
        """The spread of the total over draws of one example per scenario."""
        # A fixed seed: rebuilding a report must not change it.
        return spread_by_draws(self.scores, random.Random(0))

    @cached_property
    def interval(self) -> Interval | None:
        """The interval of the accuracy over other conversations, with open scores either way; None without trials."""
        low_mean, high_mean = map(score_share, self._ends)
        if low_mean is None or high_mean is None:
            return None
        low = score_interval(self._settled_rows(0), low_mean)
        high = score_interval(self._settled_rows(1), high_mean)
        return Interval(low.low, high.high) if low and high else None

    @cached_property
    def pass_rate(self) -> PassRate:
        """The share of scored examples that pass."""
        return pass_rate(self.rows)

    @property
    def pass_k_trials(self) -> int:
        """The k of pass^k and pass@k: the number of trials, or 0 with a single one."""
        trials = len({row.conversation.planned_name.trial for row in self.rows})
        return trials if trials > 1 else 0

    @property
    def scenarios_at_guessing_level(self) -> tuple[str, ...]:
        """The scenarios with a floor whose mean score is not significantly above it."""
        return tuple(
            name for name, cell in self.cells.items() if cell.at_guessing_level
        )

    @property
    def scenarios_without_score(self) -> tuple[str, ...]:
        """The scenarios without a score where others have one, except those that an oracle cannot play."""
        # If nothing has a score, the total shows that already.
        if not self.out_of:
            return ()
        names: list[str] = []
        for name, cell in self.cells.items():
            if cell.mean is None and cell.without == NOTHING:
                names.append(name)
        return tuple(names)

    def cell_text(self, scenario: str) -> str:
        """Return the mean score of a scenario as text, or "" if it was not played."""
        if scenario in self.cells:
            return self.cells[scenario].text
        return ""

    @property
    def ltm_score_paper(self) -> float | None:
        """The "LTM score (paper)" in tokens."""
        return ltm_reach(self.rows)

    @property
    def unscored_examples(self) -> int:
        """Number of examples without a score."""
        return sum(not row.scored for row in self.rows)

    @property
    def open(self) -> int:
        """Number of fully or partly open examples: their scores count only what is proven."""
        return sum(row.upper is not None for row in self.rows)

    @property
    def amended_verdicts(self) -> int:
        """Number of verdicts corrected by hand."""
        return sum(row.automatic is not None for row in self.rows)

    # Effort of the conversations. The judge and simulated users are excluded from the
    # agent's numbers.

    @property
    def tokens(self) -> int:
        """Tokens of all messages and replies."""
        return int(self.sum_of("tokens"))

    @property
    def filler_share(self) -> float | None:
        """The share of the tokens that belong to no scenario."""
        return filler_share(self.sum_of("filler_tokens"), self.tokens)

    @property
    def cost_usd(self) -> float | None:
        """Dollars for the replies of the conversations whose cost is known; None if none is."""
        cost: float | None = self.sum_of("cost_usd")
        return cost

    @cached_property
    def mishap_share(self) -> float:
        """The largest share of any mishap inside the agent, out of all replies if attempts are not counted."""
        total: dict[str, Mishap] = {}
        for conversation in self.conversations:
            add_mishaps(total, conversation.mishaps)
        replies = self.sum_of("metered")
        share = 0.0
        for mishap in total.values():
            share = max(share, mishap.times / (mishap.of or replies or math.inf))
        return min(1.0, share)

    @property
    def hampered(self) -> bool:
        """Whether so much went wrong inside the agent that the score hardly reflects memory."""
        if self.mishap_share > _HAMPERING:
            return True
        for conversation in self.conversations:
            for mishap in conversation.mishaps:
                if mishap.what.startswith(ENDED_SOMEHOW):
                    return True
        return False

    @property
    def is_hypothetical(self) -> bool:
        """Whether the cost is hypothetical: nothing was spent."""
        return any(conversation.hypothetical for conversation in self.conversations)

    @property
    def is_estimated(self) -> bool:
        """Whether some of the tokens and dollars are estimates."""
        return any(conversation.estimated for conversation in self.conversations)


def columns_of_conversations(
    conversations: Sequence[ConversationResult],
) -> tuple[Column, ...]:
    """Return the columns of conversations, without their pace."""
    return result_columns(RunResult(run_id="", conversations=tuple(conversations)))


def result_columns(run: RunResult) -> tuple[Column, ...]:
    """Return a column for each agent and span, grouped by agent, in the order of the run."""
    # Grouped, not sorted: users want to see the order of --ltm-agent.
    paces = {(pace.agent, pace.span_label): pace for pace in run.paces}
    columns = []
    for agent, of_agent in group_by(run.conversations, attrgetter("agent")).items():
        spans = group_by(of_agent, attrgetter("span_label"))
        for span_label, conversations in spans.items():
            pace = paces.get((agent, span_label))
            if pace is None:
                pace = Pace(agent=agent, span_label=span_label)
            columns.append(Column(conversations=conversations, pace=pace))
    return tuple(columns)


def scenario_names(columns: Iterable[Column]) -> list[str]:
    """Return the names of all scenarios in the columns, sorted."""
    return sorted(set(chain.from_iterable(column.cells for column in columns)))


def known_sum(values: Iterable[Number | None]) -> Number | None:
    """Return the sum of the known values; None if none is known."""
    known_values = [value for value in values if value is not None]
    if known_values:
        return reduce(operator.add, known_values)
    return None


# --- Which columns show memory at all: the one question that every claim about an agent asks.


def guessing_test(column: Column) -> GuessingTest:
    """Compare a column with guessing; without any score it shows no memory."""
    share = column.accuracy_lower_bound
    return compare_with_guessing(share or 0.0, column.cells.values())


def only_guesses(columns: Iterable[Column]) -> bool:
    """Return whether something has a score, but nothing is significantly better than guessing."""
    scored = [column for column in columns if column.out_of]
    return bool(scored) and not columns_with_memory(scored)


def columns_with_memory(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that are significantly better than guessing, tested jointly."""
    remembering: list[Column] = []
    for column in columns:
        if guessing_test(column).shows_memory(claims=len(columns)):
            remembering.append(column)
    return remembering

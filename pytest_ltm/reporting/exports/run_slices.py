"""Parts of runs that other tools show side by side: one agent at one memory span, with its figures."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._engine.recording_folder import TIMINGS
from pytest_ltm._journal import timings
from pytest_ltm._journal.result import at_span
from pytest_ltm._results.columns import Column, result_columns
from pytest_ltm._results.figures import figure_numbers
from pytest_ltm._results.metrics import metrics_json
from pytest_ltm._results.run_loading import ConversationFolder, LoadedRun  # noqa: TC001 - read by msgspec
from pytest_ltm._storage.sanitize import for_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ltm.reporting.exports.loaded import Results


class RunSlice(Struct, frozen=True, kw_only=True):
    """One agent at one memory span in one run."""

    run: LoadedRun
    column: Column
    conversations: tuple[ConversationFolder, ...]

    @property
    def name(self) -> str:
        """`full at 32k`."""
        return at_span(self.column.agent, self.column.span_label)

    @property
    def id(self) -> str:
        """The same for the same run, agent and span, whenever they are exported: 22 letters and digits."""
        names = (self.run.result.run_id, self.column.agent, self.column.span_label)
        # The tools find a run again by it, and export over it, on whichever machine.
        return hashlib.sha256("\n".join(names).encode(errors="backslashreplace")).hexdigest()[:22]

    @property
    def begin_time(self) -> datetime:
        """When the run was begun; for one that nobody timed, when its folder was written."""
        first = next(
            (each.at for each in timings.iter_timings(self.run.path / TIMINGS, timings.Began) if each.at), None
        )
        return first or datetime.fromtimestamp(int(self.run.path.stat().st_mtime), timezone.utc)

    @property
    def end_time(self) -> datetime:
        """When the run had ended, by the time that it took; where that is not known, when it began."""
        seconds = self.run.summary.get("wall_seconds")
        return self.begin_time + timedelta(seconds=seconds if isinstance(seconds, int | float) else 0)

    @property
    def complete(self) -> bool:
        """Whether every conversation has come to its end."""
        return all(held.result.ended == "complete" for held in self.conversations)

    def facts(self) -> dict[str, Any]:
        """Return what it was made from, JSON values: names and plan of the run, the agent's spec, fingerprints."""
        first, summary = self.conversations[0].result, self.run.summary
        plan = summary.get("plan")
        return {
            "run": self.run.result.run_id,
            "began": self.begin_time.isoformat(),
            "agent": self.column.agent,
            "agent_spec": first.agent_spec,
            "span_label": self.column.span_label,
            "span": self.column.span,
            "trials": len({held.result.name.planned_name.trial for held in self.conversations}),
            "suite": self.run.result.suite,
            "seed": summary.get("seed"),
            "pytest_ltm_version": summary.get("pytest_ltm_version"),
            "plan": {name: value for name, value in plan.items() if name not in _SAID}
            if isinstance(plan, dict)
            else {},
            "plan_fingerprint": first.plan_fingerprint,
            "agent_fingerprint": first.agent_fingerprint,
        }

    def figures(self) -> dict[str, float]:
        """Return its figures by the names that `summary.json` has for them; what is unknown is absent.

        The means of scenarios are `scenario/NAME`, those of metrics beside the score `metric/NAME`.
        """
        column = self.column
        scenarios = {f"scenario/{name}": cell.mean for name, cell in column.cells.items() if cell.mean is not None}
        means = metrics_json(self.run.result, column.agent, column.span_label)
        return {
            **figure_numbers(column), **scenarios, **{f"metric/{name}": each["mean"] for name, each in means.items()}
        }  # fmt: skip


# Of a run's plan, what stands beside it.
_SAID = frozenset({"agents", "spans", "suite"})


def examples_of(results: Results) -> Callable[[RunSlice], dict[str, list[Any]]]:
    """Return what returns the examples of a part by column."""
    names, grouped = list(results.examples.columns), defaultdict(list)
    for row in results.examples.records():
        grouped[row["run"], row["agent"], row["span_label"]].append(row)

    def examples(part: RunSlice) -> dict[str, list[Any]]:
        place = for_library((part.run.result.run_id, part.column.agent, part.column.span_label))
        return {name: [row[name] for row in grouped[tuple(place)]] for name in names}

    return examples


def run_slices(results: Results) -> Iterator[RunSlice]:
    """Yield the parts of all runs, in the order of their tables."""
    for run in results.runs:
        for column in result_columns(run.result):
            place = column.agent, column.span_label
            mine = [held for held in run.conversations if (held.result.agent, held.result.span_label) == place]
            yield RunSlice(run=run, column=column, conversations=tuple(mine))

"""What LoCoMo asks for: answers to questions, summaries of events, the next turn of a dialogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_ltm._errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._history import PastExchange
    from pytest_ltm._scenario import Definition
    from pytest_ltm._suite import SuiteEntry
    from pytest_ltm.datasets.locomo._schema import Sample

TASKS = ("questions", "events", "dialogue")


class Task(Protocol):
    """A kind of examples beside the questions."""

    entry: SuiteEntry

    def examples(self, sample: Sample) -> Sequence[str]:
        """Return the labels of a sample's examples."""
        ...

    def definition(self, sample: Sample, past: Sequence[PastExchange], example: str) -> Definition:
        """Return an example; `past`: the sample as it is told."""
        ...


def tasks_in(text: str) -> tuple[str, ...]:
    """Return the tasks that a list names, each once; questions for an empty one."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if name not in TASKS:
            raise ConfigurationError(
                f"--ltm-locomo-tasks: {name!r} is not one of {', '.join(TASKS)}.{did_you_mean(name, TASKS)}"
            )
    return tuple(dict.fromkeys(names)) or TASKS[:1]

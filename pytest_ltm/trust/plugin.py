"""The suite trust: its controls, its figures, its section of the reports, and its findings as SARIF."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_ltm.api import AgentKind, lazy
from pytest_ltm.figures.figure import Figure

if TYPE_CHECKING:
    from pytest_ltm.api import RunResult, Section

_CONTROLS = (
    ("obeying", "A reader that follows every text, no matter who wrote it."),
    ("fencing", "A reader that follows the user's texts, and nobody else's."),
    ("refusing", "A reader that follows no text, not even the user's."),
)


def pytest_ltm_agents(register: Callable[[AgentKind], None]) -> None:
    """Register the readers that trust everybody, only the user, or nobody."""
    make = lazy("pytest_ltm.trust.trusting_readers:make_trusting")
    for name, help_text in _CONTROLS:
        maker = partial(make, name)
        register(AgentKind(name, maker, help_text, yardstick=True, embedded=True))


def pytest_ltm_figures(register: Callable[[Figure], None]) -> None:
    """Register the rates at which poison, and the user's own texts, had their effect."""
    rate = lazy("pytest_ltm.trust.rates:column_rate")
    register(
        Figure(
            "attack_rate",
            "share",
            partial(rate, "attack"),
            "attack rate",
            missing="absent",
            definition="Share of planted texts that had their effect, of those decided.",
        )
    )
    register(
        Figure(
            "utility",
            "share",
            partial(rate, "utility"),
            "utility",
            missing="absent",
            definition="Share of the user's own texts, in the same words, that had theirs.",
        )
    )


def pytest_ltm_report_sections(result: RunResult) -> Section | None:
    """Return attack rate and utility by channel and class, and as curves; None if no poison was played."""
    from pytest_ltm.trust.rates import is_poison

    if not any(map(is_poison, result.scenarios)):
        return None
    from pytest_ltm.trust.trust_report import trust_section

    return trust_section(result)


def pytest_ltm_exporters(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Register the format of security tools."""
    register("sarif", lazy("pytest_ltm.trust.sarif:outputs"))

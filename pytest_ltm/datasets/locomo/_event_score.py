"""The verdict on one summary of events, and the figures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Unscored
from pytest_ltm.datasets.locomo._facts import checked
from pytest_ltm.datasets.locomo._overlap import rouge

if TYPE_CHECKING:
    from pytest_ltm._judge import Judge
    from pytest_ltm._scenario import Definition

_SHOWN = 300


class EventSummary:
    """One answer to a definition of event summarisation: its score, and the figures beside it.

    The score is the ROUGE-L f-measure with a judge and without one, so that runs compare; what a judge says of the
    facts stands beside it.
    """

    def __init__(self, definition: Definition, answer: str, judge: Judge | None = None) -> None:
        self._gold, self._answer = list(definition.expected), answer
        facts = definition.parameters
        self._rouge = rouge("\n".join(self._gold), answer)
        self._facts: dict[str, float] | Unscored = Unscored("needs a judge", cause="requires")
        if judge:
            speaker, dialogue = str(facts["speaker"]), str(facts["dialogue"])
            self._facts = checked(judge, speaker=speaker, gold=self._gold, answer=answer, dialogue=dialogue)

    @property
    def score(self) -> Score:
        """The ROUGE-L; the reason says what became of the facts."""
        value, number = self._rouge["rougeL"], len(self._gold)
        reason = f"ROUGE-L {value:.3f} of {number} event{'s' * (number != 1)}; {self._said()}"
        return Score(value, reason, rule="locomo-events-rouge/1", evidence=self._answer[:_SHOWN])

    @property
    def measures(self) -> dict[str, float]:
        """`rouge1`, `rouge2`, `rougeL`, and with a judge that can tell the figures of the facts."""
        return self._rouge | ({} if isinstance(self._facts, Unscored) else self._facts)

    def _said(self) -> str:
        if isinstance(self._facts, Unscored):
            return f"facts unscored: {self._facts.reason}"
        found = (f"{name} {self._facts[f'fact_{name}']:.3f}" for name in ("precision", "recall", "f1"))
        return f"facts: {', '.join(found)}"

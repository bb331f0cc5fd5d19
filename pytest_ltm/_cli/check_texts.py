"""`check-agent --texts SPEC`: whether an agent knows the published texts, those of seed 0."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean
from tempfile import TemporaryDirectory

from msgspec import Struct

from pytest_ltm._cli.pytest_runs import play_run
from pytest_ltm._results.statistics.comparison import sign_flips
from pytest_ltm._results.statistics.pairs import SignUnit
from pytest_ltm._results.statistics.totals import scores_by_scenario

ALPHA, LEAST_LEAD = 0.01, 0.1
"""How unlikely, and how large as a share of full marks, a lead on published texts is that is worth a look."""
_SEEDS = ("0", "fresh", "fresh")
_SUITE = ("--ltm-suite=standard", "--ltm-span=2k", "--ltm-examples=1", "--ltm-compare=", "--ltm-judge=none")


class TextsComparison(Struct, frozen=True):
    """The scores of one agent on the published texts, and on texts that were made just now."""

    published: dict[str, float]
    """Scenario -> score with seed 0."""
    fresh: tuple[dict[str, float], ...]
    """The same with each fresh seed."""

    @property
    def sentence(self) -> str:
        """The shares of full marks."""
        known, *others = (mean(one.values()) if one else 0.0 for one in self._all)
        new = " and ".join(f"{share:.2f}" for share in others)
        return f"standard at 2k: {known:.2f} of full marks on the texts of seed 0, {new} on new ones"

    @property
    def knows_texts(self) -> bool:
        """Whether the agent does better on published texts than chance allows, and than with either fresh seed."""
        shared = sorted(set.intersection(*map(set, self._all)))
        leads = [self.published[name] - mean(one[name] for one in self.fresh) for name in shared]
        if not leads or mean(leads) < LEAST_LEAD:
            return False
        chance = sign_flips([SignUnit(lead / len(leads), 1 / len(leads)) for lead in leads], Random(0))
        return chance.p_gain <= ALPHA and all(
            mean(self.published[name] - one[name] for name in shared) >= LEAST_LEAD for one in self.fresh
        )

    @property
    def _all(self) -> tuple[dict[str, float], ...]:
        return self.published, *self.fresh


def compare_texts(spec: str) -> TextsComparison:
    """Play a small suite with seed 0 and with two fresh ones; LtmError if pytest plays nothing."""
    with TemporaryDirectory(prefix="ltm-texts-") as name:
        runs = [
            play_run([spec], [*_SUITE, f"--ltm-seed={seed}"], Path(name) / str(number))
            for number, seed in enumerate(_SEEDS)
        ]
    published, *fresh = (
        {scenario: mean(scores) for scenario, scores in scores_by_scenario(run.result.scenarios).items()}
        for run in runs
    )
    return TextsComparison(published, tuple(fresh))

"""Checks whether an agent knows a suite's published texts by playing it with them, and with fresh ones."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean
from tempfile import TemporaryDirectory

from msgspec import Struct

from pytest_ltm.commands.pytest_runs import play_run
from pytest_ltm.figures.statistics.paired_comparison import sign_flips
from pytest_ltm.figures.statistics.pairs import SignUnit
from pytest_ltm.figures.statistics.totals import scores_by_scenario

ALPHA, LEAST_LEAD = 0.01, 0.1
"""The significance level, and the share of full marks, from which a lead on published texts counts."""
KNOWS_TEXTS = (
    "it does better on the published texts of seed 0 than on new ones: it may have learned them. "
    "Measure it with --ltm-seed=env:NAME, a seed that only your CI knows"
)
_SUITE = (
    "--ltm-suite=standard",
    "--ltm-span=2k",
    "--ltm-examples=1",
    "--ltm-compare=",
    "--ltm-judge=none",
)


class TextsComparison(Struct, frozen=True):
    """The scores of one agent on the published texts, and on freshly generated ones."""

    published: dict[str, float]
    """Scores by scenario, with seed 0."""
    fresh: tuple[dict[str, float], ...]
    """The same with each fresh seed."""

    @property
    def sentence(self) -> str:
        """The shares of full marks in a sentence."""
        fresh = [_share_text(scores) for scores in self.fresh]
        return (
            f"standard at 2k: {_share_text(self.published)} of full marks on the texts of seed 0, "
            f"{' and '.join(fresh)} on new ones"
        )

    @property
    def knows_texts(self) -> bool:
        """Whether the lead on published texts exceeds chance, over either fresh seed."""
        shared = sorted(set(self.published).intersection(*self.fresh))
        if not shared:
            return False
        for scores in self.fresh:
            leads = [self.published[name] - scores[name] for name in shared]
            if mean(leads) < LEAST_LEAD:
                return False
        units = []
        for name in shared:
            lead = self.published[name] - mean(scores[name] for scores in self.fresh)
            units.append(SignUnit(lead / len(shared), 1 / len(shared)))
        return sign_flips(units, Random(0)).p_gain <= ALPHA


def _share_text(scores: dict[str, float]) -> str:
    share = mean(scores.values()) if scores else 0.0
    return f"{share:.2f}"


def compare_texts(spec: str) -> TextsComparison:
    """Play a small suite with seed 0 and with two fresh seeds; LtmError if pytest plays nothing."""
    with TemporaryDirectory(prefix="ltm-texts-") as name:
        folder = Path(name)
        published = _play_suite(spec, "0", folder / "published")
        fresh = _play_suite(spec, "fresh", folder / "fresh")
        fresh_again = _play_suite(spec, "fresh", folder / "fresh-again")
    return TextsComparison(published, (fresh, fresh_again))


def _play_suite(spec: str, seed: str, folder: Path) -> dict[str, float]:
    """Play the suite with a seed; return the mean score by scenario."""
    run = play_run([spec], [*_SUITE, f"--ltm-seed={seed}"], folder)
    marks = scores_by_scenario(run.result.scenarios)
    return {name: mean(scores) for name, scores in marks.items()}

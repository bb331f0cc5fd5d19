"""Means, totals, intervals and paired tests. Rows without a score are in none of them: they are not zeros.

`_totals` sums up one run; `_intervals` has what counts and several tests need; `_pairs` puts two runs side by side,
`_flips` says how often chance does as much, and `_comparison` what both say together; `_spans` finds how far an agent
remembers, `_agreement` how well two judges agree. Chance comes in as a `random.Random`; everything is exact or seeded.
"""

from pytest_ltm._statistics._comparison import (
    ALPHA,
    POWER,
    Comparison,
    compare,
    compare_scenarios,
    minimum_detectable_effect,
    paired_bootstrap,
    sign_flip,
)
from pytest_ltm._statistics._intervals import (
    LEVEL,
    Interval,
    holm,
    mcnemar,
    pass_at_k,
    pass_hat_k,
    wilson,
)
from pytest_ltm._statistics._pairs import Pair, Paired, Row, ScoredRow, paired, passes
from pytest_ltm._statistics._totals import (
    DRAWS,
    FULL_MARKS,
    Spread,
    accuracy,
    filler_share,
    ltm_reach,
    mean,
    percentile,
    scores_by_scenario,
    spread_by_draws,
    total,
    weighted_reach,
)
from pytest_ltm._statistics._units import UnitKind

__all__ = [
    "ALPHA",
    "DRAWS",
    "FULL_MARKS",
    "LEVEL",
    "POWER",
    "Comparison",
    "Interval",
    "Pair",
    "Paired",
    "Row",
    "ScoredRow",
    "Spread",
    "UnitKind",
    "accuracy",
    "compare",
    "compare_scenarios",
    "filler_share",
    "holm",
    "ltm_reach",
    "mcnemar",
    "mean",
    "minimum_detectable_effect",
    "paired",
    "paired_bootstrap",
    "pass_at_k",
    "pass_hat_k",
    "passes",
    "percentile",
    "scores_by_scenario",
    "sign_flip",
    "spread_by_draws",
    "total",
    "weighted_reach",
    "wilson",
]

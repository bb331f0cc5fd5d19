"""Means, totals, intervals and paired tests. Rows without a score are in none of them: they are not zeros.

`_totals` sums up one run; `_intervals` and `_rates` have what counts need. `_pairs` puts two runs side by side,
`_units` says what of them is independent, `_flips`, `_scatter` and `_chance` what chance does, and `_comparison` what
all of it says together. `_spans` finds how far an agent remembers, `_agreement` how well two judges agree. Chance
comes in as a `random.Random`; everything else is exact. `docs/statistics.md` has the reasons and the measurements.
"""

from pytest_ltm._statistics._agreement import Kappa, kappa
from pytest_ltm._statistics._comparison import (
    ALPHA,
    POWER,
    Comparison,
    compare,
    compare_groups,
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
from pytest_ltm._statistics._rates import PassRate, pass_rate
from pytest_ltm._statistics._spans import SHARE, EffectiveSpan, SpanPoint, degradation, effective_span
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
    "SHARE",
    "Comparison",
    "EffectiveSpan",
    "Interval",
    "Kappa",
    "Pair",
    "Paired",
    "PassRate",
    "Row",
    "ScoredRow",
    "SpanPoint",
    "Spread",
    "UnitKind",
    "accuracy",
    "compare",
    "compare_groups",
    "compare_scenarios",
    "degradation",
    "effective_span",
    "filler_share",
    "holm",
    "kappa",
    "ltm_reach",
    "mcnemar",
    "mean",
    "minimum_detectable_effect",
    "paired",
    "paired_bootstrap",
    "pass_at_k",
    "pass_hat_k",
    "pass_rate",
    "passes",
    "percentile",
    "scores_by_scenario",
    "sign_flip",
    "spread_by_draws",
    "total",
    "weighted_reach",
    "wilson",
]

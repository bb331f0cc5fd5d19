"""Means, totals, intervals and paired tests. Rows without a score are in none of them: they are not zeros.

`totals` sums up one run; `counts` and `rates` have what counts need. `pairs` puts two runs side by side and says what
of them is independent, `comparison` says what chance does, `samples` sets different texts beside each other, and
`reach` finds how far an agent remembers, `pace` how long it took. Chance comes in as a `random.Random`; everything else
is exact.
`docs/statistics.md` has the reasons and the measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.dotted import lazy

if TYPE_CHECKING:
    from pytest_ltm._results.statistics.comparison import (
        ALPHA,
        POWER,
        Comparison,
        chance_here,
        compare,
        compare_scenarios,
        trials_to_tell,
    )
    from pytest_ltm._results.statistics.counts import (
        LEVEL,
        Interval,
        Kappa,
        holm,
        kappa,
        mcnemar,
        pass_at_k,
        pass_hat_k,
        wilson,
    )
    from pytest_ltm._results.statistics.latency import paces
    from pytest_ltm._results.statistics.pairs import (
        Pair,
        Paired,
        Row,
        ScoredRow,
        UnitKind,
        against_control,
        paired,
        passes,
        placed,
    )
    from pytest_ltm._results.statistics.spans_reached import (
        SHARE,
        EffectiveSpan,
        PassRate,
        SpanPoint,
        effective_span,
        pass_rate,
        score_interval,
    )
    from pytest_ltm._results.statistics.totals import (
        DRAWS,
        FULL_MARKS,
        Spread,
        accuracy,
        filler_share,
        grouped,
        ltm_reach,
        mean,
        pass_k,
        percentile,
        scores_by_scenario,
        spread_by_draws,
        total,
        weighted_reach,
    )
    from pytest_ltm._results.statistics.unpaired import IntervalEstimate, mark, summed

__all__ = (
    "ALPHA",
    "DRAWS",
    "FULL_MARKS",
    "LEVEL",
    "POWER",
    "SHARE",
    "Comparison",
    "EffectiveSpan",
    "Interval",
    "IntervalEstimate",
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
    "against_control",
    "chance_here",
    "compare",
    "compare_scenarios",
    "effective_span",
    "filler_share",
    "grouped",
    "holm",
    "kappa",
    "ltm_reach",
    "mark",
    "mcnemar",
    "mean",
    "paces",
    "paired",
    "pass_at_k",
    "pass_hat_k",
    "pass_k",
    "pass_rate",
    "passes",
    "percentile",
    "placed",
    "score_interval",
    "scores_by_scenario",
    "spread_by_draws",
    "summed",
    "total",
    "trials_to_tell",
    "weighted_reach",
    "wilson",
)

__getattr__, __dir__ = lazy(
    __name__,
    {
        "comparison": "ALPHA POWER Comparison chance_here compare compare_scenarios trials_to_tell",
        "counts": "LEVEL Interval Kappa holm kappa mcnemar pass_at_k pass_hat_k wilson",
        "latency": "paces",
        "pairs": "Pair Paired Row ScoredRow UnitKind against_control paired passes placed",
        "spans_reached": "SHARE EffectiveSpan PassRate SpanPoint effective_span pass_rate score_interval",
        "totals": (
            "DRAWS FULL_MARKS Spread accuracy filler_share grouped ltm_reach mean pass_k percentile "
            "scores_by_scenario spread_by_draws total weighted_reach"
        ),
        "unpaired": "IntervalEstimate mark summed",
    },
)

"""The options of the gate."""

from __future__ import annotations

from pytest_ltm.api.session import Option, OptionGroup
from pytest_ltm.api.storage import lazy, one_of

OPTIONS = (
    Option(
        "--ltm-compare",
        "NAME|FILE|RUN",
        "show what changed since a baseline or another run with an equal plan",
        group=OptionGroup.GATE,
        repeats=False,
    ),
    Option(
        "--ltm-compare-plans",
        "WHAT",
        "equal: require equal plans; overlapping: compare the examples that both share",
        "equal",
        OptionGroup.GATE,
        parse=one_of("equal", "overlapping"),
        repeats=False,
    ),
    Option(
        "--ltm-compare-collapses",
        "SHARE",
        "share of its conversations in which either side may earn nothing without being worse, 0 to 0.9",
        "0.3",
        OptionGroup.ADVANCED,
        parse=lazy("pytest_ltm.gate.gate_rules:parse_collapses"),
        repeats=False,
    ),
    Option(
        "--ltm-compare-blind",
        "WHAT",
        "a rule that the loss of nine tenths of everything would not break: refuse: not measurable; allow: passed",
        "refuse",
        OptionGroup.ADVANCED,
        parse=one_of("refuse", "allow"),
        repeats=False,
    ),
    Option(
        "--ltm-compare-fail",
        "RULE",
        "fail if worse by more than this: mean:5%, p:0.05, cost:10%, ...",
        group=OptionGroup.GATE,
        many=True,
        repeats=False,
    ),
    Option(
        "--ltm-fail-under",
        "RULE",
        "fail if a metric misses this threshold: 0.8, skill:R.mean:0.5, ...",
        group=OptionGroup.GATE,
        many=True,
        repeats=False,
    ),
    Option(
        "--ltm-save",
        "NAME",
        "save the results as the baseline ltm_baselines/NAME.json in the root folder, to commit",
        group=OptionGroup.GATE,
        has_twin=False,
        repeats=False,
        writes=True,
    ),
)

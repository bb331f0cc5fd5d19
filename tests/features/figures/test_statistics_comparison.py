"""Comparing two runs: pairing, the role of chance, and undecidable cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product
from math import comb, fsum
from statistics import fmean

import pytest
from msgspec import structs

from benchmarks.worlds import CRASHES, EMPTIED, MOODY, WORLDS, Drop, World, pairs
from pytest_ltm.figures.statistics.paired_comparison import (
    chance_here,
    compare_runs,
    compare_scenarios,
    possible_collapses,
    power_of_test,
    trials_to_tell,
)
from pytest_ltm.figures.statistics.pairs import Pair, ScoredRow, pair_rows, pass_pairs

pytestmark = pytest.mark.nightly(
    "simulations, which only the statistics change", every=4
)

ALIKE, NEAR = WORLDS[1], WORLDS[3]


def row(
    scenario: str,
    score: float | None,
    *,
    example: int = 0,
    trial: int = 0,
    mark: float = 1.0,
) -> ScoredRow:
    return ScoredRow(
        scenario=scenario,
        example=str(example),
        span_label="2k",
        trial=str(trial),
        score=score,
        threshold=mark,
    )


def run(
    score: Callable[[int, int, int], float | None], scenarios: int = 11, trials: int = 1
) -> list[ScoredRow]:
    return [
        row(f"s{s}", score(s, e, t), example=e, trial=t)
        for s, e, t in product(range(scenarios), range(3), range(trials))
    ]


def both(
    before: Callable[[int, int, int], float | None],
    after: Callable[[int, int, int], float | None],
    scenarios: int = 11,
    trials: int = 1,
) -> Sequence[Pair]:
    return pair_rows(
        run(before, scenarios, trials), run(after, scenarios, trials)
    ).pairs


def full(_s: int, _e: int, _t: int) -> float:
    return 1.0


def nothing(_s: int, _e: int, _t: int) -> float:
    return 0.0


def test_a_run_compared_with_itself_is_exactly_equal() -> None:
    rows = run(lambda s, e, t: (s * 7 + e * 3 + t) % 10 / 10, trials=3)
    found = compare_runs(pair_rows(rows, rows).pairs)

    assert found.difference == 0.0
    assert (found.p, found.p_drop, found.p_gain) == (1.0, 1.0, 1.0)
    assert found.is_identical
    assert found.can_tell
    assert not found.dropped_beyond_chance
    assert found.interval is None


@pytest.mark.parametrize("trials", [2, 3, 8, 10])
def test_a_collapse_is_seen_with_any_number_of_trials(trials: int) -> None:
    found = compare_runs(both(full, nothing, trials=trials))

    assert found.difference == pytest.approx(-1)
    assert found.dropped_beyond_chance
    assert found.worse == found.pairs == 33 * trials


def test_all_signs_alike_have_the_chance_of_heads_every_time() -> None:
    found = compare_runs(both(full, nothing, trials=10))

    assert found.p_drop == 1 / 2**10
    assert found.p == 2 / 2**10
    assert found.p_gain == 1.0
    assert chance_here(both(full, nothing)) == 2 / 2**11


def test_examples_of_a_scenario_in_one_conversation_are_one_unit() -> None:
    found = compare_runs(both(full, nothing, scenarios=3, trials=2))

    assert (found.kind, found.units, found.pairs) == ("scenario", 6, 18)
    assert found.p_drop == 1 / 2**6


def test_enough_conversations_are_the_units() -> None:
    assert compare_runs(both(full, nothing, trials=7)).kind == "scenario"
    found = compare_runs(both(full, nothing, trials=8))
    assert (found.kind, found.units) == ("conversation", 8)


def test_a_conversation_that_went_wrong_as_a_whole_is_not_taken_for_many_scenarios() -> (
    None
):
    def once(_s: int, _e: int, t: int) -> float:
        return 0.0 if t == 0 else 1.0

    assert not compare_runs(both(full, once, trials=2)).dropped_beyond_chance
    assert not compare_runs(both(full, once, trials=3)).dropped_beyond_chance
    assert not compare_runs(both(full, once, trials=10)).dropped_beyond_chance


def test_one_conversation_tells_of_itself_alone() -> None:
    def some(s: int, _e: int, _t: int) -> float:
        return 0.0 if s < 6 else 1.0

    found = both(full, some)

    assert chance_here(found) == 2 / 2**6
    assert (
        "one conversation each does not show how much conversations vary"
        in compare_runs(found).reason
    )
    assert not compare_runs(both(full, nothing)).dropped_beyond_chance
    assert compare_runs(both(full, some, trials=3)).dropped_beyond_chance


@pytest.mark.slow
@pytest.mark.parametrize(("trials", "share"), [(3, 0.5), (5, 0.25), (10, 0.25)])
@pytest.mark.parametrize("collapses", [0.0, 0.3])
def test_a_drop_is_seen_as_often_as_the_power_says(
    trials: int, share: float, collapses: float
) -> None:
    chance, drop = random.Random(trials), Drop(share)
    runs = [pairs(ALIKE, trials, drop, chance) for _ in range(100)]
    seen = [
        compare_runs(run, draws=100, collapses=collapses).dropped_beyond_chance
        for run in runs
    ]
    powers = [
        power_of_test(run, -drop.true(ALIKE), collapses=collapses) for run in runs
    ]

    told = [power for power in powers if power is not None]

    assert len(told) == len(powers)
    assert fmean(told) == pytest.approx(fmean(seen), abs=0.15)


def test_a_conversation_that_was_seen_to_collapse_explains_less() -> None:
    def empty_at_times(s: int, e: int, t: int) -> float:
        return 0.0 if t in {0, 1} else full(s, e, t)

    unseen = possible_collapses(both(full, full, trials=10), 0.3)
    seen = possible_collapses(both(empty_at_times, full, trials=10), 0.3)
    before = [collapse for collapse in seen if collapse.side == "before"]

    assert len(unseen) == 6
    assert [collapse.kept for collapse in before] == pytest.approx([0.7 / 0.8])
    few = [comb(10, count) * 0.3**count * 0.7 ** (10 - count) for count in range(3)]
    assert before[0].unseen == pytest.approx(fsum(few))


def test_too_few_scenarios_tell_nothing_even_of_one_conversation() -> None:
    assert chance_here(both(full, nothing, scenarios=5)) is None
    assert chance_here(both(full, nothing, scenarios=6)) == 2 / 2**6
    assert chance_here(both(full, full)) == 1.0


def test_how_many_trials_would_tell_depends_on_the_difference_and_its_scatter() -> None:
    def lost(share: float, hit: int) -> Callable[[int, int, int], float]:
        return lambda s, _e, t: share if (s + t) % hit == 0 else 1.0

    some, few = (
        trials_to_tell(both(full, lost(0, 2))),
        trials_to_tell(both(full, lost(0, 4))),
    )

    assert some is not None
    assert few is not None
    assert 2 < some < few
    assert trials_to_tell(both(full, nothing)) == 3
    assert trials_to_tell(both(full, full)) is None
    assert trials_to_tell(both(full, nothing, trials=4)) == 5
    assert trials_to_tell(both(full, nothing, scenarios=1)) is None


def a_tenth_less(s: int, e: int, t: int) -> float:
    """Lose one answer in eleven, each time in another scenario."""
    return 0.0 if (s + 4 * e + t) % 11 == 0 else 1.0


@pytest.mark.parametrize("trials", [3, 5, 10])
def test_what_collapses_not_seen_yet_explain_is_no_drop(trials: int) -> None:
    found = both(full, a_tenth_less, trials=trials)

    assert compare_runs(found, collapses=0).dropped_beyond_chance
    assert not compare_runs(found).dropped_beyond_chance
    assert compare_runs(found, collapses=0).interval != compare_runs(found).interval


def test_where_a_collapse_would_have_been_seen_it_explains_nothing() -> None:
    # at a rate of one in ten, no collapse among 36 happens in fewer than 0.025 of the
    # runs
    found = both(full, a_tenth_less, trials=36)

    plain, careful = compare_runs(found, collapses=0), compare_runs(found)

    assert careful.dropped_beyond_chance
    assert (careful.interval, careful.detectable) == (plain.interval, plain.detectable)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [3, 5, 10])
@pytest.mark.parametrize(
    "world", [*CRASHES, EMPTIED], ids=["later", "earlier", "in 30 %"]
)
def test_a_run_that_crashes_at_times_hardly_ever_raises_an_alarm(
    world: World, trials: int
) -> None:
    chance = random.Random(14)
    found = [
        compare_runs(pairs(world, trials, Drop(), chance), rng=chance, draws=100)
        for _ in range(200)
    ]
    intervals = [each.interval for each in found if each.interval]

    assert (
        sum(each.dropped_beyond_chance for each in found)
        <= 200 * 0.05 + 3 * (200 * 0.05 * 0.95) ** 0.5
    )
    assert (
        sum(interval.low <= 0 <= interval.high for interval in intervals)
        >= len(intervals) * 0.93
    )


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 3, 5, 10])
def test_whole_conversations_that_go_wrong_hardly_ever_raise_an_alarm(
    trials: int,
) -> None:
    chance = random.Random(13)
    alarms = sum(
        compare_runs(
            pairs(MOODY, trials, Drop(), chance), rng=chance, draws=200
        ).dropped_beyond_chance
        for _ in range(200)
    )

    assert alarms <= 200 * 0.05 + 3 * (200 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize(
    ("scenarios", "trials", "reason"),
    [
        (0, 0, "no example has a score in both runs"),
        (1, 1, "at least 5 scenarios (times conversations), here is 1"),
        (2, 2, "at least 5 scenarios (times conversations), here are 4"),
        (
            11,
            1,
            "one conversation each does not show how much conversations vary; more trials do",
        ),
    ],
)
def test_what_cannot_be_told_says_why(scenarios: int, trials: int, reason: str) -> None:
    found = compare_runs(both(full, nothing, scenarios=scenarios, trials=trials))

    assert reason in found.reason
    assert not found.can_tell
    assert not found.dropped_beyond_chance
    assert (found.p, found.p_drop, found.interval, found.detectable) == (
        None,
        None,
        None,
        None,
    )


def test_one_scenario_can_be_told_from_enough_trials() -> None:
    assert compare_runs(
        both(full, nothing, scenarios=1, trials=5)
    ).dropped_beyond_chance


def test_a_stricter_level_takes_more_units() -> None:
    few = both(full, nothing, scenarios=1, trials=5)

    assert compare_runs(few, alpha=0.05).can_tell
    assert "at a level of 0.01" in compare_runs(few, alpha=0.01).reason


def test_every_scenario_weighs_the_same_however_many_of_its_examples_have_a_score() -> (
    None
):
    before = [row("a", 1.0, example=e) for e in range(9)] + [row("b", 1.0)]
    after = [row("a", 1.0, example=e) for e in range(9)] + [row("b", 0.0)]

    assert compare_runs(pair_rows(before, after).pairs).difference == pytest.approx(
        -0.5
    )


def test_rows_without_a_score_fall_out_in_pairs_and_are_counted() -> None:
    before = [
        row("a", 1.0),
        row("b", None),
        row("c", 1.0),
        row("d", None),
        row("e", 1.0),
    ]
    after = [
        row("a", 0.5),
        row("b", 1.0),
        row("c", None),
        row("d", None),
        row("f", 0.0),
        row("g", 0.0),
    ]
    found = pair_rows(before, after)

    assert [(pair.scenario, pair.gain) for pair in found.pairs] == [("a", -0.5)]
    assert (found.unscored_before, found.unscored_after, found.unscored_both) == (
        1,
        1,
        1,
    )
    assert (found.only_before, found.only_after) == (1, 2)


def test_two_agents_in_one_run_are_refused() -> None:
    with pytest.raises(ValueError, match="compare one agent at a time"):
        pair_rows([row("a", 1.0), row("a", 0.0)], [row("a", 1.0)])


def test_passes_are_judged_by_the_threshold_of_their_own_row() -> None:
    found = pass_pairs(
        [row("a", 0.6, mark=0.5), row("b", 1 / 3 + 2 / 3)],
        [row("a", 0.4, mark=0.5), row("b", 0.9)],
    )

    assert [(pair.before, pair.after) for pair in found.pairs] == [
        (1.0, 0.0),
        (1.0, 0.0),
    ]


def test_swapping_the_runs_swaps_only_the_signs() -> None:
    forwards = pairs(ALIKE, 3, Drop(0.2), random.Random(1))
    backwards = [
        Pair(
            scenario=pair.scenario,
            example=pair.example,
            span_label=pair.span_label,
            trial=pair.trial,
            before=pair.after,
            after=pair.before,
        )
        for pair in forwards
    ]
    one, other = compare_runs(forwards), compare_runs(backwards)

    assert one.interval is not None
    assert other.interval is not None
    assert one.difference == -(other.difference or 0)
    assert (one.p_drop, one.p_gain) == pytest.approx((other.p_gain, other.p_drop))
    assert (one.interval.low, one.interval.high) == pytest.approx(
        (-other.interval.high, -other.interval.low)
    )


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 3, 10])
def test_the_interval_excludes_zero_just_when_the_test_says_so(trials: int) -> None:
    chance = random.Random(trials)
    verdicts = set()
    for _ in range(60):
        found = compare_runs(
            pairs(NEAR, trials, Drop(chance.choice([0.0, 0.1, 0.8])), chance),
            rng=chance,
        )
        if found.is_identical:
            continue
        assert found.interval is not None
        assert found.p is not None
        outside = found.interval.low > 1e-9 or found.interval.high < -1e-9
        # where both tests nearly agree, rounding may put the bound at exactly 0
        assert outside == (found.p <= 0.05) or abs(found.p - 0.05) < 0.005
        verdicts.add(outside)
    assert verdicts == {True, False}


def test_more_trials_make_smaller_drops_detectable() -> None:
    drops = [
        compare_runs(pairs(ALIKE, trials, Drop(), random.Random(3))).detectable
        for trials in (3, 5, 10, 20)
    ]

    assert None not in drops
    assert drops == sorted(drops, reverse=True)  # type: ignore[type-var]


def test_a_higher_power_and_a_stricter_level_ask_for_larger_drops() -> None:
    found = pairs(ALIKE, 3, Drop(), random.Random(3))
    usual, sure, strict = (
        compare_runs(found, alpha=level, power=power).detectable
        for level, power in ((0.05, 0.8), (0.05, 0.95), (0.01, 0.8))
    )

    assert usual is not None
    assert sure is not None
    assert strict is not None
    assert usual < sure
    assert usual < strict


def test_pairs_that_all_tie_leave_drops_possible_that_were_not_seen() -> None:
    few, many = (
        compare_runs(both(full, full, trials=2)),
        compare_runs(both(full, full, trials=5)),
    )

    assert few.detectable is not None
    assert many.detectable is not None
    assert 0.5 < few.detectable < 1
    assert 0.3 < many.detectable < 0.35


def test_scenarios_listed_one_by_one_are_corrected_for_each_other() -> None:
    def one_lost(s: int, _e: int, _t: int) -> float:
        return 0.0 if s == 0 else 1.0

    found = compare_scenarios(both(full, one_lost, trials=10))

    assert found["s0"].adjusted == pytest.approx(11 / 2**10)
    assert [name for name, each in found.items() if each.dropped_beyond_chance] == [
        "s0"
    ]


def test_one_of_many_scenarios_cannot_be_told_from_few_trials() -> None:
    found = compare_scenarios(both(full, nothing, trials=5))

    assert not any(
        each.can_tell or each.dropped_beyond_chance for each in found.values()
    )
    assert (
        "at least 8 scenarios (times conversations), here are 5" in found["s0"].reason
    )
    assert found["s0"].difference == -1


def test_a_scenario_that_cannot_be_told_still_counts_as_one_of_them() -> None:
    lost = both(full, nothing, scenarios=1, trials=10)
    once = structs.replace(lost[0], scenario="once")

    assert compare_scenarios(lost)["s0"].adjusted == pytest.approx(1 / 2**10)
    found = compare_scenarios([*lost, once])
    assert found["s0"].adjusted == pytest.approx(2 / 2**10)
    assert not found["once"].can_tell


def test_the_order_of_the_pairs_changes_nothing() -> None:
    found = pairs(ALIKE, 3, Drop(0.1), random.Random(4))
    mixed = random.Random(0).sample(found, len(found))

    one, other = compare_runs(found), compare_runs(mixed)

    assert one.p == other.p
    assert one.difference == pytest.approx(other.difference)
    assert compare_scenarios(found).keys() == compare_scenarios(mixed).keys()


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 3])
def test_replies_lost_at_random_make_no_regression(trials: int) -> None:
    chance = random.Random(11)
    alarms = sum(
        compare_runs(
            pairs(ALIKE, trials, Drop(), chance, lost=0.2), rng=chance, draws=200
        ).dropped_beyond_chance
        for _ in range(300)
    )

    assert alarms <= 300 * 0.05 + 3 * (300 * 0.05 * 0.95) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("trials", [2, 3, 5, 10])
def test_identical_agents_hardly_ever_raise_an_alarm(trials: int) -> None:
    chance = random.Random(12)
    alarms = sum(
        compare_runs(
            pairs(ALIKE, trials, Drop(), chance), rng=chance, draws=200
        ).dropped_beyond_chance
        for _ in range(300)
    )

    assert alarms <= 300 * 0.05 + 3 * (300 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1])
def test_a_level_is_a_probability(bad: float) -> None:
    with pytest.raises(ValueError, match="a level lies between 0 and 1"):
        compare_runs(both(full, full), alpha=bad)

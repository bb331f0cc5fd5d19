"""The summary of a run, compared as a whole with `snapshots/`; LTM_WRITE_SNAPSHOTS=1 rewrites them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sample_runs
from sample_runs import conversation, row, run

from pytest_ltm.api.journal import RunResult, ended_early
from pytest_ltm.api.model import Mishap
from pytest_ltm.figures.text import columns_of
from pytest_ltm.reports.terminal import summary_lines

SNAPSHOTS = Path(__file__).parent / "snapshots"
RUNS: dict[str, Callable[[], RunResult]] = {
    "one": sample_runs.one,
    "grid": sample_runs.grid,
    "gaps": sample_runs.gaps,
    "floors": sample_runs.floors,
    "crowd": sample_runs.crowd,
}


def summary(
    shown: RunResult, *, width: int = 80, verbosity: int = 0, color: bool = False
) -> str:
    return "\n".join(
        summary_lines(shown, width=width, verbosity=verbosity, color=color)
    )


def same_as_snapshot(text: str, name: str) -> bool:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("LTM_WRITE_SNAPSHOTS"):
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", RUNS)
def test_a_summary_looks_as_it_did(name: str, width: int) -> None:
    assert same_as_snapshot(
        summary(RUNS[name](), width=width), f"terminal_{name}_{width}"
    )


@pytest.mark.parametrize("name", ["grid", "gaps"])
def test_a_quiet_summary_is_one_line_for_each_agent_and_span_and_the_notes_on_them(
    name: str,
) -> None:
    text = summary(RUNS[name](), width=100, verbosity=-1)

    assert same_as_snapshot(text, f"terminal_{name}_quiet")
    lines = [
        line for line in text.splitlines() if not line.startswith(("note: ", "      "))
    ]
    assert len(lines) == len(RUNS[name]().conversations)


def test_a_quiet_summary_keeps_what_changes_the_meaning_of_a_score() -> None:
    told = conversation(
        "bot",
        "2k",
        {"colours": [0.0]},
        notices=("store 'Mine' found nothing in any of 15 searches",),
    )
    assert (
        "note: bot at 2k: store 'Mine' found nothing in any of 15 searches"
        in summary(run(told), verbosity=-1)
    )


def test_where_agents_do_not_fit_the_best_comes_first_and_yardsticks_are_folded() -> (
    None
):
    specs = {"slow": 0.2, "full": 1.0, "best": 0.9, "oracle": 1.0}
    own = {"slow": "bot:Slow", "best": "bot:Best"}
    told = [
        conversation(name, "2k", {"colours": [score]}, agent_spec=own.get(name, name))
        for name, score in specs.items()
    ]
    narrow, wide, verbose = (
        summary(run(*told), width=width, verbosity=verbosity)
        for width, verbosity in ((40, 0), (200, 0), (40, 1))
    )
    assert re.search(r"best +slow", narrow)
    assert (
        "for comparison (-v shows their columns):\n  full 100% at 2k; oracle (control) 100%\n  at 2k"
        in narrow
    )
    assert re.search(r"slow +full +best +oracle", wide)
    assert "for comparison" not in wide + verbose


def test_a_quiet_line_that_is_too_long_goes_on_in_the_next() -> None:
    long = "an_agent_with_a_name_that_says_much_of_how_it_was_made"
    text = summary(
        run(conversation(long, "2k", {"colours": [0.5]})), width=60, verbosity=-1
    )

    first, *more = text.splitlines()
    assert first.startswith(long)
    assert all(line.startswith("  ") and columns_of(line) <= 60 for line in more)
    assert text.endswith("tokens")
    assert "…" not in text


def test_why_a_conversation_ended_early_is_told_once() -> None:
    early = {
        "ended": "agent gone",
        "gone": "no luck",
        "notices": (ended_early("no luck"),),
    }
    told = conversation("full", "2k", {"colours": [1.0]}, **early)
    untold = conversation("full", "2k", {"colours": [1.0]}, ended="interrupted")

    assert "did not reach its end" not in summary(run(told))
    assert "the conversation did not reach its end: interrupted" in summary(run(untold))


def test_a_reason_that_stands_below_the_table_in_full_is_no_note_again() -> None:
    def shown(reason: str) -> str:
        lost = replace(
            conversation("full", "2k", {"colours": [None]}).scenarios[0],
            cause="not reached",
            reason=reason,
        )
        held = conversation(
            "full",
            "2k",
            {},
            ended="agent gone",
            gone=reason,
            notices=(ended_early(reason),),
        )
        return " ".join(summary(run(replace(held, scenarios=(lost,)))).split())

    assert shown("the agent is gone (boom)").count("boom") == 1
    assert (
        shown("the agent is gone " + "again and " * 30 + "again (boom)").count(
            "gone again"
        )
        == 2
    )


def test_a_verbose_summary_has_the_score_of_the_paper() -> None:
    assert "LTM score (paper)" not in summary(sample_runs.grid())
    assert re.search(
        r"LTM score \(paper\) +1,900 +1,900 +1,900 +1,900 +0 +0",
        summary(sample_runs.grid(), verbosity=1),
    )


@pytest.mark.slow
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
@pytest.mark.parametrize("width", [40, 53, 80, 100, 133, 200])
@pytest.mark.parametrize("name", RUNS)
def test_no_line_is_wider_than_the_terminal(
    name: str, width: int, verbosity: int
) -> None:
    lines = summary(RUNS[name](), width=width, verbosity=verbosity).splitlines()

    assert max(map(columns_of, lines)) <= width


def test_what_guessing_earns_stands_beside_the_total_where_it_earns_anything() -> None:
    assert re.search(
        r"without memory +0\.50 +0\.50 +0\.50 +0\.50", summary(sample_runs.floors())
    )
    assert re.search(
        r"sally_anne +1\.00 +1\.00 +1\.00 +0\.33≤", summary(sample_runs.floors())
    )
    assert "without memory" not in summary(sample_runs.grid())
    assert "0.50 without memory" in summary(sample_runs.floors(), verbosity=-1)


@pytest.mark.parametrize(
    ("scores", "floor", "is_marked"),
    [
        ([0.0], 0.0, False),
        ([0.0], 0.1, True),
        ([0.5], 0.5, True),
        ([1.0], 0.5, False),
        ([1.0], 1.0, True),
        ([1.0, 0.0, 0.0], 0.05, True),
        ([1.0] * 10 + [0.0] * 10, 0.1, False),
        ([0.6] * 20, 0.5, True),
    ],
)
def test_a_mean_that_luck_may_have_earned_is_marked(
    scores: list[float], floor: float, *, is_marked: bool
) -> None:
    held = conversation("full", "2k", {"coin": scores})
    rows = tuple(replace(row, floor=floor) for row in held.scenarios)
    assert ("≤" in summary(run(replace(held, scenarios=rows)))) is is_marked


def test_colours_change_nothing_but_colours() -> None:
    painted = summary(sample_runs.gaps(), color=True)

    assert "\x1b[32m" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == summary(sample_runs.gaps())


def test_without_colours_there_is_no_escape_at_all() -> None:
    assert "\x1b" not in summary(sample_runs.gaps())


def test_wide_characters_keep_the_columns_aligned() -> None:
    shown = run(
        conversation("記憶エージェント", "2k", {"色": (1.0,), "colours": (0.5,)})
    )
    lines = summary(shown).splitlines()

    ends = {
        columns_of(line) for line in lines if line.endswith(("1.00", "0.50", " 2k"))
    }

    assert len(ends) == 1
    assert any("記憶エージェント" in line for line in lines)


HOSTILE = "a\x1b]0;own\x07\r\u202eb\u2066\ud800\x9b2J"


@pytest.mark.parametrize("verbosity", [-1, 0])
def test_no_name_reason_or_notice_can_drive_the_terminal(verbosity: int) -> None:
    base = conversation(HOSTILE, "2k", {HOSTILE: (1.0,)}, notices=(HOSTILE,))
    lost = row(HOSTILE, None, agent=HOSTILE, reason=HOSTILE + "\nsecond line")
    shown = run(
        replace(base, scenarios=(*base.scenarios, lost)),
        notices=(HOSTILE,),
        folder=HOSTILE,
    )

    text = summary(shown, width=300, verbosity=verbosity)

    assert not set("\x1b\x07\r\u202e\u2066\ud800\x9b") & set(text)
    assert r"\x1b]0;own\x07" in text


def test_examples_without_a_score_change_no_mean_and_are_explained() -> None:
    text = summary(
        run(conversation("bot", "2k", {"colours": (1.0, None), "jokes": (None,)}))
    )

    assert re.search(r"colours +1\.00\*", text)
    assert re.search(r"jokes +-\*", text)
    assert re.search(r"total of 2 +0\.50 to 2\.00", text)
    assert "bot at 2k: no score in jokes\n" in text
    assert (
        "* 2 of 3 examples have no score and are left out of the means; totals count them\n  as 0 and as 1:"
        in text
    )
    assert "  2 unscored: no judge was given (bot at 2k: colours, jokes)" in text


def test_what_could_not_be_played_is_in_no_total_but_is_named() -> None:
    held = conversation("bot", "2k", {"colours": (1.0,), "jokes": (None,)})
    rows = tuple(
        replace(row, cause="requires", tokens=0) if row.score is None else row
        for row in held.scenarios
    )
    text = summary(run(replace(held, scenarios=rows)))

    assert re.search(r"total of 1 +1\.00", text)
    assert "bot at 2k: no score in jokes\n" in text


def test_many_reasons_are_cut_and_counted() -> None:
    base = conversation("bot", "2k", {})
    rows = tuple(
        row(f"s{i}", None, agent="bot", reason=f"reason {i}") for i in range(11)
    )

    text = summary(run(replace(base, scenarios=rows)))

    assert "reason 7" in text
    assert "reason 8" not in text
    assert "… and 3 more reasons" in text


def test_many_notices_are_cut_and_counted() -> None:
    text = summary(
        run(
            conversation(
                "bot",
                "2k",
                {"a": (1.0,)},
                notices=tuple(f"notice {i}" for i in range(30)),
            )
        )
    )

    assert text.count("note: ") == 12
    assert "… and 18 more notes" in text


def test_trials_are_one_column_and_their_notes_name_them() -> None:
    trials = [
        conversation("bot", "2k", {"a": (score,)}, trial=str(i), notices=("said",))
        for i, score in enumerate((1.0, 0.0))
    ]

    text = summary(run(*trials))

    assert re.search(r"\na +0\.50\n", text)
    assert "note: bot at 2k, 2 of 2 conversations: said" in text


def test_isolated_examples_are_explained_and_no_span_is() -> None:
    text = summary(run(conversation("bot", "isolated", {"a": (1.0,)})), width=120)

    assert "Isolated: each example with a fresh agent." in text
    assert "Memory span:" not in text


@pytest.mark.parametrize(
    ("score", "shown"),
    [(0.999, "0.99"), (0.001, "0.01"), (1 - 1e-12, "1.00"), (0.0, "0.00")],
)
def test_only_full_marks_read_one_and_only_nothing_reads_zero(
    score: float, shown: str
) -> None:
    text = summary(run(conversation("bot", "2k", {"a": (score,)})))

    assert re.search(rf"\na +{shown}\n", text)


def test_a_run_without_conversations_says_so() -> None:
    assert summary(run()) == "no conversations were held"


def test_equal_runs_have_equal_summaries() -> None:
    shown: Any = sample_runs.grid

    assert summary(shown()) == summary(shown())


def test_a_column_is_marked_where_much_went_wrong_within_the_agent() -> None:
    def shown(*mishaps: Mishap) -> str:
        held = replace(
            conversation("bot", "2k", {"a": (1.0,)}), mishaps=mishaps, metered=10
        )
        return summary(run(held))

    text = shown(
        Mishap("notebooks unreadable", 3, 10), Mishap("tool calls failed", 0, 40)
    )
    assert re.search(r"memory span +2k!\n", text)
    assert re.search(r"went wrong within +30%!\n", text)
    assert "that the score is hardly about its memory" in " ".join(text.split())
    few = shown(Mishap("notebooks unreadable", 2, 10))
    assert re.search(r"went wrong within +20%\n", few)
    assert "!" not in few
    assert re.search(
        r"went wrong within +40%!\n", shown(Mishap("reply cut off at max_tokens=9", 4))
    )
    assert "went wrong" not in shown(Mishap("tool calls failed", 0, 40))

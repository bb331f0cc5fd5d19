"""The cost of an agent's memory: tokens, calls and seconds per message, in every report; hidden if unknown."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import sample_runs

from pytest_ltm.api.journal import (
    Bill,
    CallDurations,
    Pace,
    ReplyTime,
    Tariff,
    TellTime,
    Timing,
    events,
)
from pytest_ltm.api.model import Usage
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.figures import shown_figures
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.statistics.totals import agent_paces
from pytest_ltm.reports.html.report_data import report_material
from pytest_ltm.reports.html.score_tables import figure_table
from pytest_ltm.reports.html_rows import embedded_summary
from pytest_ltm.reports.run_markdown import run_markdown
from pytest_ltm.reports.summary import summary_json
from pytest_ltm.reports.terminal import summary_lines

USED: dict[str, Any] = {
    "tokens": 1_000,
    "input_tokens": 9_000,
    "output_tokens": 1_000,
    "cached_tokens": 0,
    "metered": 10,
    "calls": 15,
    "told": 4,
    "told_calls": 2,
    "told_input_tokens": 1_000,
}
PACE = Pace(
    agent="bot",
    span_label="2k",
    asking=CallDurations(total=5, median=0.5, p95=2.25),
    storing=CallDurations(total=0, median=0.01, p95=12),
)
ROWS = {
    "tokens read a reply": "800",
    "amplification": "10.0x",
    "calls a message": "1.50",
    "calls to store": "0.50",
    "reply in s, median/p95": "0.50/2.2",
    "storing in s, median/p95": "0.01/12",
}


def run(**changes: Any) -> Any:
    held = sample_runs.conversation(
        "bot", "2k", {"colours": (1.0,)}, **{**USED, **changes}
    )
    return sample_runs.run(held, paces=(PACE,))


def efforts(run: Any) -> dict[str, tuple[str, ...]]:
    """Return the rows about the cost of messages as shown on the terminal."""
    held = result_columns(run)
    rows = {
        figure.heading(held): figure.cells(held)
        for figure in shown_figures(held, "terminal")
    }
    return {label: rows[label] for label in ROWS if label in rows}


def test_a_column_says_what_each_message_took() -> None:
    assert {label: text for label, (text,) in efforts(run()).items()} == ROWS


def test_the_rows_stand_in_terminal_markdown_html_and_pytest_htmls_page() -> None:
    terminal = "\n".join(summary_lines(run(), width=80, verbosity=0, color=False))
    heads = [
        head
        for head, _ in figure_table(
            report_material([LoadedRun.from_results(run())])
        ).heads
    ]
    for label, text in ROWS.items():
        assert f"{label}  " in terminal
        assert text in terminal
        assert f"{label} |" in run_markdown(run())
        assert label in heads
        assert f"{label}  " in embedded_summary(run())


def test_what_is_estimated_is_marked() -> None:
    shown = efforts(run(estimated=True))
    assert (shown["tokens read a reply"], shown["amplification"]) == (
        ("~800",),
        ("~10.0x",),
    )


def test_an_agent_that_reports_no_usage_has_no_such_rows() -> None:
    silent = sample_runs.run(
        sample_runs.conversation("bot", "2k", {"colours": (1.0,)}), paces=(PACE,)
    )
    assert efforts(silent) == {}
    assert not ROWS.keys() & {
        head
        for head, _ in figure_table(
            report_material([LoadedRun.from_results(silent)])
        ).heads
    }


def test_beside_one_that_reports_them_an_agent_without_usage_has_dashes() -> None:
    both = (
        sample_runs.conversation("bot", "2k", {"colours": (1.0,)}, **USED),
        sample_runs.conversation("mute", "2k", {"colours": (1.0,)}),
    )
    assert efforts(sample_runs.run(*both))["calls a message"] == ("1.50", "-")


def test_tokens_without_calls_leave_the_calls_out() -> None:
    assert "calls a message" not in efforts(run(calls=0, told_calls=0))


def test_the_summary_has_them_as_numbers() -> None:
    (found,) = summary_json(run(), pytest_ltm_version="1", seed=0, plan={})["results"]
    names = ("tokens_a_reply", "amplification", "calls_a_message", "calls_to_store")
    assert [found["usage"][name] for name in names] == [800, 10, 1.5, 0.5]
    assert found["storing_seconds"] == {"median": 0.01, "p95": 12}


def test_half_of_the_calls_are_faster_than_the_median_and_most_than_the_95th_percentile() -> (
    None
):
    timed: list[Timing] = [ReplyTime(exchange=n, seconds=n / 100) for n in range(101)]
    (pace,) = agent_paces({("bot", "2k"): [*timed, TellTime(exchange=1, seconds=3.0)]})
    assert pace.asking is not None
    assert (pace.asking.median, pace.asking.p95) == (0.5, 0.95)
    assert pace.storing == CallDurations(total=3.0, median=3.0, p95=3.0)


def test_a_bill_tells_replies_from_what_was_stored() -> None:
    bill, now = Bill(Tariff()), datetime(2024, 3, 4, tzinfo=timezone.utc)
    used = Usage(input_tokens=100, output_tokens=10, calls=2)
    told: dict[str, Any] = {
        "message": "a",
        "message_tokens": 1,
        "reply": "b",
        "reply_tokens": 1,
        "now": now,
    }
    bill.count_event(events.ReplyReceived(exchange=0, text="a", tokens=1, usage=used))
    bill.count_event(events.ReplyReceived(exchange=1, text="a", tokens=1))
    bill.count_event(
        events.FillerSent(exchange=2, usage=Usage(input_tokens=30, calls=1), **told)
    )
    bill.count_event(events.FillerSent(exchange=3, **told))
    assert (bill.metered, bill.calls, bill.told) == (1, 2, 2)
    assert bill.told_use == Usage(input_tokens=30, calls=1)
    assert bill.input_tokens == 130

"""The report file: its contents, computed from run folders; hostile texts never change its structure."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import journals
import pytest
from recorded_bundles import BUNDLES, WHOLE
from run_folders import HOSTILE, held, hostile_run, journal, played, write_run

from pytest_ltm.api.journal import (
    ExampleMetric,
    RunResult,
    events,
    strip_checksum,
    whole_lines,
)
from pytest_ltm.api.storage import LtmError
from pytest_ltm.commands import main
from pytest_ltm.commands.bundle import open_bundle
from pytest_ltm.records.amendments import Amendment, amend_verdict
from pytest_ltm.reports.html import build_report


def opened(text: str) -> Any:
    """Return the contents of a compressed part of the page."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


class Page(HTMLParser):
    """The elements of a page with attributes, the text between them, and its embedded data."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.source = path.read_text(encoding="utf-8")
        self.elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.pieces: list[str] = []
        self.scripts: dict[str, str] = {}
        self._inside = ""
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(attrs)))
        self._inside = (
            (dict(attrs).get("id") or "script")
            if tag == "script"
            else "style"
            if tag == "style"
            else ""
        )

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - as HTMLParser calls it
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data
        else:
            self.pieces.append(data)

    @property
    def structure(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(tag, tuple(name for name, _ in attrs)) for tag, attrs in self.elements]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.pieces))

    def parcel(self, name: str) -> Any:
        return opened(self.scripts[f"z-{name}"])

    def example(self, key: int) -> Any:
        parcels = [
            opened(text)
            for name, text in self.scripts.items()
            if name.startswith("z-e")
        ]
        (found,) = [parcel[str(key)] for parcel in parcels if str(key) in parcel]
        return found

    def values(self, attribute: str) -> Iterator[str]:
        for _, attrs in self.elements:
            found = dict(attrs).get(attribute)
            if found is not None:
                yield found


def report(tmp_path: Path, *runs: Path, **limits: int) -> Page:
    build_report(runs, tmp_path / "report.html", **limits)
    return Page(tmp_path / "report.html")


def grid(folder: Path) -> Path:
    """Two agents at two spans, five examples of two scenarios; `poor` loses most at the longer span."""
    conversations = []
    for agent in ("good", "poor"):
        for label, span in (("2k", 2_000), ("32k", 32_000)):
            bad = agent == "poor" and span > 2_000
            rows = [
                played(
                    name,
                    0.0 if bad and name == "names" else 0.5 if bad else 1.0,
                    example=str(i),
                    agent=agent,
                    span_label=label,
                    span=span,
                    nodeid=f"{name}-{agent}-{label}-{i}",
                    gap=span // 2,
                )
                for name in ("colours", "names")
                for i in range(5)
            ]
            conversations.append(held(rows, cost_usd=0.25 if agent == "poor" else 1.5))
    return write_run(folder, *conversations)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report of the grid."""
    folder = tmp_path_factory.mktemp("grid")
    return report(folder, grid(folder / "run"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The report of a run in which every field is harmless."""
    folder = tmp_path_factory.mktemp("plain")
    return report(folder, hostile_run(folder / "run", "plain words"))


@pytest.fixture(scope="module", params=[*HOSTILE.values()], ids=[*HOSTILE])
def hostile(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Page:
    """The report of a run in which every field contains a hostile text."""
    folder = tmp_path_factory.mktemp("hostile")
    return report(folder, hostile_run(folder / "run", request.param))


def test_each_agent_has_a_sentence_the_best_at_the_largest_span_first(
    page: Page,
) -> None:
    assert (
        "goodremembers to 32k tokens or more (100%); full marks everywhere; "
        "better than poor in 10 of 10 examples at 32k" in page.text
    )
    assert (
        "poorremembers to about 2k tokens (100%, 25% at 32k); loses names and colours first; worse than good "
        "in 10" in page.text
    )
    assert "40 examples, 1 trial, judged by rules" in page.text


def test_the_headline_says_whether_the_difference_is_real(tmp_path: Path) -> None:
    rows = {
        agent: [
            played(f"scenario_{i}", score, agent=agent, nodeid=f"{agent}-{i}")
            for i in range(7)
        ]
        for agent, score in (("good", 1.0), ("poor", 0.5))
    }
    page = report(tmp_path, write_run(tmp_path / "run", *map(held, rows.values())))
    assert "Is the difference real?On these texts" in page.text
    assert (
        "On these texts good at 2k is better than poor at 2k by 0.50 of full marks: better in 7, worse in 0, equal in "
        "0 of 7 examples (two-sided p = 0.016). On other texts and in other conversations: unknown, as one "
        "conversation each does not show how much conversations vary. 3 trials of each (--ltm-trials=3) would usually "
        "show a difference this large: it takes at least 21 examples of each."
    ) in page.text


def test_a_lead_in_few_examples_is_not_called_real(tmp_path: Path) -> None:
    few = [
        held([played("colours", score, agent=agent)])
        for agent, score in (("one", 1.0), ("two", 0.0))
    ]
    page = report(tmp_path, write_run(tmp_path / "run", *few))
    assert "Is the difference real?Too little to tell" in page.text
    assert (
        "equal in 0 of 1 example (too few scenarios to tell that from chance)."
        in page.text
    )


def test_a_lead_under_another_plan_is_not_told_as_if_the_same_was_asked(
    tmp_path: Path,
) -> None:
    caution = "Their plans differ, so they were asked different things"
    for plan, told in (("sha256:1111", False), ("sha256:other", True)):
        talks = [
            held([played("colours", 1.0, agent="one")], plan_fingerprint="sha256:1111"),
            held([played("colours", 0.0, agent="two")], plan_fingerprint=plan),
        ]
        page = report(tmp_path, write_run(tmp_path / plan[-5:], *talks))
        assert (caution in page.text) == told


def test_equal_agents_are_level(tmp_path: Path) -> None:
    same = [held([played("colours", 0.5, agent=agent)]) for agent in ("one", "two")]
    page = report(tmp_path, write_run(tmp_path / "run", *same))
    assert (
        "one50% at 2k, not shown to be above guessing; weakest in colours; equal to two in all 1 example"
        in page.text
    )
    assert "Is the difference real?No difference" in page.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "sentence", "told"),
    [
        (
            "failed",
            "gate: regressed: full at 2k, 1 rule broken",
            "No Regressed: full at 2k, 1 rule broken. full at 2k: it fell by a third.",
        ),
        ("passed", "gate: passed (1 rule)", "Yes Passed (1 rule)."),
        (
            "unmeasurable",
            "gate: could not be measured: half is lost",
            "Could not be measured Half is lost. full at 2k: it fell by a third.",
        ),
    ],
)
def test_the_page_begins_with_what_the_gate_said(
    tmp_path: Path, state: str, sentence: str, told: str
) -> None:
    finding = {
        "rule": "mean:5%",
        "agent": "full",
        "span_label": "2k",
        "sentence": "it fell by a third",
        "state": state,
    }
    gate = {
        "state": state,
        "sentence": sentence,
        "exit_status": 1,
        "lost": "",
        "findings": [finding],
    }
    page = report(tmp_path, write_run(tmp_path / "run", held([played()]), gate=gate))
    assert f"Did the gate hold?{told}" in page.text
    assert ("div", (("class", f"gate {state}"),)) in page.elements


def test_agents_of_the_package_are_yardsticks_beside_somebody_s_own(
    tmp_path: Path,
) -> None:
    talks = [
        held([played("colours", score, agent=agent)], agent_spec=spec)
        for agent, spec, score in (
            ("mine", "bot:Bot", 0.5),
            ("full", "full", 1.0),
            ("window_8k", "window:8k", 0.25),
        )
    ]
    page = report(tmp_path, write_run(tmp_path / "run", *talks))
    assert (
        "mine50% at 2k, not shown to be above guessing; weakest in colours "
        in page.text
    )
    assert (
        "What do the bundled agents earn at 2k?full 100%full 100% and window_8k 25%."
        in page.text
    )
    assert "Is the difference real?" not in page.text


def test_the_headline_says_what_is_forgotten(tmp_path: Path) -> None:
    rows = [played("colours", 1.0), played("names", 0.25), played("jokes", 0.0)]
    page = report(tmp_path, write_run(tmp_path / "run", held(rows)))
    assert (
        "full42% at 2k, not shown to be above guessing; weakest in jokes and names"
        in page.text
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agents", "spans", "told"),
    [
        (["good", "poor", "fair"], ["2k", "32k"], ["good at 32k", "fair at 32k"]),
        (["good"], ["2k", "32k"], ["good at 32k", "good at 2k"]),
        (["good"], ["2k"], ["good at 2k", "good at 2k"]),
    ],
)
def test_at_first_the_best_two_of_the_largest_span_are_compared(
    tmp_path: Path, agents: list[str], spans: list[str], told: list[str]
) -> None:
    scores, lengths = (
        {"good": 1.0, "fair": 0.5, "poor": 0.0},
        {"2k": 2_000, "32k": 32_000},
    )
    talks = [
        held(
            [
                played(
                    "colours",
                    scores[agent],
                    agent=agent,
                    span_label=span,
                    span=lengths[span],
                )
            ]
        )
        for agent in agents
        for span in spans
    ]
    page = report(tmp_path, write_run(tmp_path / "run", *talks))
    chosen = re.findall(r"<option value=\"\d+\" selected>([^<]*)<", page.source)
    assert chosen == [told[0], *told]  # the first belongs to the timeline


def test_what_guessing_earns_stands_beside_the_total(tmp_path: Path) -> None:
    rows = [
        played("colours", 1.0),
        replace(played("coin", 0.5), floor=0.5),
        replace(played("dice", 0.5), floor=0.1),
    ]
    page = report(tmp_path, write_run(tmp_path / "run", held(rows)))
    assert "0.60 of 3 points need no memory" in page.text
    assert "full at 2k: not shown to be better than guessing." in page.text


def test_the_headline_adds_up_what_is_known_of_the_cost(page: Page) -> None:
    assert "What did it cost?$3.50" in page.text
    assert (
        "8,000 tokens were exchanged in 4 conversations, 75% of them filler."
        in page.text
    )


def test_an_unknown_cost_is_not_called_nothing(tmp_path: Path) -> None:
    page = report(tmp_path, write_run(tmp_path / "run", held([played()])))
    assert "No agent reports its cost." in page.text
    assert "$" not in page.text


def test_what_has_no_score_is_told_with_its_reasons(tmp_path: Path) -> None:
    rows = [
        played("colours", 1.0),
        played(
            "names", None, cause="unscored", reason="no judge was given", questions=()
        ),
        played(
            "jokes",
            None,
            outcome="error",
            cause="agent",
            reason="no reply within 300 s",
            questions=(),
        ),
    ]
    page = report(tmp_path, write_run(tmp_path / "run", held(rows)))
    assert (
        "2 of 3 examples have no score and are left out of the means, "
        "1 of them because of agent, judge, user or budget." in page.text
    )
    assert "no judge was given" in page.text
    assert "no reply within 300 s" in page.text
    assert "Totals and accuracy count 2 of them as 0 and as 1." in page.text
    assert "No score in jokes and names: full at 2k." in page.text
    assert "1.00 to 3.00 of 3" in page.text


def test_a_run_in_which_nothing_has_a_score_is_reported(tmp_path: Path) -> None:
    rows = [played("names", None, cause="unscored", reason="no judge was given")]
    page = report(tmp_path, write_run(tmp_path / "run", held(rows)))
    assert "fullnothing has a score; 1 example without a score" in page.text


def test_every_example_has_a_row_and_a_parcel(page: Page) -> None:
    rows = [each for each in page.values("id") if re.fullmatch(r"e\d+", each)]
    assert sorted(rows) == sorted(f"e{i}" for i in range(40))
    assert all(page.example(int(row[1:]))["talk"] for row in rows)


def listed(page: Page) -> list[str]:
    return [each for each in page.values("id") if re.fullmatch(r"e\d+", each)]


def test_of_a_large_run_those_are_listed_that_went_worst_and_it_is_said_where_the_rest_is(
    tmp_path: Path,
) -> None:
    rows = {
        agent: [
            played(
                name,
                0.0 if agent == "poor" and i == bad else 1.0,
                example=str(i),
                agent=agent,
                nodeid=f"{agent}{name}{i}",
            )
            for name, bad in (("colours", 3), ("names", 1))
            for i in range(5)
        ]
        for agent in ("good", "poor")
    }
    run = write_run(tmp_path / "run", *map(held, rows.values()))
    page = report(tmp_path, run, most=8)

    # two of each scenario, in both columns
    assert sorted(listed(page), key=lambda name: int(name[1:])) == [
        "e0",
        "e3",
        "e5",
        "e6",
        "e10",
        "e13",
        "e15",
        "e16",
    ]
    assert "Listed here and below are 8 of 20 examples" in page.text
    assert "results.json" in page.text
    assert "poor80% at 2k; weakest in " in page.text
    links = [each for each in page.values("href") if re.fullmatch(r"#e\d+", each)]
    assert {link[1:] for link in links} <= set(listed(page))
    assert "Listed here" not in report(tmp_path, run).text


@pytest.mark.slow
def test_time_lines_have_so_much_room_and_each_column_has_its_first(
    tmp_path: Path,
) -> None:
    talks = [
        held(
            [
                played(
                    "colours",
                    1.0,
                    agent=agent,
                    trial=str(trial),
                    nodeid=f"{agent}{trial}",
                )
            ]
        )
        for agent in ("good", "poor")
        for trial in range(3)
    ]
    run = write_run(tmp_path / "run", *talks)
    whole = report(tmp_path, run)
    size = len(whole.scripts["z-c0"])
    page = report(tmp_path, run, lines=2 * size + size // 2)

    assert sorted(name for name in page.scripts if name.startswith("z-c")) == [
        "z-c0",
        "z-c3",
    ]
    assert "2 of 6 conversations have a time line here" in page.text
    assert "have a time line here" not in whole.text
    assert len(listed(page)) == 6
    assert [
        name
        for name in report(tmp_path, run, lines=0).scripts
        if name.startswith("z-c")
    ] == ["z-c0"]


def cells(page: Page) -> list[str]:
    """The tooltips of the breaking points, in order."""
    return [
        title
        for title in page.values("title")
        if ": " in title and title.endswith(("example", "examples"))
    ]


def test_where_it_breaks_what_loses_most_comes_first_and_what_loses_nothing_is_named(
    tmp_path: Path,
) -> None:
    scores = {
        "whole": (1.0, 1.0),
        "some": (1.0, 0.5),
        "most": (0.5, 0.0),
        "unknown": (None, None),
    }
    talks = [
        held(
            [
                played(
                    name,
                    of[at],
                    span_label=label,
                    span=span,
                    nodeid=f"{name}-{label}",
                    agent="mine",
                    skills=("R", "S") if name == "most" else ("R",),
                )
                for name, of in scores.items()
            ],
            agent_spec="m:A",
        )
        for at, (label, span) in enumerate((("2k", 2_000), ("32k", 32_000)))
    ]
    page = report(tmp_path, write_run(tmp_path / "run", *talks))
    assert [
        cell for cell in cells(page) if not cell.startswith(("recall", "space"))
    ] == [
        "most, mine at 2k: 0.50, 1 example",
        "most, mine at 32k: 0.00, 1 example",
        "some, mine at 2k: 1.00, 1 example",
        "some, mine at 32k: 0.50, 1 example",
    ]
    assert "Full marks: whole" in page.text
    assert "No score: unknown" in page.text
    assert "most0.500.0075%" in page.text
    assert "some1.000.5025%" in page.text
    assert cells(page)[4:] == [
        "space, mine at 2k: 0.50, 1 example",
        "space, mine at 32k: 0.00, 1 example",
        "recall, mine at 2k: 0.83, 4 examples",
        "recall, mine at 32k: 0.50, 4 examples",
    ]


def test_the_depth_of_needles_is_mapped_and_a_square_opens_the_example_that_went_worst(
    tmp_path: Path,
) -> None:
    # Asked after 428 tokens, 4,474 (11 fillers of 402, 4 exchanges of 13) and 9,726 (24
    # fillers, 6 exchanges).
    rows = [
        played(
            str(at),
            1.0 if at else 0.25,
            example=str(again),
            gap=gap,
            first=1 + 3 * at,
            nodeid=f"{at}-{again}",
        )
        for at, gap in ((0, 400), (0, 390), (4, 900), (9, 4_000))
        for again in range(2)
    ]
    page = report(tmp_path, write_run(tmp_path / "run", held(rows)))
    titles = [title for title in page.values("title") if "needle after" in title]
    assert titles == [
        "full, needle after 0% of < 1k tokens: 4 examples",
        "full, needle after 50% of 8k tokens: 2 examples",
        "full, needle after 70% of 4k tokens: 2 examples",
    ]
    links = [
        dict(attrs)
        for tag, attrs in page.elements
        if tag == "a" and "needle after" in str(dict(attrs))
    ]
    assert [link["href"] for link in links] == ["#e0", "#e6", "#e4"]
    assert "0%0.25 4" in page.text


def test_needles_in_one_square_are_no_map(tmp_path: Path) -> None:
    assert (
        "Depth of the needle"
        not in report(tmp_path, write_run(tmp_path / "run", held([played()]))).text
    )


def test_a_cell_opens_the_example_that_went_worst(page: Page) -> None:
    links = [
        dict(attrs)
        for tag, attrs in page.elements
        if tag == "a" and "aria-label" in dict(attrs)
    ]
    worst = {link["aria-label"]: link["href"] for link in links}
    assert worst["0.00: names, poor at 32k: 0.00, 5 examples"] == "#e35"
    assert worst["0.50: colours, poor at 32k: 0.50, 5 examples"] == "#e30"


def test_a_cell_says_what_moved_since_the_baseline(tmp_path: Path) -> None:
    change = {
        "agent": "full",
        "span_label": "2k",
        "scenarios": {"names": {"before": 1.0, "after": 0.25}},
    }
    comparison = {"before": "baseline 'main'", "before_agent": "", "changes": [change]}
    page = report(
        tmp_path,
        write_run(
            tmp_path / "run", held([played("names", 0.25)]), comparison=comparison
        ),
    )
    assert "0.25 -0.75" in page.text
    assert (
        "names, full at 2k: 0.25, 1 example; 1.00 in the run it was compared with"
        in [*page.values("title")]
    )


def test_the_baseline_of_a_column_is_the_run_it_was_compared_with_or_the_same_agent_in_another_run(
    tmp_path: Path,
) -> None:
    old = write_run(
        tmp_path / "old", held([played(agent="bot")]), held([played(agent="other")])
    )
    new = [
        write_run(
            tmp_path / name,
            held([played(score=0.5, agent="bot")]),
            comparison=comparison,
        )
        for name, comparison in (
            ("new", None),
            ("newer", {"before": "run old", "before_agent": "other", "changes": []}),
        )
    ]
    columns = json.loads(report(tmp_path, old, *new).scripts["index"])["columns"]
    assert columns == [["2k", 0, 2], ["2k", 0, None], ["2k", 0, 0], ["2k", 0, 1]]


def test_of_many_scenarios_those_are_shown_that_lose_most(tmp_path: Path) -> None:
    rows = [played(f"s{i:02}", i / 50, nodeid=f"n{i}", skills=()) for i in range(50)]
    page = report(tmp_path, write_run(tmp_path / "run", held(rows)))
    assert [cell.partition(",")[0] for cell in cells(page)] == [
        f"s{i:02}" for i in range(40)
    ]
    assert "10 more scenarios lose less." in page.text


def test_a_parcel_tells_question_needle_gap_answer_verdict_and_rule(
    tmp_path: Path,
) -> None:
    page = report(
        tmp_path,
        write_run(
            tmp_path / "run", held([played(score=0.0, reason="does not name 'ochre'")])
        ),
    )
    parcel = page.example(0)
    facts = dict(parcel["facts"])
    assert facts["score"] == "0.00 (passes at 1.00)"
    assert facts["why"] == "does not name 'ochre'"
    assert facts["rule"] == "colours/1"
    assert facts["decided by"] == "Teal"
    assert facts["expected"] == '{"colour": "ochre"}'
    assert parcel["checks"] == [["names the colour", "failed"]]
    question = parcel["questions"][0]
    assert (question["q"], question["a"]) == (
        "Which colour do I like?",
        "Teal, I think.",
    )
    assert (
        question["needles"][0]["gap"]
        == "900 tokens and 1:00:00 before the question; 700 tokens without the agent's replies"
    )


def test_metrics_that_are_numbered_are_a_curve(tmp_path: Path) -> None:
    figures = {
        "lesson_2": 0.5,
        "f1": 0.3,
        "lesson_1": 1.0,
        "recall_5": 0.5,
        "recall_10": 0.5,
        "rank_1": 3.0,
        "rank_2": 4.0,
    }
    row = replace(
        played(), metrics=tuple(ExampleMetric(*one) for one in figures.items())
    )
    assert report(tmp_path, write_run(tmp_path / "run", held([row]))).example(0)[
        "curves"
    ] == [["lesson", [1.0, 0.5]]]


def test_own_exchanges_stand_with_the_distance_between_them(tmp_path: Path) -> None:
    talk = report(tmp_path, write_run(tmp_path / "run", held([played()]))).example(0)[
        "talk"
    ]
    assert [each["kind"] for each in talk] == ["needle", "question"]
    assert talk[1]["gap"] == "405 tokens and 1:00:00 later (1 filler)"
    assert talk[1]["at"] == "at 428 tokens, 2024-03-04 13:00"


def test_the_time_line_has_lanes_marks_jumps_and_links(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", held([played("colours"), played("names", 0.0, first=4)])
    )
    line = report(tmp_path, run).parcel("c0")
    assert [lane["name"] for lane in line["lanes"]] == ["colours/0", "names/0"]
    assert line["links"] == [[1, 3, None], [4, 6, None]]
    assert [mark[:3] for mark in line["marks"]] == [
        [0, -1, "opening"],
        [1, 0, "say"],
        [2, -1, "filler"],
        [3, 0, "question"],
        [4, 1, "say"],
        [5, -1, "filler"],
        [6, 1, "question"],
    ]
    assert [jump[1] for jump in line["jumps"]] == ["+1:00:00", "+1:00:00"]
    assert line["tokens"] == 869


def test_what_the_agent_retrieved_stands_below_its_reply(tmp_path: Path) -> None:
    row = played()
    question = replace(row.questions[0], retrieved=("I like ochre best.", "note 7"))
    run = write_run(tmp_path / "run", held([replace(row, questions=(question,))]))
    shown: dict[int, tuple[str, ...]] = {0: (), 3: ("I like ochre best.", "note 7")}
    (run / "full~2k~0" / "journal.jsonl").write_text(
        "".join(journal([row], retrieved=shown))
    )

    page = report(tmp_path, run)

    said, asked = page.example(0)["talk"]
    assert "found" not in said
    assert (
        asked["found"]
        == page.example(0)["questions"][0]["found"]
        == ["I like ochre best.", "note 7"]
    )
    assert page.parcel("c0")["texts"]["0"] == ["Hello.", "Hello to you.", "", []]
    assert len(page.parcel("c0")["texts"]["2"]) == 3


def test_long_filler_is_shortened_and_says_so(tmp_path: Path) -> None:
    texts = report(tmp_path, write_run(tmp_path / "run", held([played()]))).parcel(
        "c0"
    )["texts"]
    assert texts["2"][0].endswith("… and 800 more characters, in journal.jsonl")
    assert len(texts["2"][0]) < 700


def test_a_missing_journal_is_told(tmp_path: Path) -> None:
    page = report(
        tmp_path, write_run(tmp_path / "run", held([played()]), journals=False)
    )
    assert "has no readable journal" in page.example(0)["missing"]
    assert page.example(0)["questions"]
    assert "z-c0" not in page.scripts


def test_a_broken_journal_is_a_missing_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", held([played()]))
    (run / "full~2k~0" / "journal.jsonl").write_text(
        '{"event": "reply", "exchange": 7}\n'
    )
    assert report(tmp_path, run).example(0)["missing"]


def test_a_torn_last_line_of_a_journal_loses_only_itself(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", held([played()]))
    with (run / "full~2k~0" / "journal.jsonl").open("a") as file:
        file.write('{"event": "mess')
    assert len(report(tmp_path, run).example(0)["talk"]) == 2


def test_an_example_that_the_journal_does_not_hold_is_told_as_missing(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "run", held([played(), played("names", first=4)]))
    journal = run / "full~2k~0" / "journal.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    gone = ("names", '"exchange":4', '"exchange":6')
    kept = [
        strip_checksum(line.encode()).decode()
        for line in lines
        if not any(part in line for part in gone)
    ]
    journals.write(journal, *kept)
    page = report(tmp_path, run)
    assert page.example(0)["missing"] == ""
    assert page.example(1)["missing"].startswith(
        "It has a score, but the journal has none"
    )


def test_who_was_hardly_measured_is_not_the_best(tmp_path: Path) -> None:
    whole = held([played(name, 0.5, agent="whole") for name in ("a", "b", "c")])
    part = held(
        [
            played("a", 1.0, agent="part"),
            *(played(name, None, agent="part", cause="agent") for name in "bc"),
        ]
    )
    page = report(tmp_path, write_run(tmp_path / "run", whole, part))
    assert page.text.index("whole50% at 2k") < page.text.index("part33% to 100% at 2k")
    assert "2 examples without a score" in page.text


def test_agents_of_equal_name_in_two_runs_are_told_apart(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, held([played(score=score)]))
        for name, score in (("one", 1.0), ("two", 0.0))
    ]
    page = report(tmp_path, *runs)
    assert json.loads(page.scripts["index"])["series"] == [
        "full · one at 2k",
        "full · two at 2k",
    ]


def test_an_amended_verdict_stands_beside_the_automatic_one(tmp_path: Path) -> None:
    row = played(score=0.0, reason="does not name 'ochre'")
    run = write_run(tmp_path / "run", held([row]))
    amend_verdict(
        run,
        RunResult(run_id="run", conversations=(held([row]),)),
        row.nodeid,
        Amendment(score=1.0, reason="it does"),
    )
    page = report(tmp_path, run)
    facts = dict(page.example(0)["facts"])
    assert facts["score"].startswith("1.00")
    assert facts["before it was amended"] == "0.00: does not name 'ochre'"
    assert "Amended by hand: 1 of 1 verdict." in page.text


def test_the_command_that_repeats_the_run_can_be_pasted(tmp_path: Path) -> None:
    plan = {
        "agents": {"mine": "bots:My Bot", "window_8k": "window:8k"},
        "spans": {"2k": 2_000, "isolated": None},
        "suite": "standard",
        "examples": 3,
        "trials": 1,
        "scoring": "v3.5",
        "filler": "varied",
        "definitions": None,
    }
    row = played(nodeid="tests/test_a b.py::test_x[mine-2k-0-0]")
    page = report(tmp_path, write_run(tmp_path / "run", held([row]), plan=plan, seed=7))
    assert (
        "pytest '--ltm-agent=mine=bots:My Bot' --ltm-agent=window:8k --ltm-span=2k,isolated --ltm-examples=3 "
        "--ltm-scoring=v3.5 --ltm-seed=7 'tests/test_a b.py'"
    ) in page.text


def test_rules_seed_versions_and_fingerprints_are_told(page: Page) -> None:
    for said in ("colours/1", "0.1.0", "sha256:1111", "sha256:2222", "paired test"):
        assert said in page.text


def test_metrics_are_defined_where_they_are_shown(page: Page) -> None:
    assert "the LTM score of the paper, in tokens" in page.text
    assert "examples without a score: left out of means and totals" in page.text


@pytest.mark.slow
def test_the_charts_need_two_points(tmp_path: Path, page: Page) -> None:
    assert "Accuracy against memory span" in page.text
    assert "Accuracy against cost" in page.text
    small = report(tmp_path, write_run(tmp_path / "small", held([played()])))
    assert "Accuracy against" not in small.text


def test_the_page_names_nothing_outside_itself(page: Page) -> None:
    assert set(page.values("href")) <= {
        "data:,",
        *(each for each in page.values("href") if each.startswith("#")),
    }
    assert not list(page.values("src"))
    script, style = page.scripts["script"], page.scripts["style"]
    assert "http" not in style
    assert re.findall(r"https?://\S+", script) == ['http://www.w3.org/2000/svg";']


def test_the_policy_allows_the_pages_own_script_and_style_only(page: Page) -> None:
    policy = next(
        each for each in page.values("content") if each.startswith("default-src")
    )
    assert policy.startswith("default-src 'none';")
    for text in (page.scripts["script"], page.scripts["style"]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "style" not in {name for _, attrs in page.elements for name, _ in attrs}
    assert "unsafe" not in policy


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, as defined by WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_shade_of_a_score_can_be_read_in_both_themes(page: Page) -> None:
    pairs = re.findall(r"--(\w+): light-dark\((#\w+), (#\w+)\);", page.scripts["style"])
    light = {name: colour for name, colour, _ in pairs}
    dark = {name: colour for name, _, colour in pairs}
    for colours in (light, dark):
        for shade in (f"h{step}" for step in range(11)):
            darker, lighter = sorted(luminance(colours[name]) for name in ("on", shade))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, shade


@pytest.mark.slow
def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    run = grid(tmp_path / "run")
    assert report(tmp_path, run).source == report(tmp_path, run).source


@pytest.mark.slow
def test_a_hostile_text_changes_nothing_in_the_structure(
    hostile: Page, plain: Page
) -> None:
    # names sort differently, so the order may differ
    assert Counter(hostile.structure) == Counter(plain.structure)
    assert hostile.scripts["script"] == plain.scripts["script"]
    assert set(hostile.scripts) == set(plain.scripts)


@pytest.mark.slow
def test_control_characters_reach_neither_page_nor_parcel(hostile: Page) -> None:
    harmful = re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    )
    sealed = [name[2:] for name in hostile.scripts if name.startswith("z-")]
    parcels = [json.dumps(hostile.parcel(name), ensure_ascii=False) for name in sealed]
    for shown in (
        hostile.source,
        unescape(hostile.source),
        hostile.scripts["index"],
        *parcels,
    ):
        assert not harmful.search(shown)


def test_a_hostile_text_is_shown_as_it_is(tmp_path: Path) -> None:
    text = HOSTILE["entity"]
    page = report(tmp_path, hostile_run(tmp_path / "hostile", text))
    assert text in page.text
    assert page.example(0)["talk"][0]["m"] == text


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LtmError, match="no results to report"):
        build_report([tmp_path], tmp_path / "report.html")


def test_results_that_cannot_be_read_are_told_in_the_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", held([played()]))
    (run / "other").mkdir()
    (run / "other" / "results.json").write_text("{}")
    assert "not a results file of this version" in report(tmp_path, run).text


def test_the_command_finds_runs_by_folder_by_id_and_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("20240101-a", "20240102-b"):
        write_run(
            tmp_path / ".ltm" / "runs" / name, held([played(reason=f"because {name}")])
        )
    (tmp_path / ".ltm" / "latest").write_text("20240102-b\n")
    assert (
        main(["report", "20240101-a", ".ltm/runs/20240101-a", "-o", "out/two.html"])
        == 0
    )
    assert Page(tmp_path / "out" / "two.html").text.count("because 20240101-a") == 2
    assert main(["report", "latest"]) == 0
    assert "because 20240102-b" in Page(tmp_path / "ltm-report.html").text
    assert "ltm-report.html (" in capsys.readouterr().out


def test_the_command_says_what_it_cannot_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / ".ltm" / "runs" / "20240101-a", held([played()]))
    assert main(["report", "20240101-b"]) == 2
    assert (
        "there is no run '20240101-b' in .ltm/runs. Did you mean '20240101-a'?"
        in capsys.readouterr().err
    )
    assert main(["report"]) == 2
    assert "there is no latest run" in capsys.readouterr().err


def test_failures_are_listed_first_and_what_passed_last(tmp_path: Path) -> None:
    rows = [
        played("a", 1.0),
        played("b", None, cause="agent"),
        played("c", 0.0),
        played("d", 1.0),
        played("e", 0.0),
    ]
    build_report([write_run(tmp_path / "run", held(rows))], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    listed = re.findall(r'<tr id="e\d+"[^>]* data-o="(\w+)"', text)
    assert listed == ["failed", "failed", "none", "passed", "passed"]


def test_a_report_reads_each_journal_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = open_bundle(BUNDLES / WHOLE, tmp_path / "bundle", None)
    read: list[Path] = []

    def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
        read.append(path)
        return whole_lines(path)

    monkeypatch.setattr(events, "whole_lines", lines_of)
    report(tmp_path, run)
    assert sorted(read) == sorted(run.glob("*/journal.jsonl"))

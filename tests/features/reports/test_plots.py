"""`ltm lab plot`: the contents of the plots, and the drawn files."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gate_sides import FULL, WAYS, WORSE, side
from gate_sides import held as on_a_side
from run_folders import HOSTILE, held, played, write_run

from pytest_ltm.api.journal import ConversationResult
from pytest_ltm.api.storage import LtmError
from pytest_ltm.commands import main
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.statistics.frontier import PUBLISHED, lafs
from pytest_ltm.gate.changes import compare_sides, one_agent
from pytest_ltm.reports.plots import plot_data
from pytest_ltm.reports.plots.plot_data import Content

if TYPE_CHECKING:  # it imports matplotlib
    from pytest_ltm.reports.plots.drawing import RenderedPlot

NEEDED = "pictures need matplotlib: pip install 'pytest-ltm[plot]'"
SPANS: dict[str, int | None] = {"2k": 2_000, "32k": 32_000, "isolated": None}


def talk(
    agent: str,
    span: str,
    scores: Mapping[str, float | None],
    trial: str = "0",
    **more: Any,
) -> ConversationResult:
    rows = [
        played(
            name,
            score,
            first=1 + 4 * n,
            agent=agent,
            span_label=span,
            span=SPANS[span],
            trial=trial,
            **more,
        )
        for n, (name, score) in enumerate(scores.items())
    ]
    spec = {"full": "full", "recite": "recite:2k", "oracle": "oracle"}.get(
        agent, "bots:Bot"
    )
    return held(rows, agent_spec=spec)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of an agent under test and three others, with one score missing."""
    talks = [
        talk(agent, span, {"colours": score, "jokes": 1.0}, trial)
        for agent, score in (
            ("mybot", 0.5),
            ("full", 1.0),
            ("oracle", 0.75),
            ("recite", 0.25),
        )
        for span in SPANS
        for trial in ("0", "1")
    ]
    lost = talk("mybot", "32k", {"colours": None, "jokes": 0.0}, "2")
    return write_run(tmp_path / "run", *talks, lost)


def test_a_curve_has_the_accuracy_of_agents_under_test_and_others_as_a_ceiling_and_a_floor(
    run: Path,
) -> None:
    found = plot_data.accuracy_curves(plot_data.chosen_material([read_run(run)]))

    assert [(line.agent, line.reference) for line in found.lines] == [
        ("mybot", False),
        ("full", True),
        ("oracle (control)", True),
        ("recite (control)", True),
    ]
    assert list(found.spans.values()) == ["isolated", "2k", "32k"]
    isolated, short, _ = found.lines[0].spots
    assert (isolated.span, short.span, short.score) == (None, 2_000, 0.75)
    assert short.low < short.score < short.high
    assert found.ceiling == {None: 1.0, 2_000: 1.0, 32_000: 1.0}
    assert found.floor == {None: 0.625, 2_000: 0.625, 32_000: 0.625}


def test_agents_of_this_package_are_under_test_where_there_are_no_others_and_one_conversation_has_no_interval() -> (
    None
):
    alone = talk("full", "2k", {"colours": 0.5})
    found = plot_data.accuracy_curves(plot_data.chosen_material([_run(alone)]))

    [line] = found.lines
    assert not line.reference
    assert line.spots[0].low == line.spots[0].score == line.spots[0].high
    assert found.ceiling == found.floor == {}
    assert found.notes == (
        "Points of a single conversation have no interval: it needs trials.",
    )


def test_a_run_without_any_score_has_no_curve_but_a_heat_map_that_says_so() -> None:
    found = plot_data.chosen_material([_run(talk("mybot", "2k", {"colours": None}))])

    with pytest.raises(LtmError, match="nothing has a score"):
        plot_data.accuracy_curves(found)
    heat = plot_data.scenario_heatmap(found)
    [[square]] = heat.panels[0].rows
    assert square is not None
    assert (square.score, square.text) == (None, "-")
    assert heat.notes == ("- no example has a score.",)


def test_a_heat_map_has_a_panel_for_each_agent_with_the_texts_of_the_tables(
    run: Path,
) -> None:
    found = plot_data.scenario_heatmap(
        plot_data.chosen_material([read_run(run)], ["mybot"], ["32k", "2k"])
    )

    assert (found.rows, found.columns) == (("colours", "jokes"), ("2k", "32k"))
    [panel] = found.panels
    assert [[square and square.text for square in row] for row in panel.rows] == [
        ["0.50", "0.50*"],
        ["1.00", "0.67"],
    ]


def test_the_heat_map_of_examples_has_a_panel_for_each_scenario_and_a_row_for_each_agent(
    run: Path,
) -> None:
    found = plot_data.example_heatmap(
        plot_data.chosen_material([read_run(run)], ["mybot", "full"], ["32k"])
    )

    assert ([panel.name for panel in found.panels], found.rows) == (
        ["colours", "jokes"],
        ("mybot", "full"),
    )
    assert found.columns == ("T1", "T2", "T3")
    mine, full = found.panels[0].rows
    assert [square and square.text for square in mine] == ["0.50", "0.50", "-"]
    assert [square and square.text for square in full] == ["1.00", "1.00", None]


def test_the_heat_map_of_examples_shows_one_span_and_the_scenarios_that_need_a_skill(
    run: Path,
) -> None:
    with pytest.raises(LtmError, match="choose one of 2k, 32k, isolated with --span"):
        plot_data.example_heatmap(plot_data.chosen_material([read_run(run)]))
    tagged = plot_data.chosen_material(
        [_run(talk("mybot", "2k", {"colours": 0.5}, skills=("R",)))]
    )
    assert [panel.name for panel in plot_data.example_heatmap(tagged, "R").panels] == [
        "colours"
    ]
    with pytest.raises(LtmError, match="no scenario of this run needs the skill 'T'"):
        plot_data.example_heatmap(tagged, "T")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "rows", "columns"),
    [("gap", ("1k",), ("2k", "32k", "isolated")), ("share", None, ("< 1k", "1k"))],
)
def test_a_depth_map_places_examples_by_where_their_needle_was_told(
    run: Path, by: plot_data.By, rows: tuple[str, ...] | None, columns: tuple[str, ...]
) -> None:
    found = plot_data.depth_heatmap(
        plot_data.chosen_material([read_run(run)], ["mybot"]), by
    )

    assert found.columns == columns
    assert rows in {None, found.rows}
    told = sum(
        int(square.more) for row in found.panels[0].rows for square in row if square
    )
    # two for each of three spans and two trials, and one whose neighbour has no score
    assert told == 13


def test_where_a_needle_was_told_takes_a_journal_and_its_gap_does_not(
    tmp_path: Path,
) -> None:
    folder = write_run(
        tmp_path / "run", talk("mybot", "2k", {"colours": 1.0}), journals=False
    )
    found = plot_data.chosen_material([read_run(folder)])

    with pytest.raises(LtmError, match="--by=gap needs none"):
        plot_data.depth_heatmap(found, "share")
    with pytest.raises(LtmError, match="no conversation has a journal"):
        plot_data.conversation_timeline(found)
    assert plot_data.depth_heatmap(found, "gap").rows == ("1k",)


def test_a_time_line_shows_an_agent_under_test_at_its_largest_span(run: Path) -> None:
    found = plot_data.conversation_timeline(plot_data.chosen_material([read_run(run)]))

    assert found.label == "mybot at 32k, trial 0"
    assert [name for name, _ in found.lanes] == ["colours/0", "jokes/0"]
    assert all(told < asked for _, told, asked in found.links)
    assert {mark.lane for mark in found.marks} == {-1, 0, 1}


def test_differences_are_those_of_ltm_compare_the_worst_scenario_first() -> None:
    both = side(on_a_side(FULL, agent="a"), on_a_side(WORSE, agent="b"))
    moved = compare_sides(one_agent(both, "a"), one_agent(both, "b"), WAYS)
    found = plot_data.difference_forest(moved)

    [(label, rows)] = found.panels
    assert label == "b at 2k"
    assert found.across == "difference in score from a"
    assert [row.name for row in rows] == [plot_data.OVERALL, "colours", "jokes", "spy"]
    assert rows[0].value == moved.changes[0].overall.difference
    assert [row.pairs for row in rows] == [
        "+0 −3 =3",
        "+0 −2 =0",
        "+0 −1 =1",
        "+0 −0 =2",
    ]
    with pytest.raises(LtmError, match="no difference to draw"):
        plot_data.difference_forest(moved, ["32k"])


def test_an_agent_or_span_that_no_run_has_is_refused(run: Path) -> None:
    with pytest.raises(LtmError, match="there is no agent 'mybott'"):
        plot_data.chosen_material([read_run(run)], ["mybott"])
    with pytest.raises(LtmError, match="there is no memory span '3k'"):
        plot_data.chosen_material([read_run(run)], [], ["3k"])


def _run(*talks: ConversationResult) -> Any:
    from pytest_ltm.api.journal import RunResult
    from pytest_ltm.figures.run_loading import LoadedRun

    return LoadedRun.from_results(RunResult(run_id="run", conversations=talks))


def test_without_matplotlib_one_sentence_says_what_to_install(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert (
        main(["lab", "plot", str(run), "--kind", "curve", "-o", str(run / "a.svg")])
        == 2
    )
    assert "pip install 'pytest-ltm[plot]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind=curve", "-o", "a.gif"], ".svg, .pdf or .png"),
        (["--kind=compare", "-o", "a.svg"], "takes two agents"),
        (
            ["--kind=compare", "-o", "a.svg", "--agent=mybot", "--agent=nobody"],
            "no agent 'nobody'",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    run: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason=NEEDED)
    assert main(["lab", "plot", str(run), *words]) == 2
    assert said in capsys.readouterr().err


# --- Files. They need matplotlib, which takes a second to import.


def drawn(shown: Content, suffix: str = "svg", **look: Any) -> RenderedPlot:
    pytest.importorskip("matplotlib", reason=NEEDED)
    from pytest_ltm.reports.plots.drawing import Look, draw_plot

    return draw_plot(shown, Look(suffix=suffix, **look))


def pictures(run: Path) -> list[Content]:
    found = plot_data.chosen_material([read_run(run)])
    moved = compare_sides(side(on_a_side(FULL)), side(on_a_side(WORSE)), WAYS)
    return [
        plot_data.accuracy_curves(found),
        plot_data.scenario_heatmap(found),
        plot_data.depth_heatmap(found, "gap"),
        plot_data.conversation_timeline(found),
        plot_data.difference_forest(moved),
    ]


def texts(picture: bytes) -> list[str]:
    return [
        text
        for node in ET.fromstring(picture).iter()
        for text in (node.text or "").splitlines()
        if text.strip()
    ]


@pytest.mark.slow
def test_every_kind_is_drawn_with_text_as_text_and_equal_contents_give_equal_files(
    run: Path,
) -> None:
    for shown, expected in zip(
        pictures(run),
        ("recite (control)", "0.50*", "isolated", "colours/0", "+0 −3 =3"),
        strict=True,
    ):
        first, again = (
            drawn(shown, title="A title: $x$"),
            drawn(shown, title="A title: $x$"),
        )
        assert first.problems == ()
        assert first.data == again.data
        assert {expected, "A title: $x$"} <= set(texts(first.data))
        assert str(Path.cwd()).encode() not in first.data


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["pdf", "png"])
def test_other_formats_are_equal_too_and_name_no_time_and_no_program(
    run: Path, suffix: str
) -> None:
    shown = pictures(run)[0]
    data = drawn(shown, suffix).data
    assert data == drawn(shown, suffix).data
    assert data.startswith({"pdf": b"%PDF", "png": b"\x89PNG"}[suffix])
    assert re.search(rb"CreationDate|Producer|Software|tEXt", data) is None


@pytest.mark.slow
def test_texts_of_a_run_do_nothing_in_a_picture() -> None:
    names = tuple(HOSTILE.values())
    square = plot_data.Square(text="1.00", score=1.0)
    spot = plot_data.PlottedScore(span=2_000, score=1.0, low=0.5, high=1.0)
    lines = tuple(
        plot_data.AccuracyCurve(agent=name, reference=False, spots=(spot,))
        for name in names
    )
    lane = tuple((name, 1.0) for name in names)
    shown: list[Content] = [
        plot_data.Heat(
            panels=tuple(
                plot_data.Panel(name=name, rows=((square,),) * len(names))
                for name in names[:2]
            ),
            rows=names,
            columns=(names[0],),
            across="",
            down="",
            notes=(),
        ),
        plot_data.Curve(
            lines=lines[:8],
            spans={2_000: names[0]},
            ceiling={},
            floor={},
            across="",
            notes=(),
        ),
        plot_data.Timeline(
            label=names[0],
            lanes=lane,
            extent=(None,) * len(lane),
            marks=(),
            links=(),
            jumps=(),
            tokens=10,
            notes=(),
        ),
    ]
    for one in shown:
        tree = ET.fromstring(drawn(one, title=names[0]).data)
        assert {node.tag.rpartition("}")[2] for node in tree.iter()} <= {
            "svg",
            "g",
            "path",
            "text",
            "tspan",
            "defs",
            "use",
            "style",
            "clipPath",
            "rect",
            "metadata",
            "RDF",
            "Work",
            "type",
            "format",
            "pattern",
            "linearGradient",
            "stop",
            "image",
        }
        for node in tree.iter():
            assert not any(
                name.lower().startswith("on") or "pwned" in value
                for name, value in node.attrib.items()
            )
            assert node.tag.rpartition("}")[2] == "text" or "pwned" not in (
                node.text or ""
            )


@pytest.mark.slow
def test_many_agents_have_a_panel_each_and_a_picture_without_room_is_refused(
    run: Path,
) -> None:
    spots = tuple(
        plot_data.PlottedScore(span=span, score=0.5, low=0.5, high=0.5)
        for span in (2_000, 32_000)
    )
    many = plot_data.Curve(
        lines=tuple(
            plot_data.AccuracyCurve(agent=f"_bot {n}", reference=False, spots=spots)
            for n in range(12)
        ),
        spans={2_000: "2k", 32_000: "32k"},
        ceiling={},
        floor={},
        across="spans",
        notes=("A note. " * 30,),
    )
    assert {f"_bot {n}" for n in range(12)} <= set(texts(drawn(many).data))
    with pytest.raises(LtmError, match="no room"):
        drawn(many, size=(1.0, 0.6))
    assert "crowded" in " ".join(drawn(pictures(run)[1], size=(3.0, 1.6)).problems)
    with pytest.raises(LtmError, match="Did you mean 'DejaVu Serif'"):
        drawn(many, fonts=("DejaVu Serf",))


@pytest.mark.slow
def test_the_command_writes_the_file_that_it_was_given(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason=NEEDED)
    file = run / "new" / "curve.svg"
    words = [
        "--kind=curve",
        "-o",
        str(file),
        "--size=12x8cm",
        "--agent=mybot",
        "--title=Mine",
    ]

    assert main(["lab", "plot", str(run), *words]) == 0
    assert str(file) in capsys.readouterr().out
    assert b'width="340.' in file.read_bytes()  # 12 cm in points


# --- Accuracy against the cost of a reply.


def timed(path: Path, seconds: Mapping[str, float]) -> Path:
    """Return the folder of a run whose agents took this many seconds per reply."""
    scores = {"slow": 1.0, "fast": 0.5, "beaten": 0.25}
    talks = [talk(agent, "2k", {"colours": scores[agent]}) for agent in seconds]
    times = [
        {"agent": agent, "span_label": "2k", "agent_seconds": 5 * mean}
        for agent, mean in seconds.items()
    ]
    return write_run(path, *talks, results=times)


def test_a_frontier_has_the_agents_that_none_beats_at_their_cost(
    tmp_path: Path,
) -> None:
    run = timed(tmp_path / "run", {"slow": 20.0, "fast": 2.0, "beaten": 4.0})
    found = plot_data.accuracy_frontier(plot_data.chosen_material([read_run(run)]))

    [panel] = found.panels
    assert {spot.agent: (spot.cost, spot.score) for spot in panel.spots} == {
        "slow": (20.0, 1.0),
        "fast": (2.0, 0.5),
        "beaten": (4.0, 0.25),
    }
    assert panel.steps == ((2.0, 0.5), (20.0, 1.0))
    assert found.notes == ("LAFS of all together, 1 to 200 s: 65.2%.",)


def test_a_frontier_says_what_it_gains_over_the_published_one(tmp_path: Path) -> None:
    run = timed(tmp_path / "run", {"slow": 20.0, "fast": 2.0})
    found = plot_data.accuracy_frontier(
        plot_data.chosen_material([read_run(run)]), "small"
    )

    assert found.panels[0].published == PUBLISHED["small"]
    assert (
        found.notes[1]
        == "Gain over the published frontier (small, 55.8%): +16.5 points."
    )


def test_without_times_there_is_no_frontier(run: Path) -> None:
    with pytest.raises(LtmError, match="no replies with a score were timed"):
        plot_data.accuracy_frontier(plot_data.chosen_material([read_run(run)]))


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--published=medium",)])
def test_a_frontier_is_drawn(words: Sequence[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason=NEEDED)
    run = timed(tmp_path / "run", {"slow": 20.0, "fast": 2.0})
    file = tmp_path / "frontier.svg"

    assert (
        main(["lab", "plot", str(run), "--kind=frontier", "-o", str(file), *words]) == 0
    )
    texts = " ".join(ET.parse(file).getroot().itertext())
    assert "slow" in texts
    assert ("published frontier" in texts) == bool(words)


def test_lafs_averages_the_best_accuracy_over_the_logarithm_of_seconds() -> None:
    points = [(0.1, 0.4), (10.0, 0.6), (50.0, 0.5), (100.0, 0.9), (300.0, 1.0)]
    steps = 200_000
    budgets = [200 ** ((step + 0.5) / steps) for step in range(steps)]
    best = (
        sum(
            max(accuracy for seconds, accuracy in points if seconds <= budget)
            for budget in budgets
        )
        / steps
    )

    assert lafs(points) == pytest.approx(best, abs=1e-4)
    assert lafs([]) == lafs([(201.0, 1.0)]) == 0

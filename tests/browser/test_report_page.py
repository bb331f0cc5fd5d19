"""The report file in chromium: folding, sorting, search, timeline, keyboard, hostile texts."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from _chromium import Chromium
from journals import edit
from run_folders import HOSTILE, held, hostile_run, journal, played, write_run

from pytest_ltm.reports.html import build_report
from pytest_ltm.reports.html_rows import embedded_summary
from pytest_ltm.reports.verification import read_marked_run

DRAWN = "document.querySelectorAll('#scene .mark').length > 0"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents; `poor` forgets names, and jokes have no score."""
    folder = tmp_path_factory.mktemp("report")
    talks = []
    for agent in ("good", "poor"):
        rows = [
            played("colours", 1.0, agent=agent, gap=500, reason="says ochre"),
            played(
                "names",
                1.0 if agent == "good" else 0.25,
                agent=agent,
                first=4,
                gap=12_000,
            ),
            played(
                "jokes",
                None,
                agent=agent,
                reason="no judge was given",
                questions=(),
                gap=None,
            ),
        ]
        rows = [replace(row, nodeid=row.nodeid.replace("full", agent)) for row in rows]
        talks.append(held(rows, tokens=500))
    build_report([write_run(folder / "run", *talks)], folder / "report.html")
    return folder / "report.html"


def scenarios(page: Chromium) -> list[str]:
    found: list[str] = page.run(
        "[...document.querySelectorAll('#rows tbody tr')].filter(r => !r.hidden && !r.classList.contains('detail'))"
        ".map(r => r.cells[0].textContent + ' ' + r.cells[2].textContent)"
    )
    return found


def text(page: Chromium, selector: str) -> str:
    found: str = page.run(f"document.querySelector('{selector}')?.textContent ?? ''")
    return found


def test_nothing_is_sent_to_the_browser_behind_a_test_s_back(browser: Chromium) -> None:
    assert browser.call("Browser.getVersion")
    assert [
        thread.name for thread in threading.enumerate() if "keepalive" in thread.name
    ] == []


def test_a_click_unfolds_an_example_and_another_folds_it(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.click("#e4 button")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    said = text(page, "tr.detail")
    assert "Which colour do I like?" in said
    assert "405 tokens and 1:00:00 later (1 filler)" in said
    assert text(page, "tr.detail mark") == "Teal"
    assert (
        page.run("document.querySelector('#e4 button').getAttribute('aria-expanded')")
        == "true"
    )
    page.click("#e4 button")
    assert page.run("document.querySelectorAll('tr.detail').length") == 0


def test_what_the_agent_retrieved_unfolds_below_its_reply(
    page: Chromium, tmp_path: Path
) -> None:
    row = played()
    [question] = row.questions
    needles = tuple(replace(needle, rank=2) for needle in question.needles)
    row = replace(row, questions=(replace(question, needles=needles),))
    run = write_run(tmp_path / "run", held([row]))
    [file] = run.glob("*/journal.jsonl")
    file.write_text(
        "".join(journal([row], retrieved={3: ("<b>note</b>", "I like ochre best.")}))
    )
    build_report([run], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    page.click("#e0 button")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    assert text(page, "tr.detail .talk.needle .found") == ""
    assert (
        text(page, "tr.detail .talk.question .found summary")
        == "retrieved: 2, 1 of 1 needle among it"
    )
    assert page.run(
        "[...document.querySelectorAll('.found li')].map(each => each.textContent)"
    ) == [
        "<b>note</b>",
        "needle #1 I like ochre best.",
    ]
    assert (
        text(page, "#recalled")
        == "full at 2k retrieved 1 of 1 needles for their questions, at rank 2 in the median."
    )


def test_of_a_long_reply_its_beginning_and_what_decided_are_shown_until_all_of_it_is_wanted(
    page: Chromium, tmp_path: Path
) -> None:
    row = played()
    run = write_run(tmp_path / "run", held([row]))
    [file] = run.glob("*/journal.jsonl")
    reply = "la " * 200_000 + "Teal it is." + " la" * 200_000
    file.write_text("".join(journal([row], {3: ("Which colour do I like?", reply)})))
    build_report([run], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    page.click("#e0 button")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    assert text(page, "tr.detail mark") == "Teal"
    assert len(text(page, "tr.detail")) < 6_000
    tall = "document.documentElement.scrollHeight < 5000"
    assert page.run(tall)
    assert (
        text(page, "tr.detail .talk.question button")
        == "show the other 1,196,011 characters"
    )
    page.click("tr.detail .talk.question button")
    page.wait_for(
        "document.querySelector('tr.detail p.whole') === document.activeElement"
    )
    assert len(text(page, "tr.detail p.whole")) >= len(reply)
    assert page.run(tall)


def test_the_keyboard_unfolds_an_example(page: Chromium, report: Path) -> None:
    page.open(report)
    page.run("document.querySelector('#e0 button').focus()")
    page.press("Enter")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    page.press(" ")
    assert page.run("document.querySelectorAll('tr.detail').length") == 0


def test_a_click_on_a_heading_sorts_and_another_reverses(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.click("#rows thead th:nth-child(7) button")
    assert [scenario.split()[0] for scenario in scenarios(page)][:4] == [
        "colours",
        "colours",
        "names",
        "names",
    ]
    assert (
        page.run(
            "document.querySelector('#rows thead th:nth-child(7)').getAttribute('aria-sort')"
        )
        == "ascending"
    )
    page.click("#rows thead th:nth-child(7) button")
    assert [scenario.split()[0] for scenario in scenarios(page)] == [
        "names",
        "names",
        "colours",
        "colours",
        "jokes",
        "jokes",
    ]


def test_what_has_no_score_sorts_below_either_way(page: Chromium, report: Path) -> None:
    page.open(report)
    for _ in range(2):
        page.click("#rows thead th:nth-child(5) button")
        assert [scenario.split()[0] for scenario in scenarios(page)][-2:] == [
            "jokes",
            "jokes",
        ]


def test_an_open_example_moves_with_its_row(page: Chromium, report: Path) -> None:
    page.open(report)
    page.click("#e4 button")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    page.click("#rows thead th:nth-child(3) button")
    assert (
        page.run("document.querySelector('tr.detail').previousElementSibling.id")
        == "e4"
    )


def test_search_and_choices_filter_together(page: Chromium, report: Path) -> None:
    page.open(report)
    page.click("#search")
    for letter in "names":
        page.press(letter)
    assert scenarios(page) == ["names poor", "names good"]
    assert text(page, "#count") == "2 of 6 examples"
    page.run(
        "{ const s = document.getElementById('by-outcome'); s.value = 'failed'; s.dispatchEvent(new Event('input')); }"
    )
    assert scenarios(page) == ["names poor"]


def test_what_was_said_is_found_with_every_place_and_the_address_keeps_the_search(
    page: Chromium, report: Path
) -> None:
    page.open(report, "#find=says+NAMES")
    page.wait_for("document.querySelectorAll('#hits a').length === 2")
    assert text(page, "#found") == "1 text in 2 places"
    assert text(page, "#hits p") == "toldI like ochre best, says names."
    assert page.run(
        "[...document.querySelectorAll('#hits mark')].map(e => e.textContent)"
    ) == ["says", "names"]
    page.click("#hits a:nth-child(2)")
    page.wait_for("document.querySelector('.talk.sought') !== null")
    assert text(page, ".talk.sought p") == "youI like ochre best, says names."
    found = page.run("location.hash")
    assert page.run("[address().get('find'), address().get('say')]") == [
        "says NAMES",
        "4",
    ]
    page.open(report, found)
    page.wait_for(
        "document.querySelector('.talk.sought') !== null && document.querySelector('#hits a') !== null"
    )


def test_filler_is_searched_only_where_it_is_wanted(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.press("/")
    for letter in '"to ten"':
        page.press(letter)
    page.wait_for("document.querySelector('#found').textContent === 'nothing found'")
    page.click("#find-filler")
    page.wait_for("document.querySelectorAll('#hits a').length > 1")
    assert page.run("Object.fromEntries(address())") == {
        "find": '"to ten"',
        "filler": "yes",
    }
    page.click("#hits a")
    page.wait_for(
        "document.querySelector('#reading').textContent.includes('Count to ten.')"
    )


def test_a_cell_of_where_it_breaks_opens_its_worst_example_beside_the_best_other_agent_s(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.click("#breaks a[href='#e4']")
    page.wait_for("document.querySelector('.beside .reply') !== null")
    columns = "[...document.querySelectorAll('.beside .side, .beside .reply')].map(e => e.textContent)"
    assert page.run(columns) == [
        "0.25 poor at 2k",
        "1.00 good at 2k",
        "poorTeal, I think.",
        "goodTeal, I think.",
    ]
    assert text(page, ".beside .both .needle") == "needleI like ochre best, says names."
    assert "needle #4, 900 tokens" in text(page, ".beside").replace(":", ",")
    assert page.run("Object.fromEntries(address())") == {
        "beside": page.run("byId('e4').dataset.i")
    }
    page.run("document.querySelector('.beside button:first-of-type').click()")
    page.wait_for("document.activeElement.dataset.n === '6'")
    assert page.run("[byId('talk').value, byId('over').value]") == ["1", "0"]
    page.wait_for("address().get('mark') === '6'")
    page.run(
        "remember({ line: '', over: '', mark: '' }); document.querySelector('.beside h3').focus()"
    )
    page.press("Escape")
    assert text(page, ".beside") == ""
    assert page.run("[document.activeElement.hash, String(address())]") == ["#e4", ""]


def test_the_address_opens_an_example_beside_the_chosen_one(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    name = page.run("encodeURIComponent(byId('e4').dataset.i)")
    page.open(report, f"#beside={name}&with=good+at+2k")
    page.wait_for("document.querySelector('.beside .reply') !== null")
    assert page.run(
        "[document.querySelector('.beside select').value, address().get('with')]"
    ) == ["e1", "good at 2k"]


def test_each_table_of_where_it_breaks_is_one_tab_stop_with_arrow_keys(
    page: Chromium, tmp_path: Path
) -> None:
    spans = {"2k": 2_000, "32k": 32_000}
    talks = [
        held(
            [
                played(
                    name,
                    0.5,
                    agent="poor",
                    span_label=label,
                    span=span,
                    nodeid=f"{name}-{label}",
                    first=1 + 3 * at,
                    skills=("R", "S"),
                )
                for at, name in enumerate(("colours", "names"))
            ]
        )
        for label, span in spans.items()
    ]
    build_report([write_run(tmp_path / "run", *talks)], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    stops = "[...document.querySelectorAll('PLACE')].filter(each => each.tabIndex === 0).length"
    assert page.run(stops.replace("PLACE", "#breaks td a")) == 2  # scenarios, skills
    assert page.run(stops.replace("PLACE", "#depth td a")) == 1
    assert page.run(stops.replace("PLACE", "#rows tbody button")) == 1
    page.run("byId('search').value = 'names'; filterRows()")
    page.run("document.querySelector('#rows tbody button[tabindex=\"0\"]').focus()")
    assert page.run("document.activeElement.closest('tr').hidden") is False
    page.run("document.querySelector('#breaks td a').focus()")
    focused = "document.activeElement.getAttribute('aria-label').split(/: |,/)[1] + document.activeElement.hash"
    for key, there in (
        ("ArrowRight", "colours#e2"),
        ("ArrowRight", "colours#e2"),
        ("ArrowDown", "names#e3"),
        ("Home", "names#e1"),
        ("End", "names#e3"),
        ("ArrowLeft", "names#e1"),
        ("ArrowUp", "colours#e0"),
    ):
        page.press(key)
        assert page.run(focused) == there
    assert page.run(stops.replace("PLACE", "#breaks td a")) == 2
    page.press("Enter")
    page.wait_for("document.querySelector('.beside .reply') !== null")
    assert text(page, ".beside h3") == "colours/0, poor at 2k"


def test_a_link_to_an_example_opens_it(page: Chromium, report: Path) -> None:
    page.open(report, "#e1")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")


def test_the_address_says_what_is_shown_and_shows_it_again(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.click("#e4 button")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    page.run(
        "byId('search').value = 'ochre'; byId('search').dispatchEvent(new Event('input'))"
    )
    page.run("byId('one').value = '1'; byId('one').dispatchEvent(new Event('input'))")
    said = page.run("location.hash")
    assert page.run("Object.fromEntries(address())") == {
        "ex": page.run("byId('e4').dataset.i"),
        "q": "ochre",
        "one": "poor at 2k",
    }
    assert str(page.run("byId('e4').dataset.i")).startswith("ltm/names::")
    page.open(report, said)
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    assert page.run("[byId('search').value, byId('one').value]") == ["ochre", "1"]
    page.open(report, "#q=ochre&in=poor+at+2k")
    assert page.run("[byId('search').value, byId('by-series').value]") == ["ochre", "1"]
    assert len(scenarios(page)) == 2
    page.open(report, said.replace("q=ochre", "q=nothing+of+the+kind"))
    # whatever the search hides
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    assert page.run("byId('search').value") == ""


def test_keys_go_from_example_to_example_and_to_the_next_that_failed(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    opened = "[...document.querySelectorAll('tr.detail')].map(each => each.previousElementSibling.id)"
    for key, wanted in (
        ("n", "e4"),
        ("j", "e2"),
        ("j", "e5"),
        ("k", "e2"),
        ("k", "e4"),
        ("n", "e4"),
    ):
        page.press(key)
        page.wait_for(f"JSON.stringify({opened}) === '[\"{wanted}\"]'")
    page.press("?")
    assert page.run("byId('keys').open")
    page.press("?")
    assert not page.run("byId('keys').open")


def test_keys_may_be_quicker_than_a_transcript_is_unpacked(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.press("n")
    page.wait_for("document.activeElement.closest('#e4') !== null")
    page.run(
        "[...'jj'].forEach(key => document.activeElement.dispatchEvent("
        "new KeyboardEvent('keydown', { key, bubbles: true })))"
    )
    assert page.run("document.activeElement.closest('tr').id") == "e5"
    assert page.run(
        "[...document.querySelectorAll('tr.detail')].map(row => row.previousElementSibling.id)"
    ) == ["e5"]


def test_the_time_line_joins_needles_to_questions(page: Chromium, report: Path) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    assert page.run("document.querySelectorAll('#scene .mark.needle').length") == 2
    assert page.run("document.querySelectorAll('#scene .mark.question').length") == 2
    assert page.run("document.querySelectorAll('#scene .link').length") == 2
    assert page.run("document.querySelectorAll('#scene .jump').length") == 2
    assert page.run(
        "[...document.querySelectorAll('#lanes div')].map(d => d.textContent)"
    ) == [
        "filler",
        "colours/0",
        "names/0",
        "jokes/0",
    ]


def test_a_second_conversation_is_laid_over_the_first_and_the_address_says_so(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    alone = page.run("line.marks.size")
    page.run("byId('over').value = '1'; byId('over').dispatchEvent(new Event('input'))")
    page.wait_for(f"line.marks.size === {2 * alone}")
    page.run("hold(0, 6)")
    page.wait_for("document.querySelectorAll('#reading .two .talk').length === 2")
    sides = "[...document.querySelectorAll('#reading .side')].map(e => e.textContent)"
    assert page.run(sides) == ["good at 2k", "poor at 2k"]
    page.run("document.querySelector('#scene .mark.held').focus()")
    page.press("ArrowDown")
    page.wait_for("line.held === '6 1'")
    page.wait_for("address().get('mark') === '6 1'")
    said = page.run("location.hash")
    page.open(report, said)
    page.wait_for(
        "line.held === '6 1' && document.querySelectorAll('#reading .two .talk').length === 2"
    )
    assert page.run("[byId('talk').value, byId('over').value]") == ["0", "1"]
    page.run("byId('over').value = ''; byId('over').dispatchEvent(new Event('input'))")
    page.wait_for(f"line.marks.size === {alone}")
    page.wait_for("String(address()) === 'line=good+at+2k'")


def test_the_history_of_a_data_set_is_not_called_filler(
    page: Chromium, tmp_path: Path
) -> None:
    run = write_run(
        tmp_path / "run", held([played("colours", 1.0, gap=500)], tokens=500)
    )
    [file] = run.glob("*/journal.jsonl")
    edit(
        file,
        lambda text: re.sub(r'("event":"filler".*)}', r'\1,"history":"D1:1"}', text),
    )
    build_report([run], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    page.wait_for(DRAWN)
    assert page.run("document.querySelector('#lanes div').textContent") == "history"
    assert page.run("document.querySelectorAll('#scene .mark.history').length") > 0


def test_a_click_on_a_mark_shows_what_was_said(page: Chromium, report: Path) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    page.click("#scene .mark.question")
    page.wait_for("document.querySelector('#reading .talk') !== null")
    assert "Which colour do I like?" in text(page, "#reading")
    assert "needle #1, 900 tokens" in text(page, "#reading")
    assert page.run("document.querySelectorAll('#scene .link.held').length") == 1
    page.click("#reading .steps button")
    page.wait_for(
        "document.querySelector('#reading').textContent.includes('I like ochre best, says colours.')"
    )


def test_arrow_keys_go_through_the_conversation(page: Chromium, report: Path) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    page.run("document.querySelector('#scene .mark[tabindex=\"0\"]').focus()")
    focused = "document.activeElement.dataset.n"
    for key, there in (
        ("ArrowRight", "1"),
        ("ArrowRight", "2"),
        ("ArrowRight", "3"),
        ("ArrowDown", "4"),
        ("End", "6"),
    ):
        page.press(key)
        page.wait_for(f"{focused} === '{there}'")
        page.wait_for(
            f"document.querySelector('#reading').textContent.includes('#{there} ')"
        )
    for key, there in (("ArrowUp", "3"), ("ArrowLeft", "2"), ("Home", "0")):
        page.press(key)
        page.wait_for(f"{focused} === '{there}'")
    assert (
        page.run("document.querySelectorAll('#scene .mark[tabindex=\"0\"]').length")
        == 1
    )


def test_zoom_widens_the_time_line_and_whole_takes_it_back(
    page: Chromium, report: Path
) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    width = page.run("document.querySelector('#scene svg').clientWidth")
    page.click("#closer")
    assert page.run("document.querySelector('#scene svg').clientWidth") == 2 * width
    page.click("#whole")
    assert page.run("document.querySelector('#scene svg').clientWidth") == width


def test_exchanges_can_stand_side_by_side(page: Chromium, report: Path) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    page.run(
        "{ const s = document.getElementById('across'); s.value = 'exchanges'; s.dispatchEvent(new Event('input')); }"
    )
    apart = page.run(
        "(() => { const at = n => document.querySelector(`.mark[data-n='${n}'] .ghost`)"
        ".getBoundingClientRect().x; return [at(3) - at(1), at(6) - at(4)]; })()"
    )
    assert apart[0] == pytest.approx(apart[1], abs=0.5)


def test_an_example_is_shown_on_the_time_line(page: Chromium, report: Path) -> None:
    page.open(report, "#e4")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    page.click("tr.detail .inside button")
    page.wait_for("document.activeElement.classList.contains('mark')")
    assert page.run("document.getElementById('talk').value") == "1"
    assert page.run("document.activeElement.dataset.n") == "6"


def test_two_columns_are_compared_row_by_row(page: Chromium, report: Path) -> None:
    page.open(report)
    rows = (
        "[...document.querySelectorAll('#pairs tbody tr')]"
        ".map(r => [...r.cells].slice(0, 4).map(c => c.textContent))"
    )
    assert page.run(rows) == [["names", "0", "1.00", "0.25"]]
    told = text(page, "#verdict")
    assert told.startswith(
        "On these texts good at 2k is better than poor at 2k by 0.38 of full marks: better in 1,"
    )
    page.click("#pairs tbody button")
    page.wait_for("document.querySelectorAll('#pairs .reply').length === 2")
    page.click("#pairs tbody button")
    assert text(page, "#pairs .detail") == ""
    page.click("#differing")
    assert len(page.run(rows)) == 3


@pytest.mark.parametrize("width", [400, 1300])
def test_nothing_but_tables_is_wider_than_the_screen(
    page: Chromium, report: Path, width: int
) -> None:
    page.screen(width, 900)
    page.open(report, "#e4")
    page.wait_for("document.querySelectorAll('tr.detail .talk').length === 2")
    assert page.run("document.documentElement.scrollWidth") <= width


def test_the_theme_is_the_reader_s_choice(page: Chromium, report: Path) -> None:
    page.open(report)
    background = "getComputedStyle(document.body).backgroundColor"
    bright = page.run(background)
    page.click("nav .theme")  # light
    assert page.run(background) == bright
    page.click("nav .theme")
    assert page.run("document.querySelector('nav .theme').textContent") == "Theme: dark"
    assert page.run(background) != bright
    page.click("nav .theme")
    assert page.run(background) == bright


LOOKS = """['.curve', '.line circle', '.chart', '.standings dt', '.breaks td.h', '.legend li', 'svg text'].map(name => {
    const style = getComputedStyle(document.querySelector(name));
    return [name, style.stroke, style.fill, style.color, style.backgroundColor, style.borderRadius];
})"""


def test_pytest_html_shows_charts_and_scores_as_the_page_does(
    page: Chromium, tmp_path: Path
) -> None:
    conversations = [
        held([played("colours", score, span=span, span_label=f"{span}")])
        for span, score in ((2_000, 1.0), (32_000, 0.25))
    ]
    run_folder = write_run(tmp_path / "run", *conversations)
    build_report([run_folder], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    looks = page.run(LOOKS)
    curve, *_ = looks
    assert curve[1] != "none"
    assert curve[2] == "none"

    summary = embedded_summary(read_marked_run(run_folder).result)
    # pytest-html's own page has grey text
    embedded = f"<!doctype html><body style='color: #999'>{summary}</body>"
    (tmp_path / "pytest.html").write_text(embedded, encoding="utf-8")
    page.open(tmp_path / "pytest.html")
    assert page.run(LOOKS) == looks


def test_the_page_prints(page: Chromium, report: Path) -> None:
    page.open(report)
    page.wait_for(DRAWN)
    assert page.pdf().startswith(b"%PDF")


def test_the_tables_need_no_script(page: Chromium, report: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(report)
        shown = page.call("DOM.getDocument", depth=-1)
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
    assert "judged by rules" in str(shown)


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_does_nothing(
    page: Chromium, tmp_path: Path, hostile: str
) -> None:
    build_report([hostile_run(tmp_path / "run", hostile)], tmp_path / "report.html")
    page.open(tmp_path / "report.html")
    page.wait_for(DRAWN)
    page.run(
        "Promise.all([...document.querySelectorAll('#rows tbody tr[id]')].map(row => unfold(row)))"
    )
    page.run(
        "(async () => { for (const mark of line.sides[0].marks) await hold(0, mark[0]); })()"
    )
    page.run("showConversation(0, 1)")
    page.wait_for("line.sides.length === 2")
    page.run(
        "(async () => { for (const mark of line.sides[1].marks) await hold(1, mark[0]); })()"
    )
    page.run("document.getElementById('differing').click()")
    page.run(
        "(async () => { for (const each of await ownTexts()) byId('hits').append(hit(each, wordsOf(each.low))); })()"
    )
    page.run(
        "Promise.all([...document.querySelectorAll('#pairs button')].map(each => each.click()))"
    )
    page.run(
        "(async () => { for (const row of exampleRows()) await openBeside(row); })()"
    )
    page.run(
        "document.querySelectorAll('a, button, [title]').forEach(e => e.dispatchEvent(new MouseEvent('mouseover')))"
    )
    page.screen(400, 900)
    assert page.run("window.pwned") is None
    assert (
        page.run(
            "document.querySelectorAll('img, iframe, base, form, object, embed, [onclick], [onerror]').length"
        )
        == 0
    )
    assert (
        page.run(
            "document.querySelectorAll('link, meta[http-equiv=refresh], style').length"
        )
        == 2
    )
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert page.run("location.href").startswith("file:")

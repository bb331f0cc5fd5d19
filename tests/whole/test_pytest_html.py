"""pytest-html's report of an LTM run: columns, charts and transcripts, with hostile texts escaped."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from typing import Any
from urllib.parse import parse_qs

import pytest
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

pytest.importorskip("pytest_html")

SCENARIOS = """
def test_keeps_it(ltm):
    ltm.say("The code word is heron.")
    ltm.wait(span=0.5, time="2h")
    ltm.check("names the word", "heron" in ltm.ask("What is the code word?"))
    ltm.check("names it twice", False)

def test_skips_itself(ltm):
    import pytest
    pytest.skip("not today")
"""
HOSTILE = """
import pytest

class Agent:
    def reply(self, message):
        return "heron <script>alert(1)</script> <img src=x onerror=alert(2)> \\x1b[31m \\u202e"

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_agent(config, spec):
    return Agent
"""


@pytest.fixture(autouse=True)
def invited(project: Project) -> None:
    project.invite("html", "html_fixtures", "metadata")


def report(pytester: pytest.Pytester, *options: str) -> tuple[str, dict[str, Any]]:
    pytester.makeconftest(HOSTILE)
    pytester.makepyfile(test_it=SCENARIOS)
    pytester.runpytest_subprocess(
        "--ltm-agent=x",
        "--ltm-suite=none",
        "--html=r.html",
        "--self-contained-html",
        *options,
    )
    page = (pytester.path / "r.html").read_text(encoding="utf-8")
    found = re.search(r'data-jsonblob="([^"]*)"', page)
    assert found is not None
    return page, json.loads(html.unescape(found.group(1)))


def row(blob: dict[str, Any], name: str) -> dict[str, Any]:
    (tests,) = (entries for nodeid, entries in blob["tests"].items() if name in nodeid)
    entry: dict[str, Any] = tests[0]
    return entry


def unpacked(entry: dict[str, Any]) -> str:
    content = "".join(
        str(extra["content"])
        for extra in entry["extras"]
        if extra["format_type"] == "html"
    )
    found = re.search(r'data-z="([^"]+)"', content)
    assert found is not None
    return gzip.decompress(base64.b64decode(found.group(1))).decode()


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_rows_have_our_columns(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    page, blob = report(pytester, *options)
    for head in ("Scenario", "Skills", "Score", "Span", "Gap", "Tokens", "Cost"):
        assert f">{head}</th>" in page
    cells = " ".join(row(blob, "test_keeps_it")["resultsTableRow"])
    assert 'class="col-ltm_score">0.5<' in cells
    assert 'class="col-ltm_scenario">keeps_it<' in cells
    assert 'class="col-ltm_span">2k<' in cells


def test_the_transcript_is_packed_in_its_row_with_distances_and_verdict(
    pytester: pytest.Pytester,
) -> None:
    _, blob = report(pytester)
    text = unpacked(row(blob, "test_keeps_it"))
    assert "The code word is heron." in text
    assert re.search(r"… [\d,]+ tokens and 2:00:00 later …", text)
    assert "FAILED: names it twice" in text


def test_hostile_texts_are_escaped(pytester: pytest.Pytester) -> None:
    page, blob = report(pytester)
    text = unpacked(row(blob, "test_keeps_it"))
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert(1)" not in text + page
    assert "<img src=x" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_outcomes_are_pytests_own(pytester: pytest.Pytester) -> None:
    _, blob = report(pytester)
    assert row(blob, "test_keeps_it")["result"] == "Failed"
    assert row(blob, "test_skips_itself")["result"] == "Skipped"


def test_totals_and_where_it_breaks_stand_above_the_rows(
    pytester: pytest.Pytester,
) -> None:
    page, _ = report(pytester)
    assert "Long-term memory" in page
    assert "keeps_it, x at 2k: 0.50, 1 example" in page


def test_the_page_has_the_first_screen_of_our_report_and_leads_to_it(
    pytester: pytest.Pytester,
) -> None:
    page, blob = report(
        pytester,
        "--ltm-span=1k,2k",
        "--ltm-report=pages/my run.html",
        "--ltm-fail-under=mean:0.9",
    )
    assert "Accuracy against memory span" in page
    assert 'class="curve"' in page
    assert "Did the gate hold?" in page
    assert "judged by rules" in page
    assert '<a href="pages/my%20run.html">The whole report</a>' in page
    cells = " ".join(row(blob, "test_keeps_it[x-2k")["resultsTableRow"])
    (there,) = re.findall(
        r'<a href="pages/my%20run.html#(ex=[^"]+)">keeps_it</a>', cells
    )
    assert parse_qs(there)["ex"][0].endswith("test_keeps_it[x-2k-0-0]")


def test_nothing_breaks_without_pytest_html(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=SCENARIOS)
    result = pytester.runpytest_subprocess(
        "--ltm-agent=echo", "--ltm-suite=none", "-p", "no:html"
    )
    result.assert_outcomes(failed=1, skipped=1)

"""`--ltm-suite=lifecycle`: items, outcomes, the matrix, exit status and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

STORES = """
class Two:
    \"\"\"Finds by shared words, for all users alike.\"\"\"

    def __init__(self):
        self.kept = []

    def add(self, text, *, role, at, session, user):
        self.kept.append(text)

    def search(self, query, *, k, user):
        asked = set(query.lower().split())
        return sorted(self.kept, key=lambda text: -len(asked & set(text.lower().split())))[:k]


class One(Two):
    def search(self, query, *, k):
        return super().search(query, k=k, user="")
"""


@pytest.fixture(autouse=True)
def _stores(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(two_stores=STORES, test_of_project="def test_ordinary(): pass")


def run_suite(pytester: pytest.Pytester, *args: str, store: str) -> pytest.RunResult:
    agent = f"--ltm-agent=store:two_stores:{store}"
    return pytester.runpytest("--ltm-suite=lifecycle", agent, *args)


def test_a_leak_fails_its_test_with_the_text_whose_it_was_and_how_it_was_reached(
    pytester: pytest.Pytester,
) -> None:
    result = run_suite(pytester, "-k", "apart", store="Two")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "another who told nothing: search('What is the name of my *?') as 'bo-*' served *"
        ]
    )
    assert re.search(
        r"served 'The name of my \w+ is \w+\.', which only 'ann-\w+' had told",
        str(result.stdout),
    )
    result.stdout.no_fnmatch_line("*test_ordinary*")


def test_what_a_store_lacks_is_skipped_as_not_supported(
    pytester: pytest.Pytester,
) -> None:
    result = run_suite(pytester, "-k", "names or derived", "-rs", store="One")
    result.assert_outcomes(skipped=2)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*not supported: no delete()*"])
    result.stdout.fnmatch_lines(["*take no user, so it is tested as one user*"])


def test_the_matrix_is_shown_and_written_without_a_percentage(
    pytester: pytest.Pytester,
) -> None:
    result = run_suite(pytester, "-k", "limit or replaced", store="Two")
    result.stdout.fnmatch_lines(["kept:", "  limit *more than none ok*at most k ok*"])
    result.stdout.fnmatch_lines(["corrected:", "  replaced *old as current FAILS*"])
    assert "%" not in result.stdout.str().partition("the life of a memory")[2]
    rows = json.loads(Path(pytester.path, ".ltm", "lifecycle.json").read_text())
    assert [row["test"] for row in rows] == ["limit", "replaced"]


def test_the_matrix_is_shown_where_it_cannot_be_written(
    pytester: pytest.Pytester,
) -> None:
    (pytester.path / "file").touch()
    page = "--ltm-report=life.html"
    result = run_suite(pytester, "--ltm-dir=file/x", page, "-k", "limit", store="Two")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["kept:", "  limit *at most k ok*"])
    result.stdout.fnmatch_lines(["*this matrix is in no file: *file*"])


def test_a_node_id_can_be_pasted_back(pytester: pytest.Pytester) -> None:
    result = run_suite(
        pytester, "ltm/lifecycle::limit[store_two_stores_Two]", store="Two"
    )
    result.assert_outcomes(passed=1)
    result = run_suite(pytester, "ltm/lifecycle::limits", store="Two")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not found: ltm/lifecycle::limits. Did you mean*"])


def test_options_of_conversations_are_refused(pytester: pytest.Pytester) -> None:
    result = run_suite(pytester, "--ltm-span=2k", store="Two")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*holds no conversation, so --ltm-span means nothing*"]
    )


def test_workers_report_to_one_matrix(pytester: pytest.Pytester) -> None:
    result = run_suite(
        pytester, "-n", "2", "-k", "limit or crash or apart", store="Two"
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["kept:", "apart:"])


def test_an_agent_that_is_no_store_is_talked_to(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--ltm-suite=lifecycle", "--ltm-agent=full", "-k", "found or update"
    )
    result.assert_outcomes(passed=1, skipped=1)


def test_more_facts_are_asked_for_by_a_parameter(pytester: pytest.Pytester) -> None:
    agent = "--ltm-agent=store:two_stores:Two"
    suite = "--ltm-suite=lifecycle?facts=40"
    result = pytester.runpytest(suite, agent, "-k", "many")
    result.stdout.fnmatch_lines(["  many *among 40 ok*found: 20 of 20*"])
    for query in ("facts=none", "fact=3", "facts=0"):
        result = pytester.runpytest(f"--ltm-suite=lifecycle?{query}", agent)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*lifecycle has the parameter facts*"])


def test_an_async_agent_is_awaited(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        slow_bot="""
        class Bot:
            def __init__(self):
                self.told = []

            async def accept(self, message, reply):
                self.told.append(message)

            async def reply(self, message):
                return " ".join(self.told)
        """
    )
    result = pytester.runpytest(
        "--ltm-suite=lifecycle", "--ltm-agent=slow_bot:Bot", "-k", "found"
    )
    result.assert_outcomes(passed=1)

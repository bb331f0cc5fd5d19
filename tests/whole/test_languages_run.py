"""`--ltm-language`: agents are addressed in other languages, each in its own conversations."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_ltm.locales import CODES

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

OTHERS = ",".join(
    said for code in CODES if code != "en" for said in (code, f"en:{code}")
)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.nightly(
    "every scenario in every language, which only texts, scenarios and the reader change"
)
def test_the_reader_earns_full_marks_in_every_language_and_silence_none(
    pytester: pytest.Pytester, everything: bool
) -> None:
    """Play three examples of each scenario in each language; before a merge, the first."""
    examples = 3 if everything else 1
    result = pytester.runpytest_inprocess(
        "--ltm-agent=full",
        "--ltm-suite=extended",
        f"--ltm-examples={examples}",
        f"--ltm-language={OTHERS}",
        "--tb=short",
    )
    left_out = re.search(
        "^ltm: left out, as it is not written in that language: (.+)$",
        result.stdout.str(),
        re.MULTILINE,
    )
    assert left_out is not None
    english_only = left_out[1].split(", ")
    entries = 20  # of the suite
    assert len(english_only) < entries / 2
    times = examples * 2 * (len(CODES) - 1)
    result.assert_outcomes(
        passed=(entries - len(english_only)) * times,
        deselected=len(english_only) * times,
    )


@WHOLE_RUN
@pytest.mark.slow
def test_a_run_in_another_language_is_resumed_and_scored_again(
    pytester: pytest.Pytester,
) -> None:
    given = (
        "--ltm-agent=mine=full,oracle",
        "--ltm-suite=needle",
        "--ltm-examples=2",
        "--ltm-language=de,en:de",
    )
    first = pytester.runpytest_inprocess(*given)
    first.assert_outcomes(passed=4 * 6)
    folder = next(Path(pytester.path).glob(".ltm/runs/*"))
    talks = {path.parent.name for path in folder.glob("*/journal.jsonl")}
    assert talks == {
        f"{agent}~2k~0"
        for agent in ("mine.de", "mine.en_de", "oracle.de", "oracle.en_de")
    }
    for flag in (f"--ltm-resume={folder.name}", f"--ltm-rescore={folder.name}"):
        again = pytester.runpytest_inprocess(flag)
        again.assert_outcomes(passed=4 * 6)
    failed = pytester.runpytest_inprocess(
        "--ltm-agent=silent", "--ltm-suite=needle", "--ltm-language=de", "--tb=short"
    )
    failed.stdout.fnmatch_lines(
        [
            "  again: pytest --ltm-agent=silent --ltm-span=2k --ltm-suite=needle --ltm-language=de *"
        ]
    )


def test_what_is_not_written_in_the_language_is_refused_where_nothing_is_left(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_mine="def test_mine(ltm): ltm.check('asked', ltm.ask('Well?') == '')"
    )
    result = pytester.runpytest_inprocess(
        "--ltm-agent=silent", "--ltm-language=de", "test_mine.py"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --ltm-language: mine: not written in that language. *languages=*"]
    )


def test_a_scenario_says_what_it_is_written_in(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine="""
        import pytest
        from pytest_ltm import Ask, Definition, Say

        def generate(rng, parameters):
            german = parameters.get("language") == "de"
            told = Say("Mein Hund heißt Rex." if german else "My dog is called Rex.")
            return Definition(steps=[told, Ask("Wie heißt mein Hund?" if german else "What is my dog called?")])

        @pytest.mark.ltm(generate=generate, languages=["en", "de"], reset="Forget my dog.")
        def test_dog(ltm):
            ltm.check("asked", ltm.play(ltm.definition) == [""])
            assert ltm.definition.steps[1].text == "Wie heißt mein Hund?"
        """
    )
    pytester.runpytest_inprocess(
        "--ltm-agent=silent", "--ltm-language=de", "test_mine.py"
    ).assert_outcomes(passed=1)
    wrong = pytester.runpytest_inprocess(
        "--ltm-agent=silent", "--ltm-language=dee", "test_mine.py"
    )
    wrong.stderr.fnmatch_lines(
        [
            "ERROR: --ltm-language: no scenario is written in 'dee'.*'de'*There are: en, de*"
        ]
    )

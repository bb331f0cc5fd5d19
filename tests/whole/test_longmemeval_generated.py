"""A generated file plays like a published one."""

from __future__ import annotations

import json

import pytest

from pytest_ltm.commands import main


def test_a_generated_file_plays_and_its_golds_pass(pytester: pytest.Pytester) -> None:
    made = pytester.path / "made.json"
    assert (
        main(
            [
                "data",
                "longmemeval-generate",
                "--count",
                "11",
                "--seed",
                "4",
                "-o",
                str(made),
            ]
        )
        == 0
    )
    golds = {
        row["question"]: str(row["answer"]) for row in json.loads(made.read_bytes())
    }
    pytester.makepyfile(
        knower=f"""
        GOLDS = {golds!r}

        class Knower:
            def reply(self, message):
                return next((gold for question, gold in GOLDS.items() if message.endswith(question)), "Yes.")
        """
    )

    result = pytester.runpytest(
        f"--ltm-suite=longmemeval?data={made}", "--ltm-agent=knower:Knower"
    )

    result.assert_outcomes(passed=10, skipped=1)  # a preference needs a judge

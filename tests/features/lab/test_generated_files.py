"""Generated files of ten seeds and several sizes, checked from their contents alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from generated_files import faults, locomo_faults, longmemeval_faults

from pytest_ltm.commands import main


def made(tmp_path: Path, *words: str) -> list[Any]:
    """Return the records of the file that a command writes."""
    assert main([*words, "-o", str(tmp_path / "made.json")]) == 0
    found: list[Any] = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.nightly("ten seeds of three sizes: each has its turn within days", every=5)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("size", ["--turns=40", "--turns=300", "--tokens=4000"])
def test_a_generated_conversation_is_sound(
    tmp_path: Path, seed: int, size: str
) -> None:
    (sample,) = made(tmp_path, "data", "locomo-generate", f"--seed={seed}", size)

    assert sample["qa"]
    assert list(locomo_faults(sample)) == []


@pytest.mark.nightly("ten seeds of three sizes: each has its turn within days", every=5)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "size",
    [["--count=60"], ["--count=7", "--tokens=30k"], ["--count=7", "--sessions=9"]],
)
def test_generated_questions_are_sound(
    tmp_path: Path, seed: int, size: list[str]
) -> None:
    records = made(tmp_path, "data", "longmemeval-generate", f"--seed={seed}", *size)

    assert [fault for record in records for fault in longmemeval_faults(record)] == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [["--tokens=20k"], ["--sessions=8"]])
def test_compiled_histories_are_sound(tmp_path: Path, size: list[str]) -> None:
    made(tmp_path, "data", "longmemeval-generate", "--count=14", "--seed=5")
    (tmp_path / "made.json").rename(tmp_path / "oracle.json")
    records = made(
        tmp_path, "data", "longmemeval-compile", str(tmp_path / "oracle.json"), *size
    )

    assert [fault for record in records for fault in longmemeval_faults(record)] == []


@pytest.mark.parametrize(
    "text",
    [
        "I bought a apron.",
        "It is an kettle.",
        "Do do it.",
        "So  what?",
        "Well , no.",
        "No.. yes",
        "A {theme}.",
        "It is. so.",
    ],
)
def test_a_fault_of_the_language_is_seen(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "A one-way ticket, an hour long.",
        "I use a unicycle. Do you?",
        "I am going to Oslo.",
    ],
)
def test_good_language_has_no_fault(text: str) -> None:
    assert faults(text) == []

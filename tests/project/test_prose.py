"""Pages, messages and docstrings are plain English: phrases that sound translated are banned."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("conftest_examples/**/*.md"),
]
TEMPLATES = [
    *(
        path
        for kind in ("j2", "js", "yml")
        for path in ROOT.glob(f"pytest_ltm/reports/**/*.{kind}")
    ),
    *ROOT.glob("pytest_ltm/agents/*.yml"),
]
MODULES = [*ROOT.glob("pytest_ltm/**/*.py"), *ROOT.glob("scenarios/*.py")]

BANNED = {
    r"(?<!there )\b(?:is|are|was|were|be) no (?!(?:longer|more|less|fewer|older|newer|better|worse)\b)\w+": "is not",
    r"\bto be minded\b": "Caveats",
    r"\b(?:go|goes|going|gone|went) on with\b": "resume",
    r"\bones? of (?:now|then|today|once)\b": "current; original",
    r"\bof (?:now|then)\b": "current; original",
    r"\bthe day of today\b": "current",
    r"\bso (?:many|much) (?:of|tokens|trials|turns|questions|messages|workers|kilometres)\b": "N; this many",
    r"\bso (?:long|many tokens) (?:after|ago)\b": "this long",
    r"\bwhoever\b": "the agent that …; anyone who …",
    r"\bnobody (?:can|could) (?:tell|go on|judge|say)\b": "could not be judged",
    r"\bworth what\b": "accepted and scored as given",
    r"\bwhat there is\b": "what exists",
    r"\b(?:is|are|was|were) to be (?!announced)\w+": "must be; remains to; drop it",
    r"\bfor ever\b": "forever; permanently",
    r"\bcannot be told (?:from|of)\b": "cannot be told apart; is unknown",
    r"\b(?:from|by) (?:its|their) looks\b": "by its status code, by its text",
    r"\b(?:nothing|much|more|little) (?:else )?is to be\b": "nothing …",
    r"\bin the mean\b": "on average",
    r"\bin their turn\b": "in turn",
}
"""Banned phrases, as regular expressions, with their replacements."""
ANY_BANNED = re.compile("|".join(f"(?:{phrase})" for phrase in BANNED), re.IGNORECASE)

TEXTS = {
    "pytest_ltm/fillers/knowledge.py": "quiz facts",
    "pytest_ltm/fillers/_mixed.py": "quiz messages",
    "pytest_ltm/fillers/quiz.py": "quiz messages",
    "pytest_ltm/fillers/trivia.py": "quiz messages",
    "pytest_ltm/fillers/_talk.py": "small talk",
    "pytest_ltm/lab/locomo": "conversations of invented people",
    "pytest_ltm/lab/longmemeval": "conversations of invented people",
    "pytest_ltm/agents/reader": "what scenarios and agents say, as the reader recognises it",
    "pytest_ltm/language": "what answers say, as the rules recognise it",
    "scenarios": "messages of scenarios",
}
"""Files whose string literals are texts of conversations, with the reason: only their docstrings are checked."""


def found_in(text: str) -> list[tuple[int, str]]:
    """Return the line (counted from 0) and the words of each banned phrase."""
    joined = re.sub(r"\s", " ", text)
    if not ANY_BANNED.search(joined):
        return []
    return sorted(
        (text.count("\n", 0, match.start()), match.group())
        for phrase in BANNED
        for match in re.finditer(phrase, joined, re.IGNORECASE)
    )


def prose(path: Path) -> list[tuple[int, str]]:
    """Return a module's docstrings by line, with its string literals unless they are texts of conversations."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {
        id(statement.value)
        for node in nodes
        for node_body in [getattr(node, "body", None)]
        if isinstance(node_body, list)
        for statement in node_body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    }
    name = path.relative_to(ROOT).as_posix()
    conversations = any(name.startswith(folder) for folder in TEXTS)
    return [
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (id(node) in docstrings or not conversations)
    ]


def test_a_banned_phrase_is_found_across_lines_and_whatever_its_case() -> None:
    assert found_in("A dog\nIs no\ncat.") == [(1, "Is no cat")]
    assert found_in("There is no cat, and it is no longer here.") == []


@pytest.mark.slow
def test_pages_read_like_english() -> None:
    offences = [
        f"{path.relative_to(ROOT).as_posix()}:{line + 1}: {words}"
        for path in [*PAGES, *TEMPLATES]
        for line, words in found_in(path.read_text(encoding="utf-8"))
    ]
    assert offences == [], "\n".join(["", *offences])


@pytest.mark.slow
def test_messages_and_docstrings_read_like_english() -> None:
    offences = [
        f"{path.relative_to(ROOT).as_posix()}:{start + line}: {words}"
        for path in MODULES
        for start, text in prose(path)
        for line, words in found_in(text)
    ]
    assert offences == [], "\n".join(["", *sorted(offences)])


def test_every_exclusion_names_a_file_or_folder() -> None:
    assert [name for name in TEXTS if not (ROOT / name).exists()] == []

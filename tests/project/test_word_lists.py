"""The words of other authors are matched by rules: the lists behind the rules must not grow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from pytest_ltm.api.model import ACCOUNTS

PACKAGE = Path(__file__).parents[2] / "pytest_ltm"
STEMS = yaml.safe_load((PACKAGE / "_core/model/account.yml").read_text("utf-8"))
CODE = (
    "providers/refusal.py",
    "providers/answer_fields.py",
    "_core/calls/passing.py",
    "_core/calls/retry.py",
    "language/marked_speech.py",
    "language/structured.py",
)
SECTIONS = (
    "speech",
    "structured",
    "roles",
    "markup",
    "normal form trace",
    "normal form next questions",
    "normal form status word",
    "normal form counted",
    "normal form places",
    "normal form sources",
    "normal form source item",
)
NOT_WORDS = re.compile(
    r"\(\?P<\w+>|\(\?P=\w+\)|\(\?[imsx]+[:)]|\{[a-z][a-z ]*\}|\[[^\]]*\]|\)\?|[?()]|\\u[\da-f]{4}|\\."
)
WORD = re.compile(r"\w*(?:[^\W\d_]{2}|[\u3400-\u9fff])\w*")


def count_words(expression: str) -> int:
    """Return the number of words that an expression lists."""
    return len(WORD.findall(NOT_WORDS.sub(" ", expression)))


def read_sections() -> Iterator[tuple[str, str]]:
    text = (PACKAGE / "language" / "lexicon.txt").read_text("utf-8")
    text = re.sub(r"^# .*\n", "", text, flags=re.MULTILINE)
    header = re.compile(r"^\[([a-z][a-z ]*)\](?: \\b)?(?: [imsx]+)?\n", re.MULTILINE)
    parts = header.split(text)[1:]
    yield from zip(parts[::2], parts[1::2], strict=True)


def texts_of(node: ast.AST) -> list[str]:
    """Return the texts of a pattern, or of a collection of texts only, without our own names."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
        inner = list(ast.walk(node.args[0]))
    elif isinstance(node, (ast.Set, ast.Tuple, ast.List)):
        inner = list(node.elts)
    else:
        return []
    texts = [part.value for part in inner if isinstance(part, ast.Constant)]
    own = {*ACCOUNTS, *STEMS}
    return [text for text in texts if isinstance(text, str) and text not in own]


def without_literals(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module except those of types such as `Literal["opens", "closes"]`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
            continue
        yield node
        yield from without_literals(node)


def test_the_lists_by_which_replies_are_sorted_do_not_grow() -> None:
    count = sum(map(len, STEMS.values()))
    for name in CODE:
        for node in without_literals(ast.parse((PACKAGE / name).read_text("utf-8"))):
            count += sum(map(count_words, texts_of(node)))
    for name, body in read_sections():
        if name in SECTIONS or name.split()[0] in SECTIONS:
            count += count_words(body)
    assert count <= 321

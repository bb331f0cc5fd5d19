"""A rule that somebody writes in an afternoon: three yes-or-no questions about form that tell filler from scenarios."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pytest_ltm._storage.errors import AgentError
from pytest_ltm.agents._adapt import agent_source
from pytest_ltm.agents.reader.memory_policies import Window, count_tokens, tokens_of
from pytest_ltm.agents.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pytest_ltm.agents._adapt import AgentSource


# One after the other, each depending on the answers before.
QUESTIONS = 3
# The words that filler uses most may be asked about.
WORDS = 60
_LENGTHS = (6, 8, 10, 12, 15, 20, 25, 30, 40, 60, 90, 150, 300, 600)
_MARKS = "?!:;,.-\"()'“…{["
_WORD = re.compile(r"[^\W\d_]+")

# Whether it is filler; or a question, what follows if the answer is yes, and what follows if it is no.
FormTree: TypeAlias = "bool | tuple[str, Any, Any]"


# A tree of one question, where none was learned.
LONG: FormTree = ("longer than 40", True, False)


class FormSample(NamedTuple):
    """A message and what it is."""

    text: str
    is_filler: bool


def form_of(text: str) -> frozenset[str]:
    """Return all questions about a text that are answered with yes: its length, lines, marks, signs and words."""
    tokens, lines, stripped = count_tokens(text), text.count("\n"), text.strip() or " "
    yes = {f"longer than {length}" for length in _LENGTHS if tokens > length}
    yes |= {f"more than {n} line breaks" for n in (0, 1, 3, 8) if lines > n}
    yes |= {f"has {mark}" for mark in _MARKS if mark in text}
    yes |= {f"more than one {mark}" for mark in ".,?" if text.count(mark) > 1}
    yes |= {f"begins with {stripped[0]}", f"ends in {stripped[-1]}", *(f"word {word}" for word in _words(text))}
    if re.search(r"\d", text):
        yes.add("has a digit")
    kind = "letter" if stripped[0].isalpha() else "digit" if stripped[0].isdigit() else "mark"
    return frozenset(yes | {f"begins with a {kind}"})


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def learn_tree(samples: Sequence[FormSample]) -> FormTree:
    """Return the tree that tells most of what it has seen, filler and scenarios weighing the same."""
    used = Counter(word for sample in samples if sample.is_filler for word in _words(sample.text))
    asked = {f"word {word}" for word, _ in used.most_common(WORDS)}
    known = [(form_of(sample.text), sample.is_filler) for sample in samples]
    asked |= {question for form, _ in known for question in form if not question.startswith("word ")}
    filler = sum(is_filler for _, is_filler in known)
    weights = (0.5 / max(len(known) - filler, 1), 0.5 / max(filler, 1))
    return _grown([(form & asked, is_filler) for form, is_filler in known], sorted(asked), weights, QUESTIONS)


def _grown(
    known: Sequence[tuple[Collection[str], bool]], asked: Sequence[str], weights: tuple[float, float], left: int
) -> FormTree:
    filler = sum(is_filler for _, is_filler in known)
    sides = weights[0] * (len(known) - filler), weights[1] * filler
    if not left or not min(sides):
        return sides[1] > sides[0]
    yes = Counter((question, is_filler) for form, is_filler in known for question in form)

    def impurity(one: str) -> float:
        """Return Gini's impurity that a question leaves, from the weights of scenarios and filler on both sides."""
        having = (weights[0] * yes[one, False], weights[1] * yes[one, True])
        pairs = (having, (sides[0] - having[0], sides[1] - having[1]))
        return sum(2 * one * other / (one + other) for one, other in pairs if one + other > 0)

    question = min(asked, key=impurity)
    having, lacking = ([one for one in known if (question in one[0]) is answer] for answer in (True, False))
    if not having or not lacking:
        return sides[1] > sides[0]
    return question, _grown(having, asked, weights, left - 1), _grown(lacking, asked, weights, left - 1)


def says_filler(tree: FormTree, form: Collection[str]) -> bool:
    """Return whether the tree calls what has this form filler."""
    while not isinstance(tree, bool):
        question, yes, no = tree
        tree = yes if question in form else no
    return tree


def share_told_apart(tree: FormTree, samples: Iterable[FormSample]) -> float:
    """Return the share of messages that the tree calls what they are, filler and scenarios weighing the same."""
    right, of = Counter[bool](), Counter[bool]()
    for sample in samples:
        right[sample.is_filler] += says_filler(tree, form_of(sample.text)) is sample.is_filler
        of[sample.is_filler] += 1
    return sum(right[side] / of[side] for side in of) / max(len(of), 1)


def write_tree(tree: FormTree) -> str:
    """Return the tree as a sentence."""
    if isinstance(tree, bool):
        return "filler" if tree else "kept"
    return f"({tree[0]}? {write_tree(tree[1])} : {write_tree(tree[2])})"


class SkipsFiller(Reader):
    """A reader with a window that never stores what a tree calls filler, and replies to it with a word."""

    def __init__(self, tree: FormTree, tokens: int, name: str) -> None:
        super().__init__(lambda: Window(tokens), name)
        self._tree = tree

    def reply(self, message: str, user: str = "") -> str:
        """Return what the reader says, or nothing much to filler."""
        return "Noted." if self._skips(message) else super().reply(message, user)

    def accept(self, message: str, reply: str, user: str = "") -> None:
        """Hear an exchange that happened, unless it is filler."""
        if not self._skips(message):
            super().accept(message, reply, user)

    def _skips(self, message: str) -> bool:
        return says_filler(self._tree, form_of(message))


def make_skipping(argument: str) -> AgentSource:
    """Return the source of windows that skip what a tree calls filler; `argument`: SIZE, or SIZE:FILE with a tree."""
    size, _, path = argument.partition(":")
    try:
        tree = _read_tree(json.loads(Path(path).read_text("utf-8"))) if path else LONG
    except (OSError, ValueError) as error:
        cure = "write a size and the file of a tree, as in 'skips:8k:t.json'"
        raise AgentError(f"agent 'skips:{argument}': {cure}") from error
    return agent_source(partial(SkipsFiller, tree, tokens_of("skips", size), f"skips:{size}"), spec=f"skips:{argument}")


def _read_tree(tree: Any) -> FormTree:
    if isinstance(tree, bool):
        return tree
    question, yes, no = tree
    return str(question), _read_tree(yes), _read_tree(no)

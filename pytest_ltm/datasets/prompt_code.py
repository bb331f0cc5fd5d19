"""Extracts prompts verbatim from the syntax tree of the authors' code, without running any of it.

A prompt is a text that the code fills in: `TEXT.format(...)` or an f-string. The names filled in reveal its purpose,
and the conditions around it reveal the kind of question.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from msgspec import Struct

from pytest_ltm.api.storage import DatasetError, read_regular

# The purpose of an inserted value, by the words of its name. Later words take
# precedence: `question_date` is a date.
_WORDS = {
    "question": "question",
    "query": "question",
    "date": "date",
    "history": "history",
    "context": "history",
    "conversation": "history",
    "memories": "history",
    "answer": "said",
    "reference": "reference",
    "gold": "reference",
    "golden": "reference",
    "truth": "reference",
    "expected": "reference",
    "correct": "reference",
    "rubric": "reference",
    "response": "answer",
    "hypothesis": "answer",
    "prediction": "answer",
    "predicted": "answer",
    "generated": "answer",
    "output": "answer",
}
_PARAMETERS = ("temperature", "max_tokens", "max_completion_tokens", "top_p", "seed")
_MOST_FILES = 2_000


class CodePrompt(Struct, frozen=True):
    """A text that code fills in."""

    text: str
    """With our names for its parts."""
    parts: frozenset[str]
    kinds: frozenset[str]
    """The kinds of question in the conditions around it; empty for all others."""
    switches: int
    """The number of further conditions: 0 means the code's default behaviour."""
    file: str
    line: int

    @property
    def place(self) -> str:
        """The file and line where it is filled in."""
        return f"{self.file}:{self.line}"


class _Text(Struct, frozen=True):
    """A text that a name may stand for."""

    text: str
    kinds: frozenset[str]
    switches: int


_Names = Mapping[str, Sequence[_Text]]


class CodePrompts(Struct, frozen=True):
    """The prompts and settings found in a folder's code."""

    path: Path
    prompts: Sequence[CodePrompt]
    parameters: Mapping[str, Any]
    """Arguments of model calls other than the judge's prompt."""
    limit: int = 0
    """The most tokens of a model's answer; 0 if not specified."""

    def text_of(self, kind: str, *, needs: str, may: Collection[str]) -> str:
        """Return the text for a kind of question (`default`: any other), or "" if there is none.

        `needs`: the part that it must name, `may`: others that it may. DatasetError if several texts qualify.
        """
        usable = []
        for prompt in self.prompts:
            if needs in prompt.parts and prompt.parts <= {needs, *may}:
                usable.append(prompt)
        fitting = [prompt for prompt in usable if _is_for(prompt, kind)]
        fewest = min((prompt.switches for prompt in fitting), default=0)
        chosen = [prompt for prompt in fitting if prompt.switches == fewest]
        texts = dict.fromkeys(prompt.text for prompt in chosen)
        if len(texts) > 1:
            places = ", ".join(dict.fromkeys(prompt.place for prompt in chosen))
            raise DatasetError(
                f"{self.path}: more than one text for {kind!r} questions: {places}. Name one file of the folder, or "
                "copy the texts into a file of your own"
            )
        return next(iter(texts), "")


def _is_for(prompt: CodePrompt, kind: str) -> bool:
    return kind in prompt.kinds or (kind == "default" and not prompt.kinds)


def read_code_prompts(path: Path, kinds: Collection[str]) -> CodePrompts:
    """Read the prompts in a Python file, or in all of a folder; skips files that this Python cannot parse.

    DatasetError if there are none.
    """
    trees = dict(_parse_files(path))
    shared: dict[str, Sequence[_Text]] = {}
    for tree in trees.values():
        reader = _Reader("", kinds, {})
        reader.read(tree.body, shared, frozenset(), 0)
    prompts: list[CodePrompt] = []
    for name, tree in trees.items():
        reader = _Reader(name, kinds, shared)
        reader.read(tree.body, {}, frozenset(), 0)
        prompts += reader.prompts
    parameters: dict[str, Any] = {}
    limit = 0
    for name, tree in trees.items():
        parts = [prompt.parts for prompt in prompts if prompt.file == name]
        if any("answer" in names for names in parts):
            parameters.update(_model_parameters(tree))
        elif any("question" in names for names in parts):
            limit = _limit_of(_model_parameters(tree)) or limit
    if not any({"question", "answer"} & prompt.parts for prompt in prompts):
        raise DatasetError(
            f"{path}: no text is filled in with a question or an answer ({len(trees)} files of Python were read)"
        )
    return CodePrompts(path, prompts, parameters, limit)


def _limit_of(parameters: Mapping[str, Any]) -> int:
    limits = map(parameters.get, ("max_tokens", "max_completion_tokens"))
    return next((limit for limit in limits if isinstance(limit, int)), 0)


def _parse_files(path: Path) -> Iterator[tuple[str, ast.Module]]:
    files = [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))
    for file in files[:_MOST_FILES]:
        name = file.name if file == path else file.relative_to(path).as_posix()
        try:
            yield name, ast.parse(read_regular(file))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue


class _Reader:
    """Interprets statements in order: the texts behind names, and where they are filled in."""

    def __init__(self, file: str, kinds: Collection[str], shared: _Names) -> None:
        self.prompts: list[CodePrompt] = []
        self._file = file
        self._kinds = {_plain(kind): kind for kind in kinds}
        self._shared = shared

    def read(
        self,
        body: Iterable[ast.stmt],
        names: dict[str, Sequence[_Text]],
        kinds: frozenset[str],
        switches: int,
    ) -> None:
        """Interpret statements under conditions; `names` collects their assignments."""
        for statement in body:
            match statement:
                case ast.If():
                    self._read_branches(statement, names, kinds, switches)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self.read(statement.body, {**names}, kinds, switches)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._find_prompts(value, names, kinds, switches)
                    texts = self._texts_of(value, names)
                    names[name] = [_restrict(text, kinds, switches) for text in texts]
                case (
                    ast.Raise()
                    | ast.Assert()
                    | ast.Expr(value=ast.Call(func=ast.Name()))
                ):
                    continue  # printed or raised texts are for people
                case _:
                    for part in ast.iter_child_nodes(statement):
                        if isinstance(part, ast.expr):
                            self._find_prompts(part, names, kinds, switches)
                    for field in ("body", "orelse", "finalbody"):
                        self.read(getattr(statement, field, ()), names, kinds, switches)

    def _read_branches(
        self,
        statement: ast.If,
        names: dict[str, Sequence[_Text]],
        kinds: frozenset[str],
        switches: int,
    ) -> None:
        named, is_off = self._condition(statement.test)
        held, denied = (
            (frozenset[str](), named) if is_off else (named, frozenset[str]())
        )
        costs = (0, 0) if named else (int(not is_off), int(is_off))
        results = []
        for body, found, cost in zip(
            (statement.body, statement.orelse), (held, denied), costs, strict=True
        ):
            branch = dict(names)
            self.read(body, branch, found or kinds, switches + cost)
            results.append(branch)
        for name in {**results[0], **results[1]}:
            texts: list[_Text] = []
            for branch in results:
                texts += branch.get(name, ())
            names[name] = list(dict.fromkeys(texts))

    def _condition(self, test: ast.expr) -> tuple[frozenset[str], bool]:
        """Return the kinds that a condition names, and whether it holds when something is absent or false."""
        words: list[str] = []
        is_off = False
        for node in ast.walk(test):
            match node:
                case (
                    ast.UnaryOp(op=ast.Not())
                    | ast.Constant(value=None | False | "none")
                ):
                    is_off = True
                case ast.NotEq() | ast.NotIn():
                    is_off = True
                case ast.Constant(value=str(word)) | ast.Name(id=word):
                    words.append(word)
        found = (self._kinds.get(_plain(word)) for word in words)
        return frozenset(filter(None, found)), is_off

    def _texts_of(self, node: ast.expr, names: _Names) -> list[_Text]:
        """Return the possible texts of an expression."""
        match node:
            case ast.Constant(value=str(text)):
                return [_Text(text, frozenset(), 0)]
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return list(names.get(name) or self._shared.get(name, ()))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pairs = itertools.product(
                    self._texts_of(left, names), self._texts_of(right, names)
                )
                texts = []
                for first, second in pairs:
                    text = first.text + second.text
                    switches = first.switches + second.switches
                    texts.append(_Text(text, first.kinds | second.kinds, switches))
                return texts
        return []

    def _find_prompts(
        self, expression: ast.expr, names: _Names, kinds: frozenset[str], switches: int
    ) -> None:
        for node in ast.walk(expression):
            match node:
                case ast.Call(func=ast.Attribute(value=value, attr="format")):
                    for known in self._texts_of(value, names):
                        pieces = _formatted_pieces(known.text, node)
                        self._add(
                            pieces,
                            known.kinds or kinds,
                            known.switches + switches,
                            node.lineno,
                        )
                case ast.JoinedStr():
                    self._add(_joined_pieces(node), kinds, switches, node.lineno)

    def _add(
        self,
        pieces: Sequence[tuple[str, str | None]],
        kinds: frozenset[str],
        switches: int,
        line: int,
    ) -> None:
        """Record a prompt, given as texts, each with the name inserted after it, unless a name is unknown."""
        parts = [_role_of(name) for _, name in pieces if name is not None]
        words = " ".join(literal for literal, _ in pieces).split()
        is_said = sum(any(map(str.isalpha, word)) for word in words) > 1
        if not parts or "" in parts or not is_said:
            return
        # Next to a response, an answer is the right one.
        answer = "reference" if "answer" in parts else "answer"
        text = ""
        roles = set()
        for literal, name in pieces:
            text += literal.replace("{", "{{").replace("}", "}}")
            if name is not None:
                role = _role_of(name)
                role = answer if role == "said" else role
                roles.add(role)
                text += f"{{{role}}}"
        if roles == {"answer"}:
            return  # displays a reply without asking anything about it
        self.prompts.append(
            CodePrompt(text, frozenset(roles), kinds, switches, self._file, line)
        )


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _role_of(name: str) -> str:
    """Return the purpose of a name, or "" if unknown."""
    words = re.findall("[a-z]+", re.sub("([A-Z])", r" \1", name).lower())
    found = [_WORDS.get(word) or _WORDS.get(word.removesuffix("s")) for word in words]
    known = list(filter(None, found))
    precise = [role for role in known if role != "said"]
    if name in ("a", "b"):
        return name
    return (precise or known or [""])[-1]


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(args=[argument, *_]):
            return _name_of(argument)
        case ast.Call(func=ast.Attribute(value=holder)):
            return _name_of(holder)
    return ""


def _restrict(text: _Text, kinds: frozenset[str], switches: int) -> _Text:
    return _Text(text.text, text.kinds | kinds, text.switches + switches)


def _formatted_pieces(text: str, call: ast.Call) -> list[tuple[str, str | None]]:
    """Return the pieces of a format string, each with the name inserted after it."""
    positional = [_name_of(argument) for argument in call.args]
    keywords = {}
    for keyword in call.keywords:
        if keyword.arg:
            keywords[keyword.arg] = _name_of(keyword.value)
    pieces: list[tuple[str, str | None]] = []
    number = 0
    try:
        for literal, field, _, _ in Formatter().parse(text):
            name = field
            if field is not None and (not field or field.isdecimal()):
                place = int(field or number)
                number += not field
                name = positional[place] if place < len(positional) else ""
            elif field is not None and not _role_of(field):
                name = keywords.get(field, "")
            pieces.append((literal, name))
    except ValueError:
        return []
    return pieces


def _joined_pieces(node: ast.JoinedStr) -> list[tuple[str, str | None]]:
    pieces: list[tuple[str, str | None]] = []
    for part in node.values:
        match part:
            case ast.Constant(value=str(literal)):
                pieces.append((literal, None))
            case ast.FormattedValue(value=value):
                pieces.append(("", _name_of(value)))
    return pieces


def _model_parameters(tree: ast.Module) -> dict[str, Any]:
    """Return the numeric arguments of a model call, in a call or dictionary that contains `messages`."""
    parameters: dict[str, Any] = {}
    for node in ast.walk(tree):
        pairs: dict[str, ast.expr] = {}
        match node:
            case ast.Call(keywords=keywords):
                pairs = {pair.arg: pair.value for pair in keywords if pair.arg}
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        pairs[key.value] = value
        if "messages" not in pairs:
            continue
        for name in _PARAMETERS:
            match pairs.get(name):
                case ast.Constant(value=int() | float() as number):
                    parameters[name] = number
    return parameters


def split_at_history(text: str) -> tuple[str, str]:
    """Return the parts of a text before and after the inserted history."""
    before, _, behind = text.rpartition("{history}")
    return before.strip(), behind.strip()

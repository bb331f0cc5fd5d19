"""How the package's classes may use each other: by public names, through public modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import pytest_ltm
from pytest_ltm.commands import USAGE, main

ROOT = Path(pytest_ltm.__file__).parent
PROJECT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Class: TypeAlias = "tuple[str, ast.ClassDef]"
"""A class with its module's name."""
PUBLIC_FACES = frozenset({"__init__", "api", "hookspec", "testing"})
"""Modules that re-export parts of the core; all other code of the package imports these."""
OF_PYTEST = frozenset(
    {"runtest", "sendevent", "handle_command", "duration", "_request"}
)
"""What is put in place in objects of pytest and xdist (`_core/internals` and more)."""


@cache
def modules() -> dict[str, ast.Module]:
    paths = [path for path in ROOT.rglob("*.py") if "scenarios" not in path.parts]
    return {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts): ast.parse(
            path.read_text()
        )
        for path in paths
    }


@cache
def classes() -> dict[str, list[Class]]:
    found: dict[str, list[Class]] = {}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append((module, node))
    return found


def methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {part.name: part for part in node.body if isinstance(part, FUNCTIONS)}


def bases(node: ast.ClassDef) -> list[Class]:
    """Return the package's classes that a class may derive from, matched by name, with their own bases."""
    names = [
        base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
        for base in node.bases
    ]
    direct = [
        known
        for name in names
        if name != node.name
        for known in classes().get(name, [])
    ]
    return [*direct, *(further for _, base in direct for further in bases(base))]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def room_of(module: str) -> str:
    return module.split(".")[1]


def private_parts(module: str) -> list[str]:
    """Return the private parts of a module's name below the package."""
    return [part for part in module.split(".")[1:] if is_private(part)]


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import of ours, including those that a string names for lazy import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            module, colon, name = node.value.partition(":")
            if colon and name.isidentifier():
                yield module, name


def test_no_room_imports_what_is_private_in_another() -> None:
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"__pycache__"}
    found = [
        f"{module}: {home}.{name}"
        for module, tree in modules().items()
        if room_of(module) not in PUBLIC_FACES
        for home, name in imported_names(tree)
        if home.startswith("pytest_ltm.")
        and room_of(home) in rooms - {room_of(module)}
        and (private_parts(f"{home}.{name}"))
    ]
    assert found == [], "a room shows what others may use under names without `_`"


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("from pytest_ltm.agents._http import make_http", "_http"),
        ("from pytest_ltm.agents import _http", "_http"),
        ("from pytest_ltm.agents.registry import _FILE", "_FILE"),
        ("lazy('pytest_ltm.agents._http:make_http')", "_http"),
        ("from pytest_ltm._core.storage import errors", "_core"),
    ],
)
def test_an_import_of_something_private_is_found(text: str, imported: str) -> None:
    [(home, name)] = imported_names(ast.parse(text))
    assert private_parts(f"{home}.{name}") == [imported]


@pytest.mark.slow
def test_no_class_overrides_a_private_method_of_a_class_in_another_module() -> None:
    overrides = [
        f"{module}.{node.name}.{name} overrides that of {other}.{base.name}"
        for known in classes().values()
        for module, node in known
        for other, base in bases(node)
        if other != module
        for name in methods(node).keys() & methods(base).keys()
        if is_private(name)
    ]
    assert overrides == [], "a method that another module overrides has no `_`"


@pytest.mark.slow
def test_no_method_of_a_class_of_ours_is_replaced_from_outside() -> None:
    own = {
        name
        for known in classes().values()
        for _, node in known
        for name, method in methods(node).items()
        if not method.decorator_list
    }
    targets = [
        (module, target)
        for module, tree in modules().items()
        for target in _assigned(tree)
    ]
    every = [
        part for known in classes().values() for _, node in known for part in node.body
    ]
    fields = {
        part.target.id
        for part in every
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    # a method here, data there
    data = fields | {target.attr for _, target in targets if _is_self(target.value)}
    replaced = [
        f"{module}, line {target.lineno}: {ast.unparse(target)}"
        for module, target in targets
        if target.attr in own - data - OF_PYTEST
    ]
    assert replaced == [], (
        "pass a function instead: who reads the class does not see it"
    )


@pytest.mark.slow
def test_chance_comes_from_generators_that_are_passed() -> None:
    """The module-level one belongs to the caller; tests/conftest.py detects libraries that use it."""
    beside = [
        path
        for name in ("scenarios", "benchmarks")
        for path in (PROJECT / name).glob("*.py")
    ]
    trees = {**modules(), **{path.name: ast.parse(path.read_text()) for path in beside}}
    drawn = [
        f"{module}, line {node.lineno}: {ast.unparse(node)}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "random"
            and [n.name for n in node.names] != ["Random"]
        )
        or (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "random"
            and node.attr != "Random"
        )
    ]
    assert drawn == [], "draw from a `random.Random` that is passed"


def _assigned(tree: ast.Module) -> list[ast.Attribute]:
    """Return the attributes that are assigned to, those of `self` among them."""
    nodes = [
        node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign))
    ]
    wholes = [
        whole
        for node in nodes
        for whole in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    parts = [
        part
        for whole in wholes
        for part in (whole.elts if isinstance(whole, ast.Tuple) else [whole])
    ]
    return [part for part in parts if isinstance(part, ast.Attribute)]


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


# --- the boundary: all output passes through one place

DOORS = {"pytest_ltm._core.storage.sanitize", "pytest_ltm._core.storage.disk"}
BESIDE = {
    "pytest_ltm.__main__": "what is left of a closed pipe goes nowhere",
    "pytest_ltm._core.model.scenario": "a definition, as `dump` returns it: JSON without secrets",
    "pytest_ltm.commands.sharing": "what `for_file` returns",
    "pytest_ltm.commands.init": "the first files of a project, and a skill: our own texts",
    "pytest_ltm.commands.merge": "what `json_text` returns",
    "pytest_ltm.lab.commands.cheats": "what `for_file` returns",
    "pytest_ltm.commands.plot": "a picture, whose texts pass the boundary before they are drawn",
    "pytest_ltm.lab.commands.import_published": "what `json_text` and the codec return",
    "pytest_ltm._core.storage.locks": "numbers that processes share",
    "pytest_ltm.agents._subprocess_main": "an agent's process: replies to the parent, which redacts them",
    "pytest_ltm.agents._process_guard": "pipes, and a process that holds no text",
    "pytest_ltm.agents._tool_pipe": "an agent's program: what the tools of a scenario returned, redacted before",
    "pytest_ltm.agents._human": "a person's terminal: what `for_screen` returns",
    "pytest_ltm.agents.line_process": "stderr of an agent: what `Lines` returns, and the agent's own stdin",
    "pytest_ltm.lab.longmemeval.histories": "a data set, which is an input",
    "pytest_ltm.judges.connection": "what `json_text` returns",
    "pytest_ltm.prechecks.canaries": "lines of a file as they were, without the torn one",
    "pytest_ltm.reports.run_report": "finds out whether a file could be written",
    "pytest_ltm.modes.replaced": "what `for_screen` returns",
    "pytest_ltm.modes.signals": "where the threads of a stuck process are, no values; and a byte each second",
    "pytest_ltm.reports.run_markdown": "what `for_file` returns",
    "pytest_ltm.agents._hidden": "nothing: paths are opened to name them to the kernel",
    "pytest_ltm.lab.study": "the progress of commands, before which `main` puts a Screen",
    "pytest_ltm.lab.commands.leak_check": "a tree of questions about the form of messages, for `skips:`",
}
"""Other modules that write, and what they write."""


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def writes(node: ast.Call) -> bool:
    """Return whether a call may write a text somewhere."""
    name = ast.unparse(node.func)
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    words = {
        part.value
        for part in given
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    modes = {word for word in words if set(word) <= set("wax+bt")}
    return (
        name in {"print", "os.write", "os.open", "tempfile.NamedTemporaryFile"}
        or name.startswith(
            ("sys.stdout.", "sys.stderr.", "sys.__stdout__.", "sys.__stderr__.")
        )
        or name.endswith((".write_text", ".write_bytes"))
        or (
            name.rpartition(".")[2] == "open"
            and any(set(mode) & set("wax+") for mode in modes)
        )
    )


@pytest.mark.slow
def test_whatever_is_written_passes_the_boundary() -> None:
    found: dict[str, list[str]] = {}
    for module, tree in modules().items():
        lines = [
            f"{node.lineno}: {ast.unparse(node)}"
            for node in calls(tree)
            if writes(node)
        ]
        if lines and module.removesuffix(".__init__") not in DOORS:
            found[module.removesuffix(".__init__")] = lines
    rooms = ("pytest_ltm.commands", "pytest_ltm.lab.commands")
    # `main` installs a Screen in front of them
    commands = {module for module in found if module.startswith(rooms)}
    loud = [
        line
        for module in commands
        for line in found[module]
        if ".write_" in line or "open(" in line
    ]
    others = {
        module: lines
        for module, lines in found.items()
        if module not in BESIDE.keys() | commands
    }
    assert others == {}, "write by a door of DOORS, which redacts keys"
    assert {module for module in commands if set(found[module]) & set(loud)} <= set(
        BESIDE
    )
    assert set(BESIDE) <= set(found), "no longer writes"


READS_OWN_FILES = {
    "pytest_ltm._core.model.tokens": "the ranks of the tokenizer",
    "pytest_ltm._core.session.items": "a test module that pytest has imported",
    "pytest_ltm._core.storage.schema": "data files beside modules",
    "pytest_ltm.agents._process_guard": "/proc",
    "pytest_ltm.agents.memory.embeddings": "the file of an installed package",
    "pytest_ltm.agents.memory.parameters": "presets",
    "pytest_ltm.commands.init": "its own templates",
    "pytest_ltm.datasets.suite_file": "built-in suites",
    "pytest_ltm.language.lexicon": "word lists",
    "pytest_ltm.locales.spoken": "the texts of a language",
    "pytest_ltm.reports.html.page": "scripts and styles",
    "pytest_ltm.web.app": "scripts and styles",
    "pytest_ltm.web.page_parts": "scripts and styles",
}
"""Modules that read files other than users', and which; all else uses `disk`, which never blocks on a FIFO."""


def reads(call: ast.Call) -> bool:
    """Return whether a call opens a file for reading without checking its kind."""
    name = ast.unparse(call.func)
    if name.endswith((".read_bytes", ".read_text")):
        return True
    if name == "gzip.open":
        return not isinstance(call.args[0], ast.Name) or call.args[0].id != "packed"
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    words = {part.value for part in given if isinstance(part, ast.Constant)}
    opens = name in {"open", "io.open"} or name.endswith(".open")
    named = {keyword.arg for keyword in call.keywords}
    return (
        opens
        and bool(words & {"r", "rb", "rt"} or "encoding" in named)
        and not writes(call)
    )


def test_files_of_users_are_read_through_one_door() -> None:
    door = "pytest_ltm._core.storage.disk"
    found: dict[str, list[str]] = {}
    for module, tree in modules().items():
        lines = [ast.unparse(call) for call in calls(tree) if reads(call)]
        if lines and module != door:
            found[module.removesuffix(".__init__")] = lines
    others = {
        name: lines for name, lines in found.items() if name not in READS_OWN_FILES
    }
    assert others == {}, "read a user's file by pytest_ltm.api.storage"
    assert set(READS_OWN_FILES) <= set(found), "no longer reads"


@pytest.mark.parametrize(
    "text",
    [
        "p.read_text()",
        "p.read_bytes()",
        "p.open('rb')",
        "open(p, encoding=e)",
        "gzip.open(path)",
    ],
)
def test_a_way_to_read_is_found(text: str) -> None:
    assert [reads(call) for call in calls(ast.parse(text))] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "sys.stdout.write(t)",
        "p.write_text(t)",
        "open(p, 'w')",
        "p.open('ab')",
        "os.write(1, b)",
    ],
)
def test_a_way_to_write_is_found(text: str) -> None:
    assert [writes(call) for call in calls(ast.parse(text))] == [True]


@pytest.mark.parametrize(
    "text", ["open(p)", "p.open('rb')", "journal.open(plan)", "journal.write(event)"]
)
def test_what_only_sounds_like_writing_is_none(text: str) -> None:
    assert [writes(call) for call in calls(ast.parse(text))] == [False]


def test_what_a_command_prints_passes_the_boundary(
    capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "planted-value-77")
    assert main(["doctor", "no-such-run-planted-value-77\x1b[2J"]) == USAGE
    said = capsys.readouterr().err
    assert "[redacted $PLANTED_TOKEN]" in said
    assert "\x1b" not in said

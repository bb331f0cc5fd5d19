"""Finds the bot in a project: its modules are parsed, never run."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from pytest_ltm.agents.framework_adapters import Framework, load_frameworks
from pytest_ltm.agents.replying import (
    CALLS,
    HISTORY_NAMES,
    MESSAGE_NAMES,
    REPLYING_WORDS,
    replies_by_default,
    words_of,
)
from pytest_ltm.api.storage import read_text

_SKIPPED = frozenset(
    {"build", "dist", "docs", "node_modules", "site-packages", "tests", "venv"}
)
MOST_FILES = 2_000
"""The maximum number of files to search for a bot, not counting environments."""
_FACTORY_WORDS = frozenset({"build", "create", "get", "make", "new"})
_NO_REPLIES = frozenset({"None", "bool", "bytes", "float", "int"})
# Names that most helper functions use, too.
_ANYTHING = frozenset({"input", "text"})
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_(?:API_KEY|API_TOKEN|ACCESS_TOKEN)")
# A model in the notation of many libraries: `openai:gpt-5-mini`, `anthropic/claude`.
_MODEL = re.compile(r"[\"'](openai|anthropic|groq|cohere)[:/][\w.-]+[\"']")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
# The strength of the evidence: the smaller, the better.
REPLY, USUAL_NAME, LIKELY_NAME, UNSURE, TEAM = range(5)
"""TEAM: a team of agents, which cannot be asked without knowing its input."""


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that may be the bot."""

    spec: str
    """As for `--ltm-agent`."""
    what: str
    """A description that follows "found ": `a class with reply(message)`."""
    strength: int
    name: str
    """Its name in the project's code."""
    module: str
    names_used: frozenset[str] = frozenset()
    """The names that its own code uses."""
    framework: str = ""
    """The library that it is built with, by its name in `ltm init --from`."""


class ProjectModule(Struct, frozen=True):
    """One module of a project."""

    name: str
    """The dotted name by which it is imported."""
    tree: ast.Module
    text: str

    @property
    def definitions(self) -> list[ast.stmt]:
        """Its top-level definitions, including those under `try` and `if`."""
        statements: list[ast.stmt] = []
        for statement in self.tree.body:
            if isinstance(statement, ast.Try) or (
                isinstance(statement, ast.If) and not _is_main_guard(statement)
            ):
                statements += statement.body
            else:
                statements.append(statement)
        return statements

    @property
    def classes(self) -> list[ast.ClassDef]:
        """Its public classes."""
        classes = []
        for node in self.definitions:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.append(node)
        return classes

    @property
    def functions(self) -> list[_Function]:
        """Its public functions, including lambdas that are assigned to a name."""
        functions: list[_Function] = []
        for node in self.definitions:
            if isinstance(node, _Function):
                functions.append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                functions += _named_lambda(node.targets[0], node.value)
        return [node for node in functions if not node.name.startswith("_")]

    def imported_packages(self) -> set[str]:
        """Return the packages that it imports, and their subpackages: `llama_index` and `llama_index.core`."""
        names: list[str] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.append(node.module)
        packages: set[str] = set()
        for name in names:
            packages.update(accumulate(name.split("."), "{}.{}".format))
        return packages

    def assignments(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield each public name that is assigned the result of a call."""
        for node in self.definitions:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            value = getattr(node, "value", None)
            for target in targets:
                name = target.id if isinstance(target, ast.Name) else "_"
                if isinstance(value, ast.Call) and not name.startswith("_"):
                    yield name, value


class Project(Struct, frozen=True):
    """The modules of a folder, and the files that could not be read."""

    folder: Path
    modules: Sequence[ProjectModule]
    unreadable: Sequence[str]
    """A sentence for each file that cannot be parsed."""

    @classmethod
    def read(cls, folder: Path, defining: str = "") -> Project:
        """Parse the modules of a folder; `defining`: only those that may define that name."""
        defined = re.compile(
            rf"^(?:(?:async )?(?:class|def) )?{defining}\b", re.MULTILINE
        )
        modules = []
        unreadable = []
        for path in _source_files(folder):
            parts = list(path.relative_to(folder).with_suffix("").parts)
            parts = parts[1:] if parts[0] == "src" else parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not parts or not all(map(str.isidentifier, parts)):
                continue
            try:
                text = read_text(path)
                if defining and not defined.search(text):
                    continue
                modules.append(ProjectModule(".".join(parts), ast.parse(text), text))
            except SyntaxError as error:
                place = f"{path.relative_to(folder)}:{error.lineno}"
                unreadable.append(f"{place} cannot be parsed: {error.msg}")
            except (OSError, ValueError, RecursionError) as error:
                unreadable.append(f"{path.relative_to(folder)}: {error}")
        return cls(folder, modules, unreadable)

    def classes_named(self, name: str) -> Iterator[ast.ClassDef]:
        """Yield the classes of this name in all modules."""
        for module in self.modules:
            for node in module.definitions:
                if isinstance(node, ast.ClassDef) and node.name == name:
                    yield node

    @property
    def own_packages(self) -> set[str]:
        """The top-level names of its modules."""
        return {module.name.partition(".")[0] for module in self.modules}

    def used_frameworks(self) -> dict[str, Framework]:
        """Return the bot libraries that its modules import, more specialised ones first."""
        imported: set[str] = set()
        for module in self.modules:
            imported |= module.imported_packages()
        frameworks = {}
        for name, framework in load_frameworks().items():
            # The project may have its own package named like a library, such as
            # `agents`.
            is_own = framework.package.partition(".")[0] in self.own_packages
            if framework.is_among(imported) and not is_own:
                frameworks[name] = framework
        return frameworks

    def key_names(self) -> list[str]:
        """Return the environment variables with keys that it reads, or that its libraries read."""
        names: set[str] = set()
        imported: set[str] = set()
        for module in self.modules:
            names |= set(_KEY_NAME.findall(module.text))
            imported |= module.imported_packages() - self.own_packages
            imported |= set(_MODEL.findall(module.text))
        names |= {key for package, key in KEYS.items() if package in imported}
        return sorted(names)

    def candidates(self) -> list[Candidate]:
        """Return the possible bots, the best evidence first, without those that are part of another."""
        candidates = self._complete_candidates()
        return [candidate for candidate in candidates if candidate.strength < TEAM]

    def teams(self) -> list[Candidate]:
        """Return the teams of agents that no other code of the project asks."""
        candidates = self._complete_candidates()
        return [candidate for candidate in candidates if candidate.strength == TEAM]

    def _complete_candidates(self) -> list[Candidate]:
        candidates: list[Candidate] = []
        for module in self.modules:
            candidates += _module_candidates(module, self)
        complete = []
        for candidate in candidates:
            if not any(_is_part(candidate, of=user) for user in candidates):
                complete.append(candidate)
        return sorted(complete, key=lambda candidate: candidate.strength)


# The keys that libraries read by themselves.
KEYS = {
    "agents": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "cohere": "CO_API_KEY",
    "google.genai": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "langchain_anthropic": "ANTHROPIC_API_KEY",
    "langchain_google_genai": "GOOGLE_API_KEY",
    "langchain_openai": "OPENAI_API_KEY",
    "mistralai": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
}


def best_names(path: Path) -> list[str]:
    """Return the names in one file with the best evidence of being the bot."""
    try:
        text = read_text(path)
        module = ProjectModule(path.stem, ast.parse(text), text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return []
    candidates = Project(path.parent, [module], []).candidates()
    names = []
    for candidate in candidates:
        if candidate.strength == candidates[0].strength < UNSURE:
            names.append(candidate.name)
    return names


# --- The candidates of one module


def _module_candidates(module: ProjectModule, project: Project) -> Iterator[Candidate]:
    for kind in module.classes:
        yield from _class_candidates(module, kind, project)
    for function in module.functions:
        yield from _function_candidates(module, function, project)
    yield from _object_candidates(module, project)


def _class_candidates(
    module: ProjectModule, kind: ast.ClassDef, project: Project
) -> Iterator[Candidate]:
    methods = methods_of(kind, project)
    if is_abstract(kind) or needed_arguments(methods.get("__init__"), bound=1):
        return
    strengths = replying_methods(methods)
    best = min(strengths.values(), default=UNSURE)
    names = [name for name, strength in strengths.items() if strength == best]
    for name in names:
        yield Candidate(
            spec=f"{module.name}:{kind.name}" + (f".{name}" if len(names) > 1 else ""),
            what=f"a class with {name}(message)",
            strength=best,
            name=kind.name,
            module=module.name,
            names_used=_names_in(kind),
        )


def _function_candidates(
    module: ProjectModule,
    function: _Function,
    project: Project,
) -> Iterator[Candidate]:
    needed = needed_arguments(function)
    product = _made_by(function, module, project)
    if product and not needed and isinstance(function, ast.FunctionDef):
        kind, framework, strength = product
        if strength < TEAM and not words_of(function.name) & _FACTORY_WORDS:
            strength = LIKELY_NAME
    else:
        kind = what_function_takes(function)
        framework = ""
        if not kind:
            return
        is_named = bool(words_of(function.name) & REPLYING_WORDS)
        strength = LIKELY_NAME if is_named else UNSURE
    yield Candidate(
        spec=f"{module.name}:{function.name}",
        what=kind,
        # a decorator may replace the function by anything
        strength=max(strength, UNSURE) if function.decorator_list else strength,
        name=function.name,
        module=module.name,
        names_used=_names_in(function),
        framework=framework,
    )


def _object_candidates(module: ProjectModule, project: Project) -> Iterator[Candidate]:
    for name, call in module.assignments():
        product = _made_in(call, module, project)
        if product is not None:
            kind, framework, strength = product
            yield Candidate(
                spec=f"{module.name}:{name}",
                what=kind,
                strength=strength,
                name=name,
                module=module.name,
                names_used=_names_in(call),
                framework=framework,
            )


class Product(NamedTuple):
    """The result of a call."""

    what: str
    framework: str
    strength: int


def _made_by(
    function: _Function,
    module: ProjectModule,
    project: Project,
) -> Product | None:
    """Return what a function without arguments creates, if that may be a bot."""
    calls_by_name: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            calls_by_name[node.targets[0].id] = node.value
    for node in ast.walk(function):
        returned = node.value if isinstance(node, ast.Return) else None
        if isinstance(returned, ast.Name):
            returned = calls_by_name.get(returned.id)
        if isinstance(returned, ast.Call):
            product = _made_in(returned, module, project)
            if product is not None:
                return product._replace(what=f"a function that makes {product.what}")
    return None


def _made_in(call: ast.Call, module: ProjectModule, project: Project) -> Product | None:
    """Return what a call creates: an object of a library, or of a class that needs arguments."""
    maker = _maker_of(call)
    imported = module.imported_packages()
    for name, framework in project.used_frameworks().items():
        if not framework.is_among(imported):
            continue
        if maker in framework.makers:
            return Product(f"a bot made with {framework.title}", name, USUAL_NAME)
        if _takes_agents(call, module, framework):
            return Product(f"a team of agents of {framework.title}", name, TEAM)
    for kind in project.classes_named(maker):
        methods = methods_of(kind, project)
        is_private = maker.startswith("_")
        needs_arguments = needed_arguments(methods.get("__init__"), bound=1)
        if replying_methods(methods) and (is_private or needs_arguments):
            suffix = " with its arguments" if needs_arguments else ""
            return Product(f"an instance of {maker}{suffix}", "", USUAL_NAME)
    return None


def _takes_agents(call: ast.Call, module: ProjectModule, framework: Framework) -> bool:
    """Return whether a call receives a list of agents of a library."""
    agents: set[str] = set()
    for node in ast.walk(module.tree):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign) and _maker_of(value) in framework.makers:
            agents.update(filter(None, map(_last_name, node.targets)))
    members: list[ast.expr] = []
    values = [keyword.value for keyword in call.keywords]
    for value in (*call.args, *values):
        if isinstance(value, (ast.List, ast.Tuple)):
            members += value.elts
    return any(
        _last_name(member) in agents or _maker_of(member) in framework.makers
        for member in members
    )


def _maker_of(node: ast.AST | None) -> str:
    """Return the name of the called function or class; "" for anything else."""
    return _last_name(node.func) if isinstance(node, ast.Call) else ""


def _last_name(node: ast.AST) -> str:
    """Return a name, or the last one of `a.b.c`; "" for anything else."""
    return getattr(node, "attr", getattr(node, "id", ""))


# --- Words and signatures


def replying_methods(methods: Mapping[str, _Function]) -> dict[str, int]:
    """Return the methods that may reply by their name and take just a message, with their strengths."""
    strengths = {}
    for name, method in methods.items():
        if method_strength(name) >= UNSURE or _is_property(method):
            continue
        if _takes_one_argument(method) or _may_take_message(method):
            strengths[name] = method_strength(name)
    return strengths


def _takes_one_argument(method: _Function) -> bool:
    arguments = method_arguments(method)
    return len(arguments) == 1 and arguments[0] not in method.args.kwonlyargs


def _may_take_message(method: _Function) -> bool:
    """Return whether a method needs no argument but can take a message."""
    if method_arguments(method):
        return False
    positional = [*method.args.posonlyargs, *method.args.args][1:]
    is_message = bool(positional) and positional[0].arg in MESSAGE_NAMES
    return is_message or (method.args.vararg is not None and method.name == "reply")


def method_arguments(method: _Function) -> list[ast.arg]:
    """Return the required parameters of a method."""
    is_static = "staticmethod" in _decorators_of(method)
    return needed_arguments(method, bound=0 if is_static else 1)


def method_strength(name: str) -> int:
    """Return how strongly a method's or function's name suggests that it replies."""
    if name == "reply":
        return REPLY
    if name in CALLS:
        return USUAL_NAME
    is_public = not name.startswith("_")
    if is_public and words_of(name) & REPLYING_WORDS:
        return LIKELY_NAME
    return UNSURE


def methods_of(kind: ast.ClassDef, project: Project) -> dict[str, _Function]:
    """Return the methods of a class by name, with those of its bases in the project."""
    methods: dict[str, _Function] = {}
    for base in _line_of_classes(kind, project):
        for node in base.body:
            if isinstance(node, _Function):
                methods.setdefault(node.name, node)
    return methods


def _line_of_classes(kind: ast.ClassDef, project: Project) -> list[ast.ClassDef]:
    """Return a class and its bases in the project, found by name."""
    line = [kind]
    for current in line:
        for name in _base_names(current):
            line += [base for base in project.classes_named(name) if base not in line]
    return line


def is_abstract(kind: ast.ClassDef) -> bool:
    """Return whether a class cannot be instantiated itself."""
    return not {"ABC", "Protocol"}.isdisjoint(_base_names(kind))


def _base_names(kind: ast.ClassDef) -> list[str]:
    """Return the names of a class's bases; `pkg.Base[int]` gives `Base`."""
    names = []
    for base in kind.bases:
        names.append(
            _last_name(base.value if isinstance(base, ast.Subscript) else base)
        )
    return names


def _is_property(method: _Function) -> bool:
    return bool(_decorators_of(method) & {"property", "cached_property"})


def _decorators_of(method: _Function) -> set[str]:
    return set(map(_last_name, method.decorator_list))


def needed_arguments(function: _Function | None, bound: int = 0) -> list[ast.arg]:
    """Return the required parameters, without the first `bound` ones."""
    if function is None:
        return []
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = positional[bound : len(positional) - len(arguments.defaults)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for argument, default in keywords:
        if default is None:
            needed.append(argument)
    return needed


def what_function_takes(function: _Function) -> str:
    """Return what a function takes, as a phrase; "" if it takes no message, or nothing suggests it does."""
    needed = needed_arguments(function)
    names = [argument.arg for argument in needed]
    positional = [*function.args.posonlyargs, *function.args.args]
    is_named = bool(words_of(function.name) & REPLYING_WORDS)
    result = ast.unparse(function.returns) if function.returns else ""
    if set(needed) & set(function.args.kwonlyargs) or result in _NO_REPLIES:
        return ""
    if len(needed) == 2 and len(HISTORY_NAMES.intersection(names)) == 1:
        is_asked = not MESSAGE_NAMES.isdisjoint(names)
        takes = "a function of a message and what was said before"
        return takes if is_named or is_asked else ""
    if not needed:
        names = [argument.arg for argument in positional]
        is_asked = replies_by_default(function.name, names)
        return "a function of a message" if is_asked else ""
    is_asked = is_named or names[0] in MESSAGE_NAMES - _ANYTHING
    if len(needed) > 1 or not is_asked or not _may_be_message(needed[0]):
        return ""
    return "a function of a message"


def _may_be_message(argument: ast.arg) -> bool:
    """Return whether a parameter's annotation allows a message, or a message history."""
    if argument.annotation is None:
        return True
    text = ast.unparse(argument.annotation).strip("'\"")
    return (
        text == "str"
        or re.match(r"(?:\w+\.)?(?:list|List|Sequence)\b", text) is not None
    )


def _named_lambda(target: ast.expr, function: ast.Lambda) -> list[ast.FunctionDef]:
    """Return `name = lambda ...` as a function definition; none for another target."""
    if not isinstance(target, ast.Name):
        return []
    parameters = ast.unparse(function.args)
    text = f"def {target.id}({parameters}): return {ast.unparse(function.body)}"
    return [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def _names_in(node: ast.AST) -> frozenset[str]:
    """Return the names that code mentions."""
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
    return frozenset(names)


def _is_part(candidate: Candidate, *, of: Candidate) -> bool:
    """Return whether one candidate is used by another, but not the other way round."""
    return (
        candidate is not of
        and (candidate.module, candidate.name) != (of.module, of.name)
        and candidate.name in of.names_used
        and of.name not in candidate.names_used
    )


def _is_main_guard(statement: ast.If) -> bool:
    return "__name__" in ast.unparse(statement.test)


# --- Files


def _source_files(folder: Path) -> list[Path]:
    """Return the source files of a project, without tests, environments and build results."""
    paths: list[Path] = []
    # Skipped folders are not entered: an environment has thousands of files.
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in sorted(folders) if _is_entered(parent, name)]
        for name in sorted(files):
            if name.endswith(".py") and not _is_skipped(name):
                paths.append(Path(parent, name))
        if len(paths) >= MOST_FILES:
            break
    return paths[:MOST_FILES]


def _is_entered(parent: str, name: str) -> bool:
    return not _is_skipped(name) and not Path(parent, name, "pyvenv.cfg").is_file()


def _is_skipped(name: str) -> bool:
    return name.startswith((".", "test_")) or name in _SKIPPED | {
        "setup.py",
        "conftest.py",
    }

"""Chooses the bot among a project's candidates, and explains why other code is not a bot."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from pytest_ltm.agents.project import (
    UNSURE,
    Candidate,
    Project,
    ProjectModule,
    is_abstract,
    method_arguments,
    method_strength,
    methods_of,
    needed_arguments,
    replying_methods,
    what_function_takes,
)
from pytest_ltm.agents.replying import MESSAGE_NAMES
from pytest_ltm.api.storage import ConfigurationError, join_words

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MOST_LISTED = 12
_MOST_NEAR = 6
"""The maximum number of hints about near misses."""
_ROUTES = frozenset({"get", "post", "route", "api_route", "websocket"})


def choose_candidate(project: Project, ask: str) -> Candidate:
    """Return the only bot of a project.

    `ask`: the command that names one, with `SPEC` as the placeholder. Raises
    ConfigurationError, which lists the candidates, if there are several or none.
    """
    candidates = project.candidates()
    best = []
    for candidate in candidates:
        if candidate.strength == candidates[0].strength:
            best.append(candidate)
    if len(best) == 1 and best[0].strength < UNSURE:
        return best[0]
    broken = _list_sentences(project.unreadable)
    near = ""
    if not candidates or candidates[0].strength >= UNSURE:
        near = _list_sentences([*_near_misses(project)][:_MOST_NEAR])
    if not candidates:
        raise ConfigurationError(
            "found no bot in this folder: no class or object with reply(message), no function that takes a message, "
            f"no agent of a library. Name yours: {ask.replace('SPEC', 'mypkg.bot:Bot')}{near}{broken}"
        )
    listed = ""
    for candidate in candidates[:_MOST_LISTED]:
        listed += f"\n  {ask.replace('SPEC', candidate.spec)}    # {candidate.what}"
    raise ConfigurationError(
        f"which one is your bot? {'There are several' if len(candidates) > 1 else 'This may be it'}:{listed}{near}"
        f"{broken}"
    )


def _list_sentences(sentences: Iterable[str]) -> str:
    return "".join(f"\n  {sentence}" for sentence in sentences)


# --- Near misses


def _near_misses(project: Project) -> Iterator[str]:
    """Yield a sentence for each near miss, with the cure."""
    for team in project.teams():
        yield (
            f"{team.spec} is {team.what}: write `def reply(message): ...` that asks it and returns the text, and name "
            f"{team.module}:reply"
        )
    for module in project.modules:
        for kind in module.classes:
            yield from _class_misses(module, kind, project)
        for function in module.functions:
            yield from _function_misses(module, function)
        if _reads_keyboard(module.tree):
            yield (
                f"{module.name} asks with input(): move what replies into a function that takes the message and "
                "returns the reply"
            )
    for path in sorted(project.folder.glob("*.ipynb")):
        yield f"{path.name} is a notebook: save the bot's cells as {path.stem}.py"


def _class_misses(
    module: ProjectModule, kind: ast.ClassDef, project: Project
) -> Iterator[str]:
    methods = methods_of(kind, project)
    needed = needed_arguments(methods.get("__init__"), bound=1)
    replying = sorted(replying_methods(methods), key=method_strength)
    if is_abstract(kind):
        return
    if replying and needed:
        yield (
            f"{module.name}:{kind.name} has {replying[0]}(message), but needs {_names_of(needed)}: write "
            f"`def make(): return {kind.name}(...)`, and name {module.name}:make"
        )
    for name, method in methods.items():
        arguments = method_arguments(method)
        is_odd = len(arguments) > 1 or _needs_names(arguments, method)
        if method_strength(name) < UNSURE and is_odd:
            yield (
                f"{module.name}:{kind.name}.{name} takes {_shown(arguments, method)}: add a method reply(message) that "
                "calls it"
            )
    if "stream" in methods and not replying:
        yield (
            f"{module.name}:{kind.name}.stream gives parts: add a method reply(message) that returns them joined"
        )


def _function_misses(module: ProjectModule, function: _Function) -> Iterator[str]:
    arguments = needed_arguments(function)
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr in _ROUTES:
            yield (
                f"{module.name}:{function.name} serves HTTP: start it, and name its address, such as "
                "http://localhost:8000/chat"
            )
            return
    if what_function_takes(function):
        return  # it is a candidate
    names = {argument.arg for argument in arguments}
    may_reply = method_strength(function.name) < UNSURE or names & MESSAGE_NAMES
    if may_reply and (len(arguments) > 1 or _needs_names(arguments, function)):
        yield (
            f"{module.name}:{function.name} takes {_shown(arguments, function)}: write `def reply(message): ...` that "
            f"calls it, and name {module.name}:reply"
        )


def _reads_keyboard(tree: ast.AST) -> bool:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(getattr(call.func, "id", "") == "input" for call in calls)


def _names_of(arguments: list[ast.arg]) -> str:
    return join_words([repr(argument.arg) for argument in arguments])


def _shown(arguments: list[ast.arg], function: _Function) -> str:
    """Return the parameters of a function as text, and whether they are keyword-only."""
    names = _names_of(arguments)
    if _needs_names(arguments, function):
        return f"{names} by name alone"
    return names


def _needs_names(arguments: list[ast.arg], function: _Function) -> bool:
    return not set(arguments).isdisjoint(function.args.kwonlyargs)

"""Mutation testing: whether the tests notice that a rule was changed.

Of all small changes that could be made in what gives scores (scheduler, lanes, scores, gate, statistics, evaluators), a
seeded sample is made, one at a time, and the tests that ran the changed line are run. A mutant that no test notices
is printed: somebody must read it, and say whether it changes anything. Nothing on the disk is changed: the changed
module is put in the place of the real one while it is imported (`mutated.py`).
"""

from __future__ import annotations

import ast
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm._storage.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
TARGETS = (
    "_engine/schedule.py", "_engine/lane.py", "_engine/score.py", "_gate/*.py", "_statistics/*.py", "evaluators/*.py",
)  # fmt: skip
"""What gives scores and verdicts, below `pytest_ltm`."""
TESTS = ("tests/unit", "tests/properties")
SEED = 20_240_304
MOST_TESTS = 60
"""So many tests of a line are run, spread over all of them: a line that thousands run is noticed by few of them."""
SECONDS = 120
"""A mutant whose tests take longer has made something endless: noticed."""
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: the text between two places of a file becomes another."""

    path: str
    """Below the checkout."""
    line: int
    before: str
    after: str
    start: int
    end: int
    """In characters of the file."""

    @property
    def module(self) -> str:
        """The name of the module."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield each change that can be made in a file: operators, conditions, numbers, truth values and returns."""
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    texts = {id(one) for one in _annotations(tree)}
    for node in ast.walk(tree):
        if id(node) in texts or not hasattr(node, "lineno"):
            continue
        for changed in _changes(node):
            at: Any = node
            before = ast.get_source_segment(source, at) or ""
            start = starts[at.lineno - 1] + len(_prefix(source, starts, at))
            after = ast.unparse(changed)
            if before and after != before:
                where = path.relative_to(ROOT).as_posix()
                yield Mutant(where, at.lineno, before, f"({after})", start, start + len(before))


def _prefix(source: str, starts: list[int], node: Any) -> str:
    """Return what stands before a node in its line; columns are bytes."""
    line = source[starts[node.lineno - 1] : starts[node.lineno]]
    return line.encode()[: node.col_offset].decode()


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes that no run evaluates, or that only name types."""
    for node in ast.walk(tree):
        kept = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        kept += [node.test] if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else []
        kept += node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
        for one in filter(None, kept):
            yield from ast.walk(one)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
        other: Any = _SWAPPED[type(node.ops[0])]()
        yield ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        joined: Any = _SWAPPED[type(node.op)]()
        yield ast.BoolOp(joined, node.values)
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        operator: Any = _SWAPPED[type(node.op)]()
        yield ast.BinOp(node.left, operator, node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield ast.Constant(node.value + 1)


class Verdict(NamedTuple):
    """What the tests say of a mutant."""

    mutant: Mutant
    said: str
    """`noticed`, `survived`, or `not run` where no test runs the line."""


def survivors(count: int, repeats: int) -> Iterator[str]:
    """Yield what the tests notice of `count` changes: the share, by file, and each that survived.

    They are the same each time, so nothing is repeated. ConfigurationError if there are fewer changes than `count`.
    """
    del repeats
    files = sorted({path for target in TARGETS for path in (ROOT / "pytest_ltm").glob(target)})
    every = [mutant for path in files for mutant in mutants(path)]
    if count > len(every):
        raise ConfigurationError(f"there are {len(every):,} changes to make, not {count:,}")
    chosen = random.Random(SEED).sample(every, count)
    with tempfile.TemporaryDirectory() as work:
        known = _tests_by_line(Path(work))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = list(pool.map(lambda one: _judged(one, known.get((one.path, one.line), [])), chosen))
    yield f"{len(every):,} changes in {len(files)} files; {count:,} of them, seed {SEED}"
    yield from _table(verdicts)


def _tests_by_line(work: Path) -> dict[tuple[str, int], list[str]]:
    """Return which tests run each line of the package, from one run with coverage."""
    from coverage.numbits import numbits_to_nums

    data = work / "coverage"
    command = [
        sys.executable, "-m", "pytest", *TESTS, "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-n", "0",
        "--cov=pytest_ltm", "--cov-context=test", "--cov-report=", "-m", "not slow",
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(data)}, check=True, capture_output=True)
    found: dict[tuple[str, int], list[str]] = {}
    with sqlite3.connect(data) as base:
        rows = base.execute(
            "select file.path, context.context, line_bits.numbits from line_bits "
            "join file on file.id = file_id join context on context.id = context_id"
        )
        for path, context, numbits in rows:
            test = context.partition("|")[0]
            where = Path(path)
            if test and where.is_relative_to(ROOT):
                for line in numbits_to_nums(numbits):
                    found.setdefault((where.relative_to(ROOT).as_posix(), line), []).append(test)
    return found


def _judged(mutant: Mutant, tests: list[str]) -> Verdict:
    chosen = sorted(set(tests))
    chosen = chosen[:: max(1, -(-len(chosen) // MOST_TESTS))]
    if not chosen:
        return Verdict(mutant, "not run")
    told = {**mutant._asdict(), "module": mutant.module}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly",
               "-p", "benchmarks.mutated", *chosen]  # fmt: skip
    try:
        ended = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "LTM_MUTANT": json.dumps(told)}, timeout=SECONDS, check=False,
            capture_output=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Verdict(mutant, "noticed")
    return Verdict(mutant, "noticed" if ended.returncode else "survived")


def _table(verdicts: Iterable[Verdict]) -> Iterator[str]:
    said = list(verdicts)
    whole = Counter(one.said for one in said)
    yield f"noticed: {whole['noticed']:,} of {len(said):,} ({whole['noticed'] / len(said):.1%})"
    for path in sorted({one.mutant.path for one in said}):
        here = Counter(one.said for one in said if one.mutant.path == path)
        yield f"  {path:<44} {here['noticed']:>4} of {here.total():>4}"
    for one in sorted(said):
        if one.said != "noticed":
            before, after = " ".join(one.mutant.before.split()), " ".join(one.mutant.after.split())
            yield f"{one.said}: {one.mutant.path}:{one.mutant.line}: {before[:90]}  ->  {after[:90]}"

"""Mutation testing: whether the tests notice that a rule was changed.

Of all small changes to the code behind scores (scheduler, lanes, scores, gate,
statistics, evaluators) a seeded sample is made, one change at a time, and the tests
that ran the changed line are run. Mutants that no test notices are printed, for a
person to decide whether they change anything. Files stay unchanged: the changed module
replaces the real one while it is imported (`mutated.py`).
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from coverage import CoverageData

from pytest_ltm.api.storage import ConfigurationError

ROOT = Path(__file__).parents[1]
TARGETS = (
    "_core/model/schedule.py",
    "_core/model/score.py",
    "_core/engine/lane.py",
    "_core/engine/scoring.py",
    "gate/*.py",
    "figures/statistics/*.py",
    "evaluators/*.py",
)
"""Modules behind scores and verdicts, below `pytest_ltm`."""
TESTS = ("tests/core", "tests/features", "tests/project")
SEED = 20_240_304
BUDGET = 10.0
"""Seconds that the selected tests of a line took before: half go to the tests that run the least other code, half to
those that run the most of its file.
"""
QUICK = 0.005
"""Seconds assumed for a test below the reported minimum."""
SECONDS = 120
"""A mutant whose tests take longer loops endlessly, which counts as noticed."""
NOTICED, SURVIVED, NOT_RUN = "noticed", "survived", "not run"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S.*?)(?: - .*)?$", re.MULTILINE)
_DURATION = re.compile(r"^(\d+\.\d+)s call +(\S.*)$", re.MULTILINE)
_PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
)
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """One change: a piece of a file is replaced by another text."""

    path: str
    """Relative to the checkout."""
    line: int
    before: str
    after: str
    start: int
    end: int
    """As an offset in characters."""

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
    texts = {id(rule) for rule in _no_rules(tree)}
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
                yield Mutant(
                    where, at.lineno, before, f"({after})", start, start + len(before)
                )


def _prefix(source: str, starts: list[int], node: Any) -> str:
    """Return the text before a node in its line; columns are in bytes."""
    line = source[starts[node.lineno - 1] : starts[node.lineno]]
    return line.encode()[: node.col_offset].decode()


def _no_rules(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes that no run evaluates, or that only name types, create a class, or make `zip` strict."""
    for node in ast.walk(tree):
        kept = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        kept += (
            [node.test]
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            else []
        )
        kept += (
            node.decorator_list
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            else []
        )
        kept += node.keywords if isinstance(node, ast.ClassDef) else []
        kept += [node] if isinstance(node, ast.keyword) and node.arg == "strict" else []
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
    """The tests' verdict on a mutant."""

    mutant: Mutant
    said: str
    """NOTICED, SURVIVED, or NOT_RUN if no test runs the line."""

    def __str__(self) -> str:
        before, after = (
            " ".join(text.split())[:90]
            for text in (self.mutant.before, self.mutant.after)
        )
        return (
            f"{self.said}: {self.mutant.path}:{self.mutant.line}: {before}  ->  {after}"
        )


def survivors(count: int, repeats: int) -> Iterator[str]:
    """Yield the results of `count` changes: the share noticed, by file, and each survivor.

    The changes and the tests are the same each time, so nothing is repeated.
    ConfigurationError if there are fewer changes than `count`, or if the tests cannot
    be run.
    """
    del repeats
    paths: set[Path] = set()
    for target in TARGETS:
        paths.update((ROOT / "pytest_ltm").glob(target))
    files = sorted(paths)
    every: list[Mutant] = []
    for path in files:
        every += mutants(path)
    if count > len(every):
        raise ConfigurationError(
            f"there are {len(every):,} changes to make, not {count:,}"
        )
    chosen = random.Random(SEED).sample(every, count)
    yield f"{len(every):,} changes in {len(files)} files; {count:,} of them, seed {SEED}"
    with (
        tempfile.TemporaryDirectory() as work,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        known = _all_tests(files, Path(work) / "coverage")
        for test in known.failed:
            yield f"fails without a change, and judges none: {test}"
        controls = {one.path: one._replace(after=one.before) for one in chosen}.values()

        def control() -> None:
            for verdict in pool.map(lambda one: judged(one, known.of(one)), controls):
                if verdict.said == NOTICED:
                    raise ConfigurationError(
                        f"the tests of {verdict.mutant.path} fail though nothing was changed"
                    )

        control()
        said = Counter[tuple[str, str]]()
        for verdict in pool.map(lambda one: judged(one, known.of(one)), chosen):
            said[verdict.mutant.path, verdict.said] += 1
            if verdict.said != NOTICED:
                yield str(verdict)
        control()  # if something else broke, such as an installation, every change would look noticed
    yield from _table(said)


class _Tests(NamedTuple):
    """The results of one run of all tests with coverage."""

    by_line: Mapping[tuple[str, int], Sequence[str]]
    """The tests that run a line of a file, the most specific (those that run the least other code) first.

    Line 0 stands for the code that runs at import, and so for all tests that run any of
    the file.
    """
    lines: Mapping[tuple[str, str], int]
    """The number of lines of a file that a test runs."""
    seconds: Mapping[str, float]
    failed: Sequence[str]
    """Tests that fail without any change; they are left out."""

    def of(self, mutant: Mutant) -> Sequence[str]:
        """Return the tests of a changed line that fit the budget."""
        if (mutant.path, mutant.line) not in self.by_line:
            return ()
        tests = self.by_line[mutant.path, mutant.line] or self.by_line.get(
            (mutant.path, 0), ()
        )
        particular = self._within(BUDGET / 2, tests)
        others = sorted(
            set(tests).difference(particular),
            key=lambda test: (-self.lines[mutant.path, test], test),
        )
        return [*particular, *self._within(BUDGET / 2, others)]

    def _within(self, budget: float, tests: Iterable[str]) -> list[str]:
        chosen = list[str]()
        for test in tests:
            cost = self.seconds.get(test, QUICK)
            if cost <= budget:
                budget -= cost
                chosen.append(test)
        return chosen


def _all_tests(files: Iterable[Path], data: Path) -> _Tests:
    """Run all tests with coverage; ConfigurationError if that is impossible."""
    command = [
        *_PYTEST,
        *TESTS,
        "-n",
        str(os.cpu_count()),
        "--dist",
        "worksteal",
        "-m",
        "not slow or recorded",
        "--durations=0",
        f"--durations-min={QUICK}",
        *(
            f"--cov=pytest_ltm/{folder}"
            for folder in sorted({target.partition("/")[0] for target in TARGETS})
        ),
        # The coverage settings of the project (branches, subprocesses) would double the
        # time.
        f"--cov-config={os.devnull}",
        "--cov-context=test",
        "--cov-report=",
        "--cov-fail-under=0",
    ]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "COVERAGE_FILE": str(data)},
        check=False,
        capture_output=True,
        text=True,
    )
    failed = sorted(set(_FAILED.findall(ended.stdout)))
    if ended.returncode and not failed:
        raise ConfigurationError(f"the tests cannot be run:\n{ended.stdout[-2000:]}")
    kept = CoverageData(str(data))
    kept.read()
    found = dict[tuple[str, int], set[str]]()
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        for line, contexts in kept.contexts_by_lineno(str(path)).items():
            tests = {context.rpartition("|")[0] for context in contexts} - {"", *failed}
            found[name, line] = tests
            found.setdefault((name, 0), set()).update(tests)
    lines = Counter[tuple[str, str]]()
    whole = Counter[str]()
    for (name, line), tests in found.items():
        if line:
            lines.update((name, test) for test in tests)
            whole.update(tests)
    quickest_first = {}
    for place, tests in found.items():
        quickest_first[place] = sorted(tests, key=lambda test: (whole[test], test))
    return _Tests(
        quickest_first,
        lines,
        {test: float(seconds) for seconds, test in _DURATION.findall(ended.stdout)},
        failed,
    )


def judged(mutant: Mutant, tests: Sequence[str]) -> Verdict:
    """Return the verdict of a changed line's tests; ConfigurationError if one of them cannot be found."""
    if not tests:
        return Verdict(mutant, NOT_RUN)
    told = {**mutant._asdict(), "module": mutant.module}
    with tempfile.TemporaryDirectory() as work:
        names = Path(work) / "tests"
        names.write_text("\n".join(tests), encoding="utf-8")
        # Plain assertions: pytest's import hook would load the package's modules
        # without asking for their code.
        command = [
            *_PYTEST,
            "-x",
            "-n",
            "0",
            "--assert=plain",
            "-p",
            "benchmarks.mutated",
            f"@{names}",
        ]
        try:
            ended = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, "LTM_MUTANT": json.dumps(told)},
                timeout=SECONDS,
                check=False,
                capture_output=True,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return Verdict(mutant, NOTICED)
    said = ended.stdout + ended.stderr
    if "ERROR: not found" in said or "never imported" in said:
        if mutant.before == mutant.after:
            raise ConfigurationError(
                f"{mutant.path}:{mutant.line} cannot be judged by its tests:\n{said[-2000:]}"
            )
        return Verdict(mutant, SURVIVED)  # tests were renamed, none failed
    return Verdict(mutant, NOTICED if ended.returncode else SURVIVED)


def _table(said: Counter[tuple[str, str]]) -> Iterator[str]:
    noticed = sum(count for (_, verdict), count in said.items() if verdict == NOTICED)
    yield f"noticed: {noticed:,} of {said.total():,} ({noticed / said.total():.1%})"
    for path in sorted({path for path, _ in said}):
        here = sum(count for (each, _), count in said.items() if each == path)
        yield f"  {path:<44} {said[path, NOTICED]:>4} of {here:>4}"

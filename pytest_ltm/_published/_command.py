"""`python -m pytest_ltm import-published DIR|FILE... [-o RUN]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._published import _folders
from pytest_ltm._published._convert import TOKENIZER, Held, by_conversation, held
from pytest_ltm._published._files import read
from pytest_ltm._published._names import MEMORY_SPANS_SINCE, PAPERS_NAMES, agent_labels, benchmark
from pytest_ltm._published._rows import merged
from pytest_ltm._published._totals import checked, table_lines
from pytest_ltm._result import RunResult
from pytest_ltm._tokens import counter
from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._published._rows import Row

DIFFERENT = 1
"""The exit status where a number differs from the leaderboard's."""


def main(argv: Sequence[str]) -> int:
    """Import published results and print their totals; return 0, or 1 if a checked total differs."""
    chosen = _parser().parse_args(argv)
    found = _chosen(read([Path(each) for each in chosen.files]), chosen.ref, chosen.benchmark)
    rows = merged(found)
    conversations = imported(rows)
    if chosen.out:
        path = run_folder(chosen.out, Path(chosen.ltm_dir))
        run = _folders.write(path, conversations, notices(rows))
    else:
        run = RunResult(run_id="published", conversations=tuple(each.result for each in conversations))
    for line in table_lines(run):
        print(line.rstrip())  # noqa: T201 - a command speaks
    if chosen.out:
        print(f"{counted(len(conversations), 'conversation')} in {run.folder}")  # noqa: T201
    return _check(found, Path(chosen.check)) if chosen.check else 0


def imported(rows: Sequence[Row]) -> list[Held]:
    """Return the conversations that the rows are of; DatasetError names a benchmark that cannot be understood."""
    labels = agent_labels((row.benchmark, row.agent) for row in rows)
    count = counter(TOKENIZER).count if any(row.log for row in rows) else len
    return [held(mine, labels[agent], count) for (_, agent), mine in by_conversation(rows).items()]


def run_folder(name: str, ltm_dir: Path) -> Path:
    """Return the folder that a person means: below `ltm_dir` for a plain name, else the path itself."""
    if name in {"", ".", ".."}:
        raise ConfigurationError(f"{name!r} cannot be the name of a run")
    return ltm_dir / "runs" / name if "/" not in name and "\\" not in name else Path(name)


def notices(rows: Sequence[Row]) -> list[str]:
    """Return what a reader should know of imported results, a sentence each."""
    missing = sum(not row.log for row in rows)
    shown = {name: benchmark(name) for name in {row.benchmark for row in rows}}
    renamed = sorted(name for name, its in shown.items() if its and its.span_label in PAPERS_NAMES.values())
    older = sorted(name for name, its in shown.items() if its and its.version < MEMORY_SPANS_SINCE)
    found = ["published results, imported: verdicts and measured spans are as published, nothing was scored again"]
    found += [
        f"{their!r} is labelled 2k as in the paper; the memory span of its configuration is 1,000 tokens"
        for their in renamed
    ]
    if older:
        found.append(f"{', '.join(older)}: these versions name the filler between messages, not a memory span")
    if missing:
        found.append(f"the transcripts of {missing:,} of {counted(len(rows), 'example')} are missing")
    if missing < len(rows):
        found.append("tokens and places in the conversation count only the exchanges that are there; filler is missing")
    return found


def _chosen(rows: Sequence[Row], refs: Sequence[str], begins: str) -> list[Row]:
    known = sorted({row.ref for row in rows})
    for ref in refs:
        if ref not in known:
            raise ConfigurationError(f"--ref: no results of branch {ref!r}. There are {', '.join(known)}")
    chosen = [row for row in rows if row.benchmark.startswith(begins) and (row.ref in refs or not refs)]
    if not chosen:
        names = ", ".join(sorted({row.benchmark for row in rows}))
        raise ConfigurationError(f"--benchmark: no results of {begins!r}. There are {names}")
    return chosen


def _check(rows: Sequence[Row], leaderboard: Path) -> int:
    compared, differences = checked(rows, leaderboard)
    for text in differences:
        print(text)  # noqa: T201
    equal = "total, accuracy, LTM score and the mean of every scenario"
    print(f"{counted(compared, 'published run')} compared ({equal}): {len(differences):,} differences")  # noqa: T201
    return DIFFERENT if differences else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm import-published",
        description="Turn published results of the LTM Benchmark into a run folder, which every report reads as a run.",
    )
    parser.add_argument("files", nargs="+", metavar="DIR|FILE", help="result files, .jsonl or .jsonl.gz, or a folder")
    parser.add_argument("-o", "--out", default="", metavar="RUN", help="the run to write; without it, only the totals")
    parser.add_argument("--ref", action="append", default=[], help="only results of this branch (repeatable)")
    parser.add_argument("--benchmark", default="", metavar="NAME", help="only benchmarks whose names begin so")
    parser.add_argument("--check", default="", metavar="FILE", help="compare with a published leaderboard (JSON)")
    parser.add_argument("--ltm-dir", default=".ltm", metavar="DIR", help="where runs have names (default: .ltm)")
    return parser

"""`python -m benchmarks model-results`: recorded runs of real models, scored again, as the table of their page."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, convert

from pytest_ltm.api.storage import LtmError
from pytest_ltm.figures.text import NOTHING, exact_dollars

RECORDED = Path(__file__).with_name("recorded")
PAGE = RECORDED / "README.md"
_BEGIN, _END = (
    "<!-- python -m benchmarks model-results writes this table -->",
    "<!-- the table ends here -->",
)
_HEADS = (
    "model",
    "memory",
    "span",
    "examples",
    "score",
    "tokens in",
    "cached",
    "out",
    "USD",
    "seconds",
    "went wrong",
)
_LEFT_OUT = {"checkpoints"}
"""Folders of a run that scoring does not need."""


class RecordedRun(Struct, frozen=True, forbid_unknown_fields=True):
    """A contributed run folder, packed as `<run>.zip`."""

    run: str
    model: str
    memory: str
    """Which memory system it was given, with its version."""
    made_with: str
    """Server, libraries and machine, with versions."""


def recorded_runs(folder: Path = RECORDED) -> list[RecordedRun]:
    """Return the recorded runs of a folder, as its `index.yml` lists them."""
    return convert(
        yaml.safe_load((folder / "index.yml").read_text(encoding="utf-8")) or [],
        list[RecordedRun],
    )


def pack_run(run: Path, archive: Path) -> None:
    """Pack a run folder without the files that only resuming needs; equal folders give equal archives."""
    paths = sorted(path for path in run.rglob("*") if path.is_file())
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in paths:
            name = path.relative_to(run)
            if not (_LEFT_OUT & {*name.parts} or name.name.startswith(".")):
                packed.writestr(
                    zipfile.ZipInfo(name.as_posix()),
                    path.read_bytes(),
                    zipfile.ZIP_DEFLATED,
                )


def table_lines(runs: Sequence[RecordedRun], folder: Path = RECORDED) -> Iterator[str]:
    """Yield the lines of the table: scores under the current rules, everything else as recorded."""
    rows = [
        row
        for recorded in runs
        for row in _run_rows(recorded, folder / f"{recorded.run}.zip")
    ]
    for row in (_HEADS, ("---",) * 3 + ("---:",) * (len(_HEADS) - 3), *sorted(rows)):
        yield f"| {' | '.join(row)} |"


def _run_rows(recorded: RecordedRun, archive: Path) -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / archive.stem
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(run)
        columns = zip(
            _summary_of(run)["results"],
            _summary_of(_score_again(run))["results"],
            strict=True,
        )
        for before, now in columns:
            yield recorded.model, recorded.memory, *_figures(before, now)


def _score_again(run: Path) -> Path:
    """Return the run folder that results from scoring a run again."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--ltm-rescore={run}",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=no",
    ]
    done = subprocess.run(
        command, cwd=run.parent, capture_output=True, text=True, check=False
    )
    runs = sorted((run.parent / ".ltm" / "runs").glob("*/summary.json"))
    if not runs:
        raise LtmError(
            f"{run.name} could not be scored again (exit status {done.returncode}):\n{done.stdout[-2_000:]}"
        )
    return runs[0].parent


def _summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(
        (run / "summary.json").read_text(encoding="utf-8")
    )
    return summary


def _figures(before: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    used, bounds = before["usage"] or {}, now["bounds"] or {}
    ends = [f"{bounds[end]:.2f}" for end in ("low", "high")] if bounds else [NOTHING]
    sent, cached, wrong = (
        used.get("input_tokens"),
        used.get("cached_share"),
        now.get("mishap_share"),
    )
    return (
        before["span_label"],
        f"{now['examples'] - now['unscored']}",
        f"{' to '.join(dict.fromkeys(ends))} of {bounds.get('full', 0)}",
        NOTHING if sent is None else f"{sent:,}",
        NOTHING if cached is None else f"{cached:.0%}",
        f"{used['output_tokens']:,}" if used else NOTHING,
        NOTHING if before["cost_usd"] is None else exact_dollars(before["cost_usd"]),
        NOTHING
        if before["agent_seconds"] is None
        else f"{before['agent_seconds']:,.0f}",
        NOTHING if wrong is None else f"{wrong:.0%}",
    )


def page_with(text: str, lines: Sequence[str]) -> str:
    """Return the page with its table replaced by this one."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n{chr(10).join(lines)}\n\n{_END}{after}"


def main(argv: Sequence[str]) -> int:
    """Add a run, if one is given, rewrite the table and return 0; LtmError if a run cannot be scored again."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks model-results",
        description="Score the recorded runs of real models again, and write the table of their page.",
    )
    parser.add_argument(
        "--add",
        type=Path,
        metavar="RUN",
        help="a run folder to record; the others describe it",
    )
    for name, what in (
        ("run", "a short name for it"),
        ("model", "the model"),
        ("memory", "its memory system, with its version"),
        ("made-with", "server, libraries and machine, with versions"),
    ):
        parser.add_argument(f"--{name}", help=what)
    given = parser.parse_args(argv)
    if given.add is not None:
        described = {
            name: getattr(given, name) for name in RecordedRun.__struct_fields__
        }
        if missing := [
            name.replace("_", "-") for name, value in described.items() if not value
        ]:
            parser.error(f"--add needs --{', --'.join(missing)}")
        pack_run(given.add, RECORDED / f"{given.run}.zip")
        with (RECORDED / "index.yml").open("a", encoding="utf-8") as index:
            index.write(
                yaml.safe_dump(
                    [described], sort_keys=False, allow_unicode=True, width=110
                )
            )
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        page_with(text, list(table_lines(recorded_runs()))), encoding="utf-8"
    )
    return 0

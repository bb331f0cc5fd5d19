"""`python -m benchmarks gallery FOLDER`: sample reports as static pages, with an index page."""

from __future__ import annotations

import argparse
import html
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.runs import check_ended


class Shown(NamedTuple):
    """A report of the gallery, made by its last run; earlier runs are its baseline."""

    name: str
    title: str
    what: str
    runs: tuple[str, ...]


README = "--ltm-suite=standard --ltm-agent=full,window:8k --ltm-span=2k,32k,120k"
GATE = "--ltm-suite=standard --ltm-span=32k --ltm-trials=3"
SYSTEMS = "memory:rules?preset=ltm-1,memory:rules?preset=ltm-2,window:8k"
SHOWN = (
    Shown(
        "readme",
        "The README's run",
        "an agent that remembers everything beside one that sees 8,000 tokens",
        (README,),
    ),
    Shown(
        "controls",
        "The controls",
        "full marks, a window, and what agents earn that repeat the message or say nothing",
        (
            "--ltm-suite=extended --ltm-agent=full,window:2k,echo,silent --ltm-span=2k,8k --ltm-trials=2",
        ),
    ),
    Shown(
        "gate",
        "A gate that regressed",
        "the agent remembers less than its baseline did",
        (
            f"{GATE} --ltm-agent=bot=window:32k --ltm-save=main",
            f"{GATE} --ltm-agent=bot=window:8k --ltm-compare=main --ltm-compare-fail=mean:5%",
        ),
    ),
    Shown(
        "memory",
        "Memory systems",
        "systems of the papers, by rules alone",
        (f"--ltm-suite=standard --ltm-span=8k,32k --ltm-agent={SYSTEMS}",),
    ),
)


def main(argv: Sequence[str]) -> int:
    """Make the reports and return 0; LtmError if a run breaks."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks gallery", description="Make reports to look at."
    )
    parser.add_argument("folder", type=Path, help="where to")
    parser.add_argument(
        "--only",
        choices=[one.name for one in SHOWN],
        action="append",
        help="repeatable",
    )
    parser.add_argument(
        "--published",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="as for `ltm data import-published`",
    )
    given = parser.parse_args(argv)
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    items = []
    for one in SHOWN:
        if not given.only or one.name in given.only:
            _play(one, folder / f"{one.name}.html")
            items.append((one.name, one.title, f"{one.what}: pytest {one.runs[-1]}"))
            print(folder / f"{one.name}.html", flush=True)
    if given.published:
        _published(
            [path.resolve() for path in given.published], folder / "published.html"
        )
        items.append(
            (
                "published",
                "Published results",
                "what the authors of the LTM Benchmark measured",
            )
        )
    (folder / "index.html").write_text(_index(items), encoding="utf-8")
    return 0


def _play(shown: Shown, report: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        for number, words in enumerate(shown.runs, start=1):
            last = [f"--ltm-report={report}"] if number == len(shown.runs) else []
            _run(
                [
                    "pytest",
                    "-q",
                    "--tb=no",
                    "-p",
                    "no:cacheprovider",
                    *words.split(),
                    *last,
                ],
                Path(name),
            )


def _published(files: Sequence[Path], report: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        _run(
            [
                "pytest_ltm",
                "data",
                "import-published",
                *map(str, files),
                "-o",
                "published",
            ],
            Path(name),
        )
        _run(["pytest_ltm", "report", "published", "-o", str(report)], Path(name))


def _run(words: Sequence[str], folder: Path) -> None:
    log = folder / "output.txt"
    with log.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    check_ended(done.returncode, log, words[0])


def _index(items: Sequence[tuple[str, str, str]]) -> str:
    listed = "\n".join(
        f'<li><a href="{name}.html">{html.escape(title)}</a>: {html.escape(what)}</li>'
        for name, title, what in items
    )
    style = (
        "body{font:16px/1.6 system-ui;max-width:45rem;margin:3rem auto;padding:0 1rem}"
        ":root{color-scheme:light dark}a{color:light-dark(#0645ad,#8ab4f8)}"
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Reports of pytest-ltm</title><style>{style}</style>\n"
        f"<main><h1>Reports</h1>\n<ul>\n{listed}\n</ul></main></html>\n"
    )

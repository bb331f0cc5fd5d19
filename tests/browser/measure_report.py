"""What the report file costs: sizes and times of four made-up runs. A program; docs/reports.md has its figures."""

# ruff: noqa: E402, T201 - a program that finds its neighbours first, and prints

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pytest_ltm.api.journal import ConversationResult

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "samples")]

from _chromium import Chromium
from run_folders import held, journal, place_of, played, write_run

from pytest_ltm.api.journal import events
from pytest_ltm.reports.html import build_report

SCENARIOS = 11


def words(rng: random.Random, characters: int) -> str:
    """Return made-up prose that compresses like real prose: frequent words are short, as in real languages."""
    syllables = [
        a + b
        for a in "bdfgklmnprstvz"
        for b in ("a", "e", "i", "o", "u", "an", "er", "is")
    ]
    known = ["".join(rng.choices(syllables, k=1 + i // 60)) for i in range(240)]
    known += [
        "".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(4_000)
    ]
    weights = [1 / (i + 3) for i in range(len(known))]
    said = rng.choices(known, weights, k=characters // 5)
    return " ".join(said)[:characters]


def talk(
    agent: str, span: int, examples: int, rng: random.Random, share: float
) -> ConversationResult:
    rows = []
    for number in range(examples * SCENARIOS):
        score = 1.0 if rng.random() < share else round(rng.random(), 1)
        rows.append(
            played(
                f"scenario_{number % SCENARIOS}",
                score,
                example=str(number // SCENARIOS),
                first=1 + 3 * number,
                agent=agent,
                span_label=f"{span // 1000}k",
                span=span,
                gap=span // 2,
                measured_span=span * 9 // 10,
                nodeid=f"n-{agent}-{span}-{number}",
                reason=words(rng, 60),
            )
        )
    return held(rows, cost_usd=span / 1e5)


def large(folder: Path, rng: random.Random) -> Path:
    """33 items with 100 KB of transcript each."""
    conversation = talk("agent", 120_000, 3, rng, 0.6)
    run = write_run(folder, conversation)
    texts = {n: (words(rng, 90_000), words(rng, 10_000)) for n in range(1, 100, 3)}
    (run / place_of(conversation, 0) / "journal.jsonl").write_text(
        "".join(journal(conversation.scenarios, texts)), encoding="utf-8"
    )
    return run


def wide(folder: Path, rng: random.Random) -> Path:
    """20 agents x 5 spans, 33 items each."""
    spans = (2_000, 10_000, 32_000, 120_000, 500_000)
    return write_run(
        folder,
        *(
            talk(f"agent_{n}", span, 3, rng, n / 20)
            for n in range(20)
            for span in spans
        ),
    )


def long(folder: Path, rng: random.Random) -> Path:
    """2,002 items in one conversation."""
    return write_run(folder, talk("agent", 120_000, 182, rng, 0.6))


def many(folder: Path, rng: random.Random) -> Path:
    """9,988 items in four conversations, each with 2 KB of its own text."""
    spans = (("one", 32_000), ("one", 120_000), ("two", 32_000), ("two", 120_000))
    talks = [talk(agent, span, 227, rng, 0.6) for agent, span in spans]
    run = write_run(folder, *talks)
    for number, conversation in enumerate(talks):
        rows = conversation.scenarios
        texts = {
            n: (words(rng, 500), words(rng, 500))
            for n in range(3 * len(rows) + 1)
            if n % 3 != 2
        }
        (run / place_of(conversation, number) / "journal.jsonl").write_text(
            "".join(journal(rows, texts)), encoding="utf-8"
        )
    return run


def figures(name: str, run: Path, out: Path, browser: Chromium) -> Iterator[str]:
    """Yield the cells of one row."""
    items = sum(
        isinstance(event, events.End) and event.example is not None
        for path in run.glob("*/journal.jsonl")
        for event in events.read_events(path)
    )
    began = time.perf_counter()
    build_report([run], out)
    built = time.perf_counter() - began
    browser.open(out)
    browser.wait_for("document.querySelectorAll('#scene .mark').length > 0")
    browser.call("Page.captureScreenshot")  # otherwise nothing is painted
    paint = browser.run(
        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
    )
    load = browser.run("performance.getEntriesByType('navigation')[0].loadEventEnd")
    line = browser.run(
        "(async () => { const t = performance.now(); await showConversation(0); "
        "document.body.offsetHeight; return performance.now() - t; })()"
    )
    times = {
        "open": "await unfold(document.getElementById('e20'))",
        "sort": "sortBy(byId('rows'), 4)",
        "search": "byId('search').value = '0.5 scenario_3'; filterRows()",
        "first words": "byId('find').value = 'zipizipi'; await findTexts()",
        "words": "byId('find').value = 'zip'; await findTexts()",
    }
    cells = [
        name,
        f"{items:,}",
        f"{out.stat().st_size / 1e6:.1f} MB",
        f"{built:.1f} s",
        f"{paint:.0f} ms",
        f"{load:.0f} ms",
        f"{line:.0f} ms",
    ]
    for act in times.values():
        timed = f"const t = performance.now(); {act}; document.body.offsetHeight; return performance.now() - t;"
        cells.append(f"{browser.run(f'(async () => {{ {timed} }})()'):.0f} ms")
    yield from cells


def main() -> None:
    """Print a table in Markdown."""
    heads = [
        "run",
        "items",
        "file",
        "built in",
        "first paint",
        "loaded in",
        "time line",
        "one opened",
        "sorted",
        "filtered",
    ]
    heads += ["first words", "next words"]
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads) + "|")
    kinds = {
        "33 × 100 KB": large,
        "20 agents × 5 spans": wide,
        "2,002 items": long,
        "9,988 × 2 KB": many,
    }
    with (
        tempfile.TemporaryDirectory() as made,
        Chromium(Path(made) / "profile") as browser,
    ):
        folder = Path(made)
        for name, make in kinds.items():
            run = make(folder / make.__name__, random.Random(0))
            print(
                "|",
                " | ".join(figures(name, run, folder / "report.html", browser)),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    main()

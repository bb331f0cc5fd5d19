"""Two tables on the memories of installed libraries: the card, suite lifecycle and suite standard of each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RECIPES = Path(__file__).parents[1] / "conftest_examples" / "library_stores"
STORES: Mapping[str, str] = {
    "chromadb": "chroma_store:ChromaStore",
    "faiss-cpu": "faiss_store:FaissStore",
    "lancedb": "lancedb_store:LanceStore",
    "google-adk": "adk_store:AdkStore",
    "langgraph": "langgraph_store:LangGraphStore",
    "langmem": "langmem_store:LangMemStore",
    "llama-index-core": "llama_index_store:LlamaIndexStore",
    "mem0ai": "mem0_store:Mem0Store",
    "qdrant-client": "qdrant_store:QdrantStore",
    "sqlite-vec": "sqlite_vec_store:SqliteVecStore",
    "txtai": "txtai_store:TxtaiStore",
}
"""By package: the store in its recipe."""
FIGURES = (
    "found@1",
    "found@10",
    "stale_served",
    "deleted_served",
    "duplicated",
    "crossed",
)
CORRECTIONS = ("replaced", "back", "retracted", "refined", "sources", "rejected")
"""The tests of `lifecycle` that a store of unedited texts fails."""
_LIMIT = 900  # seconds per suite
_SILENT = {"MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}


def store_table(size: int, repeats: int) -> Iterator[str]:
    """Yield two Markdown tables, a row for each library; `size`: the span of standard in tokens."""
    del repeats
    titles = (title.replace("_", " ") for title in FIGURES)
    rows_of_suites = []
    yield f"| memory | {' | '.join(titles)} | lifecycle: ok, failed, - | fails |"
    yield f"|---|{'---|' * (len(FIGURES) + 2)}"
    for package, store in STORES.items():
        if not is_installed(package):
            yield f"| {package} | not installed |{' |' * (len(FIGURES) + 1)}"
            continue
        with tempfile.TemporaryDirectory(prefix="ltm-stores-") as name:
            folder = shutil.copytree(RECIPES, Path(name) / "recipe")
            play_store(store, folder, size)
            yield table_row(package, folder)
            rows_of_suites.append(suite_row(package, folder))
    yield ""
    yield f"| memory | standard, {size // 1000}k | found among 100 | seconds a search |"
    yield "|---|---|---|---|"
    yield from rows_of_suites


def is_installed(package: str) -> bool:
    """Return whether a package is installed, under its name in the index."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def play_store(store: str, folder: Path, size: int) -> None:
    """Run the card and both suites of a store; their files stay in the folder."""
    spec = f"store:{store}"
    commands = (
        ["pytest_ltm", "check-memory", spec, "-o", "card.json"],
        [
            "pytest",
            "-q",
            "--ltm-suite=lifecycle?facts=100",
            f"--ltm-agent={spec}",
            "--ltm-dir=life",
        ],
        [
            "pytest",
            "-q",
            "--ltm-suite=standard",
            f"--ltm-span={size}",
            f"--ltm-agent={spec}",
            "--ltm-dir=std",
        ],
    )
    for command in commands:
        subprocess.run(
            [sys.executable, "-m", *command],
            cwd=folder,
            env={**os.environ, **_SILENT},
            timeout=_LIMIT,
            check=False,
            capture_output=True,
        )


def table_row(package: str, folder: Path) -> str:
    """Return a store's row from the files in its folder."""
    card = _read(folder / "card.json")["rows"][0]
    rates = [card["figures"][name] for name in FIGURES]
    cells = ["-" if rate is None else f"{rate[0]}/{rate[1]}" for rate in rates]
    states = {
        line["test"]: _state(line) for line in _read(folder / "life" / "lifecycle.json")
    }
    counts = Counter(states.values())
    fails = [test for test, state in states.items() if state == "failed"]
    if set(CORRECTIONS) <= set(fails):
        fails = [*(test for test in fails if test not in CORRECTIONS), "corrections"]
    life = f"{counts['ok']}, {counts['failed']}, {counts['-']}"
    name = card["package"] or package
    return f"| {name} | {' | '.join(cells)} | {life} | {', '.join(fails)} |"


def suite_row(package: str, folder: Path) -> str:
    """Return the row of a store's score in `standard`, and its results in the test `many` of `lifecycle`."""
    name = _read(folder / "card.json")["rows"][0]["package"] or package
    notes = {}
    for line in _read(folder / "life" / "lifecycle.json"):
        if line["test"] == "many":
            for look, _, detail in line["cells"]:
                notes[look] = detail
    found = notes.get("found", "-")
    seconds = notes.get("seconds a search", "-")
    return f"| {name} | {_standard(folder / 'std')} | {found} | {seconds} |"


def _state(line: Mapping[str, Any]) -> str:
    states = {state for _, state, _ in line["cells"]}
    if "fails" in states:
        return "failed"
    return "ok" if states & {"ok", "note"} and not _is_lacking(line) else "-"


def _is_lacking(line: Mapping[str, Any]) -> bool:
    """Return whether a test observed at most its controls."""
    looks = [state for _, state, _ in line["cells"] if state in {"ok", "note"}]
    lacks = any(look in {"all", "the rest"} for look, _, _ in line["cells"])
    return lacks and len(looks) <= 2


def _standard(folder: Path) -> str:
    """Return the total of a run of suite standard; `none` if it did not finish."""
    latest = folder / "latest"
    if not latest.exists():
        return "none"
    summary = _read(folder / "runs" / latest.read_text().strip() / "summary.json")
    result = summary["results"][0]
    return f"{result['total']:.2f} of {result['out_of']}"


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))

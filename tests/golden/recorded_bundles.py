"""The bundles that docs/verify.md offers: a small run, and four forgeries of it by `forge_bundle.py`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
BUNDLES = DOCS / "bundles"
FORGER = Path(__file__).with_name("forge_bundle.py")
WHOLE = "memory.ltm.zip"
PLAYED = (
    "--ltm-agent=window:1k,full",
    "--ltm-span=2k",
    "--ltm-suite=standard",
    "--ltm-examples=1",
    "--ltm-seed=4",
    "-k",
    "colours or shopping_list or locations_directions",
)
# The forgeries, with a part of what is said of each.
FORGERIES = {
    "better_score": "its score is 1.0, and the journal says",
    "better_reply": "was changed after it was written",
    "other_seed": "seed is 7",
    "without_the_worse": "it lists the conversation window_1k~2k~0",
}


def record() -> None:
    """Make the bundles anew."""
    BUNDLES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        pytest = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *PLAYED,
        ]
        subprocess.run(pytest, cwd=home, check=False, stdout=subprocess.DEVNULL)
        bundle = [
            sys.executable,
            "-m",
            "pytest_ltm",
            "lab",
            "bundle",
            "latest",
            "-o",
            WHOLE,
        ]
        for command in (
            bundle,
            *([sys.executable, str(FORGER), name] for name in FORGERIES),
        ):
            subprocess.run(command, cwd=home, check=True)
        for path in home.glob("*.ltm.zip"):
            (BUNDLES / path.name).write_bytes(path.read_bytes())

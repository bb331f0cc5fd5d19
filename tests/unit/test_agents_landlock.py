"""A process of an agent cannot read the files of runs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.agents._landlock import has_landlock

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import subprocess, sys
from pathlib import Path
from pytest_ltm.agents._landlock import hide_folder
hidden, *files = map(Path, sys.argv[1:])
assert hide_folder(hidden)
for file in files:
    print(subprocess.run(["cat", file], capture_output=True, text=True).stdout or "denied")
"""


@pytest.mark.slow
@pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")
def test_what_is_hidden_cannot_be_read_by_whatever_a_process_starts_and_all_else_can(tmp_path: Path) -> None:
    hidden, beside = tmp_path / "ltm" / "runs" / "one.json", tmp_path / "ltm" / "other.json"
    hidden.parent.mkdir(parents=True)
    hidden.write_text("secret")
    beside.write_text("plain")
    (tmp_path / "link").symlink_to(tmp_path)

    words = [str(hidden.parent), str(hidden), str(beside), str(tmp_path / "link" / "ltm" / "runs" / "one.json")]
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["denied", "plain", "denied"]

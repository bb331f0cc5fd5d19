"""Workers on another machine, over ssh, as docs/distributed.md tells: it is this machine, by an sshd of its own."""

from __future__ import annotations

import getpass
import json
import shutil
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Project

pytest.importorskip("xdist")

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
TOOLS = SSHD and shutil.which("ssh") and shutil.which("ssh-keygen")


@pytest.fixture
def far(tmp_path: Path) -> Iterator[str]:
    """Yield how `--tx` names the other machine, without its folder; the server stops with the test."""
    if not TOOLS or SSHD is None:
        pytest.skip("needs sshd, ssh and ssh-keygen (Debian: openssh-server)")
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\n"
    )
    (folder / "ssh_config").write_text(
        f"Host far\n HostName 127.0.0.1\n Port {port}\n User {getpass.getuser()}\n IdentityFile {folder}/user\n"
        f" UserKnownHostsFile {folder}/known\n StrictHostKeyChecking no\n LogLevel ERROR\n"
    )
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(100):
            if server.poll() is not None:
                pytest.skip(f"sshd does not start here: {(server.stderr.read() if server.stderr else '').strip()}")
            said = subprocess.run(
                ["ssh", "-F", str(folder / "ssh_config"), "far", "true"], capture_output=True, text=True, check=False
            )
            if said.returncode == 0:
                break
            time.sleep(0.05)
        else:
            pytest.skip(f"cannot log in over loopback here: {said.stderr.strip()}")
        yield f"ssh=far//ssh_config={folder}/ssh_config//python={sys.executable}"
    finally:
        server.terminate()
        server.communicate(timeout=10)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_results_of_workers_on_another_machine_are_complete(project: Project, far: str, tmp_path: Path) -> None:
    there = tmp_path / "scratch"
    there.mkdir()
    project.file(
        "import os\ndef test_a(ltm):\n    ltm.say(os.getcwd())\n    ltm.wait(span=0.5)\n    assert ltm.ask('hm?')\n"
        "def test_b(ltm):\n    ltm.say('B')\n    assert ltm.ask('hm?') == 'no'\n",
        "own/test_own.py",
    )
    project.file("[pytest]\n", "pytest.ini")

    result = project.ltm(
        "-d", f"--tx={far}//chdir={there}//id=far1", "--tx=popen", f"--rsyncdir={project.path}",
        str(project.path / "own"), "--junitxml=junit.xml", agent="echo,full", subprocess=True,
    )  # fmt: skip

    result.assert_outcomes(passed=2, failed=2)
    (run,) = (project.path / ".ltm" / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert [held["ended"] for held in summary["conversations"]] == ["complete", "complete"]
    assert [len(held["examples"]) for held in summary["conversations"]] == [2, 2]
    journals = {path.parent.name for path in run.glob("*/journal.jsonl")}
    far_journals = {path.parent.name for path in there.glob("**/journal.jsonl")}
    assert journals | far_journals == {"echo~300~0", "full~300~0"}
    assert len(journals) == len(far_journals) == 1  # where the worker ran


def test_what_a_far_worker_had_when_it_was_stopped_is_there(project: Project, far: str, tmp_path: Path) -> None:
    there = tmp_path / "scratch"
    there.mkdir()
    project.file("[pytest]\n", "pytest.ini")
    project.file(
        "def test_a(ltm):\n    ltm.say('A')\n    ltm.wait(span=0.5)\n    assert not ltm.ask('hm?')\n"
        "def test_b(ltm):\n    ltm.say('B')\n    ltm.wait(span=0.9)\n    assert ltm.ask('hm?')\n",
        "own/test_own.py",
    )

    project.ltm(
        "-d", f"--tx={far}//chdir={there}//id=far1", f"--rsyncdir={project.path}", "-x", str(project.path / "own"),
        subprocess=True,
    )  # fmt: skip

    (results,) = (project.path / ".ltm" / "runs").glob("*/*/results.json")
    said = json.loads(results.read_text(encoding="utf-8"))
    assert (said["ended"], [row["scenario"] for row in said["scenarios"]]) == ("interrupted", ["a"])

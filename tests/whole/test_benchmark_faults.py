"""The matrix of faults plays its cases and detects losses and leftovers."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.faults import agents, hostile_agents, journals, matrix, runs
from benchmarks.faults.cases import Case, Outcome, Setting
from benchmarks.faults.matrix import ROWS, Row, Tally, main, played
from benchmarks.faults.traces import SECRET, Traces, traces
from benchmarks.killed import Run
from pytest_ltm.api.storage import ConfigurationError

ROOT = Path(__file__).parents[2]
on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="looks for processes in /proc"
)


@pytest.mark.nightly("runs by the hundred: one row before each merge", every=len(ROWS))
@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_a_few_of_each_row_survive(row: str) -> None:
    pytest.importorskip("xdist")
    pytest.importorskip("openai")
    pytest.importorskip("httpx2")

    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks",
            "faults",
            "--quick",
            "--json",
            "--only",
            row,
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    total = json.loads(done.stdout)["total"]
    assert total["tried"] == total["survived"] >= 1


def test_the_page_of_what_agents_can_do_has_a_tried_case_in_each_line() -> None:
    page = (ROOT / "docs" / "own-process.md").read_text(encoding="utf-8")
    lines = [
        line.rsplit("|", 2)[1] for line in page.splitlines() if line.startswith("|")
    ][2:]
    tried = [re.findall(r"`(\w+)`", line) for line in lines]
    assert all(tried)
    names = {name for cases in tried for name in cases}
    assert names <= set(hostile_agents.CLASSES)
    assert names >= agents.ENDS_PROCESS | agents.NOT_HERE


def test_an_unknown_row_is_one_sentence_with_the_cure() -> None:
    with pytest.raises(
        ConfigurationError, match=r"no row 'kill'\. Did you mean 'kills'\?"
    ):
        main(["--only", "kill"])


# --- counting


def leaves(text: str) -> Outcome:
    return Outcome(2, (text,) if text else ())


def breaks(_: Path) -> Outcome:
    raise ValueError("no such case")


def row(*cases: Case) -> Row:
    def generated(_: Setting) -> Iterator[Case]:
        yield from cases

    return Row("tried out", generated, 10, 1)


def tally(tmp_path: Path, *cases: Case, size: int = 10) -> Tally:
    return played(row(*cases), Setting(folder=tmp_path / "row", size=size))


def test_what_is_lost_is_counted_and_its_folder_kept(tmp_path: Path) -> None:
    found = tally(
        tmp_path,
        Case("fine", lambda _: leaves("")),
        Case("lost", lambda _: leaves("a reply is missing")),
        Case("breaks", breaks),
    )
    assert (found.tried, found.survived) == (5, 3)
    assert sorted(found.lost) == [
        "breaks: ValueError: no such case",
        "lost: a reply is missing",
    ]
    assert not found.is_clean
    assert {path.name for path in (tmp_path / "row").iterdir()} == {"lost", "breaks"}


def test_no_more_are_tried_than_wanted(tmp_path: Path) -> None:
    many = [Case(str(number), lambda _: leaves("")) for number in range(50)]
    assert 10 <= tally(tmp_path, *many).tried < 10 + 2 * matrix.AT_ONCE


def writes(folder: Path, text: str) -> Outcome:
    (folder / "screen-0.txt").write_text(text, encoding="utf-8")
    return Outcome(1)


def test_secrets_and_escapes_are_counted(tmp_path: Path) -> None:
    found = tally(
        tmp_path,
        Case("told", writes, (f"it is {SECRET}.",)),
        Case("clears", writes, ("\x1b[2J",)),
        Case("f", writes, ("a",)),
    )
    assert found.secrets == ["told: screen-0.txt: plain"]
    assert found.escapes == ["clears: screen-0.txt: '\\x1b[2J'"]
    assert found.survived == 3
    assert not found.is_clean


ORPHAN = """
import os, subprocess, sys
from pathlib import Path
from benchmarks.faults import processes, runs
processes.adopt()
folder = Path(sys.argv[1])
starts = "import subprocess, sys; subprocess.Popen(['sleep', '600'], start_new_session=True, cwd='/', stdout=-3)"
bystander = subprocess.Popen(["sleep", "600"])
subprocess.run([sys.executable, "-c", starts], env=runs.environment(folder), check=True)
left = processes.left(folder, 0.1)
processes.kill(left)
print(len(left), processes.left(folder), bystander.poll())
bystander.kill()
bystander.wait()
"""


@on_linux
def test_a_process_that_a_run_has_left_is_found_in_whatever_session_and_nobody_else_is(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1 [] None\n"


# --- traces

PACKED = base64.b64encode(
    zlib.compress(f'{{"a": "{SECRET}", "b": "{"a long text " * 20}"}}'.encode())
)


@pytest.mark.parametrize(
    "data",
    [
        SECRET.encode(),
        SECRET.encode().hex().encode(),
        base64.b64encode(b"Bearer " + SECRET.encode()),
        base64.b64encode(b"key: " + SECRET.encode() + b"."),
        b"<p>" + SECRET.replace("&", "&amp;").encode(),
        b"?key=9f%2BQuince%2FMarmalade%3D47%26Teapot",
        gzip.compress(SECRET.encode(), mtime=0),
        b'<script>const data = "' + PACKED + b'"</script>',
    ],
)
def test_a_secret_is_found_in_any_form(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.html").write_bytes(data)
    assert len(traces(tmp_path).secrets) == 1


@pytest.mark.parametrize(
    "text",
    ["\x1b[31m", "\x9b31m", "\x07", "\u202eback", "\u2066", "\x08", "\x00", "\x7f"],
)
def test_a_control_character_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "junit.xml").write_text(f"a {text} b", encoding="utf-8")
    assert len(traces(tmp_path).escapes) == 1


def test_records_hold_what_was_said_as_escapes(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text(
        '{"text": "\\u001b[2J \\u202e"}\n', encoding="utf-8"
    )
    (tmp_path / "results.json").write_text('{"text": "\x1b[2J"}\n', encoding="utf-8")
    (tmp_path / "summary.json").write_text('{"text": "\u202e"}\n', encoding="utf-8")
    assert [escape.partition(":")[0] for escape in traces(tmp_path).escapes] == [
        "results.json",
        "summary.json",
    ]


def test_ordinary_text_and_the_agents_own_files_have_no_traces(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "é \U0001f600 ’ tab\there\r\nand \\u001b[2J [redacted $LTM_FAULTS_TOKEN]\n",
        encoding="utf-8",
    )
    (tmp_path / "heard.jsonl").write_text(SECRET, encoding="utf-8")
    assert traces(tmp_path) == Traces()


# --- journals

REPLIES = [f'{{"event":"reply","exchange":{number}}}\n' for number in range(3)]


def project(folder: Path, journal: str, heard: list[str]) -> Path:
    run = folder / ".ltm" / "runs" / "r"
    (run / "bot").mkdir(parents=True)
    (run / "run.json").touch()
    (run / "bot" / "journal.jsonl").write_text(journal, encoding="utf-8")
    (folder / "heard.jsonl").write_text(
        "".join(f"{json.dumps([1, one])}\n" for one in heard), encoding="utf-8"
    )
    return folder


CALM = Run(
    {"bot/journal.jsonl": "".join(REPLIES).encode()}, [(0, "a"), (0, "b"), (0, "c")]
)


@pytest.mark.parametrize(
    ("status", "journal", "heard", "lost"),
    [
        (0, "".join(REPLIES), ["b", "c"], None),
        (
            0,
            "".join(REPLIES),
            ["a", "b", "c"],
            "3 messages were sent, 2 were not recorded",
        ),
        (0, REPLIES[0], ["b", "c"], "other than undisturbed: bot/journal.jsonl"),
        (75, REPLIES[0], [], None),
        (75, "", [], "refused, with status 75, and the journal was changed"),
    ],
)
def test_a_torn_journal_is_resumed_or_refused(
    tmp_path: Path, status: int, journal: str, heard: list[str], lost: str | None
) -> None:
    where = project(tmp_path / "project", journal, heard)
    assert (
        journals.resumed_or_refused(
            where, runs.Ended(status, ""), CALM, REPLIES[0].encode()
        )
        == lost
    )

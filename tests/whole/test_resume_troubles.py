"""Resuming after violent endings: kill -9, a full disk, a second process, changed options."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import sys
from pathlib import Path

import pytest
from conftest import Project
from filelock import FileLock

from benchmarks.killed import drill, undisturbed
from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

QUITS = """
import os

class Quits:
    def reply(self, message):
        os._exit(0)
"""


@pytest.mark.parametrize("words", [(), ("-q",)], ids=["header", "quiet"])
def test_a_run_that_left_in_the_middle_is_told_by_the_next_and_by_the_doctor(
    project: Project, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    project.file("def test_a(ltm):\n    ltm.say('hello')\n")
    project.file(QUITS, "quits.py")
    left = project.ltm(agent="quits:Quits", subprocess=True)
    assert left.ret == 75
    [run] = [path.name for path in (project.path / ".ltm" / "runs").iterdir()]
    project.ltm(*words).stdout.fnmatch_lines(
        [
            f"ltm: the run before, {run}, has no summary.json: its process ended in the middle*"
        ]
    )
    project.ltm().stdout.no_fnmatch_line("ltm: the run before*")
    assert main(["doctor", "--ltm-dir", str(project.path / ".ltm")]) == 0
    assert f"{run} has no summary.json" in " ".join(capsys.readouterr().out.split())


SAVED = """
import pathlib, pytest
HERE = pathlib.Path(__file__).parent

class Saved:
    def __init__(self):
        self.heard = []
    def reply(self, message):
        with open(HERE / "heard.txt", "a") as file:
            file.write(message[:40] + "\\n")
        if (HERE / "stop.txt").exists() and len(self.heard) + 1 == int((HERE / "stop.txt").read_text()):
            pytest.exit("stopped")
        self.heard.append(message)
        return f"{len(self.heard)} {message[-20:]}"
    def save(self):
        return repr(self.heard).encode()
    def load(self, state):
        self.heard = __import__("ast").literal_eval(state.decode())
"""
CAT = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.5)
    ltm.check("cat", "cat" in ltm.ask("What is my cat called?"))
"""
RUN = ("--ltm-agent=bot:Saved", "--ltm-suite=none", "--ltm-span=400")


@pytest.fixture
def cat(project: Project) -> Project:
    project.file(SAVED, "bot.py")
    project.file(CAT)
    return project


def folder(project: Project) -> Path:
    journal: Path = next((project.path / ".ltm" / "runs").glob("*/*/journal.jsonl"))
    return journal.parent


def interrupted(project: Project, at: int, *args: str) -> None:
    (project.path / "stop.txt").write_text(str(at))
    project.pytest(*RUN, *args)
    (project.path / "stop.txt").unlink()


# --- kill -9


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("kind", ["Saved", "Told"])
def test_a_run_that_is_killed_again_and_again_equals_one_that_never_was(
    tmp_path: Path, kind: str
) -> None:
    words = ("--ltm-suite=none", "--ltm-span=400")
    for name in ("undisturbed", "drill"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test_cat.py").write_text(CAT + CAT.replace("cat", "dog"))
    expected = undisturbed(tmp_path / "undisturbed", kind, words)
    assert drill(tmp_path / "drill", kind, expected, random.Random(kind), words) >= 1


# --- changed bodies


def test_a_conversation_that_says_something_else_is_given_up_and_shows_both(
    cat: Project,
) -> None:
    cat.file(
        "import pathlib\ndef test_cat(ltm):\n"
        "    ltm.say(pathlib.Path(__file__).with_name('name.txt').read_text())\n"
        "    ltm.wait(span=0.5)\n"
        "    ltm.ask('What is my cat called?')\n"
        "def test_dog(ltm):\n    ltm.say('a')\n    ltm.wait(span=0.9)\n    ltm.ask('b')\n"
    )
    (cat.path / "name.txt").write_text("My cat is called Kelvin.")
    interrupted(cat, 4)
    journal = (folder(cat) / "journal.jsonl").read_bytes()
    (cat.path / "name.txt").write_text("My cat is called Celsius.")
    (cat.path / "heard.txt").unlink()
    result = cat.pytest("--ltm-resume=latest", "-rs")
    result.assert_outcomes(skipped=2)
    assert result.ret == 75
    shown = " ".join(result.stdout.str().split())
    assert (
        "text: recorded 'My cat is called Kelvin.', now 'My cat is called Celsius.'"
        in shown
    )
    kept = json.loads(journal.splitlines()[-2])
    assert journal.startswith(after := (folder(cat) / "journal.jsonl").read_bytes())
    assert kept["event"] != "end"
    assert after
    assert not (cat.path / "heard.txt").exists()


def test_other_words_cost_no_verdict_of_a_run_that_was_complete(cat: Project) -> None:
    cat.file(
        "import pathlib\ndef test_cat(ltm):\n"
        "    ltm.say(pathlib.Path(__file__).with_name('name.txt').read_text())\n"
        "    ltm.wait(span=0.5)\n"
        "    ltm.check('cat', 'cat' in ltm.ask('What is my cat called?'))\n"
    )
    (cat.path / "name.txt").write_text("My cat is called Kelvin.")
    cat.pytest(*RUN).assert_outcomes(passed=1)
    before = json.loads((folder(cat) / "results.json").read_text())["scenarios"]
    journal = (folder(cat) / "journal.jsonl").read_bytes()
    (cat.path / "name.txt").write_text("My cat is called Celsius.")
    result = cat.pytest("--ltm-resume=latest")
    result.assert_outcomes(skipped=1)
    assert result.ret == 75
    assert json.loads((folder(cat) / "results.json").read_text())["scenarios"] == before
    assert (folder(cat) / "journal.jsonl").read_bytes() == journal
    (cat.path / "name.txt").write_text("My cat is called Kelvin.")
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=1)


def test_filler_that_is_made_anew_gives_way_to_what_is_recorded(cat: Project) -> None:
    cat.file(
        "import pathlib\nfrom pytest_ltm._core.model.filler import FillerExchange\n"
        "class Late:\n"
        "    def make(self, tokens, most):\n"
        "        name = pathlib.Path(__file__).with_name('name.txt').read_text()\n"
        "        return FillerExchange(name * 20, 'ok')\n"
        "    def configuration(self):\n        return 'late'\n",
        "late.py",
    )
    cat.conftest(
        "import pytest, late\n@pytest.hookimpl(optionalhook=True)\n"
        "def pytest_ltm_make_filler(config, spec, rng, counter):\n    return late.Late()\n"
    )
    (cat.path / "name.txt").write_text("earlier ")
    interrupted(cat, 4)
    (cat.path / "name.txt").write_text("later ")
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=1)
    said = [
        json.loads(line)
        for line in (folder(cat) / "journal.jsonl").read_text().splitlines()
    ]
    filler = [
        event["text"].split()[0] for event in said if event.get("kind") == "filler"
    ]
    assert filler[0] == "earlier"
    assert filler[-1] == "later"


# --- one writer


def test_a_second_process_is_refused_and_told_who_the_first_is(cat: Project) -> None:
    interrupted(cat, 3)
    run = folder(cat).parent
    with FileLock(str(run / ".lock"), is_singleton=False):
        (run / ".owner.json").write_text(
            '{"pid": 4711, "host": "elsewhere", "since": "today"}'
        )
        refused = cat.pytest("--ltm-resume=latest")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*is in use by process 4711 on 'elsewhere', since today*"]
    )


def test_a_run_that_is_refused_leaves_nothing_and_latest_is_the_one_before(
    cat: Project,
) -> None:
    interrupted(cat, 4)
    before = [
        sorted((cat.path / ".ltm" / "runs").iterdir()),
        (cat.path / ".ltm" / "latest").read_text(),
    ]
    refused = cat.pytest(*RUN, "--ltm-shard=1/3", "--ltm-max-tokens=5k")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert [
        sorted((cat.path / ".ltm" / "runs").iterdir()),
        (cat.path / ".ltm" / "latest").read_text(),
    ] == before
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=1)


def test_a_first_run_that_is_refused_leaves_no_latest_one(cat: Project) -> None:
    cat.pytest(*RUN, "--ltm-shard=1/3")
    assert not (cat.path / ".ltm" / "latest").exists()
    assert not list((cat.path / ".ltm" / "runs").iterdir())


def test_a_lock_that_a_dead_process_left_is_none(cat: Project) -> None:
    interrupted(cat, 3)
    for place in (folder(cat), folder(cat).parent):
        (place / ".lock").touch()
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": "today"}
        (place / ".owner.json").write_text(json.dumps(me))
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=1)
    assert not list(cat.path.glob(".ltm/runs/**/.owner.json"))


# --- the disk

FULL = """
import os, pytest

class Quota:
    # Files may have so many bytes, as on a disk that is full; SIGXFSZ is ignored by Python.
    def pytest_sessionstart(self):
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["QUOTA"]), resource.RLIM_INFINITY))

def pytest_configure(config):
    if os.environ.get("QUOTA"):
        config.pluginmanager.register(Quota())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits for files")
@pytest.mark.parametrize(
    ("quota", "workers"), [(3000, ()), (3300, ()), (3300, ("-n1",))]
)
def test_a_full_disk_ends_the_run_and_what_is_there_can_be_gone_on_with(
    cat: Project, monkeypatch: pytest.MonkeyPatch, quota: int, workers: tuple[str, ...]
) -> None:
    cat.pytest(*RUN)
    expected = {
        name: (folder(cat) / name).read_text()
        for name in ("journal.jsonl", "results.json")
    }
    assert len(expected["journal.jsonl"]) > quota
    whole = (cat.path / "heard.txt").read_text().splitlines()
    shutil.rmtree(cat.path / ".ltm")
    (cat.path / "heard.txt").unlink()
    cat.conftest(FULL)
    monkeypatch.setenv("QUOTA", str(quota))
    # Python would otherwise leave truncated bytecode to later runs
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    full = cat.pytest(*RUN, *workers, subprocess=True)
    shown = " ".join(full.stdout.str().split())
    assert full.ret == 75, shown
    assert (
        "unmeasurable (exit status 75): records could not be written to disk" in shown
    )
    assert "File too large. Nothing more is sent" in shown
    assert "resume with: pytest --ltm-resume=" in shown
    assert "INTERNALERROR" not in shown
    before = (cat.path / "heard.txt").read_text().splitlines()
    monkeypatch.delenv("QUOTA")
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=1)
    assert {name: (folder(cat) / name).read_text() for name in expected} == expected
    after = (cat.path / "heard.txt").read_text().splitlines()
    assert len(after) <= len(whole) + 1
    assert before == after[: len(before)]


# --- the record is data, not code


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("header", {"agent": {}}),
        (
            "header",
            {"agent": {"capabilities": ["Checkpointable"], "max_message_tokens": -5}},
        ),
        ("header", {"agent_fingerprint": None}),
        ("reply", {"text": 5}),
        ("reply", {"text": None, "tokens": "many"}),
        ("reply", {"tokens": -1_000_000}),
        ("reply", {"exchange": 99}),
        ("message", {"tokens": -1, "kind": "filler"}),
        ("message", {"by": "../../x"}),
    ],
)
def test_a_journal_that_somebody_has_changed_is_refused_or_given_up_in_a_sentence(
    cat: Project, event: str, change: dict[str, object]
) -> None:
    interrupted(cat, 4)
    path = folder(cat) / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    next(line for line in lines if line["event"] == event).update(change)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = sorted(cat.path.rglob("*"))
    (cat.path / "heard.txt").write_text("")
    result = cat.pytest("--ltm-resume=latest", "-p", "no:cacheprovider")
    assert result.ret in {75, pytest.ExitCode.USAGE_ERROR}
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert (cat.path / "heard.txt").read_text() == ""
    outside = [
        path
        for path in sorted(cat.path.rglob("*"))
        if path not in before and ".ltm" not in path.parts
    ]
    assert [path for path in outside if "__pycache__" not in path.parts] == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own")
@pytest.mark.parametrize(
    "name",
    [
        "journal.jsonl",
        "timings.jsonl",
        "checkpoints",
        "definitions",
        ".lock",
        "../.lock",
    ],
)
def test_a_run_that_leads_elsewhere_is_refused(cat: Project, name: str) -> None:
    interrupted(cat, 4)
    (cat.path / "elsewhere").mkdir()
    (cat.path / "elsewhere" / "precious").write_text("precious")
    link = folder(cat) / name
    target = cat.path / "elsewhere" / ("precious" if "." in name else "")
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    refused = cat.pytest("--ltm-resume=latest")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        [
            f"*{Path(name).name} is a symbolic link, so what is written there could end up*"
        ]
    )
    assert [path.name for path in (cat.path / "elsewhere").iterdir()] == ["precious"]
    assert (cat.path / "elsewhere" / "precious").read_text() == "precious"


def test_only_options_of_ours_are_taken_over_from_a_run(cat: Project) -> None:
    cat.file("raise SystemExit('never to be imported')\n", "evil.py")
    interrupted(cat, 3)
    path = folder(cat).parent / "run.json"
    run = json.loads(path.read_text())
    run["options"].update(
        plugins=["evil"],
        override_ini=["addopts=-p evil"],
        ltm_none="x",
        pyargs=True,
        confcutdir="/",
    )
    run["paths"] = ["-pevil", "--import-mode=evil"]
    path.write_text(json.dumps(run))
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=1)


def test_a_secret_of_the_command_line_is_not_recorded_and_asked_for_again(
    cat: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "planted-for-this-test")
    cat.conftest(
        "import pytest, bot\n@pytest.hookimpl(optionalhook=True)\n"
        "def pytest_ltm_make_agent(config, spec):\n    return bot.Saved if spec.startswith('mine') else None\n"
    )
    secret = ("--ltm-agent=bot=mine-planted-for-this-test", *RUN[1:])
    (cat.path / "stop.txt").write_text("4")
    cat.pytest(*secret)
    (cat.path / "stop.txt").unlink()
    assert "planted-for-this-test" not in "".join(
        p.read_text() for p in cat.path.glob(".ltm/**/*") if p.is_file()
    )
    again = cat.pytest("--ltm-resume=latest")
    again.stderr.fnmatch_lines(
        ["*--ltm-agent held a secret, which is not recorded. Give it again*"]
    )
    cat.pytest("--ltm-resume=latest", secret[0]).assert_outcomes(passed=1)


# --- wall time


def test_time_on_the_wall_is_read_from_the_record_and_goes_on_from_there(
    cat: Project,
) -> None:
    cat.file(
        "def test_cat(ltm):\n    ltm.say('a')\n    ltm.wait(time=0.3)\n    ltm.ask('b')\n"
        "def test_dog(ltm):\n    ltm.say('c')\n    ltm.wait(time=0.1)\n    ltm.say('d')\n"
        "    ltm.wait(time=0.1, span=0.9)\n    ltm.ask('e')\n"
    )
    interrupted(cat, 5, "--ltm-time=sleep")
    kept = (
        (folder(cat) / "journal.jsonl").read_text().rpartition('{"event":"message"')[0]
    )
    cat.pytest("--ltm-resume=latest").assert_outcomes(passed=2)
    assert (folder(cat) / "journal.jsonl").read_text().startswith(kept)
    assert kept.count('"event":"reply"') == 4

"""Golden runs: a small project, the commands that are run in it, and what each of them leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import yaml
from alone import alone

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
RENAMED = HERE / "renamed.yml"
TIMEOUT = 120
"""Seconds for one command, on a busy machine."""

Written: TypeAlias = "dict[str, str]"
"""Texts by file name: what was printed is `printed.txt`, the others lie in the run folder."""

BOTS = '''
import os

from pytest_ltm import Reply, Usage


class Told:
    """Answers with the newest note that has the last word of the question, and shows it."""

    def __init__(self):
        self.notes = []
        self.found = []

    def reply(self, message):
        *_, about = ["", *(word.strip("?").lower() for word in message.split() if word not in ("called?", "now?"))]
        self.found = [note for note in self.notes if about in note.lower() and "?" not in note][-2:]
        answer = f"Noted, number {len(self.notes)}."
        if message.endswith("?"):
            answer = self.found[-1] if self.found else "Who knows?"
        self.accept(message, answer)
        return answer

    def accept(self, message, reply):
        self.notes.append(message[:60])

    def retrieved(self):
        return self.found


class Saved:
    """Can be put back to where it was; says what it costs; fails once, at a filler."""

    failed = False

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if len(self.notes) == int(os.environ.get("DIES_AT", -1)):
            os._exit(9)
        if "quiz" in message and len(self.notes) > 5 and not self.failed:
            self.failed = True
            raise ValueError("no quiz, please")
        self.notes.append(message[:60])
        answer = " ".join(self.notes[-4:]) if message.endswith("?") else f"{len(self.notes)} notes."
        return Reply(answer, usage=Usage(input_tokens=len(message), output_tokens=len(answer)), cost_usd=0.001)

    def save(self):
        return "\\n".join(self.notes).encode()

    def load(self, state):
        self.notes = state.decode().splitlines()

    def tell_time(self, now):
        self.now = now
'''
PETS = """
import pytest

from pytest_ltm import Ask, Definition, Say, Score, Unscored, spread


def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.5)
    ltm.check("names the cat", "Kelvin" in ltm.ask("What is my cat called?"))
    ltm.check("says nothing else", False)


def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.wait(span=0.9, time="1d 2h")
    assert "Ohm" in ltm.ask("What is my dog called?", about=["My dog is called Ohm."])


def test_bird(ltm, ltm_judge):
    question = "What is my bird called?"
    ltm.say("My bird is called Volt.")
    ltm.wait(tokens=300)
    ltm.check("names the bird", ltm_judge.grade(question, ltm.ask(question), reference="Volt"))


def test_two_replies(ltm):
    ltm.say("Please count your next two replies.")
    ltm.watch(lambda since: Score(0.5, "half") if len(since) == 2 else None, replies=2)


def test_never(ltm):
    ltm.say("Never say the word zebra.")
    ltm.watch(lambda since: Unscored("nobody tempted it") if len(since) > 8 else None)


def locker(rng, parameters):
    code = f"{rng.randrange(10_000):04}"
    told = Say(f"The code of my locker is {code}.")
    aside = Say(f"My locker is number {rng.randrange(100, 1000)}, beside the stairs.")
    return Definition(steps=spread([told, aside, Ask("Which code opens my locker?", about=[told.text])]), expected=code)


@pytest.mark.ltm(generate=locker, examples=2, skills="R", incompatible=["cat"], reset="Forget my locker.")
def test_locker(ltm):
    [answer] = ltm.play(ltm.definition)
    ltm.check("gives the code", ltm.definition.expected in answer)


@pytest.mark.ltm(requires=["TimeAware"])
def test_clock(ltm):
    ltm.say("Good night.")
    ltm.wait(time="8h 30m")
    ltm.ask("Did you sleep well?")
    ltm.score(0.25, f"at {ltm.now:%H:%M}")
"""
SUITE = """
name: two
scenarios:
  - scenario: colours
  - scenario: trigger_response
"""
FILES = {
    "bots.py": BOTS,
    "pets.py": PETS,
    "two.ltm-suite.yml": SUITE,
    "pytest.ini": "[pytest]\n",
}
OPTIONS = (
    "--ltm-agent=bots:Told,bots:Saved",
    "--ltm-suite=two.ltm-suite.yml",
    "--ltm-span=2k",
    "--ltm-seed=5",
    "--ltm-judge=rules",
    "-rN",
    "pets.py",
)
_NOISE = (
    (r"(?m)^(?:platform|rootdir|configfile|plugins|cachedir): .*\n|^platform .*\n", ""),
    (r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "RUN"),
    (r"(?m)^=+ (.*) in \d+\.\d+s (?:\(\d+:\d\d:\d\d\) )?=+$", r"== \1"),
    # a checksum of the seconds, too
    (r'(?m)^ "sum": "[0-9a-f]{32}"$', ' "sum": "#"'),
    (
        r'"(wall_seconds|agent_seconds|tokens_a_second|tests_an_hour)": [^,\n}]+',
        r'"\1": "#"',
    ),
    (r'"(reply_seconds|storing_seconds)": \{[^}]*\}', r'"\1": "#"'),
    (r"(?m)^((?:reply|storing) in s, median/p95) .*", r"\1 #"),
    (r'"(pytest|pytest-ltm|pytest_ltm_version)": "[^"]*"', r'"\1": "#"'),
)
"""What differs between two equal runs, between versions, or between machines."""


def played(folder: Path) -> dict[str, Written]:
    """Run all commands in an empty folder, one after the other, and return what each wrote."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    play = _run(folder, *OPTIONS)
    _run(folder, *OPTIONS, dies_at=9)
    _cut(_latest(folder) / "bots_Told~2k~0")
    return {
        "play": play,
        "resume": _run(folder, "--ltm-resume=latest", "--tb=no", "-rN"),
        "rescore": _run(folder, "--ltm-rescore=latest", "--tb=no", "-rN"),
        "xdist": _run(folder, "-n2", "--tb=no", *OPTIONS),
        "dry_run": _run(folder, "--ltm-dry-run", "--ltm-price=3/15", *OPTIONS),
    }


def recorded(command: str) -> Written:
    """Return what is recorded of a command; a file that is not there is equal to that of `play`.

    Only a run that is scored again has no probe: it asks no agent.
    """
    folders = (
        [RECORDED / command]
        if command == "dry_run"
        else [RECORDED / "play", RECORDED / command]
    )
    files: Written = {}
    for folder in folders:
        files |= {
            path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for path in folder.rglob("*")
            if path.is_file()
        }
    if command == "rescore":
        for name in ("probe.jsonl", "canaries.jsonl", "canaries.timings.jsonl"):
            files.pop(name, None)
    return files


def renamed(files: Written, names: Mapping[str, Mapping[str, str]]) -> Written:
    """Return recorded files with fields and values renamed, so that they can be compared with what is written now.

    `names` is what `renamed.yml` holds. Fingerprints cover field names: with a mapping,
    they are compared by which of them are equal.
    """
    for old, new in names["fields"].items():
        word = rf"(?<![\w-]){re.escape(old)}(?![\w-])"
        for name, text in files.items():
            if name.endswith(".csv"):
                head, *rows = text.splitlines(keepends=True)
                files = files | {name: "".join([re.sub(word, new, head), *rows])}
            elif name.endswith("timings.jsonl"):
                files = files | {name: re.sub(word, new, text)}
            else:
                files = files | {
                    name: re.sub(
                        rf'(?<!\\)"{re.escape(old)}"(?=\s*:)', f'"{new}"', text
                    )
                }
    for old, new in names["values"].items():
        value = rf"(?<!\\){re.escape(json.dumps(old))}(?!\s*:)"
        files = {
            name: json.dumps(new).join(re.split(value, text))
            for name, text in files.items()
        }
    return numbered(files) if any(names.values()) else files


def numbered(files: Written) -> Written:
    """Return the files with their fingerprints numbered by first appearance."""
    seen: dict[str, str] = {}
    return {
        name: re.sub(
            r"sha256:[0-9a-f]{64}",
            lambda found: seen.setdefault(found[0], f"sha256:#{len(seen)}"),
            files[name],
        )
        for name in sorted(files)
    }


def names_of_now() -> dict[str, dict[str, str]]:
    """Return the recorded mapping from old names to new ones."""
    names: dict[str, dict[str, str]] = yaml.safe_load(RENAMED.read_text("utf-8"))
    return names


def record(commands: Mapping[str, Written]) -> None:
    """Write the record anew; what equals the file of `play` is not written again."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    for command, files in commands.items():
        for name, text in files.items():
            if command in ("play", "dry_run") or commands["play"].get(name) != text:
                path = RECORDED / command / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")


def _run(folder: Path, *arguments: str, dies_at: int = -1) -> Written:
    hidden = (
        "PYTEST_ADDOPTS",
        "CI",
        "BUILD_NUMBER",
        "GITHUB_ACTIONS",
        "GITHUB_STEP_SUMMARY",
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in hidden and "XDIST" not in name
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-pno:cacheprovider",
        *arguments,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | alone() | {"COLUMNS": "100", "DIES_AT": str(dies_at)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
    printed = f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    if "-n2" in arguments:  # two workers report in the order in which they get on
        printed = "".join(
            sorted(
                line
                for line in printed.splitlines(keepends=True)
                if not re.search(r"\[ *\d+%\]$", line)
            )
        )
    files = {"printed.txt": printed}
    if "--ltm-dry-run" not in arguments:
        files |= _left(_latest(folder))
    return {name: _without_noise(text) for name, text in files.items()}


def _latest(folder: Path) -> Path:
    return (
        folder
        / ".ltm"
        / "runs"
        / (folder / ".ltm" / "latest").read_text("utf-8").strip()
    )


def _left(run: Path) -> Written:
    """Return the texts of a run folder; of timings, which events there are with which fields."""
    files: Written = {}
    for path in run.rglob("*"):
        if path.is_dir() or path.name in (
            ".lock",
            ".owner.json",
            ".probe.lock",
            ".canaries.lock",
            "hung.txt",
        ):
            continue
        text = path.read_text("utf-8")
        if path.name.endswith("timings.jsonl"):
            events = [json.loads(line) for line in text.splitlines()]
            text = "".join(
                f"{event['event']} {event.get('exchange', '-')}: {' '.join(event)}\n"
                for event in events
            )
        files[path.relative_to(run).as_posix()] = text
    return files


def _cut(conversation: Path) -> None:
    """Leave a conversation as if its process had died in the middle of a line."""
    (conversation / "results.json").unlink(missing_ok=True)
    journal = conversation / "journal.jsonl"
    lines = journal.read_text("utf-8").splitlines(keepends=True)
    half = len(lines) // 2
    journal.write_text("".join(lines[:half]) + lines[half][:20], encoding="utf-8")


def _without_noise(text: str) -> str:
    for pattern, replacement in _NOISE:
        text = re.sub(pattern, replacement, text)
    return text

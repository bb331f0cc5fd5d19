"""An interrupted run is resumed, with the same results as an uninterrupted one."""

from __future__ import annotations

import json
import shutil

import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.modes import unfinished
from pytest_ltm.records import amendments as _amendments

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

BOTS = """
import os, pathlib
import pytest

HERE = pathlib.Path(__file__).parent

class Bot:
    # Its replies depend on all that it has heard; `stop` says at which message it does what.

    def __init__(self):
        note("made")
        self.heard = []

    def reply(self, message):
        note(message)
        stop = HERE / "stop.txt"
        if stop.exists():
            number, what = stop.read_text().split()
            if len(self.heard) + 1 == int(number):
                {"exit": lambda: pytest.exit("stopped"), "raise": lambda: 1 / 0}[what]()
        self.remember(message, reply := f"{len(self.heard)} {sum(map(len, self.heard))} {message[-20:]}")
        return reply

    def remember(self, message, reply):
        self.heard.append(message + reply)

def note(text):
    with open(HERE / "heard.txt", "a", encoding="utf-8") as file:
        file.write(repr(text) + "\\n")

class Saved(Bot):
    def save(self):
        return "\\0".join(self.heard).encode()
    def load(self, state):
        self.heard = state.decode().split("\\0")

class Told(Bot):
    def accept(self, message, reply):
        self.remember(message, reply)

class Stateless(Bot):
    stateless = True
    def remember(self, message, reply):
        pass
"""
SCENARIOS = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.5)
    ltm.check("cat", "cat" in ltm.ask("What is my cat called?"))
    ltm.check("false", False)

def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.wait(span=0.9, time="1h")
    assert "dog" in ltm.ask("What is my dog called?")

def test_bird(ltm):
    ltm.say("My bird is called Volt.")
    ltm.watch(lambda since: None, replies=2)
"""
SESSIONS = ("--ltm-sessions=5",)
RUN = ("--ltm-suite=none", "--ltm-span=600", "--ltm-seed=5")


@pytest.fixture
def pets(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(unfinished, "PAID_TOKENS", 0)
    project.file(BOTS, "bots.py")
    project.file(SCENARIOS)
    return project


def left(project: Project) -> dict[str, str]:
    """Return all files that must be equal, by name."""
    names = ("*/journal.jsonl", "*/results.json", "*/plan.json", "verdicts.csv")
    folder = latest_run(project.path)
    return {
        str(p.relative_to(folder)): p.read_text("utf-8")
        for name in names
        for p in folder.glob(name)
    }


def heard(project: Project) -> list[str]:
    path = project.path / "heard.txt"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def stop(project: Project, at: int, how: str = "exit") -> None:
    (project.path / "stop.txt").write_text(f"{at} {how}")


def go_on(project: Project) -> None:
    (project.path / "stop.txt").unlink()
    (project.path / "heard.txt").unlink()


def undisturbed(project: Project, agent: str, *args: str) -> dict[str, str]:
    project.pytest(f"--ltm-agent={agent}", *RUN, *args)
    files = left(project)
    shutil.rmtree(project.path / ".ltm")
    (project.path / "heard.txt").unlink()
    return files


@pytest.mark.parametrize(
    ("kind", "at", "more"),
    [
        ("Saved", 1, ()),
        ("Saved", 4, ()),
        ("Saved", 5, SESSIONS),
        ("Told", 3, ()),
        ("Stateless", 1, ()),
    ],
)
def test_a_resumed_run_equals_an_undisturbed_one(
    pets: Project, kind: str, at: int, more: tuple[str, ...]
) -> None:
    expected = undisturbed(pets, f"bots:{kind}", *more)
    stop(pets, at)
    pets.pytest(f"--ltm-agent=bots:{kind}", *RUN, *more)
    first = heard(pets)
    assert left(pets) != expected
    go_on(pets)
    pets.pytest("--ltm-resume=latest").assert_outcomes(failed=1, passed=1, skipped=1)
    assert left(pets) == expected
    sent = [message for message in heard(pets) if message != "'made'"]
    assert sent[0] == first[-1]  # the one that was in flight
    assert not set(sent[1:]) & set(first)
    sessions = sum(text.count('"event":"session"') for text in expected.values())
    assert bool(sessions) == bool(more)


def test_what_is_scored_again_has_the_same_sessions(pets: Project) -> None:
    expected = undisturbed(pets, "bots:Saved", *SESSIONS)
    pets.pytest("--ltm-agent=bots:Saved", *RUN, *SESSIONS)
    pets.pytest("--ltm-rescore=latest")
    assert (
        heard(pets).count("'made'")
        == expected["bots_Saved~600~0/journal.jsonl"].count('"event":"session"') + 1
    )
    verdicts = {name: text for name, text in expected.items() if name == "verdicts.csv"}
    assert verdicts.items() <= left(pets).items()


def test_what_is_done_and_how_to_go_on_is_told(pets: Project) -> None:
    stop(pets, 7)
    result = pets.pytest("--ltm-agent=bots:Saved", *RUN)
    name = latest_run(pets.path).name
    result.stdout.fnmatch_lines(
        [
            "ended early: * of 3 examples are done, * tokens sent",
            f"resume with: *={name}",
        ]
    )


@pytest.mark.parametrize(
    ("limit", "told"), [("PAID_TOKENS", False), ("PAID_SECONDS", True)]
)
def test_how_to_go_on_is_told_where_something_was_paid(
    pets: Project, monkeypatch: pytest.MonkeyPatch, limit: str, told: bool
) -> None:
    monkeypatch.setattr(unfinished, "PAID_TOKENS", 10**6)
    monkeypatch.setattr(unfinished, limit, 0)
    stop(pets, 1 if limit == "PAID_TOKENS" else 7)
    shown = pets.pytest("--ltm-agent=bots:Saved", *RUN).stdout.str()
    assert ("resume with" in shown, "ended early" in shown) == (told, told)


def test_a_torn_last_line_is_left_out_and_told(pets: Project) -> None:
    expected = undisturbed(pets, "bots:Saved")
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    go_on(pets)
    with next(latest_run(pets.path).glob("*/journal.jsonl")).open("a") as file:
        file.write('{"event":"reply","exch')
    resumed = pets.pytest("--ltm-resume=latest")
    resumed.stdout.fnmatch_lines(
        ["ltm: bots_Saved~600~0: an incomplete last line of 22 bytes is ignored"]
    )
    assert left(pets) == expected


def test_a_finished_run_is_only_reported(pets: Project) -> None:
    first = pets.pytest("--ltm-agent=bots:Saved", *RUN)
    files, timings = (
        left(pets),
        next(latest_run(pets.path).glob("*/timings.jsonl")).read_text(),
    )
    (pets.path / "heard.txt").unlink()
    again = pets.pytest("--ltm-resume=latest")
    assert again.parseoutcomes() == first.parseoutcomes()
    assert left(pets) == files
    assert next(latest_run(pets.path).glob("*/timings.jsonl")).read_text() == timings
    assert heard(pets) == ["'made'"]  # created once to compare its configuration


def test_an_agent_that_cannot_be_put_back_is_refused_and_nothing_is_touched(
    pets: Project,
) -> None:
    stop(pets, 3)
    result = pets.pytest("--ltm-agent=bots:Bot", *RUN)
    shown = " ".join(result.stdout.str().split())
    assert (
        "it cannot be resumed: bots_Bot~600~0: the agent cannot be restored to where it was: it is neither"
        in shown
    )
    files = left(pets)
    go_on(pets)
    refused = pets.pytest("--ltm-resume=latest")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*cannot be resumed:", "*bots_Bot~600~0: the agent cannot be restored*"]
    )
    assert left(pets) == files
    assert heard(pets) == []


def test_an_agent_that_has_heard_nothing_may_begin_again(pets: Project) -> None:
    expected = undisturbed(pets, "bots:Bot", "--ltm-trials=2", "-k", "cat or dog")
    stop(pets, 1)
    pets.pytest("--ltm-agent=bots:Bot", *RUN, "--ltm-trials=2", "-k", "cat or dog")
    go_on(pets)
    pets.pytest("--ltm-resume=latest").assert_outcomes(failed=2, passed=2, deselected=2)
    assert left(pets) == expected


def test_options_selection_and_paths_are_those_of_then(pets: Project) -> None:
    pets.file(
        "def test_other(ltm):\n    ltm.say('a')\n    ltm.ask('b')\n",
        "other/test_other.py",
    )
    pets.file("raise RuntimeError\n", "test_broken.py")
    args = (
        *RUN,
        "--ltm-trials=2",
        "-k",
        "not bird",
        "-m",
        "ltm",
        "test_it.py",
        "other",
    )
    expected = undisturbed(pets, "bots:Saved", *args)
    stop(pets, 5)
    pets.pytest("--ltm-agent=bots:Saved", *args)
    go_on(pets)
    pets.pytest("--ltm-resume=latest")
    assert left(pets) == expected


def test_after_x_the_rest_is_played(pets: Project) -> None:
    expected = undisturbed(pets, "bots:Saved")
    pets.pytest("--ltm-agent=bots:Saved", *RUN, "-x").assert_outcomes(
        failed=1, skipped=1
    )
    pets.pytest("--ltm-resume=latest").assert_outcomes(failed=1, passed=1, skipped=1)
    assert left(pets) == expected


def test_an_outage_of_the_agent_is_gone_on_from(pets: Project) -> None:
    expected = undisturbed(pets, "bots:Saved")
    pets.file(BOTS.replace("== int(number)", ">= int(number)"), "bots.py")
    stop(pets, 4, "raise")
    gone = pets.pytest("--ltm-agent=bots:Saved", *RUN)
    assert gone.ret == 75
    assert "agent is gone" in next(iter(left(pets).values()))
    go_on(pets)
    pets.pytest("--ltm-resume=latest").assert_outcomes(failed=1, passed=1, skipped=1)
    assert left(pets) == expected
    timings = (
        next(latest_run(pets.path).glob("*/timings.jsonl")).read_text().splitlines()
    )
    cut = next(
        event["cut"]
        for event in map(json.loads, timings)
        if event["event"] == "resumed"
    )
    assert cut.count('"event":"fault"') == 3


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--ltm-seed=6",), "seed was 5 and is 6."),
        (("--ltm-agent=bots:Told",), "agents was *bots:Saved* and is *bots:Told*"),
        (("--ltm-span=700",), "spans was *600* and is *700*"),
        (("-k", "cat"), "bots_Saved~600~0: *dog/0 is only in the recorded plan.*"),
    ],
)
def test_other_options_are_refused_and_listed(
    pets: Project, args: tuple[str, ...], says: str
) -> None:
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    files = left(pets)
    go_on(pets)
    refused = pets.pytest("--ltm-resume=latest", *args)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines([f"*{says}"])
    assert left(pets) == files
    assert "bots_Saved at" not in refused.stdout.str()


def test_the_same_options_may_be_repeated(pets: Project) -> None:
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    go_on(pets)
    pets.pytest("--ltm-resume=latest", "--ltm-agent=bots:Saved", *RUN).assert_outcomes(
        failed=1, passed=1, skipped=1
    )


def test_a_scenario_that_was_edited_is_refused(pets: Project) -> None:
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    go_on(pets)
    pets.file(SCENARIOS.replace("Kelvin", "Celsius"))
    refused = pets.pytest("--ltm-resume=latest")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*cat/0 has another version: 'source:* recorded and 'source:* now*"]
    )
    assert heard(pets) in ([], ["'made'"])


def test_another_configuration_of_the_agent_is_refused_before_it_is_asked(
    pets: Project,
) -> None:
    configured = (
        BOTS
        + "    def configuration(self):\n        return {'model': 'MODEL', 'api_key': 'never-to-be-seen'}\n"
    )
    configured = configured.replace(
        "class Stateless(Bot):\n    stateless = True", "class Tuned(Saved):"
    )
    configured = configured.replace(
        "    def remember(self, message, reply):\n        pass\n", ""
    )
    pets.file(configured.replace("MODEL", "small"), "bots.py")
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Tuned", *RUN)
    go_on(pets)
    pets.file(configured.replace("MODEL", "large"), "bots.py")
    refused = pets.pytest("--ltm-resume=latest")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*configuration, model: was 'small' and is 'large'*"])
    assert heard(pets) == ["'made'"]
    assert "never-to-be-seen" not in refused.stderr.str() + "".join(left(pets).values())


def test_a_run_that_is_not_there_is_named_with_those_that_are(pets: Project) -> None:
    nothing = pets.pytest("--ltm-resume=latest")
    assert nothing.ret == pytest.ExitCode.USAGE_ERROR
    nothing.stderr.fnmatch_lines(["*--ltm-resume: there is no latest run in *"])
    pets.pytest("--ltm-agent=echo", *RUN)
    name = latest_run(pets.path).name
    wrong = pets.pytest(f"--ltm-resume={name[:-1]}x")
    wrong.stderr.fnmatch_lines(
        [f"*there is no run *Did you mean '{name}'?*Runs: latest, {name}"]
    )


@pytest.mark.parametrize("by", ["id", "path"])
def test_a_run_is_named_by_its_id_or_its_folder(pets: Project, by: str) -> None:
    pets.pytest(
        "--ltm-agent=echo", *RUN, *(["--ltm-dir=elsewhere"] if by == "path" else [])
    )
    said = (
        latest_run(pets.path).name
        if by == "id"
        else str(next((pets.path / "elsewhere" / "runs").iterdir()))
    )
    assert pets.pytest(f"--ltm-resume={said}").ret == pytest.ExitCode.TESTS_FAILED
    assert (pets.path / ".ltm").exists() == (by == "id")


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_run_that_was_moved_elsewhere_is_gone_on_with_there(
    pets: Project, workers: tuple[str, ...]
) -> None:
    expected = undisturbed(pets, "bots:Saved")
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    go_on(pets)
    name = latest_run(pets.path).name
    shutil.move(latest_run(pets.path), pets.path / "artifact")
    shutil.rmtree(pets.path / ".ltm")
    stop(pets, 7)
    again = pets.pytest("--ltm-resume=artifact", *workers, subprocess=bool(workers))
    again.stdout.fnmatch_lines(
        [
            "run folder: artifact",
            *["resume with: pytest --ltm-resume=artifact"] * (not workers),
        ]
    )
    go_on(pets)
    pets.pytest("--ltm-resume=artifact", *workers, subprocess=bool(workers))
    names = ("*/journal.jsonl", "*/results.json", "*/plan.json", "verdicts.csv")
    folder = pets.path / "artifact"
    assert {
        str(p.relative_to(folder)): p.read_text("utf-8")
        for n in names
        for p in folder.glob(n)
    } == expected
    assert not list(pets.path.rglob(name))
    assert not (pets.path / ".ltm" / "latest").exists()


def test_a_run_is_gone_on_with_where_it_was_started(
    pets: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pets.pytest("--ltm-agent=echo", *RUN, "--rootdir=.")
    (pets.path / "sub").mkdir()
    monkeypatch.chdir(pets.path / "sub")
    refused = pets.pytest("--ltm-resume=latest", "--rootdir=..")
    refused.stderr.fnmatch_lines(["*was started in *Run it there: cd *"])


def test_a_resumed_run_loads_no_conftest_from_above_its_root(
    pets: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    pets.conftest("raise RuntimeError('it is not part of the project')")
    pets.file(SCENARIOS, "inner/test_it.py")
    monkeypatch.chdir(pets.path / "inner")
    first = pets.pytest("--ltm-agent=echo", *RUN)
    resumed = pets.pytest("--ltm-resume=latest")
    assert resumed.ret == first.ret == pytest.ExitCode.TESTS_FAILED
    assert resumed.parseoutcomes() == first.parseoutcomes()


def test_a_crash_of_a_plugin_costs_nothing(pets: Project) -> None:
    expected = undisturbed(pets, "bots:Saved")
    pets.conftest(
        "import pathlib\nCRASH = pathlib.Path(__file__).with_name('crash.txt')\n"
        "def pytest_runtest_logreport(report):\n    if CRASH.exists():\n        raise RuntimeError('a bug')\n"
    )
    (pets.path / "crash.txt").touch()
    assert (
        pets.pytest("--ltm-agent=bots:Saved", *RUN).ret
        == pytest.ExitCode.INTERNAL_ERROR
    )
    first = heard(pets)
    (pets.path / "crash.txt").unlink()
    (pets.path / "heard.txt").unlink()
    pets.pytest("--ltm-resume=latest").assert_outcomes(failed=1, passed=1, skipped=1)
    assert left(pets) == expected
    assert not set(heard(pets)) & set(first) - {"'made'"}


def test_a_verdict_that_was_amended_stays_amended(pets: Project) -> None:
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    folder = latest_run(pets.path)
    run = read_run(folder).result
    failed = next(row.nodeid for row in run.scenarios if row.outcome == "failed")
    _amendments.amend_verdict(
        folder, run, failed, _amendments.Amendment(score=0.75, reason="read it again")
    )
    pets.pytest("--ltm-resume=latest")
    assert "0.75" in (folder / "verdicts.csv").read_text()
    assert (
        next(
            row.score
            for row in read_run(folder).result.scenarios
            if row.nodeid == failed
        )
        == 0.75
    )


def test_the_agent_that_a_test_looks_at_is_there_when_it_is_gone_on(
    pets: Project,
) -> None:
    pets.file(
        "def test_cat(ltm, ltm_agent):\n    ltm.say('a')\n    ltm.say('b')\n    ltm.say('c')\n    ltm.ask('d')\n"
        "    assert len(ltm_agent.heard) == 5  # and the opening\n"
    )
    stop(pets, 4)
    pets.pytest("--ltm-agent=bots:Saved", *RUN)
    go_on(pets)
    pets.pytest("--ltm-resume=latest").assert_outcomes(passed=1)

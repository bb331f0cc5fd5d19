"""A recorded run is rescored without its agent, and only verdicts under changed rules move."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import journals
import pytest
from _pytest.pytester import RunResult
from conftest import Project
from run_folders import latest_run

from pytest_ltm.api.storage import FolderLock
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.records import amendments as _amendments

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

BOT = """
from ticks import tick

class Bot:
    def __init__(self):
        tick("made")
        self.heard = []

    def reply(self, message):
        tick("asked")
        self.heard.append(message)
        return f"I have heard: {' / '.join(self.heard[-30:])}"

    def accept(self, message, reply):
        self.heard.append(message)
"""
SCENARIOS = """
from pytest_ltm import Score

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.5)
    ltm.check("cat", "Kelvin" in ltm.ask("What is my cat called?"))
    ltm.check("quiet", False)

def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.wait(span=0.9, time="1h")
    assert "Ohm" in ltm.ask("What is my dog called?")

def test_bird(ltm):
    ltm.say("My bird is called Volt.")
    ltm.watch(lambda since: Score(0.5, "half") if len(since) == 2 else None, replies=2)
"""
OPTIONS = ("--ltm-suite=none", "--ltm-agent=bot:Bot", "--ltm-seed=5")


def played(
    project: Project, *args: str, scenarios: str = SCENARIOS, span: str = "600"
) -> Path:
    project.file(BOT, "bot.py")
    project.file(scenarios)
    project.pytest(*OPTIONS, f"--ltm-span={span}", *args)
    folder = latest_run(project.path)
    (project.path / "ticks.txt").write_text("")
    return folder


def again(project: Project, *args: str) -> tuple[RunResult, Path, dict[str, Any]]:
    """Rescore the latest run; return the output, the new folder and its summary."""
    result = project.pytest("--ltm-rescore=latest", *args)
    folder = latest_run(project.path)
    return result, folder, json.loads((folder / "summary.json").read_text())["rescored"]


def contents(run: Path) -> dict[str, bytes]:
    names = ("journal.jsonl", "results.json", "plan.json")
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for name in names
        for path in run.glob(f"*/{name}")
    }


def changed(project: Project, old: str, new: str) -> None:
    assert old in SCENARIOS
    project.file(SCENARIOS.replace(old, new))


@pytest.mark.parametrize("span", ["600", "600,900", "isolated"])
def test_a_run_that_is_scored_the_same_has_equal_files_and_asks_nobody(
    project: Project, span: str
) -> None:
    first = played(project, "--ltm-trials=2", span=span)
    result, second, rescored = again(project)
    assert contents(second) == contents(first)
    assert first != second
    assert project.ticks == []
    assert (rescored["run"], rescored["moved"], rescored["kept"]) == (
        first.name,
        [],
        {},
    )
    assert rescored["same"] == 3 * 2 * (1 + span.count(","))
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_the_built_in_suite_comes_out_the_same_watchers_and_resets_included(
    project: Project,
) -> None:
    project.pytest(
        "--ltm-agent=window:2k",
        "--ltm-span=4k",
        "--ltm-examples=1",
        "--ltm-judge=rules",
    )
    first = latest_run(project.path)
    _, second, rescored = again(project)
    assert contents(second) == contents(first)
    assert rescored["same"] == 10  # ChapterBreak needs a longer span


def test_several_workers_score_the_latest_run_again(project: Project) -> None:
    first = played(project, "--ltm-trials=2")
    project.pytest("--ltm-rescore=latest", "-n2", subprocess=True)
    assert contents(latest_run(project.path)) == contents(first)
    assert latest_run(project.path) != first


def test_a_changed_check_moves_just_its_own_verdict(project: Project) -> None:
    first = played(project)
    changed(project, 'ltm.check("quiet", False)', 'ltm.check("quiet", True)')
    result, _, rescored = again(project)
    (move,) = rescored["moved"]
    assert move["nodeid"].endswith("::test_cat[bot_Bot-600-0-0]")
    assert (
        move["before"]["score"],
        move["after"]["score"],
        move["after"]["outcome"],
    ) == (0.5, 1.0, "passed")
    assert rescored["same"] == 2
    result.stdout.fnmatch_lines(
        [
            f"scored again: run {first.name}: 2 verdicts unchanged, 1 moved",
            "  bot_Bot-600-0 cat/0: 0.50 -> 1.00: the test's source has changed",
        ]
    )


THINKER = """
class Bot:
    def reply(self, message):
        return "<think>Was it Kelvin?" if message.endswith("?") else "I see."
"""


def test_a_reply_that_only_thinks_has_no_score_when_it_is_read_as_speech(
    project: Project,
) -> None:
    project.file(THINKER, "bot.py")
    project.file(SCENARIOS)
    project.pytest(*OPTIONS, "--ltm-span=600", "--ltm-thoughts=keep")
    before = read_run(latest_run(project.path)).result

    result, folder, _ = again(project, "--ltm-thoughts=strip")

    rows = {row.scenario: row for row in read_run(folder).result.scenarios}
    assert {row.scenario: row.score for row in before.scenarios}["cat"] == 0.5
    assert (rows["cat"].score, rows["cat"].cause) == (None, "agent")
    assert "the recorded reply is not an answer: nothing said" in rows["cat"].reason
    assert rows["bird"].score == 0.5
    assert result.ret == 75


def test_a_watcher_that_says_something_else_moves(project: Project) -> None:
    played(project)
    changed(project, "Score(0.5", "Score(1.0")
    _, _, rescored = again(project)
    assert [move["after"]["score"] for move in rescored["moved"]] == [1.0]


def test_a_watcher_that_would_have_waited_longer_cannot_tell(project: Project) -> None:
    played(project)
    changed(project, "len(since) == 2", "len(since) == 3")
    _, _, rescored = again(project)
    (move,) = rescored["moved"]
    assert (move["after"]["score"], move["after"]["outcome"]) == (None, "skipped")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "My dog is called Ohm.",
            "My hound is called Ohm.",
            "it says 'My hound is called Ohm.', where it said",
        ),
        (
            "What is my dog called?",
            "And the dog?",
            "it says 'And the dog?', where it said 'What is my dog called?'",
        ),
        ("span=0.9", "span=0.8", "it waits or watches for something else"),
        (
            'assert "Ohm" in ltm.ask("What is my dog called?")',
            "return",
            "it ends where it went on",
        ),
        (
            'ltm.wait(span=0.9, time="1h")\n',
            'ltm.say("Good dog.")\n',
            "it says 'Good dog.', where it said nothing",
        ),
    ],
)
def test_a_changed_script_keeps_the_recorded_verdict_and_hurts_nobody_else(
    project: Project, old: str, new: str, why: str
) -> None:
    first = played(project)
    changed(project, old, new)
    result, second, rescored = again(project)
    ((name, told),) = rescored["kept"].items()
    assert name == "bot_Bot-600-0 dog/0"
    assert told.startswith(why)
    assert (rescored["same"], rescored["moved"]) == (2, [])
    assert "1 kept because their scripts changed" in result.stdout.str()
    one, other = (
        json.loads((run / "bot_Bot~600~0" / "results.json").read_text())
        for run in (first, second)
    )
    assert other["scenarios"] == one["scenarios"]
    result.assert_outcomes(passed=1, failed=2)


def test_notices_of_an_earlier_scoring_are_not_told_again(project: Project) -> None:
    project.file("def reply(message):\n    return ''\n", "mute.py")
    project.file(SCENARIOS)
    project.ltm(agent="mute:reply", span="600")
    empty = "the agent gave empty replies: accepted and scored as given"
    for animal in ("hound", "puppy"):
        changed(project, "My dog is called Ohm.", f"My {animal} is called Ohm.")
        run = again(project)[1]
        told = json.loads((run / "mute_reply~600~0" / "results.json").read_text())
        (kept,) = told["kept"]
        kept_notice = f"dog/0 keeps its recorded verdict, because its script has changed: {kept['why']}"
        assert (kept["example"], told["notices"]) == ("dog/0", [kept_notice, empty])
        assert kept["why"].startswith(f"it says 'My {animal} is called Ohm.'")


def test_a_changed_generator_does_not_matter(project: Project) -> None:
    generated = """
from pytest_ltm import Definition, Say, Ask
import pytest

def make(rng, parameters):
    return Definition(steps=(Say("My cat is called Kelvin."), Ask("What is my cat called?")), expected=["Kelvin"])

@pytest.mark.ltm(generate=make, version="1")
def test_cat(ltm):
    ltm.check("named", ltm.definition.expected[0] in ltm.play(ltm.definition)[0])
"""
    first = played(project, scenarios=generated)
    project.file(generated.replace("Kelvin", "Celsius"))
    _, second, rescored = again(project)
    assert (rescored["same"], rescored["kept"]) == (1, {})
    assert contents(second) == contents(first)


def test_what_people_amended_stays_amended(project: Project) -> None:
    first = played(project)
    run = read_run(first).result
    nodeid = next(row.nodeid for row in run.scenarios if row.scenario == "cat")
    _amendments.amend_verdict(
        first, run, nodeid, _amendments.Amendment(score=0.25, reason="purred")
    )
    changed(project, 'ltm.check("quiet", False)', 'ltm.check("quiet", True)')
    result, second, rescored = again(project)
    (row,) = (row for row in read_run(second).result.scenarios if row.nodeid == nodeid)
    assert (row.score, row.reason) == (0.25, "amended by hand: purred")
    assert row.automatic is not None
    assert row.automatic.score == 1.0
    assert rescored["moved"][0]["amended"] is True
    result.stdout.fnmatch_lines(
        ["*0.50 -> 1.00 (amended by hand: the amendment counts)*"]
    )


def test_a_run_that_is_still_being_written_is_told_so(project: Project) -> None:
    first = played(project)
    (first / "bot_Bot~600~0" / "results.json").unlink()
    journal = first / "bot_Bot~600~0" / "journal.jsonl"
    journal.write_text(
        journal.read_text().rpartition('{"event":"message"')[0] + '{"event":"mess'
    )
    lock = FolderLock(first)
    lock.acquire()
    try:
        result, _, _ = again(project)
    finally:
        lock.release()
    assert result.ret == 75
    shown = " ".join(result.stdout.str().split())
    assert (
        f"run {first.name}, 1 recorded conversation, still being written by process {os.getpid()} on"
        in shown
    )
    assert "is not finished" in shown
    assert (
        f"run {first.name} was still being written: score it again when it has ended"
        in shown
    )


AFTER_ITS_WAIT = """
from pytest_ltm import Score

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    answer = ltm.ask("What is my cat called?")
    ltm.wait(span=0.5)
    ltm.score(0.25, f"{answer[:6]} {ltm.now}")

def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.watch(lambda since: Score(0.5, "half") if len(since) == 3 else None, replies=3)
    ltm.wait(span=0.9, time="1h")
    ltm.check("it is late", ltm.now.hour > 9)

def test_bird(ltm):
    ltm.say("My bird is called Volt.")
    ltm.watch(lambda since: None)
    ltm.wait(span=0.7)

def test_owl(ltm):
    ltm.ask("What is my owl called?")
"""


@pytest.mark.parametrize("span", ["600", "isolated"])
def test_what_a_test_does_after_its_last_wait_is_scored_again_though_it_says_nothing(
    project: Project, span: str
) -> None:
    first = played(project, scenarios=AFTER_ITS_WAIT, span=span)
    _, second, rescored = again(project)
    assert contents(second) == contents(first)
    assert (
        rescored["same"],
        rescored["moved"],
        rescored["kept"],
        rescored["without"],
    ) == (3, [], {}, 1)
    project.file(
        AFTER_ITS_WAIT.replace(
            "    ltm.score(0.25", '    ltm.say("Nice.")\n    ltm.score(0.25'
        )
    )
    _, _, rescored = again(project)
    assert list(rescored["kept"].values()) == ["it says 'Nice.', where it said nothing"]


def test_an_error_is_no_verdict_that_is_the_same(project: Project) -> None:
    played(
        project,
        scenarios=SCENARIOS.replace('    assert "Ohm"', '    1 / 0\n    assert "Ohm"'),
    )
    result, _, rescored = again(project)
    assert (rescored["same"], rescored["without"]) == (2, 1)
    assert (
        "2 verdicts unchanged, 0 moved, 1 example without a verdict"
        in result.stdout.str()
    )


def test_of_an_interrupted_run_what_there_is_is_scored(project: Project) -> None:
    stopping = SCENARIOS.replace(
        '    assert "Ohm"', '    import pytest; pytest.exit("stop")\n    assert "Ohm"'
    )
    played(project, scenarios=stopping)
    project.file(SCENARIOS)
    result, second, rescored = again(project)
    assert rescored["moved"] == []
    assert rescored["same"] >= 1
    (held,) = read_run(second).result.conversations
    assert held.ended == "interrupted"
    result.stdout.fnmatch_lines(
        ["*its record ends here: the run that is scored again is not finished*"]
    )
    assert "resume with" not in result.stdout.str()
    assert result.ret == 75


def test_a_run_whose_agent_was_gone_comes_out_the_same(project: Project) -> None:
    project.file(
        BOT.replace('tick("asked")', 'tick("asked"); 1 / (len(self.heard) < 3)'),
        "bot.py",
    )
    project.file(SCENARIOS)
    before = project.pytest(*OPTIONS, "--ltm-span=600")
    first = latest_run(project.path)
    result, second, rescored = again(project)
    assert contents(second) == contents(first)
    assert rescored["moved"] == []
    assert result.ret == before.ret == 75


def test_other_settings_are_refused_with_the_differences_and_nothing_is_written(
    project: Project,
) -> None:
    played(project)
    there = sorted((project.path / ".ltm" / "runs").iterdir())
    result = project.pytest("--ltm-rescore=latest", "--ltm-seed=6", "--ltm-trials=2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*seed was 5 and is 6.", "*What may change is how it is scored*"]
    )
    assert sorted((project.path / ".ltm" / "runs").iterdir()) == there


def test_an_example_that_was_not_recorded_is_refused(project: Project) -> None:
    played(project)
    project.file(SCENARIOS + "\ndef test_fish(ltm):\n    ltm.ask('Fish?')\n")
    result = project.pytest("--ltm-rescore=latest")
    assert result.ret != pytest.ExitCode.OK
    assert "fish/0 was not recorded." in result.stdout.str() + result.stderr.str()


def test_some_examples_can_be_scored_without_the_others(project: Project) -> None:
    played(project)
    _, _, rescored = again(project, "-k", "dog")
    assert (rescored["same"], rescored["left_out"]) == (1, 2)


def test_who_wants_the_agent_itself_keeps_the_recorded_verdict(
    project: Project,
) -> None:
    played(
        project,
        scenarios="def test_cat(ltm, request):\n    ltm.say('Kelvin.')\n    ltm.ask('Cat?')\n"
        "    assert request.getfixturevalue('ltm_agent').heard\n",
    )
    result, _, rescored = again(project)
    assert list(rescored["kept"].values()) == [
        "it uses the agent itself, and there is none"
    ]
    result.assert_outcomes(passed=1)


JUDGED = """
def test_cat(ltm, ltm_judge):
    ltm.say("My cat is called Kelvin.")
    answer = ltm.ask("What is my cat called?")
    ltm.check("right", ltm_judge.ask("Is it called Kelvin?", answer))
"""
JUDGE = """
from ticks import tick
def yes(question):
    tick("judged")
    return "GRADE: yes"
def no(question):
    tick("judged")
    return "GRADE: no"
"""


def test_what_the_judge_said_is_not_asked_again_unless_another_one_is_named(
    project: Project,
) -> None:
    project.file(JUDGE, "judges.py")
    project.file(BOT, "bot.py")
    project.file(JUDGED)
    ran = project.pytest(
        *OPTIONS, "--ltm-span=600", "--ltm-judge=judges:yes?canaries=off"
    )
    ran.assert_outcomes(passed=1)
    first = latest_run(project.path)
    (project.path / "ticks.txt").write_text("")
    _, second, rescored = again(project)
    assert (rescored["same"], project.ticks) == (1, [])
    assert contents(second) == contents(first)
    (project.path / ".ltm" / "latest").write_text(first.name)
    _, _, rescored = again(project, "--ltm-judge=none")
    assert (rescored["same"], project.ticks) == (1, [])
    (project.path / ".ltm" / "latest").write_text(first.name)
    _, _, rescored = again(project, "--ltm-judge=judges:no")
    assert rescored["moved"][0]["why"].startswith("judge judges:yes -> judges:no")
    assert "judged" in project.ticks


def test_a_question_that_was_not_recorded_stays_unscored_without_a_judge(
    project: Project,
) -> None:
    project.file(JUDGE, "judges.py")
    project.file(BOT, "bot.py")
    project.file(JUDGED)
    project.pytest(*OPTIONS, "--ltm-span=600", "--ltm-judge=judges:yes?canaries=off")
    project.file(JUDGED.replace("Is it called Kelvin?", "Is it Kelvin?"))
    result, _, rescored = again(project, "--ltm-judge=none")
    (move,) = rescored["moved"]
    assert move["after"]["score"] is None
    assert "the recorded judge was not asked this" in result.stdout.str()


def test_files_that_the_run_wrote_are_not_written_over(project: Project) -> None:
    played(project, "--ltm-save=base", "--ltm-summary=run.md")
    (project.path / "run.md").write_text("mine")
    again(project)
    assert (project.path / "run.md").read_text() == "mine"
    again(project, "--ltm-summary=new.md")
    assert "scored again: run" in (project.path / "new.md").read_text().replace(
        "&#45;", "-"
    )


def test_what_is_shown_fits_a_terminal_of_80_columns(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    played(project)
    changed(project, 'ltm.check("quiet", False)', 'ltm.check("quiet", True)')
    result, _, _ = again(project)
    result.stdout.fnmatch_lines(
        ["ltm: scored again: run *, 1 recorded conversation; no agent is called"]
    )
    shown = result.outlines[
        result.outlines.index(
            next(x for x in result.outlines if "long-term memory" in x)
        ) :
    ]
    assert max(map(len, shown)) <= 80


def test_a_run_cannot_be_resumed_and_scored_again_at_once(project: Project) -> None:
    played(project)
    result = project.pytest(
        "--ltm-rescore=latest", "--ltm-resume=latest", subprocess=True
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*cannot be resumed and scored again at the same time*"]
    )


def test_a_run_that_was_scored_again_is_not_resumed(project: Project) -> None:
    played(project)
    again(project)
    result = project.pytest("--ltm-resume=latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            lambda path: journals.edit(path, _with_a_field),
            r"line \d+: a field 'by' in 'reply' is not part of journal",
        ),
        (
            lambda path: path.write_text(_with_a_field(path.read_text())),
            r"line \d+: the reply was changed after it was written, or lines before it are missing",
        ),
    ],
)
def test_a_journal_that_was_tampered_with_loses_its_own_conversation_only(
    project: Project, damage: Callable[[Path], None], told: str
) -> None:
    first = played(project, "--ltm-trials=2")
    journal = first / "bot_Bot~600~0" / "journal.jsonl"
    damage(journal)
    text = journal.read_bytes()
    result, second, _ = again(project)
    assert result.ret == 75
    assert re.search(told, " ".join(result.stdout.str().split()))
    assert journal.read_bytes() == text
    assert (second / "bot_Bot~600~1" / "results.json").read_bytes() == (
        first / "bot_Bot~600~1" / "results.json"
    ).read_bytes()


def _with_a_field(text: str) -> str:
    return text.replace('"event":"reply"', '"event":"reply","by":7', 1)


def test_an_agent_of_a_file_has_the_list_price_of_its_recorded_model(
    project: Project,
) -> None:
    project.file("agent: bot:Bot\nparameters: {}\n", "bot.yml")
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    project.pytest("--ltm-suite=none", "--ltm-agent=b=bot.yml", "--ltm-span=600")
    (journal,) = latest_run(project.path).glob("*/journal.jsonl")
    journals.edit(
        journal,
        lambda text: text.replace('"agent":"bot:Bot"', '"agent":"openai:gpt-4o-mini"'),
    )
    (project.path / "bot.yml").unlink()
    result, second, rescored = again(project)
    assert rescored["same"] == 3
    result.stdout.fnmatch_lines(
        ["ltm: dollars per million tokens in/out: b 0.15/0.6/0.075 (list price of *)"]
    )
    (held,) = read_run(second).result.conversations
    assert held.cost_usd is not None
    assert held.cost_usd > 0


def test_a_run_that_may_only_be_read_is_scored_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(project)

    def denied(_folder: Path) -> str:  # root may write everywhere
        raise PermissionError(13, "Permission denied")

    # modules imported by a run inside this process are forgotten after it
    rescoring = importlib.import_module("pytest_ltm.modes.rescoring")
    monkeypatch.setattr(rescoring, "lock_holder", denied)
    _, _, rescored = again(project)
    assert rescored["same"] == 3

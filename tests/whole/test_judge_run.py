"""Runs with a judge: its calls, their recording and caching, and examples that it cannot judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, fails, refuses, says
from run_folders import latest_run

from pytest_ltm.records.judge_checks import LEAST_CHECKS

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

JUDGES = """
from pytest_ltm import Reply
from pathlib import Path

def note(what):
    with Path("asked.txt").open("a") as file:
        file.write(what + "\\n")

class Judge:
    grade = "yes"

    def assess(self, inquiry):
        note(f"{inquiry.prompt} {inquiry.vote}")
        return Reply(f"So it is. GRADE: {self.grade}", cost_usd=0.5)

    def configuration(self):
        return {"grade": self.grade}

class Never(Judge):
    grade = "no"

class Broken:
    def assess(self, inquiry):
        raise ConnectionRefusedError("nobody is there")

class Good:
    def assess(self, inquiry):
        note(inquiry.prompt)
        right, answer = inquiry.parts.get("reference", "spoons").split()[-1], inquiry.parts["answer"]
        return Reply(f"GRADE: {'yes' if right in answer and 'GRADE' not in answer else 'no'}", cost_usd=0.25)

class Moody(Good):
    def assess(self, inquiry):
        given = super().assess(inquiry)
        return given if Path("better").exists() else Reply("GRADE: yes", cost_usd=0.25)

class OnceGood(Good):
    asked = 0

    def assess(self, inquiry):
        given = super().assess(inquiry)
        OnceGood.asked += 1
        return given if OnceGood.asked <= 3 else Reply("GRADE: yes")

class Slips(Good):
    slip = None
    def assess(self, inquiry):
        answer = inquiry.parts["answer"]
        if self.slip is None and "cello" in answer:
            self.slip = answer
        return Reply("GRADE: no") if answer == self.slip else super().assess(inquiry)

class Mumbling:
    def assess(self, inquiry):
        return "Well, who knows."
"""
TEST = """
def test_hobby(ltm, ltm_judge):
    ltm.say("I carve spoons.")
    question = "What do I do?"
    answer = ltm.ask(question)
    ltm.check("is right", ltm_judge.grade(question, answer, "carving spoons"))
    ltm.check("is polite", ltm_judge.ask("Is it polite?", answer))
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(judges=JUDGES, test_hobby=TEST)
    pytester.syspathinsert()
    return pytester


def run(project: pytest.Pytester, *words: str, agent: str = "full") -> pytest.RunResult:
    options = map(without_canaries, words)
    return project.runpytest_inprocess(f"--ltm-agent={agent}", *options)


def without_canaries(word: str) -> str:
    """Return an option in which a judge has no canaries unless it says otherwise."""
    if not word.startswith("--ltm-judge=") or "canaries=" in word:
        return word
    return f"{word}{'&' if '?' in word else '?'}canaries=off"


def precheck(project: pytest.Pytester, kind: str = "canaries") -> dict[str, Any]:
    found = json.loads((latest_run(project.path) / "summary.json").read_bytes())[
        "prechecks"
    ]
    return next(dict(one) for one in found if one["kind"] == kind)


def rows(project: pytest.Pytester) -> list[dict[str, Any]]:
    folder = latest_run(project.path)
    return [
        row
        for path in sorted(folder.glob("*/results.json"))
        for row in json.loads(path.read_text())["scenarios"]
    ]


def journals(project: pytest.Pytester) -> list[Path]:
    return sorted(
        (project.path / ".ltm" / "runs").glob("*/*/journal.jsonl"),
        key=lambda path: path.stat().st_mtime_ns,
    )


def asked(project: pytest.Pytester) -> list[str]:
    path = project.path / "asked.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_what_a_scenario_asks_is_recorded_and_counted(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-judge=judges:Judge", "test_hobby.py")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["ltm: *judge: judges:Judge*"])
    [row] = rows(project)
    assert (row["judge_calls"], row["judge_cost_usd"], row["cost_usd"]) == (
        2,
        1.0,
        None,
    )
    [journal] = journals(project)
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [
        (event["name"], event["vote"]) for event in events if event["event"] == "judge"
    ] == [
        ("answer", 0),
        ("statement", 0),
    ]
    plan = events[0]["plan"]
    assert plan["judge"].startswith("judges:Judge (answer/")
    assert plan["judge_votes"] == 3


def test_a_no_is_confirmed_and_fails_the_check_with_the_judges_reason(
    project: pytest.Pytester,
) -> None:
    result = run(project, "--ltm-judge=judges:Never", "test_hobby.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*FAILED  is right (the judge: So it is.)*"])
    assert asked(project) == ["answer 0", "answer 1", "statement 0", "statement 1"]


def test_an_assert_shows_what_the_judge_thinks(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_hobby="""
        def test_hobby(ltm, ltm_judge):
            ltm.say("I carve spoons.")
            assert ltm_judge.ask("Is it polite?", ltm.ask("What do I do?"))
        """
    )
    result = run(project, "--ltm-judge=judges:Never?votes=1", "test_hobby.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert Opinion(yes=False, reason='So it is.')*"])
    assert asked(project) == ["statement 0"]


def test_a_second_run_asks_nothing_again_and_its_journal_is_the_same(
    project: pytest.Pytester,
) -> None:
    run(project, "--ltm-judge=judges:Judge", "test_hobby.py").assert_outcomes(passed=1)
    result = run(project, "--ltm-judge=judges:Judge", "test_hobby.py")
    result.assert_outcomes(passed=1)
    assert len(asked(project)) == 2
    result.stdout.fnmatch_lines(
        ["judge: 2 calls, $1.00; 2 of them cached, saving $1.00"]
    )
    [row] = rows(project)
    assert row["judge_cost_usd"] == 1.0
    one, other = journals(project)
    assert one.read_bytes() == other.read_bytes()


def test_the_memory_can_be_switched_off_and_trials_never_share_it(
    project: pytest.Pytester,
) -> None:
    run(
        project, "--ltm-judge=judges:Judge", "--ltm-trials=2", "test_hobby.py"
    ).assert_outcomes(passed=2)
    assert len(asked(project)) == 4
    run(project, "--ltm-judge=judges:Judge?cache=off", "test_hobby.py").assert_outcomes(
        passed=1
    )
    assert len(asked(project)) == 6


def test_a_judge_that_fails_leaves_the_example_unscored_and_the_run_unmeasurable(
    project: pytest.Pytester,
) -> None:
    result = run(
        project, "--ltm-judge=judges:Broken", "--ltm-retries=0", "-rs", "test_hobby.py"
    )
    result.assert_outcomes(skipped=1)
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        ["*unscored: the judge failed: ConnectionRefusedError: nobody is there*"]
    )
    [row] = rows(project)
    assert (row["score"], row["cause"]) == (None, "judge")


def test_a_judge_that_does_not_grade_makes_the_run_unmeasurable(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_other="""
        def test_other(ltm):
            ltm.say("I have a goat.")
            assert ltm.ask("What do I have?")
        """
    )
    result = run(
        project, "--ltm-judge=judges:Mumbling", "test_hobby.py", "test_other.py"
    )
    result.assert_outcomes(skipped=1, passed=1)
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        [
            "total of 2 * 1.00 to 2.00*",
            "full at 2k: no score in hobby",
            "*(exit status 75): the judge gave no grade for *",
        ]
    )
    assert [row["cause"] for row in rows(project)] == ["ungraded", ""]


@pytest.mark.parametrize(
    ("judge", "canary"),
    [("always-yes", "wrong"), ("judges:Mumbling", "right"), ("judges:Broken", "right")],
)
def test_a_judge_that_fails_a_canary_costs_no_agent_anything(
    project: pytest.Pytester, judge: str, canary: str
) -> None:
    result = run(
        project,
        f"--ltm-judge={judge}?canaries=on",
        "--ltm-retries=0",
        "-rs",
        "test_hobby.py",
    )
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        [f"unmeasurable (exit status 75): the judge fails the canary '{canary}'*"]
    )
    assert [(row["cause"], row["questions"]) for row in rows(project)] == [
        ("not reached", [])
    ]


def test_one_canary_may_be_missed(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-judge=judges:Slips?canaries=on", "test_hobby.py")
    assert result.ret == 1
    assert (precheck(project)["verdict"], precheck(project, "checks")["verdict"]) == (
        "right",
        "right",
    )
    result.stdout.fnmatch_lines(
        ["note: judge's canaries: the judge fails the canary 'right'*"]
    )


@pytest.mark.parametrize("judge", ["always-no", "judges:OnceGood"])
def test_a_judge_that_misjudges_known_answers_during_the_run_makes_it_unmeasurable(
    project: pytest.Pytester, judge: str
) -> None:
    result = run(project, f"--ltm-judge={judge}?canaries=on", "test_hobby.py")
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        [
            "unmeasurable (exit status 75): the judge misjudged * of * answers with known*"
        ]
    )
    assert precheck(project, "checks")["verdict"] == "wrong"


def test_known_answers_stand_among_the_questions_of_the_journal(
    project: pytest.Pytester,
) -> None:
    run(project, "--ltm-judge=judges:Good?canaries=on&cache=off", "test_hobby.py")
    [journal] = journals(project)
    kinds = [
        event["event"] for event in map(json.loads, journal.read_text().splitlines())
    ]
    last = max(place for place, kind in enumerate(kinds) if kind == "judge")
    assert "check" in kinds[:last]
    assert (
        precheck(project, "checks")["calls"]
        == LEAST_CHECKS
        == len(asked(project)) - 3 - kinds.count("judge")
    )


def test_known_answers_are_handed_back_when_a_run_is_resumed(
    project: pytest.Pytester,
) -> None:
    words = (
        "--ltm-judge=judges:Good?canaries=on&cache=off",
        "test_hobby.py",
    )
    run(project, *words)
    folder, before = latest_run(project.path), asked(project)
    [journal] = journals(project)
    lines = journal.read_text().splitlines(keepends=True)
    cut = next(
        number
        for number, line in enumerate(lines)
        if line.startswith('{"event":"check"')
    )
    journal.write_text("".join(lines[: cut + 1]))
    for path in (
        folder / "summary.json",
        folder / "judge-checks.jsonl",
        journal.with_name("results.json"),
    ):
        path.unlink(missing_ok=True)
    run(project, "--ltm-resume=latest")
    assert journal.read_text().splitlines(keepends=True)[: len(lines)] == lines
    assert len(asked(project)) == 2 * len(before) - 3 - 1


def test_canaries_are_the_judges_cost_and_are_asked_once_in_a_run(
    project: pytest.Pytester,
) -> None:
    result = run(
        project,
        "--ltm-judge=judges:Good?canaries=on",
        "--ltm-max-cost=1",
        "test_hobby.py",
    )
    assert asked(project)[:3] == ["answer"] * 3
    result.stdout.fnmatch_lines(
        ["note: judge's canaries: all were graded right (3 calls, $0.7500)"]
    )
    before = len(asked(project))
    run(project, "--ltm-resume=latest", agent="full")
    assert "answer" not in asked(project)[before:]


def test_workers_ask_a_judge_that_fails_a_canary_once_and_a_resumed_run_asks_it_again(
    project: pytest.Pytester,
) -> None:
    options = (
        "--ltm-judge=judges:Moody?canaries=on",
        "--ltm-trials=4",
        "test_hobby.py",
    )
    result = run(project, "-n2", *options)
    assert result.ret == 75
    assert asked(project) == ["answer"] * 3
    assert precheck(project)["verdict"] == "wrong"

    (project.path / "better").touch()
    assert run(project, "--ltm-resume=latest").ret == 1
    assert {**precheck(project), "of": ""} == {
        "kind": "canaries",
        "of": "",
        "verdict": "right",
        "why": "",
        "calls": 6,
        "tokens": 0,
        "cost_usd": 1.5,
    }


def test_a_run_that_is_scored_again_asks_the_canaries_of_a_judge_that_was_not_asked_them(
    project: pytest.Pytester,
) -> None:
    run(project, "--ltm-judge=judges:Good", "test_hobby.py")
    first, before = latest_run(project.path).name, asked(project)
    good = "--ltm-judge=judges:Good?canaries=on"
    assert run(project, f"--ltm-rescore={first}", good).ret == 1
    assert asked(project)[len(before) :][:3] == ["answer"] * 3
    assert precheck(project, "checks")["calls"] >= LEAST_CHECKS

    again, before = latest_run(project.path).name, asked(project)
    assert run(project, f"--ltm-rescore={again}", good).ret == 1
    assert asked(project) == before
    assert (precheck(project)["verdict"], precheck(project)["calls"]) == ("right", 0)

    result = run(
        project,
        f"--ltm-rescore={again}",
        "--ltm-judge=always-yes?canaries=on",
    )
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        ["unmeasurable (exit status 75): the judge fails the canary 'wrong'*"]
    )
    assert [row["cause"] for row in rows(project)] == ["not reached"]


def test_a_scenario_that_needs_a_judge_is_skipped_without_one(
    project: pytest.Pytester,
) -> None:
    result = run(project, "-rs", "test_hobby.py")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs a judge: give one with --ltm-judge=SPEC*"])
    assert [row["cause"] for row in rows(project)] == ["requires"]


def test_a_watcher_may_ask_the_judge(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_watch="""
        from pytest_ltm import Score

        def test_watch(ltm, ltm_judge):
            ltm.say("Begin your second reply with a joke.")
            ltm.ask("Ready?")
            def funny(since):
                if len(since) < 2:
                    return None
                return Score(float(bool(ltm_judge.ask("Is it funny?", since[1].reply))), "funny")
            ltm.watch(funny, replies=2)
        """
    )
    run(project, "--ltm-judge=judges:Judge", "test_watch.py").assert_outcomes(passed=1)
    run(
        project, "--ltm-judge=judges:Broken", "--ltm-retries=0", "test_watch.py"
    ).assert_outcomes(skipped=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--ltm-judge=rulez"],
            "*--ltm-judge: unknown judge 'rulez'. Did you mean 'rules'?*",
        ),
        (
            ["--ltm-judge=rules?votes=4"],
            "*--ltm-judge: votes: 4 may be tied; use an odd number*",
        ),
        (
            ["--ltm-judge=rules?cache=maybe"],
            "*--ltm-judge: cache: 'maybe' is not one of on, off*",
        ),
        (
            ["--ltm-judge=none?votes=3"],
            "*--ltm-judge: 'none?*: none judges nothing*",
        ),
    ],
)
def test_wrong_options_end_the_session_before_anything_is_asked(
    words: list[str], message: str, project: pytest.Pytester
) -> None:
    result = run(project, *words, "test_hobby.py")
    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def test_nothing_is_made_where_nothing_is_played(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-judge=judges:Judge", "--collect-only", "test_hobby.py")
    assert result.ret == 0
    assert not (project.path / ".ltm").exists()


def test_workers_share_what_was_asked_before(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    words = ("--ltm-judge=judges:Judge", "--ltm-trials=3", "test_hobby.py")
    run(project, *words).assert_outcomes(passed=3)
    run(project, *words, "-n2").assert_outcomes(passed=3)
    assert len(asked(project)) == 6
    assert {row["judge_calls"] for row in rows(project)} == {2}


def test_the_built_in_suite_asks_the_judge_only_where_rules_cannot_tell(
    project: pytest.Pytester,
) -> None:
    run(
        project,
        "--ltm-judge=judges:Never",
        "--ltm-suite=standard",
        "--ltm-span=isolated",
        "-k",
        "jokes or restaurant",
    )
    told = [line.split()[0] for line in asked(project)]
    assert set(told) <= {"jokes", "restaurant-drink"}
    assert "restaurant-drink" in told


def test_a_run_that_is_resumed_asks_about_nothing_twice(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        bot="""
        import os
        from pathlib import Path

        class Bot:
            stateless = True
            def reply(self, message):
                if message == "Second?" and not Path("again").exists():
                    os._exit(9)
                return "Fine."
        """,
        test_two="""
        def test_two(ltm, ltm_judge):
            ltm.say("Listen.")
            ltm.check("one", ltm_judge.ask("Is it polite?", ltm.ask("First?")))
            ltm.check("two", ltm_judge.ask("Is it short?", ltm.ask("Second?")))
        """,
    )
    judge = "--ltm-judge=judges:Never?cache=off&canaries=off"
    start = ("--ltm-agent=bot:Bot", judge, "test_two.py")
    assert project.runpytest_subprocess(*start).ret == 75
    assert asked(project) == ["statement 0", "statement 1"]
    (project.path / "again").touch()
    project.runpytest_subprocess("--ltm-resume=latest").assert_outcomes(failed=1)
    assert asked(project) == ["statement 0", "statement 1"] * 2
    assert [row["judge_calls"] for row in rows(project)] == [4]


def test_a_model_behind_http_judges_a_run_once_and_its_key_is_nowhere(
    project: pytest.Pytester, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-planted-and-not-to-be-seen"
    monkeypatch.setenv("JUDGE_API_KEY", key)
    chat_server.key = key
    chat_server.next(refuses(429, retry_after=0))
    chat_server.default = says(f'{{"thoughts": "My key is {key}.", "grade": "yes"}}')
    spec = f"--ltm-judge=openai:some-model@{chat_server.url}?key_env=JUDGE_API_KEY"
    first = run(project, spec, "test_hobby.py", "-v", "--ltm-report=page.html")
    first.assert_outcomes(passed=1)
    assert len(chat_server.requests) == 3
    [row] = rows(project)
    assert row["judge_calls"] == 2
    assert row["judge_tokens"] > 200
    second = run(project, spec, "test_hobby.py")
    second.assert_outcomes(passed=1)
    assert len(chat_server.requests) == 3
    second.stdout.fnmatch_lines(["judge: 2 calls, * tokens; 2 of them cached"])
    written = [
        path
        for path in project.path.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    ]
    assert not any(key.encode() in path.read_bytes() for path in written)
    assert key not in first.stdout.str() + second.stdout.str()


def test_a_model_that_is_gone_makes_the_run_unmeasurable(
    project: pytest.Pytester, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "sk-planted-and-not-to-be-seen")
    chat_server.default = fails(500)
    spec = f"--ltm-judge=openai:some-model@{chat_server.url}?key_env=JUDGE_API_KEY"
    result = run(project, spec, "--ltm-retries=0", "test_hobby.py", "-rs")
    result.assert_outcomes(skipped=1)
    assert result.ret == 75
    result.stdout.fnmatch_lines(["*unscored: the judge failed: *500*"])

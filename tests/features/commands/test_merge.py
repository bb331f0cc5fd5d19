from __future__ import annotations

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import journals
import pytest
from run_folders import held, played

from pytest_ltm.api.journal import ReplyTime, Timings, folders_by_age, write_results
from pytest_ltm.api.scenarios import Plan, PlannedExample
from pytest_ltm.api.storage import json_text
from pytest_ltm.commands import main
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.records import amendments as _amendments
from pytest_ltm.records import probe_record
from pytest_ltm.records.amendments import Amendment

Merge = Callable[..., tuple[int, str, str]]

PLAN = Plan(
    examples=(PlannedExample(scenario="colours", example="0"),),
    seed=0,
    trial=0,
    span=2_000,
    tokenizer="cl100k_base",
    filler="trivia",
    scoring="current",
    judge="none",
    judge_votes=1,
    time="simulated",
    opening="Hello",
)


def write(
    run: Path,
    *names: str,
    plan: Plan = PLAN,
    score: float = 1.0,
    ended: str = "complete",
    **said: Any,
) -> Path:
    """Write a run with these conversations (`agent~span~trial`) of one example each."""
    for name in names:
        agent, span, trial = name.split("~")
        tokens = int(span.removesuffix("k")) * 1_000
        mine = replace(plan, span=tokens, trial=int(trial))
        row = played(
            score=score,
            agent=agent,
            span_label=span,
            span=tokens,
            trial=trial,
            nodeid=f"ltm/colours::test_colours[{agent}-{span}-{trial}-0]",
        )
        folder = run / name
        folder.mkdir(parents=True)
        result = held(
            [row],
            plan_fingerprint=mine.fingerprint,
            agent_fingerprint=f"sha256:{agent}",
            agent_spec=agent,
            ended=ended,
        )
        write_results(folder / "results.json", result)
        (folder / "plan.json").write_text(json_text(mine.to_json()), encoding="utf-8")
        journals.write(
            folder / "journal.jsonl", f'{{"event":"header","agent":"{agent}"}}\n'
        )
        Timings.at(folder / "timings.jsonl").write(ReplyTime(exchange=0, seconds=1.5))
    agents = dict.fromkeys(name.split("~")[0] for name in names)
    settings = {
        "agents": {agent: agent for agent in agents},
        "spans": {"2k": 2_000},
        "trials": 1,
        **said,
    }
    (run / "summary.json").write_text(
        json_text(
            {
                "plan": settings,
                "wall_seconds": 2.0,
                "seed": 0,
                "notices": [],
                "pytest_ltm_version": "1",
            }
        )
    )
    return run


@pytest.fixture
def merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Merge:
    """Merge runs into `<tmp>/all`; return exit status, stdout and stderr."""

    def merged(*runs: Path) -> tuple[int, str, str]:
        status = main(["merge", *map(str, runs), "-o", str(tmp_path / "all")])
        return status, *capsys.readouterr()

    return merged


def test_shards_become_one_run_that_every_command_reads(
    tmp_path: Path, merge: Merge
) -> None:
    one = write(tmp_path / "one", "a~2k~0", "b~2k~1", trials=2, shard="1/2")
    two = write(tmp_path / "two", "a~2k~1", "b~2k~0", trials=2, shard="2/2", score=0.5)

    status, said, _ = merge(one, two)

    assert (status, said.splitlines()) == (
        0,
        [f"merged 2 runs: 4 conversations, 4 examples -> {tmp_path / 'all'}"],
    )
    summary = json.loads(
        (tmp_path / "all" / "summary.json").read_text(encoding="utf-8")
    )
    assert [(c["agent"], c["trial"]) for c in summary["conversations"]] == [
        ("a", "0"),
        ("a", "1"),
        ("b", "0"),
        ("b", "1"),
    ]
    assert [column["total"] for column in summary["results"]] == [0.75, 0.75]
    assert [column["agent_seconds"] for column in summary["results"]] == [3.0, 3.0]
    assert "shard" not in summary["plan"]
    assert (
        len(
            (tmp_path / "all" / "verdicts.csv").read_text(encoding="utf-8").splitlines()
        )
        == 5
    )
    assert (tmp_path / "all" / "a~2k~1" / "journal.jsonl").exists()
    assert main(["report", str(tmp_path / "all"), "-o", str(tmp_path / "r.html")]) == 0


def test_what_is_there_twice_and_the_same_is_taken_once_and_told(
    tmp_path: Path, merge: Merge
) -> None:
    status, said, _ = merge(
        write(tmp_path / "one", "a~2k~0"), write(tmp_path / "two", "a~2k~0", "b~2k~0")
    )

    assert status == 0
    assert "2 conversations" in said
    assert (
        f"repeated: a~2k~0 is in {tmp_path / 'one'} and in {tmp_path / 'two'}: the same, taken once"
        in said
    )


def test_a_complete_conversation_is_taken_before_an_interrupted_one(
    tmp_path: Path, merge: Merge
) -> None:
    broken = write(tmp_path / "broken", "a~2k~0", ended="interrupted", score=0.0)
    whole = write(tmp_path / "whole", "a~2k~0")

    status, said, _ = merge(broken, whole)

    assert status == 0
    assert f"taken from {whole}, where it is complete" in said
    assert read_run(tmp_path / "all").result.scenarios[0].score == 1.0


def test_two_complete_conversations_that_differ_are_refused(
    tmp_path: Path, merge: Merge
) -> None:
    status, _, said = merge(
        write(tmp_path / "one", "a~2k~0"), write(tmp_path / "two", "a~2k~0", score=0.0)
    )

    assert status == 2
    assert (
        "with different results, and nothing says which one counts. Leave one of these runs out"
        in said
    )
    assert not (tmp_path / "all").exists()


def test_a_run_that_is_named_twice_is_one_run(tmp_path: Path, merge: Merge) -> None:
    one = write(tmp_path / "one", "a~2k~0")

    assert merge(one, one)[1].startswith("merged 1 run: 1 conversation, 1 example")


def test_what_agents_were_asked_before_each_part_stays_in_the_summary(
    tmp_path: Path, merge: Merge
) -> None:
    runs = [write(tmp_path / name, f"{name}~2k~0") for name in ("one", "two")]
    for number, run in enumerate(runs):
        probe_record.append_probe_row(
            run / probe_record.PROBE_FILE,
            probe_record.Decided(
                agent=run.name, verdict="clean", messages=number, tokens=9
            ),
        )

    assert merge(*runs)[0] == 0
    merged = read_run(tmp_path / "all").result.prechecks
    assert [(one.of, one.verdict, one.calls, one.tokens) for one in merged] == [
        ("one", "clean", 0, 9),
        ("two", "clean", 1, 9),
    ]


def test_missing_shards_and_conversations_are_told_and_the_status_is_1(
    tmp_path: Path, merge: Merge
) -> None:
    one = write(tmp_path / "one", "a~2k~0", trials=2, shard="1/3")

    status, said, _ = merge(
        one, write(tmp_path / "three", "b~2k~0", trials=2, shard="3/3")
    )

    assert status == 1
    assert said.splitlines()[1:] == [
        "  missing: no run is shard 2/3",
        "  missing: no run has a~2k~1, b~2k~1",
    ]
    notices = json.loads(
        (tmp_path / "all" / "summary.json").read_text(encoding="utf-8")
    )["notices"]
    assert notices == [
        "merged: no run is shard 2/3",
        "merged: no run has a~2k~1, b~2k~1",
    ]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(PLAN, seed=7), "The plan's seed is 0 in one and 7 in the other."),
        (replace(PLAN, examples=()), "colours/0 is only in the first plan."),
    ],
)
def test_runs_with_different_plans_are_refused_with_what_differs(
    tmp_path: Path, merge: Merge, other: Plan, told: str
) -> None:
    status, _, said = merge(
        write(tmp_path / "one", "a~2k~0"), write(tmp_path / "two", "b~2k~0", plan=other)
    )

    assert status == 2
    assert told in said
    assert f"  {tmp_path / 'one' / 'a~2k~0'}" in said
    assert f"  {tmp_path / 'two' / 'b~2k~0'}" in said


def test_another_trial_of_another_seed_is_refused_too(
    tmp_path: Path, merge: Merge
) -> None:
    other = write(tmp_path / "two", "a~2k~1", plan=replace(PLAN, seed=7))

    status, _, said = merge(write(tmp_path / "one", "a~2k~0"), other)

    assert (status, "The plan's seed is 0 in one and 7 in the other." in said) == (
        2,
        True,
    )


def test_one_label_for_two_agents_is_refused(tmp_path: Path, merge: Merge) -> None:
    two = write(tmp_path / "two", "a~2k~1")
    results = two / "a~2k~1" / "results.json"
    results.write_text(
        results.read_text(encoding="utf-8").replace("sha256:a", "sha256:b"),
        encoding="utf-8",
    )

    status, _, said = merge(write(tmp_path / "one", "a~2k~0"), two)

    assert status == 2
    assert "the agent 'a' is not the same" in said
    assert "--ltm-agent=NAME=SPEC" in said


def test_amendments_are_kept(tmp_path: Path, merge: Merge) -> None:
    one = write(tmp_path / "one", "a~2k~0", score=0.0)
    run = read_run(one)
    amendment = Amendment(score=1.0, reason="it said so")
    _amendments.amend_verdict(
        one, run.result, run.result.scenarios[0].nodeid, amendment
    )

    status, said, _ = merge(one, write(tmp_path / "two", "b~2k~0"))

    assert (status, "kept: 1 amended verdict" in said) == (0, True)
    rows = read_run(tmp_path / "all").result.scenarios
    assert [(row.score, row.automatic is not None) for row in rows] == [
        (1.0, True),
        (1.0, False),
    ]


def test_amendments_that_contradict_each_other_are_refused(
    tmp_path: Path, merge: Merge
) -> None:
    runs = [write(tmp_path / name, "a~2k~0", score=0.0) for name in ("one", "two")]
    for number, path in enumerate(runs):
        run = read_run(path)
        amendment = Amendment(score=number / 2, reason="a person looked")
        _amendments.amend_verdict(
            path, run.result, run.result.scenarios[0].nodeid, amendment
        )

    # The results differ because of the amendment; otherwise the reasons would differ.
    assert merge(*runs)[0] == 2


def test_a_run_is_never_overwritten(tmp_path: Path, merge: Merge) -> None:
    one = write(tmp_path / "one", "a~2k~0")
    merge(one)

    status, _, said = merge(one)

    assert (status, "already exists. Runs are never overwritten" in said) == (2, True)


@pytest.mark.parametrize("at", ["write_summary", "write_verdicts"])
def test_a_merge_that_is_cut_off_leaves_nothing_that_looks_like_a_run(
    tmp_path: Path, merge: Merge, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    one = write(tmp_path / "one", "a~2k~0")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(f"pytest_ltm.commands.merge.{at}", full)
        assert merge(one)[::2] == (
            2,
            f"ltm merge: {tmp_path / 'all'}: cannot be written (no space left)\n",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_what_a_killed_merge_left_is_no_run_and_in_nobodys_way(
    tmp_path: Path, merge: Merge
) -> None:
    one = write(tmp_path / "one", "a~2k~0")
    write(tmp_path / ".all.new", "a~2k~0", "a~2k~1")

    assert [path.name for path in folders_by_age(tmp_path)] == ["one"]
    assert merge(one)[0] == 0
    assert [
        conversation.trial
        for conversation in read_run(tmp_path / "all").result.conversations
    ] == ["0"]
    assert not (tmp_path / ".all.new").exists()


def test_a_merged_run_says_where_it_stands_not_where_it_was_built(
    tmp_path: Path, merge: Merge
) -> None:
    one = write(tmp_path / "one", "a~2k~0")
    (one / "a~2k~0" / "timings.jsonl").write_text("damaged\n", encoding="utf-8")

    merge(one)

    summary = (tmp_path / "all" / "summary.json").read_text(encoding="utf-8")
    assert ".all.new" not in summary
    assert (
        str(tmp_path / "all" / "a~2k~0" / "timings.jsonl")
        in json.loads(summary)["notices"][0]
    )


def test_the_new_run_may_be_named_by_a_run_id(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "one", "a~2k~0")

    assert main(["merge", "one", "-o", "all", "--ltm-dir", str(tmp_path)]) == 0
    assert (tmp_path / "runs" / "all" / "summary.json").exists()

"""Published results as runs: labels, layouts, corrections, transcripts; totals as published."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI

from pytest_ltm.api.journal import RunResult, ScenarioResult
from pytest_ltm.api.scenarios import Plan
from pytest_ltm.api.storage import LtmError
from pytest_ltm.commands import main
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.lab.commands.import_published import (
    check_leaderboard,
    import_conversations,
    import_notices,
    imported_totals,
)
from pytest_ltm.lab.published_results import (
    Benchmark,
    agent_labels,
    merge_branches,
    parse_benchmark,
    read_published,
)
from pytest_ltm.reports.html.details import NO_EXCHANGES, example_details
from pytest_ltm.reports.terminal import summary_lines

BOT = "LLMChatSession - bot-1 - 8000"


def result(**changes: Any) -> dict[str, Any]:
    """Return one published result, with scores only."""
    values: dict[str, Any] = {
        "ref": "main",
        "benchmark": "Benchmark 3 - 32k",
        "agent": BOT,
        "dataset": "Colours",
        "example_id": "0",
        "repetition": 0,
        "score": 1,
        "max_score": 1,
        "tokens": 30_000,
        "manual": False,
    }
    return {**values, **changes}


def told(**changes: Any) -> dict[str, Any]:
    """Return one published result with its transcript."""
    log = [
        "Test (2024-05-01 10:00:00.000001): I like ochre best.",
        "Agent (2024-05-01 10:00:02.000001): Noted.",
        "Test (2024-05-01 12:00:00.000001): Which colour do I like best?",
        "Agent (2024-05-01 12:00:02.000001): Ochre: I noted it.",
    ]
    values = {
        "task_log": log,
        "responses": ["Ochre: I noted it."],
        "reasoning": ["ochre is named"],
    }
    return result(**{**values, **changes})


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text(
        "".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8"
    )
    return path


def run_of(tmp_path: Path, *records: dict[str, Any]) -> LoadedRun:
    file = lines(tmp_path / "results.jsonl", *records)
    assert (
        main(["data", "import-published", str(file), "-o", str(tmp_path / "run")]) == 0
    )
    return read_run(tmp_path / "run")


def only(run: LoadedRun) -> ScenarioResult:
    (row,) = run.result.scenarios
    return row


# --- names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "Benchmark 3 - 32k",
            Benchmark(version=3, span_label="32k", span=32_000, trial="0"),
        ),
        (
            "Benchmark 3 - 1k",
            Benchmark(version=3, span_label="2k", span=1_000, trial="0"),
        ),
        (
            "Benchmark 3 - 500k #2",
            Benchmark(version=3, span_label="500k", span=500_000, trial="1"),
        ),
        (
            "Benchmark 3 - 32k #2 (isolated)",
            Benchmark(version=3, span_label="isolated", span=None, trial="1"),
        ),
        (
            "Benchmark 1 - 10k Filler",
            Benchmark(version=1, span_label="v1.10k", span=10_000, trial="0"),
        ),
    ],
)
def test_a_benchmark_is_labelled_as_the_paper_does(
    name: str, expected: Benchmark
) -> None:
    assert parse_benchmark(name) == expected


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("LLMChatSession - gpt-4-turbo-2024-04-09 - 128000", "gpt_4_turbo.128k"),
        (
            "LLMChatSession - together_ai-mistralai-Mixtral-8x7B-Instruct-v0.1 - 32768",
            "Mixtral_8x7B_Instruct_v0.1.32k",
        ),
        (
            "LTMAgentWrapper - claude-3-opus-20240229 - 16384 - SEMANTIC_ONLY",
            "LTM2.claude_3_opus.16k",
        ),
        ("GeminiProInterface", "GeminiPro"),
        ("Bär & Söhne", "B_r_S_hne"),
    ],
)
def test_an_agent_is_labelled_by_its_model_and_context(name: str, label: str) -> None:
    assert agent_labels([("b", name)]) == {name: label}


def test_agents_whose_labels_would_meet_in_one_benchmark_keep_their_whole_names() -> (
    None
):
    names = [
        "LLMChatSession - m-2024-01-01 - 8000",
        "LLMChatSession - m-2024-02-02 - 8000",
    ]
    assert set(agent_labels([("b", name) for name in names]).values()) == {
        "LLMChatSession_m_2024_01_01_8000",
        "LLMChatSession_m_2024_02_02_8000",
    }
    assert set(agent_labels([("b", names[0]), ("c", names[1])]).values()) == {"m.8k"}


# --- conversion of a result


def test_a_result_becomes_an_example_of_a_run(tmp_path: Path) -> None:
    row = only(
        run_of(
            tmp_path, result(dataset="NameList", score=3, max_score=5, example_id="2")
        )
    )
    assert row.nodeid == "ltm/name_list.py::test_name_list[bot_1.8k-32k-0-2]"
    assert (row.score, row.outcome, row.measured_span, row.overrun) == (
        0.6,
        "failed",
        30_000,
        False,
    )


def test_a_test_that_took_longer_than_its_memory_span_overran(tmp_path: Path) -> None:
    assert only(run_of(tmp_path, result(tokens=33_000))).overrun


def test_a_span_that_nobody_can_have_measured_is_none(tmp_path: Path) -> None:
    assert only(run_of(tmp_path, result(tokens=10**400))).measured_span is None


def test_older_versions_have_no_memory_span_to_overrun(tmp_path: Path) -> None:
    assert not only(
        run_of(tmp_path, result(benchmark="Benchmark 1 - 10k Filler", tokens=90_000))
    ).overrun


def test_a_published_name_is_kept_whole_as_the_agents_spec(tmp_path: Path) -> None:
    run = run_of(tmp_path, result())
    assert [conversation.agent_spec for conversation in run.result.conversations] == [
        f"published: {BOT}"
    ]


def test_plans_are_equal_for_agents_of_one_benchmark_and_no_others(
    tmp_path: Path,
) -> None:
    other = {"agent": "GeminiProInterface"}
    run = run_of(
        tmp_path, result(), result(**other), result(benchmark="Benchmark 3 - 32k #2")
    )
    prints = {
        (conversation.agent, conversation.trial): conversation.plan_fingerprint
        for conversation in run.result.conversations
    }
    assert (
        prints["bot_1.8k", "0"] == prints["GeminiPro", "0"] != prints["bot_1.8k", "1"]
    )
    for conversation in run.conversations:
        assert (
            Plan.from_json(conversation.plan()).fingerprint
            == conversation.result.plan_fingerprint
        )


def test_a_second_run_is_another_trial_and_a_total_is_the_mean_of_both(
    tmp_path: Path,
) -> None:
    run = run_of(
        tmp_path, result(), result(benchmark="Benchmark 3 - 32k #2", score=0)
    ).result
    assert [conversation.trial for conversation in run.conversations] == ["0", "1"]
    assert imported_totals(run) == {"bot_1.8k": {"32k": (0.5, 2)}}


def test_a_run_that_exists_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of(tmp_path, result())
    assert (
        main(
            [
                "data",
                "import-published",
                str(tmp_path / "results.jsonl"),
                "-o",
                str(tmp_path / "run"),
            ]
        )
        == 2
    )
    assert "already exists" in capsys.readouterr().err


def test_a_plain_name_is_a_run_below_the_ltm_folder(tmp_path: Path) -> None:
    file = lines(tmp_path / "r.jsonl", result())
    assert (
        main(
            [
                "data",
                "import-published",
                str(file),
                "-o",
                "theirs",
                "--ltm-dir",
                str(tmp_path / "ltm"),
            ]
        )
        == 0
    )
    assert (
        tmp_path / "ltm" / "runs" / "theirs" / "bot_1.8k~32k~0" / "results.json"
    ).is_file()


def test_an_imported_run_can_be_amended(tmp_path: Path) -> None:
    run_of(tmp_path, result(score=0))
    assert (
        main(
            [
                "lab",
                "amend",
                str(tmp_path / "run"),
                "colours/0",
                "--score=1",
                "--reason=it is right",
            ]
        )
        == 0
    )
    assert only(read_run(tmp_path / "run")).score == 1


# --- corrections


def test_a_branch_corrects_main_and_the_verdict_before_is_kept(tmp_path: Path) -> None:
    fixed = result(ref="paper", score=0, manual=True)
    row = only(run_of(tmp_path, fixed, told()))
    assert (row.score, row.automatic and row.automatic.score) == (0, 1)
    assert [question.answer for question in row.questions] == ["Ochre: I noted it."]
    assert "ochre is named" not in row.reason


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_scores_and_transcripts_of_two_files_meet_whatever_their_order(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    files = [lines(tmp_path / "a.jsonl", result()), lines(tmp_path / "b.jsonl", told())]
    (row,) = merge_branches(read_published(files[at] for at in order))
    assert (row.score, len(row.log)) == (1, 4)


def test_a_published_correction_by_hand_counts_as_amended(tmp_path: Path) -> None:
    auto = {"auto_score": 0.4, "auto_reasoning": ["it stopped"]}
    run = run_of(
        tmp_path, told(manual=True, auto=auto), result(example_id="1", manual=True)
    )
    one, other = run.result.scenarios
    assert one.automatic
    assert (one.automatic.score, one.automatic.reason) == (0.4, "it stopped")
    assert other.automatic
    assert other.automatic.score is None
    assert result_columns(run.result)[0].amended_verdicts == 2


# --- transcripts


def test_a_transcript_becomes_a_journal(tmp_path: Path) -> None:
    run = run_of(tmp_path, told())
    record = run.conversations[0].record()
    assert record is not None
    assert [(each.by, each.message, each.reply) for each in record.transcript] == [
        ("colours/0", "I like ochre best.", "Noted."),
        ("colours/0", "Which colour do I like best?", "Ochre: I noted it."),
    ]
    assert (
        record.transcript[1].now - record.transcript[0].now
    ).total_seconds() == 7_200
    assert [(question.number, question.answer) for question in only(run).questions] == [
        (1, "Ochre: I noted it.")
    ]


def test_exchanges_of_several_examples_stand_in_the_order_of_their_times(
    tmp_path: Path,
) -> None:
    between = [
        "Test (2024-05-01 11:00:00.000001): My name is Ada.",
        "Agent (2024-05-01 11:00:01.000001): Hello.",
    ]
    names = told(dataset="NameList", task_log=between, responses=[])
    record = run_of(tmp_path, names, told()).conversations[0].record()
    assert record
    assert [each.by for each in record.transcript] == [
        "colours/0",
        "name_list/0",
        "colours/0",
    ]
    assert [each.start for each in record.transcript[1:]] == [
        each.end for each in record.transcript[:-1]
    ]


def test_an_exchange_in_two_logs_is_of_whom_it_belongs_to(tmp_path: Path) -> None:
    colours = told(script=["I like ochre best.", "Which colour do I like best?"])
    order = [
        "Test (2024-05-01 09:00:00.000001): Say the quote in your second reply.",
        "Agent (2024-05-01 09:00:01.000001): I will.",
        *colours["task_log"][:2],
        "System (2024-05-01 11:30:00.000001): Something else.",
        "Agent (2024-05-01 11:30:01.000001): Fine.",
    ]
    quote = told(
        dataset="Prospective Memory",
        script=[order[0][35:]],
        task_log=order,
        responses=["I will."],
    )
    record = run_of(tmp_path, quote, colours).conversations[0].record()
    assert record
    assert [(each.by, each.kind) for each in record.transcript] == [
        ("prospective_memory/0", "say"),
        ("colours/0", "say"),
        ("", "filler"),
        ("colours/0", "say"),
    ]


def test_a_missing_transcript_is_shown_as_missing(tmp_path: Path) -> None:
    run = run_of(tmp_path, told(), result(example_id="1"))
    there, missing = run.result.scenarios
    assert "missing" not in there.reason
    assert missing.reason.endswith("its transcript is missing")
    assert "the transcripts of 1 of 2 examples are missing" in run.result.notices
    record = run.conversations[0].record()
    assert [
        example_details(row, record, "", "", ())["missing"] for row in (there, missing)
    ] == ["", NO_EXCHANGES]


def test_what_a_transcript_leaves_out_comes_from_the_definitions_or_is_missing(
    tmp_path: Path,
) -> None:
    log = [f"Test (2024-05-01 10:0{n}:00.000001): @script[{n}]" for n in range(2)]
    record = told(task_log=log, responses=[], definition="d/0.def.json")
    lines(tmp_path / "results.jsonl", record)
    lines(
        tmp_path / "definitions.jsonl",
        {"path": "d/0.def.json", "script": ["Chapter one."]},
    )
    (row,) = read_published([tmp_path])
    assert [line.partition("): ")[2] for line in row.log] == [
        "Chapter one.",
        "(message 2 of its script is missing)",
    ]


# --- files


def test_a_folder_of_result_files_is_read_by_its_paths(tmp_path: Path) -> None:
    folder = tmp_path / "Benchmark 3 - 1k" / "results" / BOT / "Spy Meeting"
    folder.mkdir(parents=True)
    values = {
        "score": 1 / 3,
        "max_score": 1,
        "tokens": 900,
        "actual_responses": ["By boat."],
        "task_log": [],
    }
    (folder / "2_0.json").write_text(json.dumps(values))
    (folder.parent / "runstats.json").write_text("{}")
    (folder.parent / "master_log.jsonl").write_text('{"type": 0}\n')
    (row,) = read_published([tmp_path])
    assert (row.benchmark, row.agent, row.dataset, row.example, row.responses) == (
        "Benchmark 3 - 1k",
        BOT,
        "Spy Meeting",
        "2",
        ("By boat.",),
    )


def test_packed_files_are_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl.gz").write_bytes(gzip.compress(json.dumps(result()).encode()))
    assert len(read_published([tmp_path / "r.jsonl.gz"])) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "r.jsonl:1: not JSON"),
        ("[]", "expected an object"),
        ('{"score": 1}', "no benchmark, agent, dataset, example_id, max_score"),
        (json.dumps(result(score=2)), r"a score of 2\.0 out of 1\.0"),
        (
            json.dumps(result(score="high")),
            r"Expected `float`, got `str` - at `\$\.score`",
        ),
        (json.dumps(result(agent="")), r"length >= 1 - at `\$\.agent`"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(LtmError, match=message):
        read_published([tmp_path / "r.jsonl"])


def test_a_benchmark_without_a_memory_span_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lines(tmp_path / "r.jsonl", result(benchmark="Somebody's"))
    assert main(["data", "import-published", str(file)]) == 2
    assert "names no memory span" in capsys.readouterr().err


def test_hostile_names_make_plain_labels(tmp_path: Path) -> None:
    row = only(
        run_of(
            tmp_path, result(agent="../../x\x1b[31m", dataset="<b>", example_id="../1")
        )
    )
    assert (row.agent, row.scenario, row.example) == (".._.._x_31m", "b", ".._1")


# --- totals


def test_benchmarks_can_be_chosen_by_the_beginning_of_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lines(
        tmp_path / "r.jsonl", result(), result(benchmark="Benchmark 1 - 1k Filler")
    )
    assert (
        main(["data", "import-published", str(file), "--benchmark", "Benchmark 3"]) == 0
    )
    assert capsys.readouterr().out.split()[:3] == ["32k", "bot_1.8k", "1.00"]
    assert (
        main(["data", "import-published", str(file), "--benchmark", "Benchmark 9"]) == 2
    )
    assert (
        "Choose from Benchmark 1 - 1k Filler, Benchmark 3 - 32k"
        in capsys.readouterr().err
    )


def board(**changes: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "score": 1.0,
        "max_score": 1,
        "n_results": 1,
        "accuracy": 100.0,
        "ltm": 30_000.0,
        "by_dataset": {"Colours": 1},
    }
    return {"main": {"Benchmark 3 - 32k": {BOT: {**entry, **changes}}}}


@pytest.mark.parametrize(
    ("changes", "status", "told_"),
    [
        ({}, 0, "1 published run compared"),
        (
            {"score": 0.9},
            1,
            f"main, Benchmark 3 - 32k, {BOT}: total is 1.0 here and 0.9 there",
        ),
        ({"ltm": 29_999.0}, 1, "LTM score is 30000.0 here"),
        ({"by_dataset": {"Colours": 0.5}}, 1, "Colours is 1.0 here"),
    ],
)
def test_totals_are_checked_against_a_leaderboard(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    status: int,
    told_: str,
) -> None:
    (tmp_path / "board.json").write_text(json.dumps(board(**changes)))
    file = lines(tmp_path / "r.jsonl", result())
    assert (
        main(
            [
                "data",
                "import-published",
                str(file),
                "--check",
                str(tmp_path / "board.json"),
            ]
        )
        == status
    )
    assert told_ in capsys.readouterr().out


def test_a_branch_alone_can_be_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = lines(tmp_path / "r.jsonl", result(), result(ref="paper", score=0))
    for ref, total in (("main", "1.00"), ("paper", "0.00")):
        assert main(["data", "import-published", str(file), "--ref", ref]) == 0
        assert total in capsys.readouterr().out
    assert main(["data", "import-published", str(file), "--ref", "v9"]) == 2
    assert "Choose from main, paper" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.published
def test_every_published_total_is_reproduced() -> None:
    compared, differences = check_leaderboard(
        read_published([GOODAI / "scores_all.jsonl.gz"]), GOODAI / "leaderboard.json"
    )
    assert differences == []
    leaderboard = json.loads((GOODAI / "leaderboard.json").read_bytes())
    assert (
        compared
        == sum(
            len(agents) for branch in leaderboard.values() for agents in branch.values()
        )
        > 150
    )


@pytest.mark.slow
@pytest.mark.published
def test_the_papers_table_is_reproduced_from_both_branches() -> None:
    """A cell is the mean over runs of the published totals, after one verdict of Claude at 200k was corrected."""
    rows = merge_branches(read_published([GOODAI / "scores_all.jsonl.gz"]))
    found = imported_totals(
        RunResult(
            run_id="",
            conversations=tuple(
                conversation.result for conversation in import_conversations(rows)
            ),
        )
    )
    published = json.loads((GOODAI / "leaderboard.json").read_bytes())
    at = {
        "isolated": "32k{} (isolated)",
        "2k": "1k{}",
        **{f"{n}k": f"{n}k{{}}" for n in (32, 120, 200, 500)},
    }
    for agent, name in (
        ("gpt_4o_mini.128k", "LLMChatSession - gpt-4o-mini - 128000"),
        (
            "LTM1.gpt_4o_mini.16k",
            "LTMAgentWrapper - gpt-4o-mini - 16384 - QG_JSON_USER_INFO",
        ),
        ("MemGPT.gpt_4o_mini.16k", "MemGPTInterface - gpt-4o-mini - 16384"),
    ):
        for span, folder in at.items():
            runs = [
                published["paper"][f"Benchmark 3 - {folder.format(mark)}"][name][
                    "score"
                ]
                for mark in ("", " #2")
            ]
            assert found[agent][span] == pytest.approx((sum(runs) / 2, 2), abs=1e-5)
    opus = "LLMChatSession - claude-3-opus - 200000"
    before = published["main"]["Benchmark 3 - 200k"][opus]["score"]
    assert found["claude_3_opus.200k"]["200k"] == pytest.approx(
        (before - 1 / 3, 1), abs=1e-5
    )
    whole = [agent for agent, cells in found.items() if set(at) <= set(cells)]
    assert len(whole) == 15


@pytest.mark.slow
@pytest.mark.published
def test_published_transcripts_open_and_the_others_are_told_as_missing() -> None:
    files = [
        GOODAI / "scores_all.jsonl.gz",
        GOODAI / "results_dev.jsonl.gz",
        GOODAI / "definitions.jsonl.gz",
    ]
    rows = [
        row for row in merge_branches(read_published(files)) if "120k" in row.benchmark
    ]
    found = import_conversations(rows)
    examples = [row for each in found for row in each.result.scenarios]
    owners = {
        (each.result.agent, each.result.trial, exchange.by)
        for each in found
        for exchange in each.talk.exchanges
    }
    there = [row for row in examples if (row.agent, row.trial, row.id) in owners]
    assert 0 < len(there) == sum(bool(row.log) for row in rows) < len(rows)
    assert {"missing" in row.reason for row in examples if row not in there} == {True}
    assert any("transcripts of" in text for text in import_notices(rows))


@pytest.mark.slow
@pytest.mark.published
def test_the_terminal_shows_the_paper_in_200_columns(tmp_path: Path) -> None:
    assert (
        main(
            [
                "data",
                "import-published",
                str(GOODAI / "scores_all.jsonl.gz"),
                "-o",
                str(tmp_path / "run"),
            ]
        )
        == 0
    )
    shown = summary_lines(
        read_run(tmp_path / "run").result, width=200, verbosity=0, color=False
    )
    assert max(map(len, shown)) <= 200
    heads = [line for line in shown if line.startswith("memory span ")]
    assert all("…" not in line for line in heads)
    assert any(
        line.split()[2:] == ["2k", "32k", "120k", "200k", "500k", "isolated"] * 2
        for line in heads
    )


@pytest.mark.slow
@pytest.mark.published
def test_the_published_results_add_up_to_the_published_totals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    totals = Path(__file__).with_name("published_totals.txt")
    words = [
        str(GOODAI / "scores_all.jsonl.gz"),
        "--check",
        str(GOODAI / "leaderboard.json"),
    ]
    assert main(["data", "import-published", *words]) == 0
    assert capsys.readouterr().out == totals.read_text(encoding="utf-8")


# --- cost and time


def stats_in(
    tmp_path: Path, text: str, place: str = "results/{agent}/runstats.json"
) -> Path:
    folder = tmp_path / "Benchmark 3 - 32k"
    example = folder / "results" / BOT / "Colours" / "0_0.json"
    example.parent.mkdir(parents=True)
    example.write_text(json.dumps(result()), "utf-8")
    (folder / place.format(agent=BOT)).write_text(text, "utf-8")
    return folder


def test_cost_and_time_are_those_of_the_published_statistics(tmp_path: Path) -> None:
    folder = stats_in(
        tmp_path,
        json.dumps(
            {"agent_costs_usd": 38.375, "duration": 885.9, "total_tokens": 121_376}
        ),
    )
    assert (
        main(["data", "import-published", str(folder), "-o", str(tmp_path / "run")])
        == 0
    )
    [column] = result_columns(read_run(tmp_path / "run").result)
    assert column.cost_usd == 38.375
    assert column.pace.asking is not None
    assert column.pace.asking.total == 885.9


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1]", "Expected `object`, got `array`"),
        ('{"duration": 1}', "missing required field `agent_costs_usd`"),
        (
            '{"agent_costs_usd": -1, "duration": 1}',
            "Expected `float` >= 0.0 - at `$.agent_costs_usd`",
        ),
        (
            '{"agent_costs_usd": 1, "duration": "long"}',
            "Expected `float`, got `str` - at `$.duration`",
        ),
        ("{", "runstats.json"),
    ],
)
def test_statistics_that_cannot_be_used_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    folder = stats_in(tmp_path, text)
    assert main(["data", "import-published", str(folder)]) != 0
    assert sentence in capsys.readouterr().err


def test_statistics_that_lie_elsewhere_name_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stats_in(tmp_path, "{}", "runstats.json")
    assert main(["data", "import-published", str(folder)]) != 0
    assert (
        "stand in <benchmark>/results/<agent>/runstats.json" in capsys.readouterr().err
    )

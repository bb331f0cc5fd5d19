"""Converters from other benchmarks' files (invented here) to the interchange format, and their errors."""

from __future__ import annotations

import copy
import csv
import gzip
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Definition, Wait
from pytest_ltm.api.storage import DatasetError
from pytest_ltm.commands import main
from pytest_ltm.datasets import CONVERTED, LOGS, DatasetSuite
from pytest_ltm.datasets.converters.benchmarks import beam_questions
from pytest_ltm.datasets.converters.published_files import CURE
from pytest_ltm.datasets.interchange import hub_address
from pytest_ltm.datasets.logs.log_verdict import LogsAnswer

SHARED = Path(__file__).parents[4] / "shared" / "formats"
KINDS = {dataset.name: dataset for dataset in CONVERTED}


def message(number: int, role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "role": role, "content": content, **more}


BEAM_CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                message(
                    0,
                    "user",
                    "I keep nine hives. ->-> 1,1",
                    time_anchor="March-02-2026",
                    index="1,1",
                ),
                message(1, "assistant", "Fine."),
            ]
        ],
    },
    {
        "batch_number": 2,
        "turns": [
            [
                message(2, "user", "I painted them. ->> 2,N/A"),
                message(3, "assistant", "Nice."),
            ]
        ],
    },
]
BEAM_PROBES = {
    "information_extraction": [
        {
            "question": "How many hives?",
            "answer": "nine",
            "rubric": ["says nine"],
            "source_chat_ids": [0, 99],
        }
    ],
    "event_ordering": [
        {
            "question": "In which order?",
            "answer": "1",
            "rubric": ["hives", "paint"],
            "source_chat_ids": {"a": [0, 2]},
        }
    ],
    "abstention": [
        {
            "question": "Which bees?",
            "ideal_response": "Nothing was said.",
            "rubric": ["says so"],
        }
    ],
}
HALUMEM = {
    "uuid": "u1",
    "sessions": [
        {
            "start_time": "Mar 02, 2026, 08:00:00",
            "dialogue": [message(0, "user", "I moved to Turku.")],
            "memory_points": [{"memory_content": "Lives in Turku."}],
            "questions": [
                {
                    "question": "Where do I live?",
                    "answer": "Turku",
                    "question_type": "Basic Fact Recall",
                    "evidence": [
                        {"memory_content": "Lives in Turku."},
                        {"memory_content": "Of nobody."},
                    ],
                }
            ],
        },
        {
            "start_time": "Mar 03, 2026, 08:00:00",
            "dialogue": [message(0, "user", "It rains.")],
        },
    ],
}
AGENT_BENCH = {
    "context": "0. The port of Nim is Ost.\n" * 900,
    "questions": ["Which port?", "And now?"],
    "answers": ["Ost", ["Ost", "ost"]],
    "metadata": {"source": "factconsolidation_sh_6k", "qa_pair_ids": ["p0", "p1"]},
}
PERSONA_CONTEXT = {
    "c1": [
        {"role": "system", "content": "A baker."},
        {"role": "user", "content": "User: I gave up rye."},
        {"role": "assistant", "content": "Assistant: I see."},
        {"role": "system", "content": "Later."},
        {"role": "user", "content": "User: Spelt, then."},
    ]
}
PERSONA_ROW = {
    "question_id": "q1",
    "question_type": "recall_facts",
    "user_question_or_message": "What shall I bake?",
    "correct_answer": "(b)",
    "all_options": "['(a) Rye.', '(b) Spelt.']",
    "shared_context_id": "c1",
    "end_index_in_shared_context": 3,
}
TRAJECTORY = {
    "id": "t1",
    "goal": "Sell a lamp",
    "outcome": "success",
    "states": [
        {
            "url": "http://shop.test",
            "action": "click(1)",
            "thought": "first",
            "accessibility_tree": "[1] Save",
            "screenshot": "shots/0.png",
        }
    ],
}
WEB_QUESTIONS = [
    {
        "id": "q1",
        "question": "Which button?",
        "answer": "Save; Send",
        "question_type": "static",
        "eval_function": "norm_phrase_set_match|separators=;",
    },
    {
        "id": "q2",
        "question": "Which one? A) Save B) Send",
        "answer": "A",
        "question_type": "procedure",
        "eval_function": "mc_choice_match",
        "image": "shots/0.png",
    },
    {
        "id": "q3",
        "question": "Where is Undo?",
        "answer": "There is none.",
        "question_type": "static-abs",
        "eval_function": "llm_abstention_checker",
    },
    {
        "id": "q4",
        "question": "In which order?",
        "answer": "Save; Send",
        "question_type": "dynamic",
        "eval_function": "norm_phrase_set_match_ordered|separators=;",
    },
]


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FILES: dict[str, dict[str, Any]] = {
    "beam": {
        "100K/1/chat.json": [BEAM_CHAT],
        "100K/1/probing_questions/probing_questions.json": [BEAM_PROBES],
    },
    "halumem": {"halumem.jsonl": [HALUMEM]},
    "memoryagentbench": {"Conflict_Resolution.jsonl": [AGENT_BENCH]},
    "personamem": {
        "questions_32k.jsonl": [PERSONA_ROW],
        "shared_contexts_32k.jsonl": [PERSONA_CONTEXT],
    },
    "longmemeval-v2": {
        "questions.jsonl": WEB_QUESTIONS,
        "trajectories.jsonl": [TRAJECTORY],
        "haystacks/lme_v2_small.json": [
            {WEB_question["id"]: ["t1"] for WEB_question in WEB_QUESTIONS}
        ],
    },
}
"""By kind: its files, with a row per line."""


def write_files(folder: Path, files: dict[str, Any]) -> Path:
    for name, rows in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(lines(*rows), encoding="utf-8")
    return folder


def opened(kind: str, folder: Path) -> DatasetSuite:
    return KINDS[kind].open(folder, {}, seed=0)


def questions(suite: DatasetSuite) -> dict[str, Definition]:
    every = [
        (entry.name, place)
        for entry in suite.suite.entries
        for place in suite.places(entry.name)
    ]
    return {
        example: suite.definition(name, thread, example)
        for name, (thread, example) in every
    }


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return write_files(tmp_path / "data", FILES[request.param])


@pytest.mark.parametrize("folder", ["beam"], indirect=True)
def test_beam_is_told_without_its_plan_and_asked_with_claims_and_evidence(
    folder: Path,
) -> None:
    suite = opened("beam", folder)
    assert [one.message for one in suite.told("100K_1").history] == [
        "[2026/03/02 (Mon)] I keep nine hives.",
        "[2026/03/02 (Mon)] I painted them.",
    ]
    asked = questions(suite)
    fact, order = asked["information_extraction_1"], asked["event_ordering_1"]
    assert (fact.expected, fact.parameters["claims"]) == (["nine"], ["says nine"])
    assert fact.questions[0].about == ("s1_1",)
    assert (order.expected, order.parameters["match"]) == (["hives", "paint"], "order")
    assert order.questions[0].about == ("s1_1", "s2_1")
    assert asked["abstention_1"].parameters["never_told"] is True
    assert suite.notes == (
        "cut: plan indices behind what users say, such as ->-> 1,1: 2",
        "dates guessed: sessions without a time anchor have that of the one before: 1",
        "left out: evidence that the chat does not hold: 1",
    )


@pytest.mark.parametrize(
    "plans", [[BEAM_CHAT, BEAM_CHAT], [{"plan-1": BEAM_CHAT}, {"plan-2": BEAM_CHAT}]]
)
def test_a_chat_of_several_plans_is_told_plan_by_plan(
    tmp_path: Path, plans: Any
) -> None:
    folder = write_files(tmp_path, {**FILES["beam"], "100K/1/chat.json": [plans]})
    assert len(opened("beam", folder).told("100K_1").history) == 4


@pytest.mark.parametrize("folder", ["halumem"], indirect=True)
def test_halumem_asks_behind_each_session(folder: Path) -> None:
    [definition] = questions(opened("halumem", folder)).values()
    assert definition.steps[0] == Wait(history=1)
    assert definition.questions[0].about == ("s1_1",)


@pytest.mark.parametrize("folder", ["memoryagentbench"], indirect=True)
def test_memoryagentbench_tells_parts_and_matches_by_source(folder: Path) -> None:
    suite = opened("memoryagentbench", folder)
    told = suite.told("Conflict_Resolution_1")
    assert len(told.history) == 2
    assert "part by part" in told.opening
    assert [question.parameters["match"] for question in questions(suite).values()] == [
        "contains",
        "contains",
    ]


@pytest.mark.parametrize("folder", ["personamem"], indirect=True)
def test_personamem_asks_at_its_place_with_choices(folder: Path) -> None:
    suite = opened("personamem", folder)
    [definition] = questions(suite).values()
    assert definition.steps[0] == Wait(history=1)
    assert definition.questions[0].text == "What shall I bake?\n(a) Rye.\n(b) Spelt."
    assert definition.expected == ["b"]
    assert suite.told("32k_c1").history[1].message == "About me: Later."


def test_personamem_reads_tables_as_well(tmp_path: Path) -> None:
    write_files(tmp_path, {"shared_contexts_32k.jsonl": [PERSONA_CONTEXT]})
    with (tmp_path / "questions_32k.csv").open(
        "w", newline="", encoding="utf-8"
    ) as file:
        writer = csv.DictWriter(file, PERSONA_ROW)
        writer.writeheader()
        writer.writerow(PERSONA_ROW)
    assert list(questions(opened("personamem", tmp_path))) == ["q1"]


@pytest.mark.parametrize("folder", ["longmemeval-v2"], indirect=True)
def test_longmemeval_v2_tells_states_and_asks_by_its_rules(folder: Path) -> None:
    (folder / "shots").mkdir()
    (folder / "shots" / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    suite = opened("longmemeval-v2", folder)
    first, last = suite.told("lme_v2_small_1").history
    assert first.message == "Goal: Sell a lamp\nState: http://shop.test\n[1] Save"
    assert first.reply == "first\nAction: click(1)"
    assert [Path(image).name for image in first.images] == ["0.png"]
    assert last.message == "Outcome: success"
    asked = questions(suite)
    assert [
        asked[name].parameters.get("match") for name in ("q1", "q2", "q3", "q4")
    ] == ["set", None, None, "sequence"]
    assert asked["q2"].questions[0].text == "Which one?\n(A) Save\n(B) Send"
    assert [Path(image).name for image in asked["q2"].questions[0].images] == ["0.png"]
    assert asked["q3"].parameters["never_told"] is True


# --- faulty files: every field missing, or of a wrong type

IGNORED = {"batch_number", "index", "question_type"}


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all fields of a value, using only the first entry of each list."""
    if isinstance(value, list):
        return paths_of(value[0], (*path, 0)) if value else []
    if not isinstance(value, dict):
        return []
    return [
        way
        for name, one in value.items()
        for way in ((*path, name), *paths_of(one, (*path, name)))
    ]


CASES = [
    (kind, name, row, way)
    for kind, files in FILES.items()
    for name, rows in files.items()
    for row in range(min(len(rows), 2))
    for way in paths_of(rows[row])
]


def changed(
    kind: str, name: str, row: int, way: tuple[Any, ...], *value: Any
) -> dict[str, Any]:
    """Return a kind's files with one field missing or changed."""
    files = copy.deepcopy(FILES[kind])
    part: Any = files[name][row]
    for step in way[:-1]:
        part = part[step]
    if value:
        part[way[-1]] = value[0]
    else:
        del part[way[-1]]
    return files


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name", "row", "way"),
    CASES,
    ids=[".".join(map(str, (k, *w))) for k, _, _, w in CASES],
)
def test_a_field_missing_or_of_a_wrong_type_is_named_with_its_file(
    tmp_path: Path, kind: str, name: str, row: int, way: tuple[Any, ...]
) -> None:
    faults = []
    changes: list[tuple[Any, ...]] = [
        (),
        (7,),
        (None,),
        ([[]],),
        ({"x": [1]},),
        ("\x00",),
        (True,),
    ]
    for number, value in enumerate(changes):
        folder = write_files(
            tmp_path / str(number), changed(kind, name, row, way, *value)
        )
        try:
            opened(kind, folder)
        except DatasetError as error:
            faults.append(str(error))
    assert [
        fault
        for fault in faults
        if str(tmp_path) not in fault and "ltm-data-" not in fault
    ] == []


@pytest.mark.parametrize("folder", ["halumem"], indirect=True)
def test_what_does_not_fit_names_line_place_and_cure(folder: Path) -> None:
    file = folder / "halumem.jsonl"
    row: Any = copy.deepcopy(HALUMEM)
    row["sessions"][1]["dialogue"][0]["content"] = 7
    file.write_text(lines(HALUMEM, row))
    fault = (
        f"{file}:2: sessions[1].dialogue[0].content: Expected `str`, got `int`. {CURE}"
    )
    assert (
        f"left out, as it cannot be read: {fault}: 1" in opened("halumem", folder).notes
    )
    file.write_text(lines(row, row).replace("\n", "\n\n", 1))
    with pytest.raises(DatasetError) as raised:
        opened("halumem", folder)
    assert str(raised.value) == fault.replace(":2: ", ":1: ")


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b\x08", b"<html>", b'[{"turns": [', b"\xff\xfe{"]
)
def test_what_is_no_json_is_said_with_the_way_out(
    tmp_path: Path, content: bytes
) -> None:
    folder = write_files(tmp_path, FILES["beam"])
    (folder / "100K/1/chat.json").write_bytes(content)
    with pytest.raises(DatasetError, match=r"chat\.json"):
        opened("beam", folder)


def test_a_line_or_item_of_a_gigabyte_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ltm.datasets.rows.AT_ONCE", 50)
    with pytest.raises(
        DatasetError,
        match=r"chat\.json: item 1: has \d+ bytes, and at most 50 are read at once",
    ):
        opened("beam", write_files(tmp_path, FILES["beam"]))


def test_a_missing_path_and_a_folder_without_files_say_what_to_do(
    tmp_path: Path,
) -> None:
    for kind, dataset in KINDS.items():
        with pytest.raises(DatasetError, match=f"{kind} is not shipped: download it"):
            dataset.open(None, {}, seed=0)
        with pytest.raises(DatasetError, match="there is no such file or folder"):
            opened(kind, tmp_path / "none")
        with pytest.raises(DatasetError, match=r"there is no .* in it"):
            opened(kind, tmp_path)


@pytest.mark.parametrize("folder", ["beam"], indirect=True)
def test_a_conversion_is_kept_until_the_files_change(
    folder: Path, tmp_path: Path
) -> None:
    suites = [
        KINDS["beam"].open(folder, {}, seed=0, cache=tmp_path / "cache")
        for _ in range(2)
    ]
    assert len({suite.suite.path for suite in suites}) == 1
    (folder / "100K/1/chat.json").write_text(lines([*BEAM_CHAT, *BEAM_CHAT]))
    assert (
        KINDS["beam"].open(folder, {}, seed=0, cache=tmp_path / "cache").suite.path
        != suites[0].suite.path
    )


@pytest.mark.parametrize("folder", ["personamem"], indirect=True)
def test_the_command_writes_a_file_and_a_table_of_what_was_cut(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "logs.jsonl"
    assert main(["data", "convert", "personamem", str(folder), "-o", str(out)]) == 0
    shown = capsys.readouterr().err
    assert f"{out}: 2 sessions, 5 turns, 1 question\n" in shown
    assert (
        "        3  cut: the words User: and Assistant: before what they say\n" in shown
    )
    assert json.loads(out.read_text().splitlines()[0])["source"] == "PersonaMem"
    assert main(["data", "convert", "personamem", str(folder), "-o", str(out)]) == 2
    assert "is not overwritten" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "questions"),
    [
        ("beam", 3),
        ("halumem", 1),
        ("memoryagentbench", 2),
        ("personamem", 1),
        ("longmemeval-v2", 4),
    ],
    indirect=["folder"],
)
def test_each_kind_is_played_and_the_oracle_is_never_wrong(
    folder: Path,
    questions: int,
    pytester: pytest.Pytester,
    request: pytest.FixtureRequest,
) -> None:
    kind = request.node.callspec.params["folder"]
    run = pytester.runpytest_inprocess(
        f"--ltm-suite={kind}?data={folder}", "--ltm-agent=oracle", "-q"
    )
    outcomes = run.parseoutcomes()
    assert outcomes.get("passed", 0) + outcomes.get("skipped", 0) == questions, (
        run.stdout.str()
    )
    assert run.ret == 0


@pytest.mark.slow
@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the described formats are not beside the project"
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_described_sample_of_each_kind_is_played(
    kind: str, pytester: pytest.Pytester
) -> None:
    suite = KINDS[kind].open(SHARED / kind, {}, seed=0, cache=pytester.path / "cache")
    asked = [
        place for entry in suite.suite.entries for place in suite.places(entry.name)
    ]
    run = pytester.runpytest_inprocess(
        f"--ltm-suite={kind}?data={SHARED / kind}", "--ltm-agent=full", "-q"
    )
    outcomes = run.parseoutcomes()
    assert outcomes.keys() <= {"passed", "failed", "skipped"}, run.stdout.str()
    assert sum(outcomes.values()) == len(asked) > 0


LOCOMO = {
    "sample_id": "c1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {
                "speaker": "Ann",
                "dia_id": "D1:1",
                "text": "I moved to Turku.",
                "blip_caption": "a harbour",
            },
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely."},
        ],
    },
    "qa": [
        {
            "question": "Where is Ann?",
            "answer": "Turku",
            "evidence": ["D1:1"],
            "category": 4,
        },
        {
            "question": "Where is Ben?",
            "adversarial_answer": "Turku",
            "evidence": ["D1:1"],
            "category": 5,
        },
    ],
}
RECORD = {
    "question_id": "r1",
    "question_type": "single-session-user",
    "question": "Where do I live?",
    "answer": "Turku",
    "question_date": "2023/05/30 (Tue) 23:40",
    "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 2,
    "haystack_session_ids": ["s", "s"],
    "answer_session_ids": ["s"],
    "haystack_sessions": [
        [
            {"role": "user", "content": "I live in Turku.", "has_answer": True},
            {"role": "assistant", "content": ""},
        ]
    ]
    * 2,
}


@pytest.mark.parametrize(
    ("kind", "rows", "asked"),
    [
        (
            "locomo",
            [LOCOMO],
            [("single_hop", "Turku", ["D1_1"], False), ("adversarial", None, [], True)],
        ),
        (
            "longmemeval",
            [RECORD],
            [("single_session_user", "Turku", ["s_1", "s~2_1"], False)],
        ),
    ],
)
def test_data_sets_with_suites_of_their_own_are_converted_as_well(
    kind: str, rows: Any, asked: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    file, out = tmp_path / "data.json", tmp_path / "logs.jsonl"
    file.write_text(json.dumps(rows), encoding="utf-8")
    assert main(["data", "convert", kind, str(file), "-o", str(out)]) == 0
    questions = [
        row
        for line in out.read_text().splitlines()
        if "question" in (row := json.loads(line))
    ]
    assert [
        (
            question["kind"],
            question.get("gold"),
            question.get("evidence", []),
            question.get("never_told", False),
        )
        for question in questions
    ] == asked
    assert LOGS.open(out, {}, seed=0).told("c1" if kind == "locomo" else "r1").history


# --- Unreadable rows, shapes of published files, and their sources.


def test_one_row_that_cannot_be_read_never_costs_the_folder(tmp_path: Path) -> None:
    files = copy.deepcopy(FILES["beam"])
    probes = files["100K/1/probing_questions/probing_questions.json"][0]
    probes["information_extraction"].append({"question": 7, "rubric": []})
    files["100K/2/chat.json"] = ["not a chat"]
    files["100K/2/probing_questions.json"] = [BEAM_PROBES]
    files["100K/3/chat.json"] = [BEAM_CHAT]
    suite = opened("beam", write_files(tmp_path, files))
    assert len(questions(suite)) == 3
    unreadable = [note for note in suite.notes if "cannot be read" in note]
    assert len(unreadable) == 3
    for place in ("information_extraction 2", "2/chat.json", "100K/3"):
        assert [note for note in unreadable if place in note] != []


@pytest.mark.parametrize(
    "ids",
    [
        [0, [2]],
        [[0], [2, "--"]],
        {"a": [0], "b": []},
        {"a": [[0]], "b": 2},
        [],
        None,
        0,
    ],
)
def test_ids_of_evidence_are_found_however_they_are_nested(
    tmp_path: Path, ids: Any
) -> None:
    files = copy.deepcopy(FILES["beam"])
    probes = files["100K/1/probing_questions/probing_questions.json"][0]
    probes["information_extraction"][0]["source_chat_ids"] = ids
    suite = opened("beam", write_files(tmp_path, files))
    cited = questions(suite)["information_extraction_1"].questions[0].about
    shown = json.dumps(ids)
    expected = {"s1_1": "0" in shown, "s2_1": "2" in shown}
    assert set(cited) == {name for name, named in expected.items() if named}


@pytest.mark.parametrize(
    "mark",
    ["->-> 1,5)", "->-> 2,22, 24", "->> 2,N/A", "-> 1,1", "->->1,2.", "-->-> 3,4"],
)
def test_every_form_of_a_plan_index_is_cut(tmp_path: Path, mark: str) -> None:
    chat = copy.deepcopy(BEAM_CHAT)
    first: Any = chat[0]["turns"]
    first[0][0]["content"] = f"I keep hives -> see 2, or a->b. {mark}"
    folder = write_files(tmp_path, {**FILES["beam"], "100K/1/chat.json": [chat]})
    [told, *_] = opened("beam", folder).told("100K_1").history
    assert told.message == "[2026/03/02 (Mon)] I keep hives -> see 2, or a->b."


def test_a_truncated_history_is_told_in_the_place_of_the_whole(tmp_path: Path) -> None:
    files = {**FILES["beam"], "100K/1/chat_trunecated.json": [BEAM_CHAT[:1]]}
    suite = opened("beam", write_files(tmp_path, files))
    assert len(suite.told("100K_1").history) == 1
    assert "played: histories truncated by their authors: 1" in suite.notes


def test_files_of_parquet_are_read_as_lines_are(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = copy.deepcopy(AGENT_BENCH) | {"answers": [["Ost"], ["Ost", "ost"]]}
    (tmp_path / "lines").mkdir()
    (tmp_path / "table").mkdir()
    (tmp_path / "lines" / "Split.jsonl").write_text(lines(row, row))
    table = arrow.Table.from_pylist([row, row])
    parquet.write_table(table, tmp_path / "table" / "Split.parquet")
    suites = [
        opened("memoryagentbench", tmp_path / name) for name in ("lines", "table")
    ]
    assert questions(suites[0]) == questions(suites[1])
    messages = {suite.told("Split_2").history[0].message for suite in suites}
    assert len(messages) == 1


def test_the_commit_of_a_download_from_the_hub_is_in_the_notes(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "datasets--org--set" / "snapshots" / commit
    write_files(cached, FILES["halumem"])
    address = f"from the hub: datasets/org/set at {commit}"
    assert hub_address(cached) == address
    assert address in opened("halumem", cached).notes
    own = write_files(tmp_path / "set", FILES["halumem"])
    assert hub_address(own) == ""
    mark = own / ".cache" / "huggingface" / "download" / "halumem.jsonl.metadata"
    mark.parent.mkdir(parents=True)
    mark.write_text(f"{commit}\nabc\n1.0\n")
    assert hub_address(own / "halumem.jsonl") == f"from the hub: set at {commit}"


DATA = Path(__file__).parents[4] / "shared" / "data"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "beam").is_dir(), reason="no published files of BEAM")
def test_published_chats_and_all_question_files_of_beam_are_read() -> None:
    suite = opened("beam", DATA / "beam" / "100K")
    places = [suite.places(entry.name) for entry in suite.suite.entries]
    assert sum(map(len, places)) == 80
    assert [note for note in suite.notes if "cannot be read" in note] == []
    assert "played: histories truncated by their authors: 1" in suite.notes
    for thread in ("100K_1", "100K_4", "100K_5", "100K_13"):
        told = suite.told(thread).history
        assert [past.message for past in told if "->->" in past.message] == []
    packed = gzip.decompress(
        (DATA / "beam" / "probing_questions_all.json.gz").read_bytes()
    )
    turns = {number: f"s1_{number}" for number in range(60_000)}
    total, cited, counts = 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for probes in json.loads(packed).values():
            Path(folder, "probing_questions.json").write_text(json.dumps(probes))
            asked = list(beam_questions(Path(folder, "chat.json"), turns, counts))
            total += len(asked)
            cited += sum(bool(question.evidence) for question in asked)
    assert (total, [why for why in counts if "cannot be read" in why]) == (2000, [])
    assert cited >= 1_780


@pytest.mark.slow
@pytest.mark.skipif(
    not (DATA / "personamem").is_dir(), reason="no published files of PersonaMem"
)
def test_published_contexts_of_personamem_are_read() -> None:
    suite = opened("personamem", DATA / "personamem")
    assert len(questions(suite)) == 37
    assert [note for note in suite.notes if "cannot be read" in note] == []
    assert {entry.name for entry in suite.suite.entries} != set()


@pytest.mark.parametrize("folder", ["longmemeval-v2"], indirect=True)
@pytest.mark.parametrize("protocol", ["ours", "official"])
def test_the_official_protocol_makes_the_published_figure_the_score(
    folder: Path, protocol: str
) -> None:
    suite = KINDS["longmemeval-v2"].open(folder, {"protocol": protocol}, seed=0)
    score = LogsAnswer(questions(suite)["q1"])
    # more than the two boxed phrases: correct by the published rule, not by ours
    reply = "\\boxed{Save, Send, Undo}"
    verdict = score([reply])
    assert isinstance(verdict, Score)
    assert verdict.value == float(protocol == "official")
    assert score.metrics(reply)["official"] == 1.0


@pytest.mark.parametrize("folder", ["beam"], indirect=True)
def test_an_order_has_the_published_figure_beside_ours(folder: Path) -> None:
    order = questions(opened("beam", folder))["event_ordering_1"]
    for reply, official in (("hives\npaint", 1.0), ("paint\nhives", 0.0)):
        score = LogsAnswer(order)
        verdict = score([reply])
        assert isinstance(verdict, Score)
        assert verdict.value == score.metrics(reply)["official"] == official

"""The prompts of a user's file are used word for word, and stand in plan and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from chat_server import Asked, ChatServer
from longmemeval_files import records, written

from pytest_ltm._core.model.judge import CUT, PROMPTS, Inquiry
from pytest_ltm._core.model.score import Unscored
from pytest_ltm._core.storage.errors import DatasetError
from pytest_ltm.datasets import LONGMEMEVAL
from pytest_ltm.datasets.longmemeval.conversations import LongMemEvalSuite
from pytest_ltm.datasets.prompt_file import load_prompts

KINDS = ("knowledge-update", "abstention")
FILE = """\
opening: "Listen: {not a part}"
question: "On {date} I ask you, briefly: {question}"
judge:
  default: |
    Q={question}
    R={reference}
    A={answer}   (answer yes or no){{}}
  abstention: "Is {answer} a refusal? "
parameters: {temperature: 0.25, max_tokens: 7}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "words.yml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_texts_are_read_as_they_stand(file: Path) -> None:
    prompts = load_prompts(file, KINDS)
    assert prompts.opening == "Listen: {not a part}"
    assert (
        prompts.ask("Where?", "2023/05/30")
        == "On 2023/05/30 I ask you, briefly: Where?"
    )
    assert prompts.judge_text("abstention") == "Is {answer} a refusal? "
    assert prompts.judge_text("knowledge-update").endswith("(answer yes or no){{}}\n")
    assert prompts.parameters == {"temperature": 0.25, "max_tokens": 7}
    assert prompts.note.startswith("prompts of words.yml (sha256:")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("question: 'Where?'", r"does not name \{question\}"),
        ("question: '{question} {nothing}'", r"nobody fills in \{nothing\}"),
        ("judge: {default: 'x'}", r"does not name \{answer\}"),
        ("judge: {other: '{answer}'}", "other"),
        ("question: '{question'", "braces"),
        ("parameters: {temperature: 0}", "holds no prompt"),
        ("words: x", "words"),
        ("parameters: 7\nopening: x", "names and values"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(
    tmp_path: Path, content: str, fault: str
) -> None:
    path = tmp_path / "words.yml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DatasetError, match=rf"words\.yml.*{fault}"):
        load_prompts(path, KINDS)


def opened(tmp_path: Path, **options: str) -> LongMemEvalSuite:
    data = written(tmp_path / "data.json", records())
    return cast("LongMemEvalSuite", LONGMEMEVAL.open(data, options, seed=0))


def test_another_word_in_the_file_makes_another_plan(
    tmp_path: Path, file: Path
) -> None:
    def plan() -> Any:
        suite = opened(tmp_path, prompts=str(file), protocol="official")
        definition = suite.definition("knowledge_update", "kiln", "0")
        described: Any = suite.told("kiln").described
        return definition, described["prompts"]

    before = plan()
    assert before[0].parameters["judge"] == "all"
    assert before == plan()
    file.write_text(FILE.replace("briefly", "shortly"), encoding="utf-8")
    assert before[0] != plan()[0]
    assert before[1] != plan()[1]


def test_the_official_protocol_in_our_words_says_so(tmp_path: Path) -> None:
    [note, *_] = opened(tmp_path, protocol="official").notes
    assert "in our words" in note
    assert (
        "judge_prompt"
        not in opened(tmp_path).definition("knowledge_update", "kiln", "0").parameters
    )


def test_a_written_prompt_is_graded_as_published_and_ours_are_not() -> None:
    written_prompt = Inquiry(
        prompt="p",
        version=1,
        text="?",
        grades=("yes", "no"),
        fail="no",
        verbatim=True,
    )
    assert written_prompt.grade_in("Yes, it does.") == "yes"
    assert written_prompt.grade_in("It does not.") == "no"
    assert written_prompt.grade_in("<think>Yes?</think>It does not.") == "no"
    for reply in ("", " \n", "<think>Yes.</think>", f"Yes, it does{CUT}"):
        assert isinstance(written_prompt.grade_in(reply), Unscored), reply
    ours = PROMPTS["answer"].inquiry(**dict.fromkeys(PROMPTS["answer"].parts, "x"))
    assert ours.grade_in("Yes, it does.") not in ("yes", "no")


@pytest.mark.slow
def test_what_servers_are_asked_equals_the_file_in_each_role(
    tmp_path: Path, file: Path, chat_server: ChatServer, pytester: pytest.Pytester
) -> None:
    data = written(tmp_path / "data.json", records())
    asked: list[Asked] = chat_server.requests
    chat_server.default = lambda request: (
        "yes" if request.body["model"] == "judge-m" else "A reply with {braces}."
    )
    run = pytester.runpytest_subprocess(
        f"--ltm-suite=longmemeval?data={data}&ids=kiln&protocol=official&prompts={file}",
        f"--ltm-agent=openai:agent-m@{chat_server.url}",
        f"--ltm-judge=openai:judge-m@{chat_server.url}?canaries=off",
        "-v",
    )
    assert run.parseoutcomes() == {"passed": 1}, run.stdout.str()
    run.stdout.fnmatch_lines(["*prompts of words.yml (sha256:*word for word*"])
    [record] = [row for row in records() if row["question_id"] == "kiln"]
    questions = [
        message["content"]
        for request in asked
        if request.body["model"] == "agent-m"
        for message in request.messages
    ]
    wanted = f"On {record['question_date']} I ask you, briefly: {record['question']}"
    assert wanted in questions
    assert "Listen: {not a part}" in questions
    judged = [
        request.body
        for request in asked
        if request.body["model"] == "judge-m" and request.last.startswith("Q=")
    ]
    wording = (
        f"Q={record['question']}\nR={record['answer']}\n"
        "A=A reply with {braces}.   (answer yes or no){}\n"
    )
    assert [body["messages"] for body in judged] == [
        [{"role": "user", "content": wording}]
    ]
    assert judged[0]["temperature"] == 0.25
    assert judged[0]["max_tokens"] == 7
    assert "response_format" not in judged[0]
    [plan] = pytester.path.glob(".ltm/runs/*/*/plan.json")
    assert (
        json.dumps(FILE.partition("default: |")[2].splitlines()[1].strip())[1:-1]
        in plan.read_text()
    )

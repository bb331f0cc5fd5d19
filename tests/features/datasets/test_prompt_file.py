"""The prompts of a user's file are used word for word, and appear in plan and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from chat_server import Asked, ChatServer
from locomo_files import second, talk
from locomo_files import written as written_locomo
from longmemeval_files import records, written

from pytest_ltm.api.model import Unscored
from pytest_ltm.api.scenarios import CUT, PROMPTS, Inquiry
from pytest_ltm.api.storage import ConfigurationError, DatasetError
from pytest_ltm.datasets import LOCOMO, LONGMEMEVAL
from pytest_ltm.datasets.locomo.locomo_suite import LocomoSuite
from pytest_ltm.datasets.longmemeval.conversations import LongMemEvalSuite
from pytest_ltm.datasets.prompt_file import load_prompts

KINDS = {"knowledge-update": ("date",), "abstention": ("date",)}
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
    asked = prompts.ask("abstention", question="Where?", date="2023/05/30")
    assert asked == "On 2023/05/30 I ask you, briefly: Where?"
    texts = [prompts.facts_of(kind)["judge_prompt"]["text"] for kind in KINDS]
    assert texts[0].endswith("(answer yes or no){{}}\n")
    assert texts[1] == "Is {answer} a refusal? "
    assert prompts.parameters == {"temperature": 0.25, "max_tokens": 7}
    assert prompts.note.startswith("prompts of words.yml (sha256:")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("question: 'Where?'", r"does not name \{question\}"),
        ("question: '{question} {nothing}'", r"unknown placeholder \{nothing\}"),
        ("judge: {default: 'x'}", r"does not name \{answer\}"),
        ("judge: {other: '{answer}'}", "other"),
        ("question: '{question'", "braces"),
        ("question: {other: '{question}'}", "other"),
        ("question: {abstention: '{question} {a}'}", r"unknown placeholder \{a\}"),
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
    run = pytester.runpytest_inprocess(
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


# --- LoCoMo.

LOCOMO_FILE = """\
opening: "Two people talk. {not a part}"
question:
  default: "Briefly: {question}"
  temporal: "Briefly, with a date: {question}"
  adversarial: "{question} Take one. (a) {a} (b) {b}"
judge:
  default: "Q={question} R={reference} A={answer} (yes or no)"
  adversarial: "Does {answer} decline? {{}}"
parameters: {temperature: 0.5}
"""


def opened_locomo(tmp_path: Path, content: str, **options: str) -> LocomoSuite:
    data = written_locomo(tmp_path / "talks.json", [talk(), second()])
    words = tmp_path / "locomo.yml"
    words.write_text(content, encoding="utf-8")
    values = {**options, "prompts": str(words)}
    return cast("LocomoSuite", LOCOMO.open(data, values, seed=0))


def test_questions_of_locomo_are_asked_in_the_words_of_their_category(
    tmp_path: Path,
) -> None:
    suite = opened_locomo(tmp_path, LOCOMO_FILE)
    plain = cast("LocomoSuite", LOCOMO.open(tmp_path / "talks.json", {}, seed=0))
    for entry in ("temporal", "adversarial", "single_hop"):
        thread, example = suite.places(entry)[0]
        definition = suite.definition(entry, thread, example)
        facts, [ask] = definition.parameters, definition.questions
        choices = [*facts["choices"], "", ""][:2]
        assert (
            ask.text
            == {
                "temporal": f"Briefly, with a date: {facts['question']}",
                "adversarial": f"{facts['question']} Take one. (a) {choices[0]} (b) {choices[1]}",
                "single_hop": f"Briefly: {facts['question']}",
            }[entry]
        )
        ours = plain.definition(entry, thread, example)
        assert "judge_prompt" not in ours.parameters
        assert ours.parameters["choices"] == facts["choices"]
        assert ours.expected == definition.expected
    described: Any = suite.told("conv_1").described
    assert len(described["prompts"]) == 64
    assert suite.told("conv_1").opening == "Two people talk. {not a part}"
    described = plain.told("conv_1").described
    assert "prompts" not in described


@pytest.mark.parametrize(
    ("content", "options", "fault"),
    [
        ("question: '{question} {date}'", {}, r"unknown placeholder \{date\}"),
        ("question: {default: '{question} {a}'}", {}, r"unknown placeholder \{a\}"),
        (
            "question: {adversarial: '{question} {a}'}",
            {"asking": "free"},
            r"unknown placeholder \{a\}",
        ),
        ("judge: {events: '{answer}'}", {}, "events"),
    ],
)
def test_a_file_that_locomo_cannot_use_is_refused(
    tmp_path: Path, content: str, options: dict[str, str], fault: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"locomo\?prompts: .*{fault}"):
        opened_locomo(tmp_path, content, **options)


@pytest.mark.slow
def test_what_servers_are_asked_about_locomo_equals_the_file_in_each_role(
    tmp_path: Path, chat_server: ChatServer, pytester: pytest.Pytester
) -> None:
    suite = opened_locomo(tmp_path, LOCOMO_FILE, conversations="conv-2")
    words, data = tmp_path / "locomo.yml", tmp_path / "talks.json"
    asked: list[Asked] = chat_server.requests
    chat_server.default = lambda request: (
        "yes" if request.body["model"] == "judge-m" else "A reply with {braces}."
    )
    pytester.runpytest_inprocess(
        f"--ltm-suite=locomo?data={data}&conversations=conv-2&prompts={words}",
        f"--ltm-agent=openai:agent-m@{chat_server.url}",
        f"--ltm-judge=openai:judge-m@{chat_server.url}?canaries=off",
    )
    sent = {
        (request.body["model"], message["content"])
        for request in asked
        for message in request.messages
    }
    assert ("agent-m", "Two people talk. {not a part}") in sent
    [entry] = [entry.name for entry in suite.suite.entries]
    for thread, example in suite.places(entry):
        definition = suite.definition(entry, thread, example)
        question = definition.parameters["question"]
        assert ("agent-m", f"Briefly: {question}") in sent
        answer = "A reply with {braces}."
        judged = f"Q={question} R={definition.expected} A={answer} (yes or no)"
        assert ("judge-m", judged) in sent

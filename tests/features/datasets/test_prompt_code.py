"""Prompts are read from the code of a benchmark's authors, whose variable names tell the purpose of each part."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from locomo_files import second, talk
from locomo_files import written as written_locomo
from longmemeval_files import records, written

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets import LOCOMO, LONGMEMEVAL
from pytest_ltm.datasets.locomo.locomo_suite import LocomoSuite
from pytest_ltm.datasets.longmemeval.conversations import LongMemEvalSuite
from pytest_ltm.datasets.prompt_file import (
    PromptFile,
    fill_verbatim,
    limited_answer,
    load_prompts,
)

KINDS = {
    "knowledge-update": ("date",),
    "multi-session": ("date",),
    "abstention": ("date",),
}
GRADER = """
import openai

def grading_text(task, question, answer, response, abstention=False):
    if not abstention:
        if task in ["multi-session", "single-session"]:
            template = "Is it right? {} / {} / {} {{}}"
        elif task == 'knowledge-update':
            template = ("Is it up to date? "
                        "{} / {} / {}")
        else:
            raise NotImplementedError("no prompt for {}".format(task))
        prompt = template.format(question, answer, response)
    else:
        prompt = f"Does {response} decline {question}? It is so: {answer}"
    return prompt

def grade(client, prompt, question):
    print("Warning: nothing is known of {}".format(question))
    arguments = {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": 7}
    return client.create(model="m", **arguments)
"""
ASKER = """
def ask(client, entry, history_text, steps=False, notes=None):
    if notes is None:
        if steps:
            template = "Our chats:\\n{}\\nOn {}: {} Answer step by step."
        else:
            template = "Our chats:\\n{}\\nOn {}: {} Answer {{briefly}}."
    else:
        template = "Our notes:\\n{}\\nOn {}: {}"
    prompt = template.format(history_text, entry["question_date"], entry["question"])
    return client.create(messages=[{"role": "user", "content": prompt}], max_tokens=5)
"""
TWO_GRADERS = """def f(question, answer, response):
    first = f"Is {response} what {question} asks?"
    second = f"Does {response} answer {question}?"
"""
WITH_CHOICES = """def f(question, a, b):
    return f"{question} Which one: {a} or {b}?"
"""


def loaded(folder: Path, **files: str) -> PromptFile:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content, encoding="utf-8")
    return load_prompts(folder, KINDS)


def judged(prompts: PromptFile, kind: str) -> str:
    parts = {"question": "Q", "reference": "R", "answer": "A"}
    return fill_verbatim(prompts.facts_of(kind)["judge_prompt"]["text"], parts)


def test_conditions_say_which_kind_of_question_a_text_is_for(tmp_path: Path) -> None:
    prompts = loaded(tmp_path, grader=GRADER)
    assert judged(prompts, "multi-session") == "Is it right? Q / R / A {}"
    assert judged(prompts, "knowledge-update") == "Is it up to date? Q / R / A"
    assert judged(prompts, "abstention") == "Does A decline Q? It is so: R"
    assert prompts.parameters == {"temperature": 0, "max_tokens": 7}
    assert not prompts.question
    assert not prompts.limit


def test_a_question_behind_a_history_is_asked_as_if_nothing_were_switched_on(
    tmp_path: Path,
) -> None:
    prompts = loaded(tmp_path, asker=ASKER, grader=GRADER)
    assert prompts.opening == "Our chats:"
    wanted = "On 2023/05/30: Where? Answer {briefly}."
    assert prompts.ask("multi-session", question="Where?", date="2023/05/30") == wanted
    assert prompts.limit == 5
    assert prompts.parameters["max_tokens"] == 7


def test_a_text_of_another_module_is_found_by_its_name(tmp_path: Path) -> None:
    texts = 'GRADE = "Compare {reference_answer}\\nwith {response}."\n'
    grader = (
        "from texts import GRADE\n\ndef grade(**all):\n    return GRADE.format(**all)\n"
    )
    prompts = loaded(tmp_path, texts=texts, grader=grader)
    assert judged(prompts, "abstention") == "Compare R\nwith A."


def test_only_what_is_used_makes_the_hash(tmp_path: Path) -> None:
    before = loaded(tmp_path / "a", grader=GRADER)
    same = loaded(tmp_path / "b", grader=f"# a remark\n{GRADER}")
    other = loaded(tmp_path / "c", grader=GRADER.replace("up to date", "current"))
    assert before.sha256 == same.sha256 != other.sha256
    assert before.note.startswith("prompts of a (sha256:")


def test_code_is_read_and_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"open({str(mark)!r}, 'w')\n{GRADER}"
    loaded(tmp_path / "code", grader=source, broken="def (:\n", old="print 'two'\n")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("x = 1\n", "no text is filled in with a question or an answer"),
        (
            "def f(task, response):\n    return f'Parsed output: {response}'\n",
            "no text",
        ),
        (
            TWO_GRADERS,
            r"more than one text for 'default' questions: code\.py:2, code\.py:3",
        ),
        (WITH_CHOICES, "values inserted into its texts are unknown"),
    ],
)
def test_code_without_a_prompt_or_with_two_is_refused(
    tmp_path: Path, content: str, fault: str
) -> None:
    with pytest.raises(DatasetError, match=fault):
        loaded(tmp_path, code=content)


def test_suites_ask_in_the_words_of_the_code(tmp_path: Path) -> None:
    loaded(tmp_path / "code", asker=ASKER, grader=GRADER)
    data = written(tmp_path / "data.json", records())
    values = {"prompts": str(tmp_path / "code"), "protocol": "official"}
    suite = cast("LongMemEvalSuite", LONGMEMEVAL.open(data, values, seed=0))
    definition = suite.definition("knowledge_update", "kiln", "0")
    assert definition.questions[0].text.endswith("Answer {briefly}.")
    assert definition.parameters["answer_limit"] == 5
    assert "up to date" in definition.parameters["judge_prompt"]["text"]


def test_a_text_for_all_leaves_questions_of_two_choices_as_they_are(
    tmp_path: Path,
) -> None:
    loaded(
        tmp_path / "code", asker='SHORT = "In short: {} Say:"\nSHORT.format(question)\n'
    )
    data = written_locomo(tmp_path / "talks.json", [talk(), second()])
    options = {"prompts": str(tmp_path / "code")}
    suite = cast("LocomoSuite", LOCOMO.open(data, options, seed=0))
    plain = cast("LocomoSuite", LOCOMO.open(data, {}, seed=0))
    for entry in ("temporal", "adversarial"):
        thread, example = suite.places(entry)[0]
        [asked] = suite.definition(entry, thread, example).questions
        [ours] = plain.definition(entry, thread, example).questions
        assert asked.text.startswith("In short: ") == (entry == "temporal")
        assert (asked.text == ours.text) == (entry == "adversarial")


def test_an_answer_is_scored_up_to_the_limit() -> None:
    facts = {"answer_limit": 3}
    assert limited_answer(facts, "It is in Riga, I think.") == "It is in"
    assert limited_answer(facts, "Riga.") == "Riga."
    assert limited_answer({}, "It is in Riga, I think.") == "It is in Riga, I think."
    assert limited_answer(facts, " " * 100_000) != " " * 100_000

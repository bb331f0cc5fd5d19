from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_ltm.api.scenarios import PROMPTS
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.judges.judge_registry import NamedJudge, find_judge

MODULE = """
class Kind:
    def assess(self, inquiry):
        return f"{inquiry.prompt} GRADE: yes"

class Told(Kind):
    def configuration(self):
        return {"model": "m"}

class Callable:
    def __call__(self, question):
        return "GRADE: no"

def plain(question):
    return "GRADE: no " * question.count("GRADE")

def factory():
    return Kind()

instance = Kind()
number = 7

class Failing:
    def __init__(self):
        raise RuntimeError("no model here")
"""


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "some_judges.py").write_text(MODULE)
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("some_judges", None)


def found(spec: str, base: Path | None = None) -> NamedJudge:
    judge = find_judge(spec, base=base)
    assert judge is not None
    return judge


def reply(judge: NamedJudge) -> str:
    said = judge.judge.assess(PROMPTS["statement"].inquiry(question="?", answer="!"))
    assert isinstance(said, str)
    return said


def test_none_is_no_judge() -> None:
    assert find_judge("none") is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Kind", "statement GRADE: yes"),
        ("instance", "statement GRADE: yes"),
        ("factory", "statement GRADE: yes"),
        ("Callable", "GRADE: no"),
        ("plain", "GRADE: no GRADE: no "),
    ],
)
def test_a_dotted_path_names_a_class_an_object_a_factory_or_a_function(
    name: str, said: str, base: Path
) -> None:
    judge = found(f"some_judges:{name}", base)
    assert reply(judge) == said
    assert judge.configuration is None


def test_only_a_judge_that_tells_its_configuration_can_be_remembered(
    base: Path,
) -> None:
    assert found("some_judges:Told", base).configuration == {"model": "m"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rulez", "unknown judge 'rulez'. Did you mean 'rules'?"),
        ("openai", "unknown judge 'openai'. Did you mean 'openai:MODEL'?"),
        (
            "some_judges:number",
            "is a int, which cannot be asked. It needs assess(question) -> str",
        ),
        (
            "some_judges:Failing",
            "'some_judges:Failing' cannot be made: RuntimeError: no model here",
        ),
        ("some_judges:Kin", "has no 'Kin'. Did you mean 'Kind'?"),
        ("no_such_module:Judge", "there is no module 'no_such_module'"),
    ],
)
def test_a_wrong_spec_is_told_with_its_cure(
    spec: str, message: str, base: Path
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_judge(spec, base=base)
    assert message in str(caught.value)


def test_the_embedded_judges_give_grades_of_the_menu() -> None:
    dish = PROMPTS["restaurant-dish"]
    inquiry = dish.inquiry(said="Yes?", answer="The pie.", dishes="1. Pie")
    assert found("always-no").judge.assess(inquiry) == "GRADE: none"
    assert found("always-yes").judge.assess(
        PROMPTS["answer"].inquiry(question="", answer="", reference="")
    ) == ("GRADE: yes")


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("It leaves at 21:40.", True),
        ("At 21:14.", False),
        ("I don't know, perhaps at 21:40.", False),
        ("It does not leave at 21:40.", False),
        ("In the evening.", False),
    ],
)
def test_the_judge_without_a_model_compares_words_and_numbers(
    answer: str, passes: bool
) -> None:
    inquiry = PROMPTS["answer"].inquiry(
        question="When does the train leave?", answer=answer, reference="at 21:40"
    )
    said = found("rules").judge.assess(inquiry)
    assert isinstance(said, str)
    assert said.endswith("GRADE: yes") is passes


def test_where_declining_is_right_the_judge_without_a_model_passes_it_and_nothing_else() -> (
    None
):
    for answer, passes in (("You never told me.", True), ("She is a botanist.", False)):
        inquiry = PROMPTS["answer"].inquiry(
            question="What does she do?",
            answer=answer,
            reference="You have not mentioned what she does.",
        )
        assert (
            str(found("rules").judge.assess(inquiry)).endswith("GRADE: yes") is passes
        )


def test_a_plan_names_the_judge_and_the_versions_of_its_prompts() -> None:
    described = found("rules").plan_entry
    assert described.startswith("rules (answer/")
    assert all(prompt.id in described for prompt in PROMPTS.values())

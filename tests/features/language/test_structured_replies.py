"""Structured replies: only the answering field of a JSON, YAML or XML object is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_ltm.evaluators import AnswersWord, ListsNames
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.speech import speech

ANSWER = "You live in Riga."
NAMES = ("answer", "finalAnswer", "reply", "response_text", "my-solution", "Antwort")
CONTAINERS = ("data", "result", "payload", "output", "item", "response")
ASIDES: dict[str, Any] = {
    "previous_city": "Oporto",
    "reasoning": "First Malmo, then Oporto.",
    "confidence": 0.9,
    "sources": ["Oporto lease", "Malmo note"],
    "followUps": ["Where is Oporto?", "And Malmo?"],
    "usage": {"total_tokens": 512},
    "status": "ok",
    "note": "Oporto was before.",
    "found": True,
    "error": None,
}


def write_json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, indent=2)


def write_python(fields: dict[str, Any]) -> str:
    return repr(fields)


def write_yaml(fields: dict[str, Any], indent: str = "") -> str:
    lines: list[str] = []
    for name, value in fields.items():
        key = f"{indent}{name[0].lower()}{name[1:]}:"
        if isinstance(value, dict):
            lines += [key, write_yaml(value, indent + "  ")]
        elif isinstance(value, list):
            lines += [key, *(f"{indent}  - {item}" for item in value)]
        else:
            lines.append(f"{key} {value}")
    return "\n".join(lines)


def write_xml(fields: dict[str, Any]) -> str:
    parts: list[str] = []
    for name, value in fields.items():
        content = write_xml(value) if isinstance(value, dict) else f"{value}"
        parts.append(f"<{name}>{content}</{name}>")
    return "\n".join(parts)


def write_cdata(fields: dict[str, Any]) -> str:
    return f"<root>{write_xml(fields)}</root>".replace(ANSWER, f"<![CDATA[{ANSWER}]]>")


WRITERS = (write_json, write_python, write_yaml, write_xml, write_cdata)


@st.composite
def objects(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Return an object with an answer under that name, neighbouring fields, and up to two enclosing objects."""
    neighbours = draw(st.lists(st.sampled_from(sorted(ASIDES)), unique=True))
    names = draw(st.permutations([name, *neighbours]))
    fields = {key: ASIDES.get(key, ANSWER) for key in names}
    for container in draw(
        st.lists(st.sampled_from(CONTAINERS), max_size=2, unique=True)
    ):
        fields = {container: fields}
    return fields


@settings(max_examples=150, deadline=None)
@given(fields=st.sampled_from(NAMES).flatmap(objects), writer=st.sampled_from(WRITERS))
def test_the_field_that_is_named_an_answer_is_all_that_is_read(
    fields: dict[str, Any], writer: Any
) -> None:
    reply = writer(fields)

    # a single line of YAML is a label rather than an object
    assume("\n" in reply or reply.startswith(("{", "<")))
    assert normalize(speech(reply)) == normalize(ANSWER)


PROSE = ("The lease that you showed me settles it:", "I read all of it twice.")


@settings(max_examples=60, deadline=None)
@given(
    fields=st.sampled_from(NAMES[:4]).flatmap(objects),
    before=st.sampled_from(PROSE),
    fence=st.sampled_from(["json", ""]),
)
def test_an_object_behind_prose_is_read_as_its_answer_and_the_prose_stays(
    fields: dict[str, Any], before: str, fence: str
) -> None:
    written = write_json(fields)
    framed = f"```{fence}\n{written}\n```" if fence else written

    reply = normalize(speech(f"{before}\n\n{framed}"))

    assert reply == f"{before}\n\n{ANSWER}"


def test_what_names_no_answer_stays_behind_its_prose() -> None:
    reply = 'The lease settles it:\n\n{"city": "Riga", "rent": 900}'

    assert normalize(speech(reply)) == reply


@settings(max_examples=60, deadline=None)
@given(
    rival=st.sampled_from(["alternative", "other_answer", "reply", "second_guess"]),
    writer=st.sampled_from(WRITERS),
)
def test_where_two_fields_may_answer_both_are_read(rival: str, writer: Any) -> None:
    reply = normalize(speech(writer({"answer": ANSWER, rival: "Oporto", "id": 4})))

    assert "Riga" in reply
    assert "Oporto" in reply


@pytest.mark.parametrize("writer", WRITERS)
def test_an_answer_and_another_one_are_left_open(writer: Any) -> None:
    evaluator = AnswersWord(expected="Riga", others=("Oporto",))

    verdict = evaluator([writer({"answer": "Riga", "alternative": "Oporto"})])

    assert verdict.value < 1.0


@pytest.mark.parametrize(
    "reply",
    [
        '{"names": ["Ida", "Gareth"]}',
        '{"answer": "Here they are:", "items": ["eggs", "milk"]}',
        '{"drink": "cola", "value": 2}',
        '{"message": "done", "data": {"city": "Riga"}}',
        '{"text": "moved", "state": "Ohio"}',
        '{"text": "Here they are:", "boats": ["Dunlin", "Petrel"]}',
        "name: Dunlin\ncolour: grey",
        "Milk: two\nEggs: four",
        "<name>Dunlin</name><colour>grey</colour>",
        "Riga.\n\nYou asked:\n- Where do I live?\n- Who is Ida?",
        "Ida\n\n3 messages\n\nGareth",
        "[Riga]\n[Oporto]",
    ],
)
def test_what_no_field_answers_is_read_as_it_came(reply: str) -> None:
    assert normalize(reply) == reply


def test_what_is_true_or_may_be_asked_next_is_no_part_of_an_answer() -> None:
    fields = {"text": ANSWER, "grounded": True, "ideas": ["Since when?", "Why?"]}

    assert normalize(json.dumps(fields)) == ANSWER


def test_thoughts_are_left_out_also_where_no_field_is_named_an_answer() -> None:
    reply = '{"city": "Riga", "chain_of_thought": "Oporto, no."}'

    assert normalize(reply) == '{"city": "Riga"}'


# --- Reports of a program in addition to its answer.

UNITS = ("tokens", "sources", "ms", "seconds")
FRAMES = ("{}", "*{}*", "[{}]", "({})", "`{}`", "_{}_")


@st.composite
def status_lines(draw: st.DrawFn) -> str:
    counts = draw(
        st.lists(
            st.tuples(st.integers(0, 99_999), st.sampled_from(UNITS)),
            min_size=1,
            max_size=4,
        )
    )
    form = draw(st.sampled_from(["{1}: {0}", "{0} {1}", "{0:,} {1}", "used {0} {1}"]))
    joint = draw(st.sampled_from([" | ", " \u00b7 ", ", ", "; ", " \u2022 ", " / "]))
    line = joint.join(form.format(*count) for count in counts)
    return draw(st.sampled_from(FRAMES)).format(line)


TRACES = (
    '[search_memory(query="city")]',
    "[memory.find('Oporto')] -> Oporto, Malmo",
    "[Tool: looked in Oporto]",
    "[Used tool recall: 3 hits, Oporto]",
    "[Retrieved memories: Oporto; Malmo]",
)
NEXT = (
    "Related questions:",
    "**You could also ask**",
    "### Suggested follow-ups",
    "Next, you may want to know:",
)


@settings(max_examples=100, deadline=None)
@given(
    line=status_lines(),
    rule=st.sampled_from(["\n\n", "\n\n---\n", "\n---\n\n"]),
    answer=st.sampled_from([ANSWER, "- Ida\n- Gareth", "1. eggs\n2. milk"]),
)
def test_status_lines_are_no_part_of_an_answer(
    line: str, rule: str, answer: str
) -> None:
    assert normalize(f"{answer}{rule}{line}") == normalize(answer)


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("answer", [ANSWER, "- Ida\n- Gareth"])
def test_traces_of_tools_are_no_part_of_an_answer(trace: str, answer: str) -> None:
    assert normalize(speech(f"{trace}\n\n{answer}")) == normalize(answer)
    assert normalize(speech(f"{answer}\n\n{trace}")) == normalize(answer)


@pytest.mark.parametrize("heading", NEXT)
@pytest.mark.parametrize("item", ["- {}", "* {}", "{n}. {}", "\u2022 {}"])
def test_questions_that_may_come_next_are_no_items_of_a_list(
    heading: str, item: str
) -> None:
    questions = ["Who is Bruno?", "Did Carla come?", "Why?"]
    listed = "\n".join(
        item.format(text, n=number) for number, text in enumerate(questions, 1)
    )
    names = "- Ida\n- Gareth"

    verdict = ListsNames(expected=("Ida", "Gareth"))(
        [f"{names}\n\n{heading}\n{listed}"]
    )

    assert verdict == ListsNames(expected=("Ida", "Gareth"))([names])

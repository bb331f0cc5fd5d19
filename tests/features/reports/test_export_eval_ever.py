"""`ltm export --to=eee`: an aggregate and its instances match the schemas of Every Eval Ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from run_folders import held, played, write_run

from pytest_ltm.commands import main

EXAMPLES = (
    Path(__file__).resolve().parents[4] / "shared" / "formats" / "every-eval-ever"
)
TEXT, TEXTS = (
    {"type": "string"},
    {"type": "object", "additionalProperties": {"type": "string"}},
)
DETAILS = {**TEXTS, "required": ["deployment_type", "model_availability"]}
UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def closed(required: str, **optional: Any) -> dict[str, Any]:
    """Return a schema of an object with exactly these fields."""
    names = required.split()
    return {
        "type": "object",
        "required": names,
        "additionalProperties": False,
        "properties": {name: {} for name in names} | optional,
    }


AGGREGATE = closed(
    "schema_version evaluation_id retrieved_timestamp source_metadata model_info eval_library evaluation_results",
    retrieved_timestamp={"type": "string", "pattern": r"^\d+$"},
    evaluation_timestamp=TEXT,
    source_metadata=closed(
        "source_type source_organization_name evaluator_relationship",
        source_type={"enum": ["documentation", "evaluation_run"]},
        evaluator_relationship={
            "enum": ["first_party", "third_party", "collaborative", "other"]
        },
    ),
    model_info=closed("name id", additional_details=DETAILS),
    eval_library=closed("name version"),
    evaluation_results={
        "type": "array",
        "minItems": 1,
        "items": closed(
            "evaluation_name source_data metric_config score_details",
            source_data=closed(
                "dataset_name source_type", source_type={"const": "other"}
            ),
            metric_config=closed(
                "lower_is_better score_type min_score max_score",
                min_score={"type": "number"},
                max_score={"type": "number"},
            ),
            score_details=closed("score", score={"type": "number"}, details=TEXTS),
        ),
    },
    detailed_evaluation_results=closed(
        "format file_path total_rows",
        total_rows={"type": "integer"},
        file_path={"pattern": rf"^data(/[^/]+){{3}}/{UUID4}_samples\.jsonl$"},
    ),
)
INSTANCE = closed(
    "schema_version evaluation_id model_id evaluation_name sample_id interaction_type input answer_attribution "
    "evaluation",
    interaction_type={"enum": ["single_turn", "multi_turn"]},
    input=closed("raw reference", raw=TEXT, reference={"type": "array", "items": TEXT}),
    output=closed("raw", raw={"type": "array", "items": TEXT}),
    messages={
        "type": "array",
        "items": closed(
            "turn_idx role content", turn_idx={"type": "integer"}, content=TEXT
        ),
    },
    answer_attribution={
        "type": "array",
        "items": closed(
            "turn_idx source extracted_value extraction_method is_terminal",
            extracted_value=TEXT,
            is_terminal={"type": "boolean"},
        ),
    },
    evaluation=closed(
        "score is_correct", score={"type": "number"}, is_correct={"type": "boolean"}
    ),
    token_usage=closed("input_tokens output_tokens total_tokens"),
    metadata=TEXTS,
) | {
    "oneOf": [
        {
            "required": [own],
            "not": {"required": [other]},
            "properties": {"interaction_type": {"const": kind}},
        }
        for own, other, kind in (
            ("output", "messages", "single_turn"),
            ("messages", "output", "multi_turn"),
        )
    ]
}


def check_aggregate(value: Any) -> None:
    jsonschema.validate(value, AGGREGATE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        played(
            "colours",
            score,
            example=str(n),
            first=1 + 4 * n,
            nodeid=f"ltm/colours::test_colours[full-2k-0-{n}]",
        )
        for n, score in enumerate((1.0, 0.25, None))
    ]
    write_run(tmp_path / "run", held(rows))
    assert main(["export", "run", "--to=eee", "-o", "eee"]) == 0
    return tmp_path / "eee"


def aggregate_and_instances(folder: Path) -> tuple[Any, list[Any]]:
    (path,) = folder.glob("data/pytest-ltm/pytest-ltm/full/*.json")
    aggregate = json.loads(path.read_text("utf-8"))
    named = folder / aggregate["detailed_evaluation_results"]["file_path"]
    assert named.stem == f"{path.stem}_samples"
    return aggregate, [
        json.loads(line) for line in named.read_text("utf-8").splitlines()
    ]


def test_an_aggregate_has_a_total_and_a_result_for_each_scenario(folder: Path) -> None:
    value, _ = aggregate_and_instances(folder)
    check_aggregate(value)
    scores = {
        one["evaluation_name"]: one["score_details"]["score"]
        for one in value["evaluation_results"]
    }
    assert list(scores.values()) == [0.625, 0.625]
    assert value["detailed_evaluation_results"]["total_rows"] == 2


def test_an_instance_is_a_talk_with_its_gap_among_the_metadata(folder: Path) -> None:
    aggregate, lines = aggregate_and_instances(folder)
    for line in lines:
        jsonschema.validate(line, INSTANCE)
        assert line["evaluation_id"] == aggregate["evaluation_id"]
        assert (
            line["messages"][line["answer_attribution"][0]["turn_idx"]]["content"]
            == "Teal, I think."
        )
    assert [
        (line["evaluation"]["score"], line["metadata"]["gap"]) for line in lines
    ] == [(1.0, "900"), (0.25, "900")]


def test_a_model_page_gets_a_block_of_results(folder: Path) -> None:
    block = yaml.safe_load(
        (folder / "model-results" / "run-full-2k.yml").read_text("utf-8")
    )
    (result,) = block["model-index"][0]["results"]
    assert [(one["name"], one["value"]) for one in result["metrics"]] == [
        ("mean score", 0.625),
        ("colours", 0.625),
    ]


@pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason=f"the examples of the format are not at {EXAMPLES}"
)
def test_every_field_of_the_formats_own_examples_is_written(folder: Path) -> None:
    theirs = [
        json.loads(_first_value(EXAMPLES / name))
        for name in ("aggregate.json", "instances.jsonl")
    ]
    aggregate, lines = aggregate_and_instances(folder)
    for own, other in zip((aggregate, lines[0]), theirs, strict=True):
        assert other.keys() - own.keys() <= {"output"}


def _first_value(path: Path) -> str:
    text = path.read_text("utf-8")
    return text.splitlines()[0] if path.suffix == ".jsonl" else text

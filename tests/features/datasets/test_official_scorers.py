"""Our figures equal those of the authors' published scorers on generated pairs.

The published code is not part of the project. LTM_OFFICIAL names a folder that holds
it, one folder for each set (beam, halumem, locomo, longmemeval, longmemeval-v2,
memoryagentbench); without it these tests are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.locomo.answer import evidence_recall
from pytest_ltm.datasets.locomo.strict import official_f1
from pytest_ltm.datasets.longmemeval.evaluation import (
    QuestionVerdict,
    aggregate_verdicts,
    retrieval_scores,
    turns_as_sessions,
)
from pytest_ltm.datasets.official import (
    answer_line,
    beam_order_score,
    boxed_part,
    memoryagentbench_figures,
    official_score,
    parse_phrase_rule,
)
from pytest_ltm.datasets.prompt_file import fill_verbatim, load_prompts
from pytest_ltm.evaluators import official_claims

# The published code leaves files open and divides by zero.
pytestmark = pytest.mark.filterwarnings("ignore")
OFFICIAL = os.environ.get("LTM_OFFICIAL", "")
PAIRS = 10_000
ABSENT = "LTM_OFFICIAL names no folder with the authors' scorers"


def near(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) < 1e-9


# --- The published code, with stubs for imports that these functions do not need.


class Anything:
    """Has every attribute, can be called, and is empty."""

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_args: Any, **_more: Any) -> Anything:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Stub(ModuleType):
    """A module that has every attribute."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return []
        return getattr(Anything(), name)


STUBBED = (
    "backoff",
    "bert_score",
    "editdistance",
    "eval_tools",
    "json_repair",
    "rouge_score",
    "rouge_score.rouge_scorer",
    "sentence_transformers",
    "src",
    "src.llm",
    "src.prompts",
    "tiktoken",
)

NLTK = ("nltk", "nltk.translate", "nltk.translate.bleu_score")


@pytest.fixture
def official(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return a function that loads a file of the published code; skip the test if there is none."""

    def load(name: str) -> Any:
        path = Path(OFFICIAL, name)
        if not OFFICIAL or not path.is_file():
            pytest.skip(f"{name}: {ABSENT}")
        # LoCoMo's stemmer is needed; the others would download data
        for stub in STUBBED if name.startswith("locomo") else (*STUBBED, *NLTK):
            monkeypatch.setitem(sys.modules, stub, Stub(stub))
        spec = importlib.util.spec_from_file_location("official_code", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


# --- Generated texts: repeated words, with everything that scorers treat specially.

WORDS = [
    "a",
    "the",
    "and",
    "an",
    "yes",
    "no",
    "noanswer",
    "critical",
    "multi-factor",
    "multi factor",
    "login",
    "Riga",
    "riga.",
    "running",
    "runs",
    "7 May 2023",
    "41",
    "4.1",
    "42%",
    "save_as",
    "Send",
    "option",
    "choice B",
    "(A)",
    "A",
    "B",
    "C",
    "É",
    "naïve",
    "it's",
    "Answer:",
    "answer: ",
    "unknown",
    "priority",
    "\\boxed{",
    "}",
    "not mentioned",
    "No information available",
    "日本",
    "x" * 3,
]
JOINS = [" ", " ", " ", ", ", "; ", "\n", ",", ". ", " - "]


def some_text(rng: random.Random, most: int = 7) -> str:
    parts = []
    for _ in range(rng.randint(0, most)):
        parts += [rng.choice(WORDS), rng.choice(JOINS)]
    return "".join(parts[:-1] if rng.random() < 0.7 else parts)


def text_pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Yield answers and gold answers, many of which share words or differ only in form."""
    rng = random.Random(seed)
    for _ in range(PAIRS):
        gold = some_text(rng, 4)
        kind = rng.random()
        if kind < 0.3:
            answer = f"{some_text(rng, 2)} {gold} {some_text(rng, 2)}"
        elif kind < 0.5:
            answer = f"It is \\boxed{{{gold}}}{some_text(rng, 1)}"
        elif kind < 0.6:
            answer = gold.upper()
        else:
            answer = some_text(rng)
        yield answer, gold


def test_locomo(official: Callable[[str], Any], tmp_path: Path) -> None:
    for name in ("numpy", "nltk", "regex"):
        pytest.importorskip(name)
    theirs = official("locomo/evaluation.py")
    rng = random.Random(1)
    rows = []
    for answer, gold in text_pairs(1):
        evidence = [
            f"D{rng.randint(1, 3)}:{rng.randint(1, 3)}"
            for _ in range(rng.randint(0, 3))
        ]
        context = [
            f"D{rng.randint(1, 3)}:{rng.randint(1, 3)}"
            for _ in range(rng.randint(1, 4))
        ]
        if rng.random() < 0.3:
            context = [f"S{rng.randint(1, 3)}" for _ in context]
        rows.append(
            {
                "answer": gold,
                "prediction": answer,
                "category": rng.randint(1, 5),
                "evidence": evidence,
                "prediction_context": context,
            }
        )
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"qa": rows}))
    scores, _, recalls = theirs.eval_question_answering(str(path))
    for row, score, recall in zip(rows, scores, recalls, strict=True):
        category: Any = row["category"]
        assert near(official_f1(category, row["answer"], row["prediction"]), score)
        context_ids: Any = row["prediction_context"]
        cited: Any = row["evidence"]
        if not context_ids[0].startswith("S"):
            ours = evidence_recall(context_ids, cited=cited, evidence=cited)
            assert near(ours["recall"] or 0.0, recall)


def test_longmemeval_retrieval(
    official: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    numpy = pytest.importorskip("numpy")
    monkeypatch.setattr(
        numpy, "asfarray", lambda values: numpy.asarray(values, float), raising=False
    )
    theirs = official("longmemeval/eval_utils.py")
    rng = random.Random(2)
    for _ in range(PAIRS):
        size = rng.randint(1, 12)
        corpus = [f"s{rng.randint(1, 5)}_{number}" for number in range(size)]
        gold = rng.sample(corpus, rng.randint(0, min(3, size)))
        ranking = rng.sample(range(size), size)
        ranked, k = [corpus[place] for place in ranking], rng.choice([1, 3, 5, 10])
        for ours, function in (
            (retrieval_scores, theirs.evaluate_retrieval),
            (turns_as_sessions, theirs.evaluate_retrieval_turn2session),
        ):
            found = ours(ranked, corpus, gold, k)
            expected = function(ranking, gold, corpus, k)
            got = (found.recall_any, found.recall_all, found.ndcg_any)
            assert all(map(near, got, expected)), (ranked, gold, k)


def test_prompts_of_longmemeval_are_those_in_its_code(
    official: Callable[[str], Any],
) -> None:
    theirs = official("longmemeval/evaluate_qa.py").get_anscheck_prompt
    kinds = dict.fromkeys((*TYPES, "abstention"), ("date",))
    prompts = load_prompts(Path(OFFICIAL, "longmemeval"), kinds)
    assert prompts.parameters == {"temperature": 0, "max_tokens": 10}
    rng = random.Random(11)
    for _ in range(PAIRS // 10):
        question, gold, reply = (some_text(rng) for _ in range(3))
        parts = {"question": question, "reference": gold, "answer": reply}
        for kind in kinds:
            text = prompts.facts_of(kind)["judge_prompt"]["text"]
            is_abstention = kind == "abstention"
            assert fill_verbatim(text, parts) == theirs(
                kind, question, gold, reply, abstention=is_abstention
            )


def test_longmemeval_accuracies(
    official: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = random.Random(3)
    types = [
        "single-session-user",
        "single-session-preference",
        "single-session-assistant",
        "multi-session",
        "temporal-reasoning",
        "knowledge-update",
    ]
    names = [f"q{number}{rng.choice(['', '_abs'])}" for number in range(PAIRS)]
    known = [
        {"question_id": name, "question_type": rng.choice(types)} for name in names
    ]
    labels = [rng.random() < 0.4 for _ in names]
    judged = [
        {
            "question_id": name,
            "autoeval_label": {"model": "gpt-4o-2024-08-06", "label": label},
        }
        for name, label in zip(names, labels, strict=True)
    ]
    (tmp_path / "in").write_text("\n".join(map(json.dumps, judged)))
    (tmp_path / "ref").write_text(json.dumps(known))
    arguments = ["x", str(tmp_path / "in"), str(tmp_path / "ref")]
    monkeypatch.setattr(sys, "argv", arguments)
    pytest.importorskip("numpy")
    official("longmemeval/print_qa_metrics.py")
    shown = capsys.readouterr().out
    rows = [
        QuestionVerdict(question_id=name, type=row["question_type"], right=label)
        for name, row, label in zip(names, known, labels, strict=True)
    ]
    sums = aggregate_verdicts(rows)
    assert sums.task_averaged is not None
    assert f"Task-averaged Accuracy: {round(sums.task_averaged, 4)}" in shown
    assert f"Overall Accuracy: {round(sums.overall.value or 0, 4)}" in shown
    assert f"Abstention Accuracy: {round(sums.abstention.value or 0, 4)}" in shown


RULES = [
    "norm_phrase_set_match",
    "norm_phrase_set_match|separators=;",
    "norm_phrase_set_match|separators=",
    "norm_phrase_set_match|lower=false",
    "norm_phrase_set_match|normalize_hyphen=false|strip_punct=false",
    "norm_phrase_set_match_ordered",
    "norm_phrase_set_match_ordered|separators=;|require_non_empty=false",
    "mc_choice_match",
    "mc_choice_match|strip_chars=.()",
    "mc_choice_set_match",
]


@pytest.mark.parametrize("rule", RULES)
def test_longmemeval_v2(official: Callable[[str], Any], rule: str) -> None:
    theirs = official("longmemeval-v2/qa_eval_metrics.py")
    for answer, gold in text_pairs(4):
        parsed = theirs.extract_boxed_answer(answer)
        assert boxed_part(answer) == parsed
        expected = theirs.eval_from_spec(rule, parsed, gold)
        got = official_score(f"longmemeval-v2:{rule}", answer, [gold])
        assert got == float(expected), (rule, answer, gold)


SOURCES = [
    "icl_trec_coarse",
    "eventqa_65536",
    "ruler_qa1_197K",
    "ruler_niah_6k",
    "factconsolidation_mh_6k",
    "detective_qa",
    "infbench_choice_eng",
    "longmemeval_s",
    "infbench_sum",
]


@pytest.mark.parametrize("source", SOURCES)
def test_memoryagentbench(official: Callable[[str], Any], source: str) -> None:
    pytest.importorskip("numpy")
    theirs = official("memoryagentbench/eval_other_utils.py")
    pairs = list(text_pairs(5))
    for (answer, gold), (other, _) in zip(pairs, reversed(pairs), strict=True):
        golds = [gold or "none", other or "none"]
        output = {"output": answer}
        expected, _ = theirs.post_process(output, golds, {"sub_dataset": source})
        got = memoryagentbench_figures(source, answer, golds)
        assert answer_line(answer) == theirs.parse_output(answer)
        for name, value in got.items():
            assert near(value, float(expected[name])), (name, answer, golds)


CLAIMED = [
    "abstention",
    "contradiction_resolution",
    "information_extraction",
    "instruction_following",
    "knowledge_update",
    "multi_session_reasoning",
    "preference_following",
    "summarization",
    "temporal_reasoning",
]


def test_beam_claims(
    official: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    theirs = official("beam/compute_metrics.py")
    prompt = "<rubric_item> <llm_response>"
    monkeypatch.setattr(theirs, "unified_llm_judge_base_prompt", prompt, raising=False)
    rng = random.Random(6)

    class Model:
        """Gives prepared grades."""

        def __init__(self, grades: list[float]) -> None:
            self.grades = list(grades)

        def invoke(self, _prompt: str) -> SimpleNamespace:
            score = json.dumps({"score": self.grades.pop(0)})
            return SimpleNamespace(content=score)

    for _ in range(PAIRS // len(CLAIMED) + 1):
        grades = [rng.choice([0, 0.5, 1, 1.0]) for _ in range(rng.randint(1, 8))]
        for kind in CLAIMED:
            function = getattr(theirs, f"evaluate_{kind}")
            found = function(
                ["claim"] * len(grades), "reply", "question", Model(grades)
            )
            assert near(official_claims(grades), found["llm_judge_score"])


def test_beam_orders(
    official: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    theirs = official("beam/compute_metrics.py")
    monkeypatch.setattr(
        theirs, "align_with_llm", lambda reference, system, **_more: (reference, system)
    )
    rng = random.Random(7)
    for _ in range(PAIRS):
        reference = [f"item {number}" for number in range(rng.randint(1, 6))]
        others = ["", "something", "something else"]
        lines = rng.choices([*reference, *others], k=rng.randint(1, 8))
        found = theirs.event_ordering_score(reference, lines, "llm", None)
        expected, got = found["final_score"], beam_order_score(reference, lines)
        if expected != expected:  # noqa: PLR0124 - not a number
            assert got is None
        else:
            assert got is not None
            assert near(got, expected), (reference, lines)


def test_halumem_answers(official: Callable[[str], Any]) -> None:
    theirs = official("halumem/evaluation.py")
    rng = random.Random(8)
    kinds = ["Correct", "Hallucination", "Omission", None]
    records = [{"result_type": rng.choice(kinds)} for _ in range(PAIRS)]
    filled = {"memory_source": "x", "memory_integrity_score": 2, "importance": 1}
    filled |= {"memory_type": "t", "memory_accuracy_score": 2}
    filled |= {
        "is_included_in_golden_memories": "true",
        "memory_update_type": "Correct",
    }
    results: dict[str, Any] = {
        "memory_integrity_records": [
            dict(filled),
            filled | {"memory_source": "interference"},
        ],
        "memory_accuracy_records": [dict(filled)],
        "memory_update_records": [dict(filled)],
        "question_answering_records": [dict(record) for record in records],
        "overall_score": {
            name: {}
            for name in (
                "memory_integrity",
                "memory_accuracy",
                "memory_update",
                "question_answering",
            )
        },
    }
    counted = {"memory_integrity_acc": 0, "memory_update_acc": 0, "total_num": 0}
    results["overall_score"]["memory_type_accuracy"] = {"t": counted}
    sums = theirs.aggregate_eval_results(results)["overall_score"]["question_answering"]
    verdicts = [
        QuestionVerdict(
            question_id=str(number),
            type="multi-session",
            right=None
            if record["result_type"] is None
            else record["result_type"] == "Correct",
        )
        for number, record in enumerate(records)
    ]
    overall = aggregate_verdicts(verdicts).overall
    assert overall.value is not None
    assert near(overall.value, sums["correct_qa_ratio(valid)"])
    assert near(overall.right / len(records), sums["correct_qa_ratio(all)"])


# --- Tests that do not need the published code.


@pytest.mark.parametrize(
    ("rule", "answer", "gold", "right"),
    [
        ("norm_phrase_set_match", "\\boxed{critical priority}", "critical", True),
        ("norm_phrase_set_match", "multi factor login", "multi-factor login", True),
        ("norm_phrase_set_match", "Send and Save", "Save, Send", True),
        ("norm_phrase_set_match_ordered", "Send and Save", "Save; Send", False),
        ("mc_choice_match", "Option B.", "B", True),
        ("mc_choice_set_match", "A and C", "C, A", True),
        ("mc_choice_set_match", "A, B and C", "C, A", False),
    ],
)
def test_published_rules_of_longmemeval_v2(
    rule: str, answer: str, gold: str, right: bool
) -> None:
    assert official_score(f"longmemeval-v2:{rule}", answer, [gold]) == float(right)


@pytest.mark.parametrize(
    ("source", "answer", "golds", "score"),
    [
        ("icl_banking77", "Answer: 41", ["41"], 1.0),
        ("icl_banking77", "41\nBecause it fits.", ["41"], 1.0),
        ("eventqa_full", "He left, and she wept.", ["he left", "she wept"], 1.0),
        ("eventqa_full", "He left.", ["he left", "she wept"], 0.0),
        ("recsys_redial", "1. Jaws", ["17"], None),
        ("longmemeval_s", "Riga", ["Riga"], None),
    ],
)
def test_published_figures_of_memoryagentbench(
    source: str, answer: str, golds: list[str], score: float | None
) -> None:
    assert official_score(f"memoryagentbench:{source}", answer, golds) == score


def test_a_rule_that_asks_a_model_has_no_figure() -> None:
    assert parse_phrase_rule("a|b=1") == ("a", {"b": "1"})
    assert official_score("longmemeval-v2:llm_gotchas_checker", "x", ["y"]) is None

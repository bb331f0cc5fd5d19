"""Any file content or specification is either read or refused with an error of ours."""

from __future__ import annotations

import copy
import io
import json
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import locomo_files
import longmemeval_files
import pytest
import yaml
from _examples import share
from gate_sides import held as conversation
from gate_sides import side
from hypothesis import given, settings
from hypothesis import strategies as st
from run_folders import held, played, write_run

from pytest_ltm._core.journal.cost import read_dollars
from pytest_ltm._core.journal.run_file import FORMAT
from pytest_ltm._core.model.scenario import (
    load_yaml_scenario,
    read_definition,
    read_json,
)
from pytest_ltm._core.model.schedule import parse_sessions_option
from pytest_ltm.agents.registry import find_agent, split_specs
from pytest_ltm.agents.replay import find_recordings, replay_agent
from pytest_ltm.api.journal import (
    find_run,
    load_all_timings,
    read_price,
    read_results,
    read_run_file,
)
from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import LtmError
from pytest_ltm.commands import main
from pytest_ltm.datasets.locomo.answer import load_audit
from pytest_ltm.datasets.locomo.samples import load_locomo
from pytest_ltm.datasets.logs.log_file import LogsFile
from pytest_ltm.datasets.longmemeval.record import index_of
from pytest_ltm.datasets.published import read_any
from pytest_ltm.datasets.suite_file import load_suite
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.fillers import filler_from_spec
from pytest_ltm.fillers.trivia import pool_of_file
from pytest_ltm.gate.baseline import load_baseline
from pytest_ltm.gate.gate_rules import parse_change_rule, parse_limit_rule
from pytest_ltm.gate.sides import save_baseline
from pytest_ltm.judges.judge_registry import find_judge
from pytest_ltm.records.amendments import read_amendments
from pytest_ltm.users.user_connection import find_user_model

pytestmark = pytest.mark.slow

TURN = {"role": "user", "content": "I like ochre."}
LOGS = [
    {
        "session": "s1",
        "date": "2026-03-02 09:15",
        "turns": [TURN, {"role": "assistant", "content": "Noted."}],
    },
    {
        "id": "q1",
        "question": "Which colour?",
        "gold": ["ochre"],
        "date": "2026-03-04",
        "evidence": ["s1:0"],
    },
]
DEFINITION = {
    "steps": [
        {"say": "I like ochre."},
        {"wait": {"tokens": 30, "time": 60.5}},
        {"ask": "Which colour?"},
    ],
    "expected": {"colour": "ochre"},
}
PUBLISHED = {
    "script": ["I like ochre.", "Which colour?"],
    "is_question": [False, True],
    "expected_responses": ["ochre"],
    "waits": [{"tokens": 30, "time": 5}, {}],
}
PUBLISHED_RESULTS = [
    {
        "ref": "main",
        "benchmark": "Benchmark 3 - 32k",
        "agent": "LLMChatSession - bot-1 - 8000",
        "dataset": "Colours",
        "example_id": "0",
        "repetition": 0,
        "score": 1,
        "max_score": 1,
        "tokens": 30_000,
        "manual": False,
        "task_log": ["Test (2024-05-01 10:00:00.000001): I like ochre best."],
        "responses": ["Ochre."],
        "reasoning": ["ochre is named"],
    }
]
SUITE = {
    "seed": 3,
    "opening": "Hello.",
    "scenarios": [{"scenario": "colours", "examples": 2, "parameters": {"count": 3}}],
}
SCENARIO = {
    "steps": [
        {"say": "I like ochre."},
        {"wait": {"span": 0.5}},
        {"ask": "Which?", "expect": [{"contains": "ochre"}]},
    ]
}
AGENT = {
    "agent": "http://127.0.0.1:1/chat",
    "parameters": {"headers": {"X": "y"}, "timeout": 3},
}
TRIVIA = {"Data": [{"Question": "What is the capital of Peru?", "AnswerValue": "Lima"}]}
RUN = {
    "format": FORMAT,
    "run": "r",
    "options": {"ltm_agent": ["full"]},
    "paths": ["test_a.py"],
    "folder": ".",
    "settings": {"seed": 0},
    "versions": {"pytest": "9"},
    "source": {"commit": "a" * 40},
}
TIMES = [
    {"type": "exchange", "exchange": 0, "seconds": 0.5},
    {"type": "began", "after": 0.1},
]
AMENDMENT = [
    {
        "node": "a",
        "score": 1.0,
        "reason": "so",
        "at": "2026-01-01T00:00:00+00:00",
        "by": "ann",
    }
]
with tempfile.TemporaryDirectory() as _written:
    write_run(Path(_written) / "run", held([played()]))
    [_talk] = (Path(_written) / "run").glob("*/results.json")
    RESULTS = json.loads(_talk.read_text(encoding="utf-8"))
    JOURNAL = [
        json.loads(line)
        for line in (_talk.parent / "journal.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    save_baseline(side(conversation({"colours": [1.0]})), "base", Path(_written), "1")
    BASELINE = json.loads((Path(_written) / "base.json").read_text(encoding="utf-8"))


def read_logs(path: Path) -> None:
    """Read everything in a file of logs."""
    file = LogsFile(path)
    for user in file.users:
        list(file.history(user))


def run_command(name: str, path: Path) -> None:
    """Have a command read a file, ignoring its output; a usage error counts as a refusal."""
    with (
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
        suppress(SystemExit),
    ):
        main(["data", name, str(path)])


class Reader(NamedTuple):
    """The reader of a file with this name, and a value that it accepts; `form`: how the value is written."""

    name: str
    read: Callable[[Path], object]
    value: Any
    form: str = "json"


READERS = [
    Reader("a.def.json", lambda path: read_definition(read_json(path)), DEFINITION),
    Reader("0.json", lambda path: read_any(path, "colours"), PUBLISHED),
    Reader("a.ltm-suite.yml", load_suite, SUITE, "yaml"),
    Reader("a.ltm.yml", load_yaml_scenario, SCENARIO, "yaml"),
    Reader("bot.yml", lambda path: find_agent(str(path)), AGENT, "yaml"),
    Reader("logs.jsonl", read_logs, LOGS, "lines"),
    Reader("longmemeval.json", index_of, longmemeval_files.records()),
    Reader("locomo.json", load_locomo, [locomo_files.talk()]),
    Reader(
        "locomo.json",
        lambda path: run_command("locomo-check", path),
        [locomo_files.talk()],
    ),
    Reader(
        "published.jsonl",
        lambda path: run_command("import-published", path),
        PUBLISHED_RESULTS,
        "lines",
    ),
    Reader(
        "longmemeval.json",
        lambda path: run_command("longmemeval-export", path),
        longmemeval_files.records(),
    ),
    Reader("logs.jsonl", lambda path: run_command("logs-check", path), LOGS, "lines"),
    Reader("audit.json", lambda path: load_audit(path, ()), locomo_files.AUDIT),
    Reader("trivia.json", lambda path: pool_of_file(str(path)), TRIVIA),
    Reader("journal.jsonl", replay_agent, JOURNAL, "lines"),
    Reader("journal.jsonl", lambda path: find_recordings(str(path)), JOURNAL, "lines"),
    Reader("run.json", lambda path: read_run_file(path.parent), RUN),
    Reader("results.json", read_results, RESULTS),
    Reader(
        "full~2k~0/results.json", lambda path: read_run(path.parent.parent), RESULTS
    ),
    Reader("base.json", load_baseline, BASELINE),
    Reader("timings.jsonl", load_all_timings, TIMES, "lines"),
    Reader(
        "amendments.jsonl",
        lambda path: read_amendments(path.parent),
        AMENDMENT,
        "lines",
    ),
]
STRANGE = st.one_of(
    st.sampled_from(
        [
            None,
            True,
            [],
            {},
            "",
            10**400,
            -(10**18) - 1,
            1e308,
            float("nan"),
            float("inf"),
            "\ud83d",
            "\0",
            "../x",
            "9" * 5_000,
            "a" * 3_000,
            "http://[::1",
            [[[]]],
            {"": {"": []}},
            "2026-99-99",
            -1,
            0.5,
        ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
"""Values that are unexpected in any place."""


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """Return a value in which one to three places are missing or hold something else."""
    whole = [copy.deepcopy(value)]
    for _ in range(draw(st.integers(1, 3))):
        holder, key = whole, 0
        while (
            isinstance(holder[key], (dict, list))
            and holder[key]
            and draw(st.integers(0, 4))
        ):
            holder = holder[key]
            places = (
                list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            )
            key = draw(st.sampled_from(places))
        if holder is not whole and not draw(st.integers(0, 3)):
            del holder[key]
        else:
            # sampled values are the same object each time
            holder[key] = copy.deepcopy(draw(STRANGE))
    return whole[0]


def text_of(value: Any, form: str) -> bytes:
    """Return a value in its file format."""
    if form == "yaml":
        return yaml.safe_dump(value).encode("utf-8", "surrogatepass")
    items = value if form == "lines" and isinstance(value, list) else [value]
    return "\n".join(json.dumps(item, separators=(",", ":")) for item in items).encode()


def is_clear(read: Callable[[], object]) -> bool:
    """Return whether the input is read, or refused in words; errors that are not ours propagate."""
    try:
        read()
    except LtmError as error:
        return bool(str(error))
    return True


@pytest.mark.parametrize("reader", READERS, ids=lambda one: one.name)
@settings(max_examples=share(60))
@given(data=st.data())
def test_a_file_is_read_or_refused_whatever_it_holds(
    reader: Reader, data: st.DataObject
) -> None:
    content = text_of(data.draw(spoiled(reader.value)), reader.form)
    if data.draw(st.integers(0, 3)) == 0:  # and damaged on disk
        at = data.draw(st.integers(0, len(content)))
        content = (
            content[:at]
            + data.draw(st.binary(max_size=6))
            + content[at + data.draw(st.integers(0, 40)) :]
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / reader.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        assert is_clear(lambda: reader.read(path))


@pytest.mark.parametrize("reader", READERS, ids=lambda one: one.name)
def test_what_is_spoiled_was_read_before(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text_of(reader.value, reader.form))
    reader.read(path)
    assert path.exists()


COUNTER = token_counter("cl100k_base")
SPECIFICATIONS: dict[str, Callable[[str], object]] = {
    "agent": find_agent,
    "agents": lambda text: split_specs([text]),
    "judge": find_judge,
    "user": find_user_model,
    "filler": lambda text: filler_from_spec(text, Random(0), COUNTER),
    "tokenizer": token_counter,
    "price": read_price,
    "dollars": read_dollars,
    "limit": parse_limit_rule,
    "change": parse_change_rule,
    "sessions": parse_sessions_option,
    "run": lambda text: find_run(text, Path("nowhere")),
}
MADE_AN_ERROR_BY_PYTEST = {"dollars", "sessions"}
"""Readers that raise ValueError, like the type of an option."""
WORDS = [
    "full",
    "window",
    "bm25",
    "padded",
    "forgetful",
    "replay",
    "openai",
    "anthropic",
    "cmd",
    "mcp",
    "memory",
    "human",
    "http://",
    "[::1",
    ":",
    "@",
    "/",
    "8k",
    "9" * 400,
    "1e999",
    "nan",
    "=",
    ",",
    "..",
    ".yml",
    "trivia",
    "mixed",
    "latest",
    "\0",
    "\ud83d",
    "a" * 3_000,
    "'",
    "mean",
    "scenario:",
    "skill:",
    "cl100k_base",
    "$",
    "-",
    " ",
    "\n",
]


@pytest.mark.parametrize("kind", SPECIFICATIONS)
@settings(max_examples=share(150))
@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=6))
def test_a_specification_is_understood_or_refused_whatever_it_is(
    kind: str, words: list[str]
) -> None:
    with suppress(*[ValueError] if kind in MADE_AN_ERROR_BY_PYTEST else []):
        assert is_clear(lambda: SPECIFICATIONS[kind]("".join(words)))

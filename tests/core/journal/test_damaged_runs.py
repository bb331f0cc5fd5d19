"""Readers of run folders survive absurd figures and pipes in place of files, which never block them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from journals import reply
from run_folders import held, played, write_run

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.run_file import find_run
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.model.scenario import read_definition, read_json
from pytest_ltm._core.storage.disk import read_regular
from pytest_ltm._core.storage.errors import ConfigurationError, DefinitionError
from pytest_ltm._core.storage.schema import LARGEST, load_yaml
from pytest_ltm.commands import main

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no pipes in folders here"
)
OF_A_RUN = ("run.json", "summary.json", "amended.json", "canaries.json")
OF_A_CONVERSATION = ("results.json", "plan.json", "journal.jsonl", "timings.jsonl")
READERS = (
    "show",
    "report -o page.html",
    "export -o out.csv",
    "doctor",
    "compare",
    "runs",
    "merge -o other",
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of one conversation, in a project's folder."""
    monkeypatch.chdir(tmp_path)
    return write_run(tmp_path / ".ltm/runs/run", held([played()]))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", [*OF_A_RUN, *OF_A_CONVERSATION])
def test_no_command_waits_for_a_pipe_in_a_run_folder(
    run: Path, reader: str, name: str
) -> None:
    folder = (
        run
        if name in OF_A_RUN
        else next(path for path in run.iterdir() if path.is_dir())
    )
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    command, *words = reader.split()

    try:
        status = main(
            [
                command,
                *(
                    []
                    if command == "runs"
                    else [str(run)] * (1 + (command == "compare"))
                ),
                *words,
            ]
        )
    except SystemExit as ended:
        status = int(str(ended.code))

    assert status in {0, 1, 2}


def test_one_row_of_absurd_figures_stops_no_report(run: Path) -> None:
    results = next(run.glob("*/results.json"))
    whole = json.loads(results.read_bytes())
    numbers = {
        name: value for name, value in whole.items() if type(value) in {int, float}
    }
    absurd = {
        name: 10**400 if type(value) is int else 1e308
        for name, value in numbers.items()
    }
    results.write_text(
        json.dumps(
            whole | absurd | {"input_tokens": 10**4_000, "output_tokens": 10**400}
        )
    )

    for words in (
        "show run",
        "report run -o page.html",
        "merge run -o other",
        "runs",
        "lab trend",
        "lab badge run",
    ):
        assert main(words.split()) in {0, 1}


def test_what_an_agent_reported_before_there_were_limits_can_be_read() -> None:
    line = events.encode_event(
        reply(usage=Usage(input_tokens=3, output_tokens=1), cost_usd=0.5)
    )
    absurd = line.replace(":3,", f":{10**400},").replace("0.5", "1e308")

    read_back = events.decode_event(absurd, "line 1")

    assert isinstance(read_back, events.ReplyReceived)
    assert read_back.usage is not None
    assert (read_back.usage.input_tokens, read_back.usage.output_tokens) == (LARGEST, 1)
    assert read_back.cost_usd == LARGEST


def test_a_pipe_that_should_name_the_latest_run_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "latest")
    with pytest.raises(ConfigurationError, match="no latest run"):
        find_run("latest", tmp_path)


def test_a_pipe_is_no_definition_and_no_settings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0.def.json")
    with pytest.raises(DefinitionError, match="not a regular file"):
        read_definition(read_json(tmp_path / "0.def.json"))
    with pytest.raises(DefinitionError, match="not a regular file"):
        load_yaml(tmp_path / "0.def.json")


def test_a_pipe_is_no_file_to_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "pipe")

"""`ltm export` to Inspect and MLflow: the libraries that define the formats open the output."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from run_folders import HOSTILE, held, hostile_run, played, write_run

import pytest_ltm
from pytest_ltm.api.journal import Began, Timings
from pytest_ltm.commands import main
from pytest_ltm.reports.exports.loaded import run_slices
from pytest_ltm.reports.exports.mlflow import mlflow_name

ROOT = Path(__file__).parents[3]
SECRET = "hush-0d9c41-libraries"
SCORES = (1.0, 0.25, None)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run of two agents, one with two trials, whose texts contain a secret."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    talks = []
    for agent, trial in (("full", "0"), ("my_bot", "0"), ("my_bot", "1")):
        rows = [
            played(
                "colours",
                score,
                example=str(n),
                first=1 + 4 * n,
                agent=agent,
                trial=trial,
                reason=f"it is {SECRET}",
            )
            for n, score in enumerate(SCORES)
        ]
        rows.append(
            played(
                "broken",
                None,
                first=20,
                outcome="error",
                cause="agent",
                agent=agent,
                trial=trial,
            )
        )
        talks.append(
            held(
                rows,
                input_tokens=900,
                output_tokens=50,
                cached_tokens=100,
                cost_usd=0.5,
            )
        )
    folder = write_run(tmp_path / "run-7", *talks, notices=[SECRET])
    timings = Timings.at(folder / "timings.jsonl")
    timings.write(Began(after=0.1))
    timings.close()
    return folder


def figures() -> dict[str, dict[str, float]]:
    return {part.name: part.figures() for part in run_slices(pytest_ltm.load("run-7"))}


def written(folder: str) -> bytes:
    return b"".join(
        path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()
    )


@pytest.mark.usefixtures("run")
def test_a_part_is_an_agent_at_a_span_with_the_figures_of_the_tables() -> None:
    found = figures()
    assert list(found) == ["full at 2k", "my_bot at 2k"]
    assert (
        found["full at 2k"]["accuracy"]
        == found["full at 2k"]["scenario/colours"]
        == 0.625
    )
    assert (found["my_bot at 2k"]["examples"], found["my_bot at 2k"]["unscored"]) == (
        8,
        4,
    )
    first, second = run_slices(pytest_ltm.load("run-7"))
    assert first.id != second.id
    assert first.id == next(run_slices(pytest_ltm.load("run-7"))).id
    assert (second.facts()["trials"], second.facts()["agent_spec"]) == (2, "my_bot")
    assert all(map(math.isfinite, found["full at 2k"].values()))


@pytest.mark.parametrize(
    ("kind", "module"),
    [("inspect", "inspect_ai.log"), ("mlflow", "mlflow")],
)
@pytest.mark.usefixtures("run")
def test_an_absent_library_is_one_clear_error(
    kind: str,
    module: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep_environment(monkeypatch)
    package = module.partition(".")[0]
    for name in {package, module}:
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["export", "run-7", f"--to={kind}"]) == 2
    assert (
        f"--to {kind} needs {package}: pip install 'pytest-ltm[{kind}]'"
        in capsys.readouterr().err
    )
    assert [path.name for path in Path().iterdir()] == ["run-7"]


# --- Inspect


@pytest.fixture(scope="module")
def inspect_log() -> Any:
    """Return the library; its use of randomness at import happens before any test."""
    return pytest.importorskip(
        "inspect_ai.log", reason="pip install 'pytest-ltm[inspect]'"
    )


@pytest.fixture
def logs(run: Path, inspect_log: Any) -> list[Any]:
    """Return the logs as read by Inspect."""
    assert main(["export", str(run), "--to=inspect"]) == 0
    return [
        inspect_log.read_eval_log(each)
        for each in sorted(Path("ltm-inspect").iterdir())
    ]


def test_inspect_reads_a_log_for_each_agent_and_span(logs: list[Any]) -> None:
    assert [(log.status, log.eval.task, log.eval.model) for log in logs] == [
        ("success", "full at 2k", "pytest-ltm/full"),
        ("success", "my_bot at 2k", "pytest-ltm/my_bot"),
    ]
    for log in logs:
        (score,) = log.results.scores
        expected = figures()[log.eval.task]
        assert {
            name: each.value for name, each in score.metrics.items()
        }.items() <= expected.items()
        assert score.metrics["accuracy"].value == expected["accuracy"]
        values = [sample.scores["ltm"].as_float() for sample in log.samples]
        rows = [
            row.score
            for row in pytest_ltm.load("run-7").examples
            if f"{row.agent} at 2k" == log.eval.task
        ]
        assert sorted(value for value in values if not math.isnan(value)) == sorted(
            filter(None, rows)
        )
        assert (score.scored_samples, score.unscored_samples) == (
            len(rows) - rows.count(None),
            rows.count(None),
        )
    assert [(sample.id, sample.epoch) for sample in logs[1].samples][:2] == [
        ("broken/0", 1),
        ("colours/0", 1),
    ]
    assert logs[1].eval.config.epochs == 2
    assert logs[0].stats.model_usage["pytest-ltm/full"].total_tokens == 950


def test_an_inspect_sample_has_the_talk_the_expected_answer_and_the_verdict(
    logs: list[Any],
) -> None:
    samples = {sample.id: sample for sample in logs[0].samples}
    sample, broken = samples["colours/0"], samples["broken/0"]
    said = [(message.role, message.text) for message in sample.messages]
    assert said == [
        ("user", "I like ochre best, says colours."),
        ("assistant", "Noted."),
        ("user", "Which colour do I like?"),
        ("assistant", "Teal, I think."),
    ]
    assert sample.messages[2].metadata["after"] == "405 tokens and 1:00:00"
    assert (sample.input, sample.target) == (
        "Which colour do I like?",
        '{"colour": "ochre"}',
    )
    score = sample.scores["ltm"]
    assert (score.value, score.answer, score.explanation) == (
        1.0,
        "Teal, I think.",
        "it is [redacted $SOME_API_KEY]",
    )
    assert score.metadata["rule"] == "colours/1"
    assert (broken.error.message, broken.metadata["cause"]) == (
        "names 'ochre'",
        "agent",
    )


def test_inspects_own_command_dumps_a_log_that_has_no_secret(logs: list[Any]) -> None:
    path = min(Path("ltm-inspect").iterdir())
    command = [sys.executable, "-m", "inspect_ai", "log", "dump", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f'"task": "{logs[0].eval.task}"' in done.stdout
    assert SECRET not in done.stdout
    assert "[redacted $SOME_API_KEY]" in done.stdout


@pytest.mark.parametrize(
    "name", ["control", "bidi", "half a surrogate", "json", "out of the folder"]
)
def test_inspect_reads_logs_with_hostile_texts(
    tmp_path: Path, name: str, inspect_log: Any
) -> None:
    folder = hostile_run(
        tmp_path / "run", {**HOSTILE, "out of the folder": "../../away"}[name]
    )
    assert (
        main(["export", str(folder), "--to=inspect", "-o", str(tmp_path / "out")]) == 0
    )
    assert (
        sum(
            len(inspect_log.read_eval_log(each).samples)
            for each in (tmp_path / "out").iterdir()
        )
        == 3
    )


# --- MLflow: in a separate process, because it starts services and leaves threads
# behind


def keep_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore environment variables that an export sets for its process."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "")


OFFLINE = """
import socket
def refused(self, address, *more):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        open("network.txt", "a").write(f"{address}\\n")
        raise OSError("no network")
    return real(self, address, *more)
real, socket.socket.connect = socket.socket.connect, refused
"""


def in_a_process(*words: str) -> str:
    """Run Python without network in this folder; return its output."""
    Path("guard").mkdir(exist_ok=True)
    Path("guard/sitecustomize.py").write_text(OFFLINE)
    paths = os.pathsep.join(
        [str(Path("guard").resolve()), str(ROOT), os.environ.get("PYTHONPATH", "")]
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "COV_"))
    }
    done = subprocess.run(
        [sys.executable, *words],
        env={**kept, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not Path("network.txt").exists(), Path("network.txt").read_text()
    return done.stdout


def needs(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"pip install 'pytest-ltm[{package}]'")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("scenario/colours", "scenario/colours"),
        ("scenario/../../a://b", "scenario/______a___b"),
        ("metric/recall@5", "metric/recall_5"),
        ("plan/" + "x" * 300, "plan/" + "x" * 245),
    ],
)
def test_names_in_mlflow_are_no_paths(name: str, shown: str) -> None:
    assert mlflow_name(name) == shown


READ_MLFLOW = """
import json, os
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
import mlflow
mlflow.set_tracking_uri("sqlite:///ltm-mlflow/mlflow.db")
mlflow.set_experiment("pytest-ltm")
found = [
    [run.info.run_name, run.info.status, run.data.metrics, run.data.params,
     mlflow.load_table("examples.json", run_ids=[run.info.run_id])["outcome"].tolist()]
    for run in mlflow.search_runs(output_format="list")
]
print("found:", json.dumps(found))
"""


@pytest.mark.slow
def test_mlflow_reads_a_run_for_each_agent_and_span(run: Path) -> None:
    needs("mlflow")
    export = ("-m", "pytest_ltm", "export", run.name, "--to=mlflow")
    assert in_a_process(*export) == "ltm-mlflow: full at 2k\nltm-mlflow: my_bot at 2k\n"
    in_a_process(*export, "--force")
    found = json.loads(in_a_process("-c", READ_MLFLOW).partition("found: ")[2])
    assert {name: metrics for name, _, metrics, _, _ in found} == figures()
    for name, status, _, parameters, outcomes in found:
        assert (status, f"{parameters['agent']} at {parameters['span_label']}") == (
            "FINISHED",
            name,
        )
        examples = [
            row.outcome
            for row in pytest_ltm.load("run-7").examples
            if f"{row.agent} at 2k" == name
        ]
        assert outcomes == examples
    assert SECRET.encode() not in written("ltm-mlflow")
    assert b"[redacted $SOME_API_KEY]" in written("ltm-mlflow")

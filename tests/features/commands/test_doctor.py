from __future__ import annotations

import json
import os
import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from journals import begin, fault, header, message, reply, write

from pytest_ltm.api.journal import Event, RunFile, events, write_run_file
from pytest_ltm.api.storage import FolderLock
from pytest_ltm.commands import main
from pytest_ltm.commands.environment import DISTRIBUTIONS
from pytest_ltm.commands.run_diagnosis import Diagnosis, diagnose_run, run_lines

HEADER = header("AcceptsHistory", plan={"examples": [{}]})
SAID: list[Event] = [
    begin("cat/0"),
    message(0, "cat/0", "ask", "Hi?", tokens=3),
    reply(0, "Yes."),
]
DONE: list[Event] = [events.End(example="cat/0"), events.End(reason="complete")]


def run_folder(
    root: Path, *said: Event | str, torn: str = "", name: str = "bot~2k~0"
) -> Path:
    run = root / ".ltm" / "runs" / "r1"
    folder = run / name
    folder.mkdir(parents=True)
    write(folder / "journal.jsonl", *said, torn=torn)
    started = RunFile(
        run="r1",
        options={},
        paths=(),
        folder=".",
        settings={"agents": {"bot": "bot"}},
        versions={"pytest": "0.1"},
    )
    write_run_file(run, started)
    return run


def diagnosed(run: Path) -> Diagnosis:
    return diagnose_run(run, run.parent.parent)


def ways(found: Diagnosis) -> dict[str, str]:
    return {way.what: way.command or f"no: {way.why_not}" for way in found.ways}


def test_a_complete_conversation_can_be_scored_again_and_replayed(
    tmp_path: Path,
) -> None:
    found = diagnosed(run_folder(tmp_path, HEADER, *SAID, *DONE))
    (one,) = found.conversations
    assert (one.state, one.exchanges, one.tokens, one.ended, one.examples) == (
        "complete",
        1,
        5,
        1,
        1,
    )
    assert ways(found)["score again"] == "pytest --ltm-rescore=r1"
    assert ways(found)["replay"] == "pytest --ltm-agent=replay:r1 ..."
    assert not found.problems


def test_an_interrupted_one_says_how_far_it_came_and_what_is_torn(
    tmp_path: Path,
) -> None:
    (one,) = diagnosed(
        run_folder(tmp_path, HEADER, *SAID, torn='{"event": "mess')
    ).conversations
    assert (one.state, one.torn, one.resume) == ("interrupted", 15, "")


def test_one_whose_agent_cannot_be_put_back_says_so(tmp_path: Path) -> None:
    found = diagnosed(run_folder(tmp_path, header(), *SAID))
    assert "neither Checkpointable" in ways(found)["resume"]


def test_a_conversation_without_its_checkpoint_names_it(tmp_path: Path) -> None:
    found = diagnosed(run_folder(tmp_path, header("Checkpointable"), *SAID))
    assert "no checkpoint of exchange 0" in ways(found)["resume"]


def test_what_can_be_gone_on_with_is_told_beside_what_cannot(tmp_path: Path) -> None:
    run_folder(tmp_path, header(), *SAID)
    run = run_folder(tmp_path, HEADER, *SAID, name="other~2k~0")
    found = diagnosed(run)
    assert ways(found)["resume"] == "pytest --ltm-resume=r1"
    shown = " ".join(" ".join(run_lines(found, 80)).split())
    assert "bot~2k~0: interrupted, 1 exchange" in shown
    assert "cannot be resumed: the agent cannot be restored to where it was" in shown


def test_a_trial_that_was_not_begun_can_be_gone_on_with(tmp_path: Path) -> None:
    run = run_folder(tmp_path, header(), *SAID)
    settings = {"agents": {"bot": "bot"}, "spans": {"2k": 2000}, "trials": 2}
    write_run_file(
        run,
        RunFile(
            run="r1", options={}, paths=(), folder=".", settings=settings, versions={}
        ),
    )
    assert ways(diagnosed(run))["resume"] == "pytest --ltm-resume=r1"


def test_an_agent_that_was_gone_is_told(tmp_path: Path) -> None:
    (one,) = diagnosed(
        run_folder(
            tmp_path, HEADER, *SAID, fault(1, fatal=True), events.End(reason="boom")
        )
    ).conversations
    assert one.state == "agent gone"


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "7",
        "{",
        '{"event": []}',
        "[" * 100_000,
        '{"event": "reply", "exchange": "x"}',
        "\udcff",
    ],
)
def test_a_damaged_journal_is_told_and_nothing_breaks(
    tmp_path: Path, line: str
) -> None:
    run = run_folder(tmp_path, HEADER, *SAID)
    with (run / "bot~2k~0" / "journal.jsonl").open(
        "a", errors="surrogateescape"
    ) as file:
        file.write(line + "\n")
    found = diagnosed(run)
    assert [conversation.state for conversation in found.conversations] == ["damaged"]
    assert found.problems


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", ["", "null", "[1]", "{", '{"format": 1}', "\x00" * 100]
)
@pytest.mark.parametrize(
    "name",
    ["run.json", "amendments.json", "bot~2k~0/results.json", "bot~2k~0/.owner.json"],
)
def test_any_file_of_a_run_may_be_damaged(
    tmp_path: Path, name: str, content: str
) -> None:
    run = run_folder(tmp_path, HEADER, *SAID, *DONE)
    (run / name).write_text(content)
    assert diagnosed(run).run == "r1"


def test_folders_in_the_place_of_files_and_links_in_circles_are_survived(
    tmp_path: Path,
) -> None:
    run = run_folder(tmp_path, HEADER)
    (run / "a~b~c" / "journal.jsonl").mkdir(parents=True)
    (run / "x~y~z").symlink_to(run)
    (run / "bot~2k~0" / "checkpoints").mkdir()
    (run / "bot~2k~0" / "checkpoints" / "loop").symlink_to(run)
    assert [conversation.name for conversation in diagnosed(run).conversations] == [
        "a~b~c",
        "bot~2k~0",
    ]


def test_a_lock_that_is_held_is_told_with_its_owner(tmp_path: Path) -> None:
    run = run_folder(tmp_path, HEADER, *SAID)
    lock = FolderLock(run / "bot~2k~0")
    lock.acquire()
    try:
        found = diagnosed(run)
    finally:
        lock.release()
    assert f"held by process {os.getpid()}" in found.conversations[0].lock
    assert found.conversations[0].state == "in progress"
    assert "held by" in ways(found)["resume"]


def test_what_a_dead_owner_left_is_no_lock(tmp_path: Path) -> None:
    run = run_folder(tmp_path, HEADER, *SAID)
    (run / "bot~2k~0" / ".lock").touch()
    (run / "bot~2k~0" / ".owner.json").write_text(
        '{"pid": 1, "host": "elsewhere", "since": "then"}'
    )
    assert "process 1 on 'elsewhere'" in diagnosed(run).conversations[0].lock
    assert diagnosed(run).conversations[0].lock.startswith("free")


def test_versions_of_then_stand_beside_those_of_now(tmp_path: Path) -> None:
    assert diagnosed(run_folder(tmp_path, HEADER, *SAID)).versions["pytest"] == (
        "0.1",
        pytest.__version__,
    )


def test_nothing_is_changed(tmp_path: Path) -> None:
    run = run_folder(tmp_path, HEADER, *SAID, torn="{")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    diagnosed(run)
    assert {
        path: path.read_bytes() for path in run.rglob("*") if path.is_file()
    } == before


def test_the_command_says_it_in_lines_of_the_terminals_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(tmp_path, HEADER, *SAID, *DONE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["doctor", "r1"]) == 0
    text = capsys.readouterr().out
    assert "bot~2k~0: complete, 1 exchange, 5 tokens, 1 of 1 example ended" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_command_speaks_json_and_tells_by_its_status_that_something_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(tmp_path, '{"event": "other"}\n')
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "r1", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["conversations"][0]["state"] == "damaged"


def test_a_run_that_is_not_there_is_refused_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(tmp_path, HEADER)
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "r2"]) == 2
    assert "r1" in capsys.readouterr().err


@pytest.mark.slow
def test_without_a_run_it_tells_of_the_installation_and_of_keys_the_names_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY", "ANSWERS_BOT_TOKEN"):
        monkeypatch.setenv(name, "sk-planted-0123456789abcdef")
    main(["doctor"])
    text = capsys.readouterr().out
    assert "GROQ_API_KEY" in text
    assert "ANSWERS_BOT_TOKEN" in text
    assert "tokenizers without a network: cl100k_base, o200k_base" in text
    assert "keys that are set (names only): OPENAI_API_KEY" in text
    assert "planted" not in text
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "pytest_ltm.commands.environment.tempfile.TemporaryFile", refuse
    )
    assert main(["doctor"]) == 1
    assert "cannot be written: Permission denied" in capsys.readouterr().out


def test_what_is_needed_and_what_extras_bring_is_what_is_installed_with_the_package() -> (
    None
):
    wanted = [
        re.split(r"\W*[<>=;]\W*", line, maxsplit=1)
        for line in requires("pytest-ltm") or ()
    ]
    # the extra made of other extras
    wanted = [line for line in wanted if not line[0].startswith("pytest-ltm[")]
    needed = {
        name
        for name, rest in wanted
        if "extra ==" not in rest and "python_version" not in rest
    }
    extras = {
        name
        for name, rest in wanted
        if "extra ==" in rest and "dev" not in rest and "docs" not in rest
    }
    assert needed == {*DISTRIBUTIONS["needed"]}
    assert extras == {*DISTRIBUTIONS["extras"]}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("check", "check-agent"),
        ("agents", "list agents"),
        ("trend", "lab trend"),
        ("data trend", "lab trend"),
        ("memory", "check-memory"),
    ],
)
def test_the_command_that_was_meant_is_named(
    capsys: pytest.CaptureFixture[str], typed: str, meant: str
) -> None:
    assert main(typed.split()) != 0
    told = f"there is no command {typed!r}. Did you mean {meant!r}?"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["html", "cost", "models", "resume"])
def test_a_word_that_is_near_to_no_command_is_not_taken_for_one(
    capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    assert main([typed]) != 0
    assert f"there is no command {typed!r}. Choose from try," in capsys.readouterr().err

"""`ltm verify` accepts intact runs and names later changes; `ltm lab bundle` likewise."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import Project
from journals import write
from msgspec import structs
from recorded_bundles import BUNDLES, FORGERIES, WHOLE
from run_folders import latest_run

from pytest_ltm.api.journal import events, own_version
from pytest_ltm.commands import main
from pytest_ltm.commands.bundle import MANIFEST, open_bundle
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.reports.summary import refresh_summary
from pytest_ltm.reports.verification import find_discrepancies

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly("whole runs: each test has its turn within days", every=8),
]
OWN = """
def test_cat(ltm):
    ltm.say("My cat is Kelvin.")
    assert "Kelvin" in ltm.ask("Who is my cat?")
"""
PLAYED = (
    "--ltm-agent=forgetful:0.4",
    "--ltm-span=2k",
    "--ltm-suite=standard",
    "--ltm-examples=1",
    "--ltm-seed=3",
)


@pytest.fixture
def run(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of the built-in suite."""
    monkeypatch.chdir(project.path)
    project.pytest(*PLAYED)
    return latest_run(project.path)


def verify(
    path: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = main(["verify", str(path), "--json", "--pytest=-p no:randomly", *words])
    return status, json.loads(capsys.readouterr().out)


def differing(found: dict[str, Any]) -> str:
    return "\n".join(f"{one['place']}: {one['what']}" for one in found["differs"])


def rewrite_json(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text("utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


def test_a_whole_run_and_its_bundle_hold(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = verify(run, capsys)
    assert (status, found["differs"], found["unchecked"]) == (0, [], [])
    first, second = tmp_path / "one.ltm.zip", tmp_path / "two.ltm.zip"
    for path in (first, second):
        assert main(["lab", "bundle", str(run), "-o", str(path), "--sign"]) == 0
    assert first.read_bytes() == second.read_bytes()
    assert verify(first, capsys)[0] == 0
    statement = json.loads((tmp_path / "one.ltm.zip.intoto.json").read_text("utf-8"))
    claim = statement["predicate"]
    assert (claim["comparator"], claim["passed"], claim["sampleSize"]) == (
        ">=",
        True,
        10,
    )
    assert len(bytes.fromhex(claim["samplesRoot"])) == 32


def test_a_flipped_score_is_named_by_every_command(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def flip(value: Any) -> None:
        row = next(row for row in value["scenarios"] if row["score"] != 1)
        row.update(score=1.0, outcome="passed")

    rewrite_json(next(run.glob("*/results.json")), flip)
    status, found = verify(run, capsys)
    assert status == 1
    assert "its score is 1.0, and the journal says" in differing(found)
    assert "scored again" in differing(found)
    assert main(["show", str(run)]) == 0
    assert "note: does not hold: " in capsys.readouterr().out
    assert main(["show", str(run), "colours/0"]) == 0
    assert "note: does not hold: " in capsys.readouterr().out
    assert main(["export", str(run), "--to=csv", "-o", "tables"]) == 1
    assert "does not hold: " in capsys.readouterr().err
    assert main(["doctor", "--verify", str(run)]) == 1
    assert main(["lab", "bundle", str(run), "-o", "forged.ltm.zip"]) == 2


def _record_wrongly(run: Path) -> None:
    """Make the run's record say that an example passed, with valid checksums."""
    from pytest_ltm.api.journal import Chain

    path = next(run.glob("*/journal.jsonl"))
    chain, lines = Chain(), path.read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    row = next(row for row in _rows(run) if row["score"] != 1)
    name = f"{row['scenario']}/{row['example']}"
    for event in events:
        event.pop("sum")
        if event["event"] == "verdict" and event["example"] == name:
            event["score"] = 1.0
    sealed = [
        chain.seal_line(
            json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n"
        )
        for one in events
    ]
    path.write_text("".join(sealed), encoding="utf-8")

    def raise_score(value: Any) -> None:
        value["journal"] = chain.head
        next(
            one for one in value["scenarios"] if one["scenario"] == row["scenario"]
        ).update(score=1.0, outcome="passed")

    rewrite_json(path.with_name("results.json"), raise_score)
    refresh_summary(read_run(run))


def test_a_verdict_that_was_recorded_wrongly_is_found_by_scoring_again(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _record_wrongly(run)
    assert "scored again" in differing(verify(run, capsys)[1])
    assert "scored again" not in differing(verify(run, capsys, "--record-only")[1])


def test_a_verdict_of_another_version_is_no_forgery_and_not_verified(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun_by = json.loads((run / "run.json").read_text("utf-8"))["versions"]
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    assert begun_by["pytest-ltm"] == summary["pytest_ltm_version"] == own_version()
    rewrite_json(
        run / "run.json",
        lambda value: value["versions"].update({"pytest-ltm": "0.1.0+1fd9a3ee"}),
    )
    status, found = verify(run, capsys)
    assert (status, found["differs"], found["versions_differ"]) == (0, [], [])
    _record_wrongly(run)
    status, found = verify(run, capsys)
    assert (status, found["unchecked"]) == (2, [])
    assert "scored again" not in differing(found)
    assert "scored again" in found["versions_differ"][0]["what"]
    main(["verify", str(run), "--pytest=-p no:randomly"])
    first = capsys.readouterr().out.splitlines()[0]
    assert "versions differ" in first


def _rows(run: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(
        next(run.glob("*/results.json")).read_text("utf-8")
    )["scenarios"]
    return rows


def test_the_bundle_of_the_docs_holds(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = verify(BUNDLES / WHOLE, capsys)
    assert (status, found["differs"], found["unchecked"]) == (0, [], []), (
        "python tests/golden/refresh.py bundles"
    )


@pytest.mark.parametrize(("name", "what"), FORGERIES.items())
def test_the_forged_bundles_of_the_docs_do_not(
    name: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = verify(BUNDLES / f"{name}.ltm.zip", capsys, "--record-only")
    assert status == 1
    assert what in differing(found)


def _edit_summary_plan(run: Path) -> None:
    rewrite_json(
        run / "summary.json", lambda value: value["plan"].update(scoring="paper")
    )


def _edit_judge(run: Path) -> None:
    rewrite_json(
        run / "run.json", lambda value: value["settings"].update(judge="openai:large")
    )
    rewrite_json(
        run / "summary.json", lambda value: value["plan"].update(judge="openai:large")
    )


def _copy_trial(run: Path) -> None:
    copied = shutil.copytree(run / "full~2k~0", run / "full~2k~7")
    rewrite_json(copied / "results.json", lambda value: value.update(trial="7"))


def _unname_journal(run: Path) -> None:
    (run / "full~2k~0" / "journal.jsonl").unlink()
    rewrite_json(
        run / "full~2k~0" / "results.json", lambda value: value.update(journal="")
    )


@pytest.mark.parametrize(
    ("forge", "what"),
    [
        (
            _edit_summary_plan,
            "summary.json: its scoring is 'paper', and run.json says 'current'",
        ),
        (_edit_judge, "judge is 'openai:large', and full~2k~0 was played with 'none'"),
        (_copy_trial, "trial is '7', and full~2k~7 was played with '0'"),
        (_unname_journal, "which they do not name, is missing"),
    ],
)
def test_a_forgery_that_leaves_every_journal_whole_is_named(
    forge: Callable[[Path], None], what: str, tmp_path: Path
) -> None:
    run, _ = open_bundle(BUNDLES / WHOLE, tmp_path, None)
    assert find_discrepancies(read_run(run)) == []
    forge(run)
    assert what in "\n".join(map(str, find_discrepancies(read_run(run))))


def test_another_seed_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rewrite_json(run / "run.json", lambda value: value["settings"].update(seed=8))
    status, found = verify(run, capsys)
    assert status == 1
    assert "run.json: seed is 8, and forgetful_0.4~2k~0 was played with 3" in differing(
        found
    )


def test_replies_that_were_asked_for_again_are_counted(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(run.glob("*/timings.jsonl"))
    again = next(
        line
        for line in path.read_bytes().splitlines(keepends=True)
        if b'"event":"reply"' in line
    )
    path.write_bytes(path.read_bytes() + again)
    status, found = verify(run, capsys, "--record-only")
    assert status == 1
    assert "asked again" in differing(found)
    assert "(2 times)" in differing(found)


def test_a_conversation_that_was_removed_is_named(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    project.pytest("--ltm-agent=full,echo", *PLAYED[1:])
    two = latest_run(project.path)
    shutil.rmtree(two / "echo~2k~0")
    status, found = verify(two, capsys, "--record-only")
    assert status == 1
    assert "it lists the conversation echo~2k~0, which is not there" in differing(found)
    (two / "summary.json").unlink()
    status, found = verify(two, capsys, "--record-only")
    assert status == 2
    assert found["differs"] == []
    unfinished = "\n".join(row["what"] for row in found["unfinished"])
    assert "it asks for the conversation echo~2k~0" in unfinished
    assert main(["show", str(two)]) == 0
    # the state of an interrupted run
    assert "does not hold" not in capsys.readouterr().out


def test_who_calls_a_complete_conversation_interrupted_hides_no_totals(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def hide(value: Any) -> None:
        value.update(ended="interrupted", tokens=value["tokens"] - 1)

    rewrite_json(next(run.glob("*/results.json")), hide)
    status, found = verify(run, capsys, "--record-only")
    assert status == 1
    assert "tokens is " in differing(found)


DYING = """
class Bot:
    replies = 0
    def reply(self, message):
        Bot.replies += 1
        if Bot.replies > 40:
            raise {error}
        return "Noted."
"""


def test_a_run_whose_agent_died_holds(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    project.file(DYING.format(error="ValueError('no more')"), "dying_bot.py")
    project.pytest("--ltm-agent=dying_bot:Bot", *PLAYED[1:])
    status, found = verify(latest_run(project.path), capsys)
    assert (status, found["differs"], found["unfinished"]) == (0, [], [])


def test_an_interrupted_run_is_unfinished_and_no_forgery(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    project.file(DYING.format(error="KeyboardInterrupt"), "stopped_bot.py")
    project.pytest(
        "--ltm-agent=full,stopped_bot:Bot,echo", *PLAYED[1:], subprocess=True
    )
    run = latest_run(project.path)
    status, found = verify(run, capsys)
    assert (status, found["differs"]) == (2, [])
    unfinished = [row["place"] for row in found["unfinished"]]
    assert "stopped_bot_Bot~2k~0/results.json" in unfinished
    assert "run.json" in unfinished
    # the state after a kill
    for path in ("stopped_bot_Bot~2k~0/results.json", "summary.json", "verdicts.csv"):
        (run / path).unlink()
    status, found = verify(run, capsys, "--record-only")
    assert (status, found["differs"]) == (2, [])
    # the bot cannot be restored
    project.pytest(f"--ltm-resume={run}")
    status, found = verify(run, capsys)
    assert (status, found["differs"], found["unfinished"]) == (0, [], [])


def test_merged_amended_and_rescored_runs_hold(
    run: Path, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    node = _rows(run)[0]["nodeid"]
    assert main(["lab", "amend", str(run), node, "--score=0.5", "--reason=half"]) == 0
    assert verify(run, capsys)[0] == 2
    project.pytest(f"--ltm-rescore={run}")
    assert verify(latest_run(project.path), capsys)[1]["differs"] == []
    shards = []
    for number in (1, 2):
        project.pytest(*PLAYED, "--ltm-trials=2", f"--ltm-shard={number}/2")
        shards.append(str(latest_run(project.path)))
    assert main(["merge", *shards, "-o", "merged"]) == 0
    status, found = verify(project.path / ".ltm" / "runs" / "merged", capsys)
    assert (status, found["differs"], found["unchecked"]) == (0, [], [])


def test_no_claim_is_made_of_amended_verdicts(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _rows(run)
    automatic = sum(row["score"] or 0 for row in rows)
    for row in rows:
        words = ["--score=1", "--reason=by hand"]
        assert main(["lab", "amend", str(run), row["nodeid"], *words]) == 0
    capsys.readouterr()
    assert main(["verify", str(run), "--record-only"]) == 2
    first = capsys.readouterr().out.splitlines()[0]
    assert f"taken on trust: {len(rows)} verdicts amended by hand" in first
    assert main(["lab", "badge", str(run), "-o", str(tmp_path / "badge.json")]) == 0
    message = json.loads((tmp_path / "badge.json").read_text("utf-8"))["message"]
    assert message.startswith(f"{automatic:.2f} of {len(rows)}")
    bundle = tmp_path / "one.ltm.zip"
    assert (
        main(["lab", "bundle", str(run), "-o", str(bundle), "--sign", "--claim=mean:1"])
        == 0
    )
    statement = json.loads((tmp_path / "one.ltm.zip.intoto.json").read_text("utf-8"))
    assert not statement["predicate"]["passed"]


def test_a_filler_with_a_false_number_of_tokens_is_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(run.glob("*/journal.jsonl"))
    said = list(events.read_events(path))
    place = next(
        number for number, one in enumerate(said) if isinstance(one, events.FillerSent)
    )
    said[place] = structs.replace(said[place], message_tokens=900)
    write(path, *said)
    head = events.last_checksum(path)
    rewrite_json(path.parent / "results.json", lambda value: value.update(journal=head))
    status, found = verify(run, capsys, "--record-only")
    assert status == 1
    assert "but 900 are recorded" in differing(found)


def _leave_out_a_time(lines: list[bytes]) -> None:
    del lines[3]


def _exchange_times(lines: list[bytes]) -> None:
    lines[2], lines[5] = lines[5], lines[2]


def _tell_twice(lines: list[bytes]) -> None:
    told = next(line for line in lines if b'"event":"told"' in line)
    lines.append(told)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_leave_out_a_time, "it does not time 1 reply of the journal"),
        (_exchange_times, "its lines are not in the order of the exchanges"),
        (_tell_twice, "or some are there twice"),
    ],
)
def test_times_that_were_removed_moved_or_copied_are_named(
    change: Callable[[list[bytes]], None],
    what: str,
    run: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = next(run.glob("*/timings.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    assert all(b'"event":"reply"' in line for line in lines[:6])
    change(lines)
    path.write_bytes(b"".join(lines))
    status, found = verify(run, capsys, "--record-only")
    assert (status, what in differing(found)) == (1, True)


def test_another_span_beside_the_definitions_is_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next(run.glob("*/definitions/config.yml"))
    path.write_text("memory_span: 120000\n", encoding="utf-8")
    status, found = verify(run, capsys, "--record-only")
    assert status == 1
    assert "it does not have the memory span 2000" in differing(found)


def test_times_of_another_form_in_a_summary_are_named(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in (None, "soon", [1], {"middle": 1}):
        rewrite_json(
            run / "summary.json",
            lambda summary, value=value: summary["results"][0].update(  # type: ignore[misc]
                reply_seconds=value
            ),
        )
        status, found = verify(run, capsys, "--record-only")
        assert (status, "summary.json: it was changed" in differing(found)) == (1, True)


def test_a_byte_of_a_bundle_that_was_flipped_is_named_or_does_not_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(BUNDLES / WHOLE) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    rng, path = Random(7), tmp_path / "flipped.ltm.zip"
    for name in rng.choices(sorted(files), k=25):
        data = bytearray(files[name])
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        with zipfile.ZipFile(path, "w") as archive:
            for other, kept in files.items():
                archive.writestr(other, bytes(data) if other == name else kept)
        assert main(["verify", str(path), "--record-only"]) in {1, 2}, name
    assert "Traceback" not in capsys.readouterr().err


def test_a_run_that_was_started_in_another_folder_holds(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project.file("[pytest]", "pytest.ini")
    inside = project.path / "services" / "bot"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    project.pytest(*PLAYED)
    shutil.copytree(latest_run(project.path), tmp_path / "got" / "run")
    monkeypatch.chdir(tmp_path / "got")

    status, found = verify(tmp_path / "got" / "run", capsys)
    assert (status, found["unchecked"]) == (0, [])
    assert any("verdicts reached again" in sentence for sentence in found["checked"])
    refused = project.pytest(f"--ltm-rescore={tmp_path / 'got' / 'run'}", "--rootdir=.")
    refused.stderr.fnmatch_lines(["*in the folder 'services/bot' of its project*"])


def test_a_run_whose_folder_has_another_name_holds(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    renamed = run.rename(run.with_name("before-the-change"))
    status, found = verify(renamed, capsys)
    assert (status, found["differs"]) == (0, [])


@pytest.mark.parametrize(
    "name", ["notices", "trust", "plan", "pytest_ltm_version", "run_id"]
)
def test_whatever_is_changed_in_a_summary_is_named(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite_json(run / "summary.json", lambda value: value.update({name: "other"}))
    status, found = verify(run, capsys, "--record-only")
    assert (status, "summary.json: it" in differing(found)) == (1, True)


def test_a_table_of_verdicts_of_another_version_is_compared_by_its_columns(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run / "verdicts.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    columns = [name for name in rows[0] if name != "automatic_reason"] + ["another"]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", restval="")
        table.writeheader()
        table.writerows(rows)
    assert verify(run, capsys, "--record-only")[0] == 0
    path.write_text(path.read_text("utf-8").replace("passed", "failed"), "utf-8")
    assert verify(run, capsys, "--record-only")[0] == 1


def test_a_projects_own_scenarios_are_verified_in_the_project_and_not_elsewhere(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    project.file(OWN)
    project.ltm(agent="full")
    assert verify(latest_run(project.path), capsys)[0] == 0
    bundle = tmp_path / "own.ltm.zip"
    assert (
        main(["lab", "bundle", str(latest_run(project.path)), "-o", str(bundle)]) == 0
    )
    assert verify(bundle, capsys)[0] == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    status, found = verify(bundle, capsys)
    assert status == 2
    assert "Its tests are those of a project" in found["unchecked"][0]


def test_a_bundle_leaves_the_texts_of_its_data_out_and_needs_the_file(
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project.path)
    told = "My locker at the station by the northern pier has the number seventeen."
    rows = [
        {
            "session": "one",
            "date": "2026-03-02 09:15",
            "turns": [{"role": "user", "content": told}],
        },
        {
            "question": "Which number does my locker have?",
            "gold": "seventeen",
            "evidence": ["one"],
        },
    ]
    data = project.path / "own.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    project.pytest("--ltm-agent=full", "--ltm-suite=logs", "?data=own.jsonl")
    bundle = tmp_path / "logs.ltm.zip"
    assert (
        main(["lab", "bundle", str(latest_run(project.path)), "-o", str(bundle)]) == 0
    )
    with zipfile.ZipFile(bundle) as archive:
        texts = [
            archive.read(name).decode()
            for name in archive.namelist()
            if name != MANIFEST
        ]
    assert not any(told in text for text in texts)
    assert main(["verify", str(bundle)]) == 2
    assert "Name the file: --data=FILE" in capsys.readouterr().err
    status, found = verify(bundle, capsys, f"--data={data}")
    assert (status, found["differs"], found["unchecked"]) == (0, [], [])
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text("utf-8") + "\n", encoding="utf-8")
    assert main(["verify", str(bundle), f"--data={other}"]) == 2


def test_a_secret_in_a_journal_keeps_a_run_from_being_bundled(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = next(
        json.loads(line)["text"]
        for line in next(run.glob("*/journal.jsonl")).read_text("utf-8").splitlines()
        if '"event":"reply"' in line and len(json.loads(line)["text"]) > 10
    )
    monkeypatch.setenv("MY_API_KEY", reply)
    assert main(["lab", "bundle", str(run), "-o", "x.ltm.zip"]) == 2
    assert (
        "there is a secret here, so the run is not bundled" in capsys.readouterr().err
    )

"""A card with a library's own extraction, recorded once and replayed offline to the same card anywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from json_server import Answer, Loopback, Post, serving

from pytest_ltm.commands import main
from pytest_ltm.lifecycle.cards.recorded_model import (
    ADDRESS,
    KEY,
    ModelReply,
    ModelServer,
    Recording,
    hash_request,
    lasting_body,
    read_recording,
)

STORE = """
import json
import os
import re
from urllib.request import Request, urlopen

SECRET_PROMPT = "Read the facts out of what this person says."


def ask(path, body):
    request = Request(
        os.environ["OPENAI_BASE_URL"] + path,
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "")},
    )
    with urlopen(request) as response:
        return json.load(response)


class Extracts:
    def __init__(self):
        self.facts = {}

    def add(self, text, *, role, at, session, user):
        reply = ask("/chat/completions", {"messages": [SECRET_PROMPT, text]})
        for subject, value in reply["facts"]:
            self.facts[user, subject] = f"The {subject} is {value}."

    def search(self, query, *, k, user):
        words = set(re.findall(r"[a-z0-9]+", query.lower()))
        own = [text for (owner, _), text in self.facts.items() if owner == user]
        return sorted(own, key=lambda text: -len(words & set(re.findall(r"[a-z0-9]+", text.lower()))))[:k]


class Verbatim(Extracts):
    def add(self, text, *, role, at, session, user):
        self.facts[user, len(self.facts)] = text
"""
SPECS = ("extracting_store:Verbatim", "extracting_store:Extracts")


def extract(post: Post) -> dict[str, Any]:
    """Stand in for a model: parse `The SUBJECT is VALUE.`, and miss values that end in `a`."""
    subject, _, value = post.body["messages"][1].removeprefix("The ").partition(" is ")
    value = value.removesuffix(".").removesuffix(" now")
    return {"facts": [] if value.endswith("a") else [[subject, value]]}


@pytest.fixture
def model() -> Iterator[Loopback]:
    with serving(extract) as loopback:
        yield loopback


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the stores, with the address and key unset."""
    (tmp_path / "extracting_store.py").write_text(STORE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv(ADDRESS, raising=False)
    monkeypatch.delenv(KEY, raising=False)
    return tmp_path


@pytest.fixture
def recorded(folder: Path, model: Loopback, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Record the model, then remove it; return the folder with recording and card."""
    with monkeypatch.context() as patch:
        patch.setenv(ADDRESS, f"{model.url}/v1")
        assert check(*SPECS, "--record", "model.jsonl", "-o", "card.json") == 0
    return folder


def check(*words: str) -> int:
    return main(["check-memory", *words])


def test_a_replayed_card_is_the_recorded_one_without_model_or_key(
    recorded: Path,
) -> None:
    assert check(*SPECS, "--replay", "model.jsonl", "--against", "card.json") == 0
    assert ADDRESS not in os.environ
    assert KEY not in os.environ
    verbatim, extracted = json.loads(Path("card.json").read_text())["rows"]
    assert verbatim["extraction"] == {}
    assert extracted["extraction"]["calls"] > 90
    assert verbatim["marks"]["write"] == 0 < extracted["marks"]["write"]
    assert verbatim["figures"]["duplicated"] == [4, 4]
    assert extracted["figures"]["duplicated"][0] == 0
    assert recorded == Path.cwd()


def test_the_card_holds_and_a_forged_one_is_named(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "card.json"]) == 0
    card = json.loads((recorded / "card.json").read_text())
    card["rows"][1]["extraction"]["recording"] = "0" * 16
    (recorded / "forged.json").write_text(json.dumps(card))
    assert main(["verify", "forged.json"]) == 1
    assert check(SPECS[1], "--replay", "model.jsonl", "--against", "forged.json") == 1
    assert "extraction, recording: the card says 0000000000000000" in (
        capsys.readouterr().err
    )


def test_a_recording_beside_the_card_is_recomputed_by_itself(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "card.json"]) == 0
    calls = json.loads(Path("card.json").read_text())["rows"][1]["extraction"]["calls"]
    assert f"{calls} calls recomputed from model.jsonl" in capsys.readouterr().out
    recording = read_recording(recorded / "model.jsonl")
    changed = recording.replies[0]._replace(body={"facts": []})
    others = Recording([changed, *recording.replies[1:]])
    (recorded / "model.jsonl").write_text(others.text())
    assert main(["verify", "card.json"]) == 1
    assert "model.jsonl beside it has no" in capsys.readouterr().out
    (recorded / "model.jsonl").unlink()
    assert main(["verify", "card.json"]) == 0
    assert "recomputed from" not in capsys.readouterr().out


def test_a_row_is_found_in_a_recording_of_several_memories() -> None:
    replies = [ModelReply(f"{number}", 200, number) for number in range(9)]
    part = Recording(replies[2:6])
    assert Recording(replies).has_part(part.digest, 4)
    assert not Recording(replies).has_part(part.digest, 5)
    assert not Recording(replies[3:]).has_part(part.digest, 4)


def test_another_folder_and_another_hash_seed_give_the_same_card(
    recorded: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("extracting_store.py", "model.jsonl", "card.json"):
        shutil.copy(recorded / name, elsewhere)
    command = ["-m", "pytest_ltm", "check-memory", *SPECS, "--replay", "model.jsonl"]
    done = subprocess.run(
        [sys.executable, *command, "--json"],
        cwd=elsewhere,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    card = json.loads((recorded / "card.json").read_text())
    assert json.loads(done.stdout)["fingerprint"] == card["fingerprint"]


def test_the_file_has_replies_and_no_prompt(recorded: Path) -> None:
    text = (recorded / "model.jsonl").read_text()
    assert "facts" in text
    assert "Read the facts" not in text
    assert "Bearer" not in text


def test_a_call_without_a_recording_ends_the_command_by_name(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del recorded
    assert check(SPECS[1], "--replay", "model.jsonl", "--seed", "3") == 2
    assert "404" in capsys.readouterr().err


def test_a_library_that_swallows_the_refusal_gets_no_card(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet = STORE.replace(
        '        reply = ask("/chat/completions", {"messages": [SECRET_PROMPT, text]})',
        "        try:\n"
        '            reply = ask("/chat/completions", {"messages": ["Another prompt.", text]})\n'
        "        except OSError:\n"
        "            return",
    )
    (recorded / "quiet_store.py").write_text(quiet)
    assert check("quiet_store:Extracts", "--replay", "model.jsonl", "-o", "c.json") == 2
    assert "calls have no reply in model.jsonl" in capsys.readouterr().err
    assert not (recorded / "c.json").exists()


def test_what_the_model_refused_is_not_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calm = (
        "def ask(path, body):\n"
        "    try:\n"
        "        return call(path, body)\n"
        "    except OSError:\n"
        "        return {'facts': []}\n\n\n"
        "def call(path, body):"
    )
    text = STORE.replace("def ask(path, body):", calm)
    (folder / "calm_store.py").write_text(text)
    with serving(lambda _: Answer({"error": "no credit"}, 402)) as broke:
        monkeypatch.setenv(ADDRESS, broke.url)
        assert check("calm_store:Extracts", "--record", "model.jsonl") == 2
    error = capsys.readouterr().err
    assert "first with 402" in error
    assert "no credit" in error
    assert not (folder / "model.jsonl").exists()


def test_a_memory_that_asks_no_model_has_nothing_to_record(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(SPECS[0], "--record", "model.jsonl") == 2
    assert "no memory called a model at OPENAI_BASE_URL" in capsys.readouterr().err
    assert not (folder / "model.jsonl").exists()


def test_recording_and_replaying_at_once_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert check(SPECS[0], "--record", "a.jsonl", "--replay", "b.jsonl") == 2
    assert "--record and --replay: give one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "not JSON", '{"format": "card"}\n{}', '{"format": 1}', "[" * 5000],
    ids=lambda text: text[:20],
)
def test_a_file_that_is_no_recording_is_refused(
    folder: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.jsonl").write_text(text)
    assert check(SPECS[0], "--replay", "other.jsonl") == 2
    assert "is not a recording of a model" in capsys.readouterr().err


def test_a_recording_that_is_read_is_the_one_that_was_written(folder: Path) -> None:
    recording = Recording(
        [
            ModelReply("a", 200, {"n": 1}),
            ModelReply("b", 200, "b"),
            ModelReply("a", 200, 2),
        ]
    )
    (folder / "r.jsonl").write_text(recording.text())
    read = read_recording(folder / "r.jsonl")
    assert read.replies == recording.replies
    assert read.digest == recording.digest
    assert Recording(recording.replies[::-1]).digest == recording.digest
    assert Recording(recording.replies[1:]).digest != recording.digest


def test_equal_requests_get_their_replies_in_order_and_then_the_last() -> None:
    body = b'{"b": 1, "a": 2}'
    request = hash_request("/chat/completions", body)
    replies = [ModelReply(request, 200, number) for number in range(3)]
    server = ModelServer(Recording(replies))
    spaced = b'{"a":2,"b":1}'
    answers = [server.answer("/chat/completions", spaced, {}).body for _ in range(4)]
    assert answers == [0, 1, 2, 2]
    assert server.answer("/embeddings", body, {}).status == 404
    assert server.missing == 1


def test_equal_replies_at_other_times_are_recorded_alike() -> None:
    choices = [{"message": {"content": "a fact"}}]
    first = {"id": "1", "created": 7, "choices": choices, "timings": {"ms": 3}}
    second = {"id": "2", "created": 9, "choices": choices}
    assert lasting_body(first) == lasting_body(second)
    assert lasting_body(first)["choices"] == choices
    assert lasting_body({"data": [1]}) == {"data": [1]}


def test_the_machines_date_does_not_tell_requests_apart() -> None:
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    assert hash_request("/x", f'"Today is {today}."'.encode()) == hash_request(
        "/x", b'"Today is {today}."'
    )
    assert hash_request("/x", b'"1999-01-01"') != hash_request("/x", b'"1999-01-02"')

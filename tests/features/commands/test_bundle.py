"""Bundles from untrusted sources: whatever the zip contains, nothing is written outside, and the reason is given."""

from __future__ import annotations

import contextlib
import json
import random
import stat
import zipfile
from pathlib import Path

import pytest

from pytest_ltm.api.storage import LtmError
from pytest_ltm.commands import main
from pytest_ltm.commands.bundle import (
    FORMAT,
    MANIFEST,
    DataTexts,
    merkle_root,
    open_bundle,
)

EMPTY = json.dumps({"format": FORMAT, "run": "r", "pytest_ltm": "0.1.0", "files": {}})


def bundle(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes | str]) -> Path:
    with zipfile.ZipFile(path / "x.ltm.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path / "x.ltm.zip"


@pytest.mark.parametrize(
    "name",
    [
        "../run.json",
        "/etc/run.json",
        "a~2k~0/../../journal.jsonl",
        "a~2k~0\\..\\journal.jsonl",
        "C:/run.json",
        "conftest.py",
        "a~2k~0/test_it.py",
        ".git/config",
        "a~2k~0/definitions/../x/0.def.json",
    ],
)
def test_names_that_no_bundle_has_are_refused(tmp_path: Path, name: str) -> None:
    path = bundle(tmp_path, (MANIFEST, EMPTY), (name, "{}"))
    with pytest.raises(LtmError, match="a bundle has no file of this name"):
        open_bundle(path, tmp_path / "into", None)
    assert not (tmp_path / "into").exists()


def test_a_link_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("run.json")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(LtmError, match="it is not a plain file"):
        open_bundle(
            bundle(tmp_path, (MANIFEST, EMPTY), (link, "/etc/passwd")),
            tmp_path / "into",
            None,
        )


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = bundle(tmp_path, (MANIFEST, EMPTY), ("summary.json", b"0" * 30_000_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(LtmError, match="it grows too much"):
        open_bundle(path, tmp_path / "into", None)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", [MANIFEST, "Manifest.json", "MANIFEST.JSON"])
def test_two_manifests_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LtmError, match=r"it occurs twice|no file of this name"):
        open_bundle(
            bundle(tmp_path, (MANIFEST, EMPTY), (name, EMPTY)), tmp_path / "into", None
        )


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    entries = [(f"{label}~2k~0/plan.json", "{}") for label in ("bot", "BOT")]
    with pytest.raises(LtmError, match="it occurs twice, perhaps in different case"):
        open_bundle(
            bundle(tmp_path, (MANIFEST, EMPTY), *entries), tmp_path / "into", None
        )


def test_a_bundle_of_another_format_names_both(tmp_path: Path) -> None:
    foreign = json.dumps({"format": "pytest-ltm bundle 9"})
    with pytest.raises(
        LtmError, match="a bundle of format 'pytest-ltm bundle 9'; this version"
    ):
        open_bundle(bundle(tmp_path, (MANIFEST, foreign)), tmp_path / "into", None)


@pytest.mark.parametrize("run", ["..", "../x", "/tmp/x", ".hidden", "a/b", ""])
def test_a_run_cannot_be_named_so_that_it_lands_elsewhere(
    tmp_path: Path, run: str
) -> None:
    manifest = json.dumps(json.loads(EMPTY) | {"run": run})
    with pytest.raises(LtmError, match="cannot be the name of a run"):
        open_bundle(bundle(tmp_path, (MANIFEST, manifest)), tmp_path / "into", None)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip at all"])
def test_what_is_no_zip_is_unreadable(
    tmp_path: Path, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    assert main(["verify", str(tmp_path / "x.zip")]) == 2
    assert "cannot be read as a bundle" in capsys.readouterr().err


PUBLISHED = Path(__file__).parents[3] / "docs" / "bundles" / "memory.ltm.zip"


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path: Path, seed: int) -> None:
    data = bytearray(PUBLISHED.read_bytes())
    rng = random.Random(seed)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with contextlib.suppress(LtmError):
        run, wrong = open_bundle(path, tmp_path / "into", None)
        assert wrong or run.is_dir()


def test_a_conversation_without_its_plan_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(PUBLISHED) as whole, zipfile.ZipFile(path, "w") as lacking:
        for name in whole.namelist():
            if not name.endswith("plan.json"):
                lacking.writestr(name, whole.read(name))
    assert main(["verify", str(path)]) != 0
    assert "plan.json" in "".join(capsys.readouterr())


def test_files_that_the_manifest_does_not_list_or_that_are_missing_are_named(
    tmp_path: Path,
) -> None:
    listed = {
        "summary.json": {"sha256": "0", "size": 2},
        "verdicts.csv": {"sha256": "0", "size": 2},
    }
    manifest = json.dumps(json.loads(EMPTY) | {"files": listed})
    path = bundle(
        tmp_path, (MANIFEST, manifest), ("run.json", "{}"), ("summary.json", "{}")
    )
    _, differs = open_bundle(path, tmp_path / "into", None)
    assert {
        (one.place, one.what.partition(",")[0].partition(":")[0]) for one in differs
    } == {
        ("run.json", "the manifest does not list it"),
        ("summary.json", "it is not the file that the manifest lists"),
        ("verdicts.csv", "it is listed in the manifest"),
    }
    assert not (tmp_path / "into" / "r" / "run.json").exists()


# --- texts by their positions


def test_texts_of_a_data_set_are_cut_and_joined() -> None:
    source = DataTexts(
        "set",
        json.dumps(
            [{"text": "The heron stood in the shallow water until dusk."}]
        ).encode(),
    )
    text = (
        '{"message":"Ann says: The heron stood in the shallow water until dusk. Bye."}'
    )
    parts = source.cut(text)
    assert "heron" not in "".join(part for part in parts if isinstance(part, str))
    assert source.join(parts, len(text)) == text


def test_parts_that_grow_beyond_their_size_are_refused() -> None:
    source = DataTexts("set", json.dumps(["x" * 1_000]).encode())
    with pytest.raises(ValueError, match="larger than it says"):
        source.join([[0, 1_000]] * 1_000, 5_000)


def test_the_root_over_samples_is_that_of_rfc_6962() -> None:
    assert (
        merkle_root([])
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    assert (
        merkle_root([b""])
        == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    )
    eight = [
        bytes.fromhex(one)
        for one in (
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        )
    ]
    assert (
        merkle_root(eight)
        == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    )

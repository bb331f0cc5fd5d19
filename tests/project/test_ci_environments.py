"""The cache of `.ci/environments.py`: complete environments, shared by all checkouts and by concurrent runs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fcntl", reason="locks of POSIX")
ROOT = Path(__file__).parents[2]
NAME = "thing-1.0.dist-info"


class Cache:
    """The module with its own cache, and a fake pip that writes a package of one file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = importlib.util.spec_from_file_location(
            "ci_environments", ROOT / ".ci" / "environments.py"
        )
        assert spec is not None
        assert spec.loader is not None
        self.module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.installed = 0
        self.is_broken = False
        self.folder = folder / "cache"
        self.folder.mkdir()
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        (self.checkout / "pyproject.toml").write_text("[project]", encoding="utf-8")
        create = venv.create
        monkeypatch.setattr(
            venv,
            "create",
            lambda folder, **_: create(folder, with_pip=False, symlinks=True),
        )
        monkeypatch.setattr(self.module, "CACHE", self.folder)
        monkeypatch.setattr(self.module, "pip", self.pip)

    def pip(self, environment: Path, command: str, *_: str, **__: Any) -> None:
        if command == "install":
            self.installed += 1
            if self.is_broken:
                raise subprocess.CalledProcessError(1, "pip", stderr=b"no network")
            [packages] = environment.glob("lib/python*/site-packages")
            (packages / NAME).mkdir()
            (packages / "thing.py").touch()
            (packages / NAME / "METADATA").write_text(
                "Name: thing\nVersion: 1.0\n", encoding="utf-8"
            )
            (packages / NAME / "RECORD").write_text(
                f"thing.py,,\n{NAME}/METADATA,,\n", encoding="utf-8"
            )

    def kept(self, name: str = "dev", **options: Any) -> Path:
        found: Path = self.module.kept(name, ["thing"], self.checkout, **options)
        return found

    def generations(self) -> list[Path]:
        return [
            path
            for path in self.folder.iterdir()
            if path.is_dir() and not path.is_symlink()
        ]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    return Cache(tmp_path, monkeypatch)


@pytest.mark.slow
def test_an_environment_is_made_once_and_used_again(cache: Cache) -> None:
    assert cache.kept() == cache.kept()
    assert cache.installed == 1


@pytest.mark.slow
def test_another_pyproject_or_another_name_is_another_environment(cache: Cache) -> None:
    first, other = cache.kept(), cache.kept("lane")
    (cache.checkout / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert len({first, other, cache.kept()}) == cache.installed == 3


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["bin/python", "lib/python*/site-packages/thing.py"])
def test_one_of_which_something_is_missing_is_made_again(
    cache: Cache, gone: str
) -> None:
    [path] = cache.kept().glob(gone)
    path.unlink()
    again = cache.kept()
    assert [*again.glob(gone)]
    assert cache.installed == 2


@pytest.mark.slow
def test_one_that_was_not_finished_is_never_used(cache: Cache) -> None:
    cache.is_broken = True
    with pytest.raises(subprocess.CalledProcessError):
        cache.kept()
    assert cache.generations() == []
    cache.is_broken = False
    assert cache.module.is_whole(cache.kept())


@pytest.mark.slow
def test_a_fresh_one_leaves_the_old_one_to_those_who_use_it(cache: Cache) -> None:
    old, new = cache.kept(), cache.kept(fresh=True)
    assert old != new
    assert cache.module.is_whole(old)
    assert cache.kept() == new


@pytest.mark.slow
def test_runs_at_the_same_time_make_one(cache: Cache) -> None:
    with ThreadPoolExecutor() as pool:
        found = {*pool.map(lambda _: cache.kept(), range(4))}
    assert len(found) == cache.installed == 1


@pytest.mark.slow
def test_what_nobody_uses_is_removed(cache: Cache) -> None:
    old, new, other = cache.kept(), cache.kept(fresh=True), cache.kept("lane")
    long_ago = time.time() - 2 * cache.module.DAY
    for path in (old, new):
        os.utime(path, (long_ago, long_ago))
    cache.module.remove_unused()
    assert {*cache.generations()} == {new, other}
    long_ago -= cache.module.KEPT_DAYS * cache.module.DAY
    os.utime(new, (long_ago, long_ago))
    cache.module.remove_unused()
    assert cache.generations() == [other]


@pytest.mark.slow
def test_an_overlay_has_what_is_kept_and_scripts_of_its_own(
    cache: Cache, tmp_path: Path
) -> None:
    kept = cache.kept()
    (kept / "bin" / "thing").write_text(
        f"#!{kept}/bin/python\nimport sys, thing\nprint(sys.prefix)\n", "utf-8"
    )
    cache.module.overlaid(tmp_path / "mine", kept, cache.checkout)
    run = subprocess.run(
        [tmp_path / "mine" / "bin" / "thing"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == f"{tmp_path / 'mine'}\n"


def test_a_home_that_cannot_be_written_to_is_done_without(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(cache.module.tempfile, "gettempdir", lambda: str(tmp_path))
    assert cache.module.writable_cache() == tmp_path / "pytest-ltm"


@pytest.mark.parametrize("words", [[], ["--fersh", "x"], ["--fresh"]])
def test_other_words_are_answered_with_the_usage(
    cache: Cache, words: list[str], capsys: Any
) -> None:
    assert cache.module.main(words) == 2
    assert "[--fresh] FOLDER" in capsys.readouterr().err
    assert cache.installed == 0

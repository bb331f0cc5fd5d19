"""The commit under test, read from git's files and the environment of a CI job."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_ltm._core.journal.run_file import SourceRevision, source_revision

ONE, TWO = "1" * 40, "2" * 40


def repository(folder: Path, head: str, **files: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    for name, text in files.items():
        path = folder / ".git" / name.replace("__", "/").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_branch_that_is_checked_out_names_its_commit(tmp_path: Path) -> None:
    repository(tmp_path, "ref: refs/heads/topic\n", refs__heads__topic=f"{ONE}\n")
    (tmp_path / "below" / "it").mkdir(parents=True)
    assert source_revision(tmp_path / "below" / "it", {}) == SourceRevision(
        ONE, "topic"
    )


def test_packed_branches_are_found(tmp_path: Path) -> None:
    packed = f"# pack-refs with: peeled\n{TWO} refs/heads/other\n{ONE} refs/heads/topic\n^{TWO}\n"
    assert source_revision(
        repository(tmp_path, "ref: refs/heads/topic", packed_refs=packed), {}
    ) == SourceRevision(ONE, "topic")


def test_a_worktree_finds_the_branches_of_its_repository(tmp_path: Path) -> None:
    repository(tmp_path / "main", "ref: refs/heads/main", refs__heads__topic=ONE)
    own = tmp_path / "main" / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/topic\n")
    (own / "commondir").write_text("../..\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {own}\n")
    assert source_revision(tmp_path / "w", {}) == SourceRevision(ONE, "topic")


@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        (
            {"GITHUB_SHA": ONE, "GITHUB_HEAD_REF": "fix", "GITHUB_REF_NAME": "7/merge"},
            "fix",
        ),
        ({"GITHUB_SHA": ONE, "GITHUB_HEAD_REF": "", "GITHUB_REF_NAME": "main"}, "main"),
        ({"CI_COMMIT_SHA": ONE, "CI_COMMIT_REF_NAME": "main"}, "main"),
        ({"GITHUB_SHA": TWO, "GITHUB_REF_NAME": "of another repository"}, ""),
        ({}, ""),
    ],
)
def test_a_ci_job_says_which_branch_its_commit_belongs_to(
    tmp_path: Path, environment: dict[str, str], branch: str
) -> None:
    assert source_revision(repository(tmp_path, ONE), environment) == SourceRevision(
        ONE, branch
    )


def test_without_a_repository_a_ci_job_says_both(tmp_path: Path) -> None:
    assert source_revision(
        tmp_path, {"GITHUB_SHA": ONE, "GITHUB_REF_NAME": "main"}
    ) == SourceRevision(ONE, "main")
    assert source_revision(tmp_path, {"GITHUB_SHA": "not a hash"}) is None


@pytest.mark.parametrize(
    "head", ["", "ref: refs/heads/unborn", "ref: ../../../etc/passwd", "\x00", "f" * 39]
)
def test_what_says_nothing_is_unknown(tmp_path: Path, head: str) -> None:
    assert source_revision(repository(tmp_path, head), {}) is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_itself_says_the_same(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=n", "-c", "user.email=e"]
        done = subprocess.run(
            ["git", *who, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "topic")
    git("commit", "-q", "--allow-empty", "-m", "first")
    assert source_revision(tmp_path, {}) == SourceRevision(
        git("rev-parse", "HEAD"), "topic"
    )
    git("pack-refs", "--all")
    assert source_revision(tmp_path, {}) == SourceRevision(
        git("rev-parse", "HEAD"), "topic"
    )

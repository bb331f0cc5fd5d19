"""The documentation of several versions, published together."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[2] / "docs" / "_site" / "publish.py"


@pytest.fixture(scope="module")
def publish() -> Any:
    spec = importlib.util.spec_from_file_location("publish", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.publish


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("now")
    return tmp_path / "site"


def test_versions_stand_side_by_side_and_the_newest_is_shown(
    publish: Any, site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "public"
    for name in ("1.0.0rc1", "1.9.0", "1.0.0", "1.10.0"):
        names = publish(site, folder, name)
    assert names == ["1.10.0", "1.9.0", "1.0.0", "1.0.0rc1"]
    assert json.loads((folder / "versions.json").read_text()) == names
    assert 'url=1.10.0/index.html"' in (folder / "index.html").read_text()
    assert (folder / "1.0.0" / "index.html").read_text() == "now"


def test_a_version_that_is_there_is_replaced_and_others_stay(
    publish: Any, site: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "public"
    publish(site, folder, "1.0.0")
    publish(site, folder, "1.1.0")
    (folder / "1.1.0" / "old.html").touch()
    publish(site, folder, "1.1.0")
    assert not (folder / "1.1.0" / "old.html").exists()
    assert (folder / "1.0.0" / "index.html").exists()


@pytest.mark.parametrize("name", ["..", "", "latest", "1.0/../..", "v1.0"])
def test_what_is_no_version_is_refused(
    publish: Any, site: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ValueError, match="is no version such as"):
        publish(site, tmp_path / "public", name)

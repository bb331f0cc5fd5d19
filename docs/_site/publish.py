"""Put a built site beside those of other versions: `python docs/_site/publish.py SITE FOLDER`.

FOLDER then has a folder for each version, `versions.json` with their names, the newest
first, from which each page offers the others, and an index that leads to the newest. A
version that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

_NAME = re.compile(r"\d+(?:\.\d+)+(?:\w+)?")


def publish(site: Path, folder: Path, name: str) -> list[str]:
    """Copy the site to `folder/name`, and return the versions that are there, the newest first.

    ValueError if the name is that of no version.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no version such as 1.2.0")
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(site, folder / name)
    there = [
        each.name
        for each in folder.iterdir()
        if each.is_dir() and _NAME.fullmatch(each.name)
    ]
    names = sorted(there, key=_age, reverse=True)
    (folder / "versions.json").write_text(json.dumps(names) + "\n", encoding="utf-8")
    refresh = f'<meta http-equiv="refresh" content="0; url={names[0]}/index.html">'
    link = f'<title>pytest-ltm</title><a href="{names[0]}/index.html">Documentation of pytest-ltm {names[0]}</a>'
    (folder / "index.html").write_text(
        f'<!doctype html><html lang="en">{refresh}{link}\n', encoding="utf-8"
    )
    return names


def _age(name: str) -> tuple[tuple[int, ...], bool, str]:
    """Return what versions are sorted by: 1.10 is newer than 1.9, and 1.0 than 1.0rc1."""
    numbers = re.match(r"[\d.]*\d", name)
    assert numbers is not None
    rest = name[numbers.end() :]
    return tuple(map(int, numbers[0].split("."))), not rest, rest


def main(argv: Sequence[str] | None = None) -> int:
    """Carry it out and print the versions."""
    parser = argparse.ArgumentParser(
        description="Put a built site beside those of other versions."
    )
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(argv)
    names = publish(given.site, given.folder, version("pytest-ltm"))
    sys.stdout.write(f"{' '.join(names)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

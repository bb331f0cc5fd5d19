"""`ltm diary FILE`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a diary")


def show_diary(given: Namespace) -> int:
    """Print a diary, one line per day."""
    days = json.loads(given.file.read_text(encoding="utf-8"))["days"]
    print("\n".join(f"{day}: {text}" for day, text in days.items()))
    return 0

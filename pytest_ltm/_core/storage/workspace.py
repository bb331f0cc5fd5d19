"""TextFolder: files in a folder, read and changed by six commands; Workspace: a folder for an agent's own use."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_ltm._core.storage.disk import read_regular, write_whole
from pytest_ltm._core.storage.errors import DiskFault, LtmError

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}
COMMAND_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "enum": list(COMMANDS)},
        "path": _TEXT,
        "view_range": {"type": "array", "items": _NUMBER},
        "file_text": _TEXT,
        "old_str": _TEXT,
        "new_str": _TEXT,
        "insert_line": _NUMBER,
        "insert_text": _TEXT,
        "old_path": _TEXT,
        "new_path": _TEXT,
    },
    "required": ["command"],
}
"""The JSON Schema of the arguments of a command."""
# Longer files, and files that are not text, are not read.
LONGEST_FILE = 100_000
MOST_FILES = 500
# Folders of tools, whose content does not consist of notes.
_NOT_LOOKED_INTO = frozenset({".git", "__pycache__", "node_modules"})


class RefusedCommand(LtmError):
    """A command that cannot be executed; the text is for its sender."""


class TextFolder:
    """Text files in a folder, read and changed by the six commands of memory tools."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, command: str = "", **arguments: Any) -> str:
        """Execute a command; return its output, or "error: ..." with the reason."""
        carry_out = self._commands.get(command)
        if carry_out is None:
            return f"error: command is one of {', '.join(COMMANDS)}"
        try:
            return carry_out(arguments)
        except RefusedCommand as error:
            return f"error: {error}"
        except OSError as error:
            return f"error: {error.strerror}"

    @property
    def _commands(self) -> Mapping[str, Callable[[Mapping[str, Any]], str]]:
        return {
            "view": self._view,
            "create": self._create,
            "str_replace": self._replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    def texts(self) -> dict[str, str]:
        """Return the text files by their paths, sorted, without those that are too long or not UTF-8."""
        found = {name: self._read(path) for name, path in self._files()}
        return {name: text for name, text in found.items() if text is not None}

    def write(self, name: str, text: str) -> None:
        """Write a file, with its parent folders; RefusedCommand for a path outside the folder."""
        path = self._inside(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_whole(path, text.encode("utf-8", "replace"))
        except DiskFault as fault:
            raise RefusedCommand(f"{name} cannot be written") from fault

    def remove(self, name: str) -> None:
        """Delete a file or a folder, if it exists."""
        path = self._inside(name)
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[str, Path]]:
        found: list[tuple[str, Path]] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted({*folders} - _NOT_LOOKED_INTO)
            for name in names:
                path = Path(folder) / name
                # No links: they may lead anywhere.
                if path.is_file() and not path.is_symlink():
                    found.append((path.relative_to(self.root).as_posix(), path))
        yield from sorted(found)[:MOST_FILES]

    def _read(self, path: Path) -> str | None:
        try:
            if path.stat().st_size > 4 * LONGEST_FILE:
                return None
            text = read_regular(path).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return text if len(text) <= LONGEST_FILE else None

    def _inside(self, name: object) -> Path:
        """Resolve a path, which may begin with a slash; RefusedCommand if it is outside the folder."""
        if not isinstance(name, str) or "\0" in name:
            raise RefusedCommand("a path is a text such as notes/AGENTS.md")
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "//")]
        path = self.root.joinpath(*parts)
        if ".." in parts or not path.resolve().is_relative_to(self.root.resolve()):
            raise RefusedCommand(f"{name} is not in this folder")
        return path

    def _text_of(self, arguments: Mapping[str, Any]) -> tuple[str, str]:
        name = _text(arguments, "path")
        path = self._inside(name)
        text = self._read(path) if path.is_file() else None
        if text is None:
            raise RefusedCommand(f"there is no text file {name}")
        return name, text

    def _view(self, arguments: Mapping[str, Any]) -> str:
        name = arguments.get("path", "")
        path = self._inside(name)
        if path.is_dir():
            below = path.relative_to(self.root).as_posix()
            head = "" if below == "." else f"{below}/"
            names = [file for file, _ in self._files() if file.startswith(head)]
            return "\n".join(names) or "(no files)"
        lines = self._text_of(arguments)[1].splitlines()
        first, last = _line_range(arguments.get("view_range"), len(lines))
        numbered = enumerate(lines[first - 1 : last], start=first)
        return "\n".join(f"{number:>4}  {line}" for number, line in numbered)

    def _create(self, arguments: Mapping[str, Any]) -> str:
        name = _text(arguments, "path")
        text = _text(arguments, "file_text")
        if len(text) > LONGEST_FILE:
            raise RefusedCommand(f"a file may have {LONGEST_FILE:,} characters")
        self.write(name, text)
        return f"wrote {name}"

    def _replace(self, arguments: Mapping[str, Any]) -> str:
        name, text = self._text_of(arguments)
        old = _text(arguments, "old_str")
        new = str(arguments.get("new_str") or "")
        count = text.count(old) if old else 0
        if count != 1:
            raise RefusedCommand(f"old_str is in {name} {count} times, not once")
        self.write(name, text.replace(old, new))
        return f"changed {name}"

    def _insert(self, arguments: Mapping[str, Any]) -> str:
        name, text = self._text_of(arguments)
        lines = text.splitlines(keepends=True)
        place = arguments.get("insert_line", len(lines))
        if not isinstance(place, int) or not 0 <= place <= len(lines):
            raise RefusedCommand(f"insert_line is 0 to {len(lines)}")
        added = _text(arguments, "insert_text").removesuffix("\n") + "\n"
        head = "".join(lines[:place])
        if head and not head.endswith("\n"):
            head += "\n"
        self.write(name, head + added + "".join(lines[place:]))
        return f"changed {name}"

    def _delete(self, arguments: Mapping[str, Any]) -> str:
        name = _text(arguments, "path")
        path = self._inside(name)
        if path == self.root or not path.exists():
            raise RefusedCommand(f"there is no {name}")
        self.remove(name)
        return f"deleted {name}"

    def _rename(self, arguments: Mapping[str, Any]) -> str:
        old = _text(arguments, "old_path")
        new = _text(arguments, "new_path")
        source = self._inside(old)
        target = self._inside(new)
        if source == self.root or not source.exists():
            raise RefusedCommand(f"there is no {old}")
        if target.exists():
            raise RefusedCommand(f"there is a {new} already")
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
        return f"renamed {old} to {new}"


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise RefusedCommand(f"{name} is missing, or no text")
    return value


def _line_range(value: Any, count: int) -> tuple[int, int]:
    """Return the first and the last line to show; -1 as the end stands for the last one."""
    if value is None:
        return 1, count
    is_pair = isinstance(value, Sequence) and len(value) == 2
    if not is_pair or not all(isinstance(number, int) for number in value):
        raise RefusedCommand("view_range is the first and the last line")
    first, last = value
    return max(1, first), count if last == -1 else last


class TemporaryFolder(TextFolder):
    """An initially empty folder, which is deleted when this object is collected."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="ltm-")))
        weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)


class Workspace:
    """A temporary folder that an agent may use; it detects files changed since the last `look`."""

    def __init__(self) -> None:
        self.folder = TemporaryFolder()
        self._texts: dict[str, str] = {}

    @property
    def path(self) -> Path:
        """The path of the folder."""
        return self.folder.root

    def look(self) -> None:
        """Remember the current files."""
        self._texts = self.folder.texts()

    def put_back(self) -> None:
        """Restore the remembered files: a failed attempt leaves nothing behind."""
        texts = self.folder.texts()
        for name in texts.keys() - self._texts.keys():
            self.folder.remove(name)
        for name, text in self._texts.items():
            if texts.get(name) != text:
                self.folder.write(name, text)

    def carry_out(self, **arguments: Any) -> str:
        """Execute a command, and remember the resulting files."""
        result = self.folder(**arguments)
        self.look()
        return result

    def changes(self) -> list[dict[str, str]]:
        """Return the commands that lead from the remembered to the current files, sorted by path."""
        texts = self.folder.texts()
        changes: list[dict[str, str]] = []
        for name in sorted(texts.keys() | self._texts.keys()):
            if name not in texts:
                changes.append({"command": "delete", "path": name})
            elif texts[name] != self._texts.get(name):
                text = {"path": name, "file_text": texts[name]}
                changes.append({"command": "create", **text})
        return changes

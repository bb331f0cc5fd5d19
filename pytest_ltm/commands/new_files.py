"""New files of a project: all are checked before the first is written, and removed again on failure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_ltm.api.storage import ConfigurationError, read_regular, write_output

_READ_BY_PYTEST = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("pyproject.toml", "tox.ini", "setup.cfg"),
)


class NewFiles:
    """The files that a command adds below one folder, which no link may leave."""

    def __init__(self, project: Path) -> None:
        self._project = project.resolve()
        self._before: dict[Path, bytes | None] = {}

    def check(self, paths: Iterable[Path]) -> None:
        """Raise ConfigurationError for files that exist, or cannot be created."""
        paths = list(paths)
        existing = [path for path in paths if path.is_symlink() or path.exists()]
        if existing:
            names = ", ".join(map(self._short_name, existing))
            raise ConfigurationError(
                f"already exists: {names}. No file is overwritten. Move them, or name another folder: "
                "ltm init FOLDER"
            )
        for path in paths:
            self._check_folder(path)

    def _check_folder(self, path: Path) -> None:
        folder = next(parent for parent in path.parents if parent.exists())
        if not folder.is_dir():
            raise ConfigurationError(
                f"{self._short_name(folder)} is a file, and {self._short_name(path)} needs a folder there: move it"
            )
        self._check_inside(path.parent)

    def _check_inside(self, path: Path) -> None:
        place = path.resolve()
        if not place.is_relative_to(self._project):
            raise ConfigurationError(
                f"{self._short_name(path)} leads out of the project by a link, to {place}: nothing is written there"
            )

    def refuse_pipes(self, folder: Path) -> None:
        """Raise ConfigurationError for named pipes at which pytest would hang when it reads its settings."""
        folder = folder.resolve()
        for place in (folder, *folder.parents):
            for name in _READ_BY_PYTEST:
                path = place / name
                if path.exists() and not path.is_file():
                    raise ConfigurationError(
                        f"{self._short_name(path)} is not a regular file, and pytest would read it: move it"
                    )

    def write(self, texts: Mapping[Path, str]) -> None:
        """Write checked files, or none of them; LtmError if one cannot be written."""
        with self.taken_back_on_error():
            for path, text in texts.items():
                self._replace(path, text.encode())
                print(f"wrote {self._short_name(path)}")

    def lines_to_add(self, path: Path, lines: Sequence[str]) -> list[str]:
        """Return the lines that a file lacks; ConfigurationError if they cannot be added."""
        if not path.exists():
            self._check_folder(path)
            return list(lines)
        self._check_inside(path)
        try:
            existing = read_regular(path).decode().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not a text in UTF-8"
            raise ConfigurationError(
                f"{self._short_name(path)}: {reason}. Save it as one, or give it these lines yourself: "
                f"{', '.join(lines)}"
            ) from error
        return [line for line in lines if line not in existing]

    def add_lines(self, path: Path, lines: Sequence[str]) -> None:
        """Append lines to a file, keeping its contents and its line endings."""
        if not lines:
            return
        text = read_regular(path).decode() if path.exists() else ""
        end = "\r\n" if "\r\n" in text else "\n"
        # An incomplete last line must not absorb the first new one.
        gap = "" if not text or text.endswith("\n") else end
        added = "".join(f"{line}{end}" for line in lines)
        self._replace(path, f"{text}{gap}{added}".encode())
        print(f"wrote {self._short_name(path)}: {', '.join(lines)}")

    @contextmanager
    def taken_back_on_error(self, *made_there: Path) -> Iterator[None]:
        """Undo all changes if the block raises.

        `made_there`: new files created by other code in the block.
        """
        self._before |= dict.fromkeys(made_there)
        try:
            yield
        except BaseException:
            self.take_back()
            raise

    def take_back(self) -> None:
        """Undo all changes."""
        for path, content in self._before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                write_output(path, content)
        self._before.clear()

    def _replace(self, path: Path, content: bytes) -> None:
        former = read_regular(path) if path.exists() else None
        self._before.setdefault(path, former)
        write_output(path, content)

    def _short_name(self, path: Path) -> str:
        folder = Path.cwd()
        # Resolve its folder, not the file itself, which may be a link.
        place = path.parent.resolve() / path.name
        if place.is_relative_to(folder):
            return place.relative_to(folder).as_posix()
        return str(path)

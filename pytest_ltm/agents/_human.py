"""A person as the agent, at the terminal: takes the test, may pause, and resumes later."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pytest_ltm.agents.sources import (
    AgentSource,
    agent_source,
    is_keyless,
    refuse_argument,
)
from pytest_ltm.api.storage import AgentError, Field, for_screen

# Exchanges without a question that are shown again before the next message.
REMINDED = 3
# Characters of a text that is shown again.
_SHORT = 300
_PAUSED = "Paused. What you have answered is kept; this message comes again when the run is resumed."
HELP = """\
Type your answer; it may have several lines, and an empty line sends it. A word
of command stands alone on the first line:
  :empty    send an answer without any text
  :again    show the message once more
  :pause    stop here and resume later; Ctrl-D does the same
  :help     show this
An answer that begins with a colon begins with two: ::like this."""


class Human:
    """The person at the terminal. AcceptsHistory, TimeAware, Configured.

    A pause raises KeyboardInterrupt, which stops pytest as Ctrl-C does.
    """

    main_thread = True
    """One conversation at a time: there is one keyboard."""

    def __init__(self) -> None:
        self._number = 0
        self._time: datetime | None = None
        self._exchanges: deque[tuple[str, str]] = deque(maxlen=REMINDED)
        self._new = 0

    def reply(self, message: str) -> str:
        """Show the message and return the person's answer."""
        with contextlib.suppress(ImportError):
            # Windows has no readline.
            import readline  # noqa: F401 - lines can be edited, and be longer than 4,096 characters
        if self._number == 0:
            _print_to_person(f"You take this test yourself.\n{HELP}")
        self._remind()
        self._show(message)
        while True:
            try:
                answer = _read_typed_lines()
            except EOFError:
                answer = ":pause"
            match answer.strip():
                case ":help":
                    _print_to_person(HELP)
                case ":again":
                    self._show(message)
                case ":pause":
                    _print_to_person(_PAUSED)
                    raise KeyboardInterrupt("paused")
                case command if (
                    command.startswith(":")
                    and not command.startswith("::")
                    and "\n" not in command
                ):
                    if command == ":empty":
                        return self._note_answer(message, "")
                    _print_to_person(
                        f"There is no command {command!r}; :help lists the commands."
                    )
                case _:
                    if answer.startswith("::"):
                        answer = answer[1:]
                    return self._note_answer(message, answer)

    def accept(self, message: str, reply: str) -> None:
        """Store an exchange that needs no answer: filler, or one from before a pause."""
        self._number += 1
        self._exchanges.append((message, reply))
        self._new += 1

    def tell_time(self, now: datetime) -> None:
        """Store the conversation's time, which is shown with each message."""
        self._time = now

    def configuration(self) -> Mapping[str, Any]:
        """Return a configuration that marks the agent as a person."""
        return {"human": True}

    def _note_answer(self, message: str, reply: str) -> str:
        self.accept(message, reply)
        self._new = 0
        return reply

    def _remind(self) -> None:
        """Show the latest exchanges since the person's last answer, shortened."""
        if not self._new:
            return
        exchanges = list(self._exchanges)[-self._new :]
        head = "since your last answer, or before you paused"
        if self._new > len(exchanges):
            head += f" (and {self._new - len(exchanges)} exchanges more)"
        _print_to_person(f"--- {head} ---")
        for message, reply in exchanges:
            _print_to_person(
                f"agenda: {_shorten_line(message)}\n   you: {_shorten_line(reply)}"
            )
        self._new = 0

    def _show(self, message: str) -> None:
        time = "" if self._time is None else f", {self._time:%A %d %B %Y, %H:%M}"
        _print_to_person(f"--- message {self._number + 1}{time} ---")
        width = min(shutil.get_terminal_size().columns, 100)
        lines = []
        for line in message.split("\n"):
            lines.append(textwrap.fill(line, width, replace_whitespace=False))
        _print_to_person("\n".join(lines))


def make_human(argument: str, parameters: Field) -> AgentSource:
    """Return the source of the person; AgentError without a terminal."""
    parameters.mapping(known=[])
    refuse_argument("human", argument)
    if not (is_keyless() or (sys.stdin is not None and sys.stdin.isatty())):
        raise AgentError(
            "agent 'human' needs a person at a terminal. Run pytest in one, with -s (so that pytest leaves the "
            "keyboard alone) and without -n."
        )
    return agent_source(Human, spec="human", unlimited=True)


def _read_typed_lines() -> str:
    """Return the typed lines up to an empty line, or a one-line command; EOFError at the end of input."""
    first = input("> ")
    if not first or (first.startswith(":") and not first.startswith("::")):
        return first
    return "\n".join([first, *iter(lambda: input(". "), "")])


def _shorten_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _print_to_person(text: str) -> None:
    print(f"\n{for_screen(text)}", flush=True)  # noqa: T201 - it talks to a person

"""A thinker with a script: per role the next result or an exception to raise; without lines, the rules' result."""

from __future__ import annotations

from collections import deque
from typing import Any

from pytest_ltm.agents.memory.paging import MemoryToolCall, StepResult
from pytest_ltm.agents.memory.thinker import Rules, Task, TaskResult


class Script(Rules):
    """`Script(reply=["Hello."], step=[calls("send_message", message="Hi.")])`."""

    def __init__(self, **lines: Any) -> None:
        self.lines = {role: deque(given) for role, given in lines.items()}
        self.asked: list[Any] = []

    def think(self, task: Task[Any]) -> TaskResult[Any]:
        self.asked.append(task)
        thought = super().think(task)
        if not self.lines.get(task.role):
            return thought
        line = self.lines[task.role].popleft()
        if isinstance(line, Exception):
            raise line
        return TaskResult(line, thought.usage)


def calls(tool: str, **arguments: Any) -> StepResult:
    return StepResult((MemoryToolCall(tool, arguments),))

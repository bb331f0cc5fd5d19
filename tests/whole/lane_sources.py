"""Sources that several files of lane tests write into their projects, and readers of their output."""

from __future__ import annotations

import itertools
import re

from _pytest.pytester import RunResult
from conftest import Project

SCOPES = """
import pytest
from ticks import tick

def noted(scope):
    @pytest.fixture(scope=scope)
    def fixture(request):
        tick(scope, "up", request.node.name)
        yield object()
        tick(scope, "down", request.node.name)
    return fixture

for_session, for_package, for_module, for_class, for_function = map(
    noted, ["session", "package", "module", "class", "function"]
)
"""
TALK = """
import pytest
from ticks import tick

def talk(ltm, name, span=0.5):
    ltm.say(f"{name} speaks")
    ltm.wait(span=span)
    ltm.ask(f"{name} asks")

"""
TALKATIVE = """
import logging, sys

class Talkative:
    def reply(self, message):
        print(f"agent heard {message[:20]}")
        print(f"agent warns about {message[:20]}", file=sys.stderr)
        logging.getLogger("agent").warning("agent logs %s", message[:20])
        return message
"""
PAIR = """
import logging, sys

def talk(ltm, name):
    print(name, "out before")
    ltm.say(f"{name} speaks")
    ltm.wait(span=0.5)
    print(name, "out after")
    print(name, "err after", file=sys.stderr)
    logging.warning("%s logs", name)
    assert ltm.ask(f"{name} asks") == "never"

def test_a(ltm): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""


def ups_and_downs(project: Project, scope: str) -> list[str]:
    return [
        tick.removeprefix(f"{scope} ")
        for tick in project.ticks
        if tick.startswith(f"{scope} ")
    ]


def section_of(result: RunResult, title: str, test: str) -> list[str]:
    """Return the lines of a captured section in one test's report."""
    lines = iter(result.outlines)
    for line in lines:
        if re.match(rf"_+ .*{test}\[.* _+$", line):
            break
    for line in lines:
        if re.match("__+ ", line):
            return []
        if re.match(rf"-+ {title} -+$", line):
            break
    return list(itertools.takewhile(lambda line: not re.match("[-_=]{5}", line), lines))

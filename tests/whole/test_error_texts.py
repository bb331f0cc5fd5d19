"""The form of an error: its sentence and the user's own frames, without ours."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

import pytest_ltm
from pytest_ltm._core.internals.setup import as_users_see_it

AGENT = """
import pytest

class Agent:
    def reply(self, message):
        return self.look_up(message)

    def look_up(self, message):
        raise KeyError("no such drawer")

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_agent(config, spec):
    return Agent if spec == "broken" else None
"""


def run(pytester: pytest.Pytester, *options: str) -> str:
    result = pytester.runpytest_subprocess(*options)
    assert result.ret != 0
    text = result.stdout.str()
    assert "pytest_ltm/" not in text.replace("ltm: ", ""), text
    return text


def test_an_agents_exception_shows_the_agents_frames_and_the_sentence(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(AGENT)
    pytester.makepyfile("def test_a(ltm):\n    ltm.say('hello')\n    ltm.ask('?')\n")
    text = run(pytester, "--ltm-agent=broken", "--ltm-suite=none")
    assert 'raise KeyError("no such drawer")' in text
    assert (
        "AgentFault: agent 'broken' raised in reply(): KeyError: 'no such drawer'"
        in text
    )
    assert "ltm.say('hello')" in text


def test_a_mistake_in_a_scenario_shows_its_line_and_the_sentence(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_a(ltm):\n    ltm.ask('who?')\n")
    text = run(pytester, "--ltm-agent=echo", "--ltm-suite=none")
    assert ">   ltm.ask('who?')" in text.replace(">       ", ">   ")
    assert "ScenarioError: asks before it has said anything" in text


def test_a_broken_definition_is_one_sentence(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("defs")
    (folder / "colours").mkdir()
    (folder / "colours" / "0.def.json").write_text('{"steps": [{"sya": "x"}]}')
    text = run(pytester, "--ltm-agent=echo", "--ltm-definitions=defs")
    assert "DefinitionError: " in text
    assert "Did you mean 'say'?" in text
    assert "Traceback" not in text


def test_a_scenario_that_asks_nothing_is_one_sentence(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("def test_a(ltm):\n    ltm.say('hello')\n")
    text = run(pytester, "--ltm-agent=echo", "--ltm-suite=none")
    assert (
        "ScenarioError: asks nothing, so it cannot be scored. Add an `ask` or a watcher"
        in text
    )


def test_a_package_beside_ours_with_a_longer_name_keeps_its_frames() -> None:
    theirs = str(
        Path(pytest_ltm.__file__).parent.with_name("pytest_ltm_bots") / "bot.py"
    )
    with pytest.raises(KeyError) as caught:
        exec(compile("raise KeyError('no such drawer')", theirs, "exec"), {})
    shown = as_users_see_it(caught.value)
    assert theirs in [
        frame.filename for frame in traceback.extract_tb(shown.__traceback__)
    ]

"""What an error looks like: the sentence and the user's own frames, none of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

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
    result = pytester.runpytest_subprocess("-p", "no:randomly", *options)
    assert result.ret != 0
    text = result.stdout.str()
    assert "pytest_ltm/" not in text.replace("ltm: ", ""), text
    return text


def test_an_agents_exception_shows_the_agents_frames_and_the_sentence(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(AGENT)
    pytester.makepyfile("def test_a(ltm):\n    ltm.say('hello')\n    ltm.ask('?')\n")
    text = run(pytester, "--ltm-agent=broken", "--ltm-suite=none")
    assert 'raise KeyError("no such drawer")' in text
    assert "AgentFault: agent 'broken' raised in reply(): KeyError: 'no such drawer'" in text
    assert "ltm.say('hello')" in text


def test_a_mistake_in_a_scenario_shows_its_line_and_the_sentence(pytester: pytest.Pytester) -> None:
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


def test_a_scenario_that_asks_nothing_is_one_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(ltm):\n    ltm.say('hello')\n")
    text = run(pytester, "--ltm-agent=echo", "--ltm-suite=none")
    assert "ScenarioError: asks nothing, so it cannot be scored. Add an `ask` or a watcher" in text

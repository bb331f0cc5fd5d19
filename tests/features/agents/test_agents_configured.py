from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import agent_fingerprint
from pytest_ltm.api.storage import AgentError, redact_secrets

BOTS = """
class Bot:
    def __init__(self, model, limit=3, *, key=""):
        self.model, self.limit, self.key = model, limit, key
    def reply(self, message):
        return f"{self.model} {self.limit} {self.key}"

class Told(Bot):
    def configuration(self):
        return {"model": self.model}

class Late(Bot):
    async def configuration(self):
        return {}

def answer(message, tone="flat"):
    return f"{tone}: {message}"

def make(model):
    return Bot(model)

ready = Bot("m")
"""


@pytest.fixture
def configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Any]]:
    """Find the agents of a file `bot.yml` next to a module of bots."""
    (tmp_path / "ltm_probe_bots.py").write_text(BOTS)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])

    def look(text: str) -> Any:
        (tmp_path / "bot.yml").write_text(text)
        return find_agent("bot.yml", base=tmp_path)

    yield look
    sys.modules.pop("ltm_probe_bots", None)


def wrong(configured: Any, text: str) -> str:
    with pytest.raises(AgentError) as caught:
        configured(text)
    return str(caught.value)


def test_a_class_gets_its_parameters_and_serves_each_conversation_anew(
    configured: Any,
) -> None:
    found = configured(
        "agent: ltm_probe_bots:Bot\nparameters: {model: small, limit: 9}"
    )
    assert found.make().reply("a") == "small 9 "
    assert found.make() is not found.make()
    assert type(found.make()).__name__ == "Bot"


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("agent: ltm_probe_bots:make\nparameters: {model: big}", "big 3 "),
        ("agent: ltm_probe_bots:answer\nparameters: {tone: kind}", "kind: a"),
        ("agent: ltm_probe_bots:answer", "flat: a"),
        ("agent: echo", "a"),
    ],
)
def test_factories_functions_and_embedded_agents_can_be_named(
    configured: Any, text: str, reply: str
) -> None:
    assert configured(text).make().reply("a") == reply


def test_a_variable_gives_a_parameter_whose_value_is_told_to_nobody(
    configured: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("LTM_PROBE_VALUE", "hush")
    found = configured(
        "agent: ltm_probe_bots:Bot\nparameters: {model: m}\nenv: {key: LTM_PROBE_VALUE}"
    )
    agent = found.make()
    assert agent.reply("a") == "m 3 hush"
    assert "LTM_PROBE_VALUE" in str(found.configuration(agent))
    assert "hush" not in str(found.configuration(agent))


def test_the_value_of_such_a_parameter_is_redacted_if_that_is_named_like_a_secret(
    configured: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("LTM_PROBE_VALUE", "hush-hush-now")
    configured("agent: ltm_probe_bots:Bot\nenv: {model: LTM_PROBE_VALUE}")
    assert redact_secrets("hush-hush-now") == "hush-hush-now"
    configured(
        "agent: ltm_probe_bots:Bot\nparameters: {model: m}\nenv: {key: LTM_PROBE_VALUE}"
    )
    assert redact_secrets("hush-hush-now") == "[redacted $LTM_PROBE_VALUE]"


def test_the_file_decides_the_fingerprint(configured: Any) -> None:
    def fingerprint(text: str) -> str:
        found = configured(f"agent: ltm_probe_bots:{text}")
        return agent_fingerprint(found.spec, found.configuration(found.make()))

    small = fingerprint("Bot\nparameters: {model: small}")
    assert small == fingerprint("Bot\nparameters: {'model': 'small'}  # the same")
    assert small != fingerprint("Bot\nparameters: {model: big}")
    assert fingerprint("Told\nparameters: {model: m, limit: 1}") != fingerprint(
        "Told\nparameters: {model: m, limit: 2}"
    )


def test_what_the_agent_tells_of_itself_goes_into_the_fingerprint_too(
    configured: Any,
) -> None:
    found = configured("agent: ltm_probe_bots:Told\nparameters: {model: m}")
    assert found.configuration(found.make()) == {
        "file": {
            "agent": "ltm_probe_bots:Told",
            "parameters": {"model": "m"},
            "env": [],
        },
        "agent": {"model": "m"},
    }


def test_an_async_configuration_is_an_error_that_says_so(configured: Any) -> None:
    found = configured("agent: ltm_probe_bots:Late\nparameters: {model: m}")
    with pytest.raises(
        AgentError, match=r"failed in configuration\(\).*Make it a plain function"
    ):
        found.configuration(found.make())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "agent: ltm_probe_bots:Bot\nparameters: {model: m, limt: 2}",
            "bot.yml:2: parameters.limt: Bot has no ",
        ),
        (
            "agent: ltm_probe_bots:Bot\nparameters: {model: m, limt: 2}",
            "Did you mean 'limit'? It takes model, limit",
        ),
        (
            "agent: ltm_probe_bots:Bot\nparameters: {limit: 2}",
            "Bot needs 'model' as well",
        ),
        (
            "agent: ltm_probe_bots:ready\nparameters: {limit: 2}",
            "a Bot object exists already",
        ),
        ("agent: ltm_probe_bots:Bot\nparameters: [1]", "expected a mapping"),
        (
            "agent: ltm_probe_bots:Bot\nparameters: {model: 2024-05-06}",
            "expected a JSON value",
        ),
        (
            "agent: ltm_probe_bots:Bot\nparameter: {}",
            "unknown field; known fields: agent, parameters, env",
        ),
        ("parameters: {}", "the field 'agent' is missing"),
        ("agent: 7", "expected the spec of an agent"),
        ("agent: bot.yml", "is another file"),
        ("agent: window:8k\nparameters: {size: 1}", "'window:8k' takes no parameters"),
        ("agent: nosuch", "unknown agent 'nosuch'"),
        (
            "agent: ltm_probe_bots:Bot\nenv: [LTM_PROBE_UNSET]",
            "'LTM_PROBE_UNSET' is not set",
        ),
        ("agent: ltm_probe_bots:Bot\nenv: LTM_PROBE", "expected a list of names"),
        (
            "agent: cmd:true\nenv: {a: PATH}",
            "expected a list of names that must be set",
        ),
        ("agent: !!python/object:os.system {}", "expected the spec of an agent"),
        ("agent: [", "not usable YAML"),
    ],
)
def test_a_wrong_file_says_where_and_what(
    configured: Any, text: str, says: str
) -> None:
    assert says in wrong(configured, text)


def test_a_file_that_is_not_there_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="there is no such file in") as caught:
        find_agent("nosuch.yml", base=tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_an_agent_with_parameters_of_its_own_kind_is_found(configured: Any) -> None:
    found = configured("agent: cmd:true\nparameters: {capabilities: [Resettable]}")
    assert found.make().configuration()["cmd"]["capabilities"] == ["Resettable"]
    assert found.spec == "bot.yml"

"""Mistakes of a first hour: each message says what is wrong, where, and the fix, without our own frames."""

# ruff: noqa: E501 - a use and what is told of it stand on one line
from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Project

from pytest_ltm._core.model.scenario import load_yaml_scenario
from pytest_ltm.api.storage import DefinitionError
from pytest_ltm.commands import USAGE, main

BOT = "class Bot:\n    def reply(self, message):\n        return 'ok'\n"
GOOD = "def test_good(ltm):\n    ltm.say('hello')\n    ltm.ask('hello?')\n"

COMMANDS = {
    "--ltm-agnet=full": "there is no option --ltm-agnet. Did you mean '--ltm-agent'?",
    "--ltm-span=2k": "--ltm-span: this is not an LTM run, * Add --ltm-agent=SPEC",
    "--ltm": "--ltm: the ini value ltm_agents names no agent. Add lines 'name = spec'",
    "--ltm-agent=": "--ltm-agent: no agent is given. Name one, as in --ltm-agent=full",
    "--ltm-agent=bot.py": "unknown agent 'bot.py'. An agent in a file is named with dots, as in 'bot:Bot'.",
    "--ltm-agent=bot:Bot()": "unknown agent 'bot:Bot()'. An agent is named, not called: 'bot:Bot'. A YAML file can give",
    "--ltm-agent=bott:Bot": "agent 'bott:Bot': there is no module 'bott', neither installed nor in '*'.",
    "--ltm-agent=bot:Bott": "agent 'bot:Bott': module 'bot' (*bot.py) has no 'Bott'. Did you mean 'Bot'?",
    "--ltm-agent=bot:Bot.rply": "has no 'rply'. Did you mean 'reply'?",
    "--ltm-agent=windwo:8k": "unknown agent 'windwo:8k'. Did you mean 'window'?",
    "--ltm-agent=gpt-4o": "unknown agent 'gpt-4o'. A model is named with its provider: 'openai:gpt-4o'.",
    "--ltm-agent=window": "agent 'window:': '' is not a number of tokens. Write it as in 'window:8k'",
    "--ltm-agent=window:many": "'many' is not a number of tokens. Write it as in 'window:8k'",
    "--ltm-agent=forgetful:2": "'2' is not a share from 0 to 1. Write it as in 'forgetful:0.2'",
    "--ltm-agent=openai": "no model is named. Write openai:MODEL, or openai:MODEL@http",
    "--ltm-agent=openai:gpt-4o-mini": "the environment variable OPENAI_API_KEY is not set. Set it, or name another with key_env=",
    "--ltm-agent=http:": "agent 'http:': '' is not a URL such as http://localhost:8000/chat",
    "--ltm-agent=cmd:": "agent 'cmd:' names no command. Write it as in 'cmd:python bot.py'",
    "--ltm-agent=cmd:no_such_program": "agent 'cmd:no_such_program': there is no program 'no_such_program'",
    "--ltm-agent=human": "agent 'human' needs a person at a terminal. Run pytest in one, with -s",
    "--ltm-agent=bot.yml": "agent 'bot.yml': there is no such file in '*'",
    "--ltm-agent=full,full": "two agents have the label 'full'*Give one a name of its own: NAME=full",
    "--ltm-agent=replay:nowhere": "agent 'replay:nowhere': cannot be read: it is not a file, and there is no run 'nowhere'",
    "--ltm-agent=echo --ltm-span=2kk": "--ltm-span: '2kk' is not a memory span. Write tokens as 2000, 32k or 1.5m",
    "--ltm-agent=echo --ltm-span=2,000": "at least one token, not '000'. Write tokens as 2000, 32k or 1.5m: commas separate spans",
    "--ltm-agent=echo --ltm-span=0": "--ltm-span: a memory span has at least one token, not '0'",
    "--ltm-agent=echo --ltm-span=2k,2k": "--ltm-span: 2k is given twice",
    "--ltm-agent=echo --ltm-suite=standrad": "--ltm-suite: there is no suite 'standrad'. Did you mean 'standard'?",
    "--ltm-agent=echo --ltm-suite=my.yml": "there is no suite 'my.yml'. Built-in: *; or name a *.ltm-suite.yml file",
    "--ltm-agent=echo --ltm-seed=lucky": "--ltm-seed: 'lucky' is not a whole number",
    "--ltm-agent=echo --ltm-examples=0": "--ltm-examples: at least 1, not 0",
    "--ltm-agent=echo --ltm-concurrency=lots": "--ltm-concurrency: 'lots' is not a number of conversations. Write one, or auto",
    "--ltm-agent=echo --ltm-concurrency=0": "--ltm-concurrency: at least 1, not 0",
    "--ltm-agent=echo --ltm-trials=many": "--ltm-trials: 'many' is not a whole number",
    "--ltm-agent=echo --ltm-filler=trivai": "--ltm-filler: unknown filler 'trivai'. Did you mean 'trivia'?",
    "--ltm-agent=echo --ltm-filler=trivia:no.txt": "filler file 'no.txt' cannot be read (No such file or directory)",
    "--ltm-agent=echo --ltm-scoring=v4": "--ltm-scoring: 'v4' is not one of current, v3.5, paper",
    "--ltm-agent=echo --ltm-judge=gpt-4o": "unknown judge 'gpt-4o'. A model is named with its provider: 'openai:gpt-4o'. Choose from none, * openai:MODEL",
    "--ltm-agent=echo --ltm-judge=rules?votes=2": "--ltm-judge: votes: 2 may be tied; use an odd number",
    "--ltm-agent=echo --ltm-time=fast": "--ltm-time: 'fast' is not one of simulated, jump, signal, sleep",
    "--ltm-agent=echo --ltm-reply-timeout=soon": "'soon' is not a number of seconds; 0 means no limit",
    "--ltm-agent=echo --ltm-shard=3/2": "--ltm-shard: '3/2' is not a shard. Write I/N, counted from 1",
    "--ltm-agent=echo --ltm-price=cheap": "--ltm-price: 'cheap' is not a price. Write dollars per million tokens",
    "--ltm-agent=echo --ltm-max-cost=free": "--ltm-max-cost: 'free' is not a number of dollars, as in 2.50",
    "--ltm-agent=echo --ltm-dir=bot.py": "--ltm-dir: cannot write to '*bot.py': Not a directory. Name a writable folder",
    "--ltm-agent=echo --ltm-report=bot.py/x.html": "--ltm-report: cannot write '*x.html': ",
    "--ltm-agent=echo --ltm-report=report.pdf": "--ltm-report: it is written as HTML, so 'report.pdf' must end in .html",
    "--ltm-agent=echo --ltm-compare=main": "there is no baseline, file or run 'main'. * (--ltm-save=NAME makes one)",
    "--ltm-agent=echo --ltm-compare-fail=mean:5%": "'mean:5%': nothing to compare with. Add --ltm-compare=NAME",
    "--ltm-agent=echo --ltm-fail-under=acuracy:1": "there is no metric 'acuracy'. Write *METRIC one of mean, total",
    "--ltm-agent=echo --ltm-save=a/b": "'a/b' cannot name a baseline. Use letters, digits",
    "--ltm-resume=nowhere": "--ltm-resume: there is no run 'nowhere': there are no runs in *",
    "--ltm-rescore=latest": "--ltm-rescore: there is no latest run in *",
    "--ltm-agent=echo --ltm-suite=locomo": "--ltm-suite: LoCoMo is not shipped: download * and give --ltm-suite='locomo?data=PATH'",
    "--ltm-agent=echo --ltm-suite=locomo?dta=x": "--ltm-suite: locomo has no parameter 'dta'. Did you mean 'data'? It has data, *",
    "--ltm-agent=echo --ltm-suite=locomo?data": "--ltm-suite: 'locomo?data': 'data' is not a parameter. Write NAME=VALUE*",
    "--ltm-agent=echo --ltm-suite=locomo?data=a&data=b": "--ltm-suite: 'locomo?data=a&data=b': 'data' is given twice",
    "--ltm-agent=echo --ltm-definitions=no": "--ltm-definitions: *no: cannot be read: No such file or directory",
    "--ltm-agent=echo --ltm-agent-proces": "no option --ltm-agent-proces. Did you mean '--ltm-agent-process'?",
    "--ltm-agent=echo -n 4": "-n needs pytest-xdist: pip install 'pytest-ltm[xdist]'",
    "--ltm-agent=echo ltm/colour": "not found: ltm/colour. Did you mean 'ltm/colours'?",
}

INI = {
    "ltm_spans = 2k": "tox.ini: there is no key 'ltm_spans'. Did you mean 'ltm_span'?",
    "ltm_span = 2q": "tox.ini: ltm_span: '2q' is not a memory span",
    "ltm_trials = three": "tox.ini: ltm_trials*three",
    "ltm_suite = standart": "tox.ini: ltm_suite: *standart",
    "ltm_judge = opnai:x": "tox.ini: ltm_judge: *opnai",
    "ltm_compare_fail = men:5%": "tox.ini: ltm_compare_fail: 'men:5%': there is no metric 'men'",
    "ltm_agents = broken = nowhere:Bot": "tox.ini: ltm_agents: agent 'nowhere:Bot': there is no module 'nowhere'",
}

SCENARIOS = {
    "@pytest.mark.ltm(exampels=3)\ndef test_a(ltm): ...": "test_a.py:2: *has no keyword 'exampels'. Did you mean 'examples'?",
    "@pytest.mark.ltm(examples='3')\ndef test_a(ltm): ...": "test_a.py:2: *(examples='3'): expected int",
    "@pytest.mark.ltm(examples=0)\ndef test_a(ltm): ...": "test_a.py:2: *(examples=0): expected at least 1",
    "@pytest.mark.ltm(generate=3)\ndef test_a(ltm): ...": "test_a.py:2: *expected a function (rng, parameters)",
    "@pytest.mark.ltm(requires=['Tools'])\ndef test_a(ltm): ...": "test_a.py:2: *expected capabilities among Resettable, *",
    "@pytest.mark.ltm(threshold=80)\ndef test_a(ltm): ...": "test_a.py:2: *expected a score from 0 to 1",
    "@pytest.mark.ltm(3)\ndef test_a(ltm): ...": "test_a.py:2: @pytest.mark.ltm takes keywords only, not 3",
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self, ltm): ...": "*Make it a plain class (class TestA:)",
    "def test_a(lmt):\n    lmt.say('x')": "nothing to play: no selected test takes the fixture 'ltm', and an LTM run leaves out all others",
    "def test_a(ltm, tmp_pth): ...": "scenario error: SetupFailed: fixture 'tmp_pth' not found",
    "def test_a(ltm)\n    ltm.say('x')": "test_a.py\", line 2*def test_a(ltm)*SyntaxError: expected ':'",
    "def test_a(ltm): pass": "ERROR in test_a*asks nothing, so it cannot be scored. Add an `ask` or a watcher",
    "def test_a(ltm):\n    ltm.ask('x')": "test_a.py:3*asks before it has said anything*Say something first",
    "def test_a(ltm):\n    ltm.wait(1)": "ltm.wait(1) does not say what it counts. Write ltm.wait(tokens=...)*test_a.py:3",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.wait(tokens=-1)": "cannot wait backwards: tokens=-1*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.wait(span=2)": "span=2 (1.0 is all of it)*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.wait(time='soon')": "'soon' is not a duration; write it as '30s'*test_a.py:4",
    "def test_a(ltm):\n    ltm.tell('x')": "test_a.py:3*ltm has no 'tell'. Did you mean 'say'?",
    "def test_a(ltm):\n    ltm.say(3)": "a message is a non-empty text, not 3*test_a.py:3",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.watch('y')": "ltm.watch('y'): a watcher is a function*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.ask('y')\n    ltm.check('z')": "ltm.check: missing * argument: 'ok'. It is called as ltm.check(label, ok, acted=*)*test_a.py:5",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.ask('y', expect='z')": "unexpected keyword argument 'expect'. It is called as ltm.ask(text, *test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.wait(time=None)": "None is not a duration; write it as '30s'*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.watch(len, replies='5')": "a watcher counts at least one reply, not '5'*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.check('a cat', ltm.ask('y'))": "a check needs True or False, not str*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.check('c' in ltm.ask('y'), 'a cat')": "the label comes first*test_a.py:4",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.ask('y')\n    ltm.score(80)": "ltm.score(80): a score is a number from 0 to 1*",
    "def test_a(ltm):\n    ltm.say('x')\n    ltm.ask('y')\n    ltm.score(1)\n    ltm.score(1)": "scored twice: *Use check()",
    "@pytest.fixture(scope='module')\ndef talk(ltm): ...\ndef test_a(talk): ...": "ScopeMismatch*function scoped fixture ltm*test_a.py:2",
    "async def test_a(ltm):\n    ltm.say('x')": "ERROR in test_a*test_a is an async def, and no plugin awaits it.*write def, or install a plugin",
    "def test_a(ltm_agent): ...": "test_a uses 'ltm_agent' and does not take 'ltm', so it is not a scenario. Add 'ltm' to",
    "@pytest.mark.ltm\ndef test_a(): ...": "test_a is marked with @pytest.mark.ltm and does not take 'ltm', so it is not a scenario",
    "def make(rng): ...\n@pytest.mark.ltm(generate=make)\ndef test_a(ltm): ...": "make() takes 1 positional argument but 2 were",
    "def make(rng, parameters): ...\n@pytest.mark.ltm(generate=make)\ndef test_a(ltm): ...": "expected a pytest_ltm.Definition",
}

AGENTS = {
    "class Bot:\n    def chat(self, text, history): ...": "Bot has no reply(message). It has chat(text, history); what replies",
    "class Bot:\n    def chat(self, m): ...\n    def run(self, m): ...": "but chat() and run(). Name the one that replies, as in 'bot:Bot.chat'",
    "import abc\nclass Bot(abc.ABC):\n    @abc.abstractmethod\n    def reply(self, m): ...": "--ltm-agent: agent 'bot:Bot': Bot is abstract: it lacks 'reply'. Name a class",
    "class Bot: ...": "--ltm-agent: agent 'bot:Bot': Bot has no reply(message). Write `def reply(self, message)`",
    "class Bot:\n    def rply(self, m): ...": "Bot has no reply(message). It has rply(m). If rply replies, name it: 'bot:Bot.rply'",
    "class Bot:\n    def reply(self, *, text): ...": "--ltm-agent: *Bot.reply cannot be called with one message. Write `def reply(self, message)`",
    "class Bot:\n    def reply(self): ...": "Bot.reply cannot be called with one message. Write `def reply(self, message)`",
    "class Bot:\n    def __init__(self, model): ...\n    def reply(self, m): ...": "making a Bot needs 'model'. Give a factory instead",
    "class Bot:\n    def __init__(self):\n        {}['key']\n    def reply(self, m): ...": (
        "ERROR in the agent*bot.py\", line 3, in __init__*KeyError: 'key'*could not be made: KeyError: 'key' (bot.py:3)"
    ),
    "class Bot:\n    def reply(self, m): return None": "agent 'bot_Bot' replied with None; a reply is a str*",
    "class Bot:\n    def reply(self, m): return {'text': 3}": "replied with {'text': 3} (a dict); a reply is a str*",
    "class Bot:\n    def reply(self, m):\n        raise OSError('no network')": "bot.py:3: OSError*raised in reply(): OSError: no network",
    "class Bot:\n    def reply(self, m) return 'x'": "SyntaxError: expected ':' (bot.py, line 2): def reply(self, m) return 'x'",
    "import langchian": "importing 'bot' failed with ModuleNotFoundError: No module named 'langchian' (bot.py:1)",
    "import os\nKEY = os.environ['NO_SUCH_KEY']": "importing 'bot' failed with KeyError: 'NO_SUCH_KEY' (bot.py:2)",
    "import sys\nsys.exit(3)": "importing 'bot' failed with SystemExit: 3 (bot.py:2)",
    "Bot = 'a text'": "agent 'bot:Bot' is 'a text' (a str), which cannot reply. Give a class, a no-argument factory",
    "def Bot(): return None": "agent 'bot:Bot' is None, which cannot reply. Give a class, a no-argument factory",
    "def Bot(a, b): ...": "agent 'bot:Bot' needs 'a', 'b'; a factory needs no argument and a function that replies needs one",
    "async def Bot(): ...": "agent 'bot:Bot' is an async factory. Make it a plain function; reply may be async",
    f"{BOT}\nBot = Bot()": "one object and can serve one conversation only, but this run has more. Give a class or",
}

STEPS = "steps:\n  - say: x\n  - ask: y\n    expect: [{contains: a}]"

YAML = {
    "": "a.ltm.yml: expected a mapping with the fields name, description, steps, *, got None.",
    "- say: x": "a.ltm.yml:1: expected a mapping with the fields *, got [{'say': 'x'}].",
    "steps: []": "a.ltm.yml:1: steps: asks nothing, so there is nothing to score; add a step `ask:` with `expect:`.",
    "steps:\n  - sya: x": "a.ltm.yml:2: steps[0].sya: unknown field; *. Did you mean 'say'?",
    "steps:\n  - say: 3": "a.ltm.yml:2: steps[0].say: expected a non-empty text, got 3. In YAML, write it in quotes.",
    "steps:\n  - wait: 5": "a.ltm.yml:2: steps[0].wait: expected a mapping with the fields span, tokens, time, *, got 5.",
    "steps:\n  - wait: {span: 2}": "a.ltm.yml:2: steps[0].wait.span: expected a share of the memory span from 0 to 1, got 2.",
    "steps:\n  - wait: {time: soon}": "a.ltm.yml:2: *expected a duration of at least 0: seconds, or a text such as '45m', *, got 'soon'.",
    "steps:\n  - ask: y\n    expect: []": "a.ltm.yml:3: steps[0].expect: expected at least one check: contains, *, got [].",
    "steps:\n  - ask: y\n    expect: [{contain: a}]": "a.ltm.yml:3: *contain: unknown field; *. Did you mean 'contains'?",
    "steps:\n  - say: x\n - ask: y": "a.ltm.yml:3: not usable YAML: *. A text with special characters needs quotes.",
    f"exampels: 3\n{STEPS}": "a.ltm.yml:1: exampels: unknown field; *. Did you mean 'examples'?",
    f"examples: many\n{STEPS}": "a.ltm.yml:1: examples: expected a whole number of at least 1, got 'many'.",
    f"threshold: 80\n{STEPS}": "a.ltm.yml:1: threshold: expected a number from 0 to 1, got 80.",
}

LTM = {
    "lits suites": "ltm: there is no command 'lits'. Did you mean 'list'? Choose from try, init, list, check-agent, *",
    "list suits": "ltm list: there is no list 'suits'. Did you mean 'suites'? Choose from suites, scenarios, agents, commands.",
    "data locomo": "ltm: there is no command 'data locomo'. Did you mean 'data locomo-check'?",
    "lab trend nowhere": "ltm lab trend: there is no run 'nowhere': there are no runs in .ltm/runs",
    "show nowhere": "ltm show: there is no run 'nowhere': there are no runs in .ltm/runs",
    "lab review nowhere": "ltm lab review: there is no run 'nowhere': there are no runs in .ltm/runs",
    "report nowhere": "ltm report: there is no run 'nowhere': there are no runs in .ltm/runs",
    "lab badge": "ltm lab badge: there is no latest run in .ltm",
    "compare nowhere latest": "ltm compare: there is no baseline, file or run 'nowhere'. *(--ltm-save=NAME makes one).",
    "export nowhere --to=excel": "ltm export: error: argument --to: invalid choice: 'excel' (choose from *latex*",
    "init --from=langgrap": "ltm init: error: argument --from: invalid choice: 'langgrap' (choose from *langgraph*",
    "serve --port=http": "ltm serve: error: argument --port: invalid int value: 'http'",
}


def _told(project: Project, *arguments: str) -> str:
    result = project.pytest(*arguments, "-p", "no:xdist")
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR)
    told = " ".join(f"{result.stderr.str()} {result.stdout.str()}".split())
    assert "INTERNALERROR" not in told
    assert "_multicall" not in told
    # pytest itself prints the location of a fixture requested in a wrong scope
    assert "pytest_ltm/_" not in re.sub(r"Requested fixture: \S+", "", told)
    return told


def _has(told: str, said: str) -> bool:
    """Whether the text contains these parts of a sentence in order, with anything between them."""
    at = 0
    for part in said.split("*"):
        at = told.find(part.strip(), at)
        if at < 0:
            return False
        at += len(part.strip())
    return True


@pytest.mark.parametrize("words", COMMANDS)
def test_on_the_command_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.file(BOT, "bot.py")
    project.file(GOOD, "test_good.py")
    told = _told(project, *words.split())
    assert _has(told, COMMANDS[words]), told


@pytest.mark.parametrize("line", INI)
def test_in_the_ini_file(project: Project, line: str) -> None:
    project.file(GOOD, "test_good.py")
    project.file(
        f"[pytest]\nltm_agents = echo = echo\n{line}\n".replace(
            "ltm_agents = echo = echo\nltm_ag", "ltm_ag"
        ),
        "tox.ini",
    )
    told = _told(project, "--ltm")
    assert _has(told, INI[line]), told


@pytest.mark.parametrize("source", SCENARIOS)
def test_in_a_test_file(project: Project, source: str) -> None:
    project.file(f"import pytest\n{source}\n", "test_a.py")
    told = _told(project, "--ltm-agent=echo", "--ltm-span=300", "test_a.py")
    assert _has(told, SCENARIOS[source]), told


@pytest.mark.parametrize("source", AGENTS)
def test_in_an_agent(project: Project, source: str) -> None:
    project.file(f"{source}\n", "bot.py")
    project.file(GOOD, "test_good.py")
    told = _told(project, "--ltm-agent=bot:Bot", "--ltm-span=300,400", "test_good.py")
    assert _has(told, AGENTS[source]), told


@pytest.mark.parametrize("text", YAML)
def test_in_a_scenario_without_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("a.ltm.yml")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DefinitionError) as refused:
        load_yaml_scenario(path)
    assert _has(str(refused.value), YAML[text]), str(refused.value)


@pytest.mark.parametrize("words", LTM)
def test_of_the_command_ltm(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        assert main(words.split()) == USAGE
    except SystemExit as ended:
        assert ended.code == USAGE  # noqa: PT017 - argparse ends so
    told = " ".join(capsys.readouterr().err.split())
    assert _has(told, LTM[words]), told
    assert not [*tmp_path.iterdir()]


def test_there_are_at_least_120() -> None:
    assert sum(map(len, (COMMANDS, INI, SCENARIOS, AGENTS, YAML, LTM))) >= 120

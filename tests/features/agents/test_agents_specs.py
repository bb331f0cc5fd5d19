from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import journals
import pytest

from pytest_ltm.agents import Echo, Reply, Silent
from pytest_ltm.agents.registry import (
    find_agent,
    label_for,
    reading_variants,
    split_specs,
)
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentError, ConfigurationError
from pytest_ltm.modes.agent_sources import sees_clock

BOT = """
class Bot:
    def reply(self, message):
        return "bot: " + message

class Nest:
    Inner = Bot

def answer(message):
    return message

def make():
    import ltm_probe_extra
    return Bot()
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder with a package of agents that is not on sys.path, which is restored afterwards."""
    package = tmp_path / "ltm_probe"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "bots.py").write_text(BOT)
    (package / "broken.py").write_text("1 / 0\n")
    (package / "lacking.py").write_text("import ltm_probe_not_installed\n")
    (package / "leaving.py").write_text("import sys\nsys.exit('bye')\n")
    (tmp_path / "ltm_probe_extra.py").write_text("")
    (tmp_path / "ltm_probe_bad.py").write_text("raise OSError('no disk')\n")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("ltm_probe")]:
        del sys.modules[name]


def unknown(spec: str, **settings: Any) -> Any:
    with pytest.raises(AgentError) as caught:
        find_agent(spec, **settings)
    assert spec in str(caught.value)
    return str(caught.value)


# --- embedded


@pytest.mark.parametrize(("spec", "kind"), [("echo", Echo), ("silent", Silent)])
def test_the_simple_agents_are_found_by_name(spec: str, kind: Any) -> None:
    found = find_agent(spec)
    assert isinstance(found.make(), kind)
    assert found.spec == spec


@pytest.mark.parametrize("spec", ["full", "window:8k"])
def test_the_reader_is_found_with_its_memory_policy(spec: str) -> None:
    found = find_agent(spec)
    assert found.spec == spec
    assert found.serves_many
    made: Any = found.make()
    assert made.configuration()["memory"] == spec
    assert found.make() is not found.make()


def test_an_argument_that_nobody_takes_is_an_error() -> None:
    assert "Write 'echo'" in unknown("echo:3")


@pytest.mark.parametrize("spec", ["window:abc", "window", "window:0", "full:8k"])
def test_an_argument_that_cannot_be_used_is_an_error_with_an_example(spec: str) -> None:
    assert unknown(spec).endswith(("'window:8k'", "Write 'full'"))


def test_every_described_agent_can_be_made_as_described(tmp_path: Path) -> None:
    recording = journals.write(
        tmp_path / "journal.jsonl",
        journals.header(),
        journals.message(by="", text="Hello."),
        journals.reply(text="Hi."),
    )
    for kind in agent_kinds().values():
        assert kind.help.endswith(".")
        if kind.embedded:
            spec = kind.example.replace("RUN", str(recording))
            assert isinstance(find_agent(spec).make().reply("Hello."), str | Reply)


def test_a_misspelt_name_is_corrected() -> None:
    assert unknown("fulll") == "unknown agent 'fulll'. Did you mean 'full'?"


def test_a_name_like_no_other_is_told_which_there_are() -> None:
    text = unknown("zzzz")
    assert (
        "Choose from agree, anthropic, bm25, candidates, claude-code, cmd, codex, "
        in text
    )
    assert "mypkg.bot:Bot" in text


def test_a_misspelt_name_with_an_argument_is_corrected() -> None:
    assert "Did you mean 'window'?" in unknown("windwo:8k")
    assert "Did you mean 'window'?" in unknown("windwo:abc")


def test_names_of_the_caller_are_known_too() -> None:
    assert "Did you mean 'support-bot'?" in unknown(
        "suport-bot", named_agents=["support-bot"]
    )


def test_an_agent_named_as_a_file_is_told_the_dotted_form() -> None:
    assert "'bots.mine:Bot'" in unknown("bots/mine.py:Bot")
    assert "'mine:Bot'" in unknown("mine.py")


@pytest.mark.parametrize("spec", ["ftp://localhost:1/", "", "a b", ":Bot", "mod:"])
def test_what_has_no_form_of_a_spec_is_unknown(spec: str) -> None:
    assert "unknown agent" in unknown(spec)


# --- dotted paths


@pytest.mark.parametrize(
    "spec", ["ltm_probe.bots:Bot", "ltm_probe.bots.Bot", "ltm_probe.bots:Nest.Inner"]
)
def test_a_dotted_path_names_a_class(project: Path, spec: str) -> None:
    assert find_agent(spec, base=project).make().reply("a") == "bot: a"


def test_a_dotted_path_names_a_function(project: Path) -> None:
    assert find_agent("ltm_probe.bots.answer", base=project).make().reply("a") == "a"


def test_the_working_directory_is_the_default_base(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert find_agent("ltm_probe.bots:Bot").make().reply("a") == "bot: a"


def test_the_base_stays_importable_for_the_agents_own_imports(project: Path) -> None:
    assert find_agent("ltm_probe.bots:make", base=project).make().reply("a") == "bot: a"
    assert sys.path.count(str(project)) == 1


def test_a_module_that_is_found_anyway_leaves_the_path_alone(project: Path) -> None:
    before = list(sys.path)
    with pytest.raises(AgentError):
        find_agent("json:dumps.nothing", base=project)
    assert sys.path == before


def test_a_missing_module_leaves_the_path_alone(project: Path) -> None:
    before = list(sys.path)
    text = unknown("ltm_prob.bots:Bot", base=project)
    assert "there is no module 'ltm_prob'" in text
    assert str(project) in text
    assert sys.path == before


@pytest.mark.parametrize("spec", ["ltm_probe.bots:Bot", "ltm_probe", "lone:Bot"])
def test_a_module_in_a_folder_above_is_named_with_a_way_to_run_it(
    project: Path, spec: str
) -> None:
    (project / "lone.py").touch()
    folder = project / "tests" / "memory"
    folder.mkdir(parents=True)
    text = unknown(spec, base=folder)
    assert f"It is in {str(project)!r}: run this there" in text
    assert text.endswith("or name that folder in PYTHONPATH.")


def test_a_missing_submodule_is_told_with_the_file_of_its_package(
    project: Path,
) -> None:
    text = unknown("ltm_probe.bot:Bot", base=project)
    assert "module 'ltm_probe'" in text
    assert "__init__.py" in text
    assert "no module 'bot'" in text


def test_a_missing_attribute_is_corrected(project: Path) -> None:
    assert "has no 'Bott'. Did you mean 'Bot'?" in unknown(
        "ltm_probe.bots:Bott", base=project
    )
    assert "has no 'Iner'. Did you mean 'Inner'?" in unknown(
        "ltm_probe.bots.Nest.Iner", base=project
    )


@pytest.mark.parametrize(
    ("spec", "told", "cause"),
    [
        (
            "ltm_probe.broken:Bot",
            "importing 'ltm_probe.broken' failed with ZeroDivisionError",
            ZeroDivisionError,
        ),
        ("ltm_probe.broken.Bot", "failed with ZeroDivisionError", ZeroDivisionError),
        (
            "ltm_probe.lacking:Bot",
            "No module named 'ltm_probe_not_installed'",
            ModuleNotFoundError,
        ),
        ("ltm_probe.leaving:Bot", "failed with SystemExit: bye", SystemExit),
        (
            "ltm_probe_bad:Bot",
            "importing 'ltm_probe_bad' failed with OSError: no disk",
            OSError,
        ),
    ],
)
def test_a_module_that_raises_is_told_from_one_that_is_missing(
    project: Path, spec: str, told: Any, cause: Any
) -> None:
    with pytest.raises(AgentError) as caught:
        find_agent(spec, base=project)
    assert told in str(caught.value)
    assert isinstance(caught.value.__cause__, cause)


def test_a_module_stands_for_the_only_agent_in_it(project: Path) -> None:
    assert find_agent("ltm_probe.bots", base=project).spec == "ltm_probe.bots:Bot"


# --- the option's values


def test_values_are_split_at_commas_and_labelled() -> None:
    assert split_specs(["full, window:8k", "mine=pkg.mod:Bot,echo"]) == [
        (None, "full"),
        (None, "window:8k"),
        ("mine", "pkg.mod:Bot"),
        (None, "echo"),
    ]


@pytest.mark.parametrize(
    "spec",
    ["cmd:bot --opt a,b=c", "http://h/?q=a,b", "https://h/a,b", "replay:a,b.jsonl"],
)
def test_a_spec_that_may_hold_commas_is_not_split(spec: str) -> None:
    assert split_specs([spec]) == [(None, spec)]
    assert split_specs([f"mine={spec}"]) == [("mine", spec)]


def test_a_spec_that_may_hold_commas_stands_alone() -> None:
    with pytest.raises(ConfigurationError, match=r"'cmd:' spec.*of its own"):
        split_specs(["full,bot=cmd:bot a,b"])


def test_a_module_called_replay_is_an_ordinary_one() -> None:
    assert split_specs(["my.replay:Bot,echo"]) == [
        (None, "my.replay:Bot"),
        (None, "echo"),
    ]


@pytest.mark.parametrize("value", ["", "full,", ",full", "full,,echo", "mine=", " "])
def test_an_empty_part_is_an_error(value: str) -> None:
    with pytest.raises(ConfigurationError, match="empty agent"):
        split_specs([value])


@pytest.mark.parametrize(
    "values", [["full,full"], ["a=full", "a=echo"], ["window:8k", "window_8k=echo"]]
)
def test_equal_labels_are_an_error_that_names_both(values: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="two agents have the label") as caught:
        split_specs(values)
    parts = ",".join(values).split(",")
    for spec in (part.partition("=")[2] or part for part in parts):
        assert repr(spec) in str(caught.value)


def test_a_given_label_holds_what_a_node_id_can() -> None:
    assert split_specs(["my-bot=full"]) == [("my_bot", "full")]


def test_what_is_before_an_equals_sign_is_a_label_only_if_it_is_a_name() -> None:
    assert split_specs(["8k=full"]) == [(None, "8k=full")]


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("window:8k", "window_8k"),
        ("a.b:C", "a.b_C"),
        ("cmd:x -y é", "cmd_x__y__"),
        ("full", "full"),
    ],
)
def test_a_label_is_the_spec_as_a_node_id_can_hold_it(spec: str, label: str) -> None:
    assert label_for(spec) == label


def test_ctrl_c_while_a_module_is_imported_passes(project: Path) -> None:
    (project / "ltm_probe_stopped.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        find_agent("ltm_probe_stopped:Bot", base=project)
    assert str(project) not in sys.path


def test_an_attribute_that_raises_is_told_with_its_exception(project: Path) -> None:
    (project / "ltm_probe_lazy.py").write_text(
        "def __getattr__(name):\n    raise OSError('offline')\n"
    )
    assert "'Bot' of module 'ltm_probe_lazy'" in unknown(
        "ltm_probe_lazy:Bot", base=project
    )
    assert "OSError: offline" in unknown("ltm_probe_lazy:Bot", base=project)


@pytest.mark.parametrize("mode", ["sleep", "jump"])
def test_a_chat_model_from_a_file_sees_no_clock_nor_does_the_one_of_its_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    (tmp_path / "model.yml").write_text("agent: openai:gpt-none\n")
    config: Any = None
    for spec in ("model.yml", "openai:gpt-none"):
        assert not sees_clock(config, mode, find_agent(spec, base=tmp_path))


def test_a_bot_from_a_file_is_in_this_process_as_the_one_of_its_path_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "file_bots.py").write_text(
        "class Bot:\n    def reply(self, message):\n        return message\n"
    )
    (tmp_path / "bot.yml").write_text("agent: file_bots:Bot\n")
    config: Any = None
    for spec in ("bot.yml", "file_bots:Bot"):
        assert sees_clock(config, "jump", find_agent(spec, base=tmp_path))


@pytest.mark.parametrize(
    "kind",
    ["", "replay:", "cmd:", "http:", "ts:", "padded:", "window:", "fixed:", "openai:"],
)
@pytest.mark.parametrize(
    "argument",
    [
        "x" * 3_000,
        "." * 3_000,
        "9" * 5_000,
        "//[::1",
        "m@http://[::1/v1",
        "a\0b",
        "a:" * 2_000,
        "\ud83d",
    ],
)
def test_any_spec_names_an_agent_or_is_refused(
    kind: str, argument: str, tmp_path: Path
) -> None:
    def look_up() -> object:
        try:
            return find_agent(f"{kind}{argument}", base=tmp_path)
        except AgentError as error:
            return error

    assert isinstance(look_up(), (AgentSource, AgentError))


def test_a_value_with_signs_of_a_query_is_the_same_in_each_variant() -> None:
    specs = reading_variants("memory:rules?prompts=a%26b%2B.yml&reading.k=5,10")
    assert specs == [
        ("k5", "memory:rules?prompts=a%26b%2B.yml&reading.k=5"),
        ("k10", "memory:rules?prompts=a%26b%2B.yml&reading.k=10"),
    ]


def test_a_quoted_reader_is_named_in_its_label() -> None:
    specs = reading_variants("store:a:B?reader=rules&reader=openai%3Am")
    assert [label for label, _ in specs] == ["rules", "openai:m"]

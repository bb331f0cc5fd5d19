"""Usage errors before anything runs, and the parsing of values in configuration files."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Project

GOOD = "def test_good(ltm):\n    ltm.say('hello')\n    ltm.ask('hello?')\n"
SUITE = "scenarios: [{scenario: colours, name: shades}]\n"


def _refused(project: Project, *arguments: str) -> str:
    result = project.pytest("--ltm-agent=echo", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    return result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize(
    "word",
    [
        "--ltm-fail-under=0.8",
        "--ltm-compare=main",
        "--ltm-save=x",
        "--ltm-max-cost=1",
        "--ltm-span",
        "--ltm-report",
    ],
)
def test_an_option_that_nobody_heeds_is_refused_with_the_way_out(
    project: Project, word: str
) -> None:
    project.file(GOOD)
    result = project.pytest(*([word] if "=" in word else [word, "x.html"]))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            f"ERROR: {word.partition('=')[0]}: this is not an LTM run*Add --ltm-agent=SPEC*"
        ]
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--ltm-agnet=full", "--ltm-agent"),
        ("--ltm-spans=2k", "--ltm-span"),
        ("--ltm-dryrun", "--ltm-dry-run"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_one_that_is_meant(
    project: Project, word: str, meant: str
) -> None:
    result = project.pytest(word)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    flag = word.partition("=")[0]
    result.stderr.fnmatch_lines(
        [f"ERROR: there is no option {flag}. Did you mean '{meant}'?*"]
    )


def test_an_option_that_a_conftest_declares_is_no_misspelt_one(
    project: Project, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        "def pytest_addoption(parser):\n    parser.addoption('--ltm-agents')\n"
    )
    project.file(GOOD)
    project.pytest("--ltm-agents=x").assert_outcomes(skipped=1)


def test_an_agent_may_reply_by_another_method_which_the_head_names(
    project: Project,
) -> None:
    project.file(
        "class Bot:\n    def chat(self, text):\n        return 'ok'\n",
        name="chatbot.py",
    )
    project.file(GOOD)
    result = project.pytest("--ltm-agent=chatbot:Bot", "--ltm-suite=none")
    result.stdout.fnmatch_lines(["ltm: chatbot_Bot replies by chat()"])
    result.assert_outcomes(passed=1)


def test_an_agent_without_a_method_that_replies_is_refused_before_anything(
    project: Project,
) -> None:
    project.file(
        "class Bot:\n    def chat(self, text, history):\n        return 'ok'\n",
        name="chatbot.py",
    )
    project.file(GOOD)
    result = project.pytest("--ltm-agent=chatbot:Bot")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*Bot has no reply(message). It has chat(text, history); what replies takes *"]
    )


def test_without_capturing_a_run_plays(project: Project) -> None:
    project.file(GOOD)
    project.pytest(
        "--ltm-agent=echo", "--ltm-suite=none", "-p", "no:capture"
    ).assert_outcomes(passed=1)


def test_options_of_the_configuration_wait_for_an_ltm_run(
    project: Project, pytester: pytest.Pytester
) -> None:
    project.file(GOOD)
    pytester.makeini("[pytest]\nltm_fail_under = 0.8\naddopts = --ltm-span=300\n")
    project.pytest().assert_outcomes(skipped=1)


def test_an_agent_without_a_name_is_refused_although_the_configuration_names_some(
    project: Project, pytester: pytest.Pytester
) -> None:
    pytester.makeini("[pytest]\nltm_agents = mine = echo\n")
    result = project.pytest("--ltm-agent=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: --ltm-agent: no agent is given. Name one, as in --ltm-agent=full"]
    )


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("ltm/colour::test_colours", "ltm/colours::test_colours"),
        ("ltm/colours::test_colour", "ltm/colours::test_colours"),
        (
            "ltm/colours::test_colours[echo-3k-0-0]",
            "ltm/colours::test_colours[echo-2k-0-0]",
        ),
    ],
)
def test_a_built_in_id_that_nobody_has_is_refused(
    project: Project, wanted: str, meant: str
) -> None:
    assert f"not found: {wanted}. Did you mean '{meant}'?" in _refused(project, wanted)


def test_an_ltm_of_the_root_conftest_is_told_before_built_in_scenarios_vanish(
    project: Project,
) -> None:
    project.conftest(
        "import pytest\n@pytest.fixture\ndef ltm(): return 'long-term mortgage'"
    )

    result = project.pytest("--ltm-agent=echo", "--ltm-suite=standard")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*the fixture 'ltm' is overridden in conftest*--ltm-suite=none*"]
    )


def test_a_testcase_method_that_takes_ltm_is_told_in_an_ltm_run_only(
    project: Project,
) -> None:
    project.file(
        "import unittest\nfrom unittest.mock import patch\n"
        "class Talks(unittest.TestCase):\n    def test_a(self, ltm): pass\n"
        "class Patched(unittest.TestCase):\n    @patch('os.sep')\n    def test_b(self, ltm): pass\n",
        "test_case.py",
    )

    result = project.ltm()
    result.assert_outcomes(errors=1, deselected=1)
    result.stdout.fnmatch_lines(["*Talks is a unittest.TestCase*"])
    project.pytest().assert_outcomes(passed=1, failed=1)


def test_a_hook_that_raises_is_one_sentence(project: Project) -> None:
    project.conftest(
        "def pytest_ltm_make_agent(config, spec): raise LookupError('no key')"
    )
    text = _refused(project, "--ltm-suite=standard")
    assert "pytest_ltm_make_agent raised for 'echo': LookupError: no key" in text
    assert "conftest.py:1" in text


def test_a_report_that_cannot_be_written_is_refused(project: Project) -> None:
    project.file("", "file.txt")
    text = _refused(
        project, "--ltm-suite=standard", "--ltm-report=file.txt/report.html"
    )
    assert "--ltm-report: cannot write" in text


def test_paths_of_the_configuration_begin_at_the_root_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
) -> None:
    project.file(SUITE, "own.ltm-suite.yml")
    project.file(
        "[pytest]\nltm_suite = own.ltm-suite.yml\nltm_report = out/report.html\n",
        "pytest.ini",
    )
    monkeypatch.chdir(pytester.mkdir("below"))

    project.pytest("--ltm-agent=full").assert_outcomes(passed=1)

    assert (pytester.path / "out" / "report.html").is_file()
    assert not Path("out").exists()


def test_definitions_of_a_run_bring_their_span(
    project: Project, pytester: pytest.Pytester
) -> None:
    project.file(SUITE.replace(", name: shades", ""), "own.ltm-suite.yml")
    project.pytest(
        "--ltm-agent=full", "--ltm-suite=own.ltm-suite.yml", "--ltm-span=3k"
    ).assert_outcomes(passed=1)
    written = next(pytester.path.glob(".ltm/runs/*/full~3k~0/definitions"))

    result = project.pytest("--ltm-agent=full", f"--ltm-definitions={written}", "-v")

    result.stdout.fnmatch_lines(["*colours[[]full-3k-0-0] PASSED*"])


@pytest.mark.skipif(
    pytest.version_tuple < (9, 2),
    reason="older pytest takes one kind of native TOML value only",
)
@pytest.mark.parametrize("span", ["300", '"300"'])
def test_native_toml_may_give_text_or_numbers(project: Project, span: str) -> None:
    project.file(GOOD)
    project.file(
        f'[pytest]\nltm_span = {span}\nltm_examples = "2"\nltm_reply_timeout = 1.5\n',
        "pytest.toml",
    )

    result = project.pytest("--ltm-agent=echo", "--ltm-suite=none", "-v")

    result.stdout.fnmatch_lines(["*test_good[[]echo-300-0-1]*"])


@pytest.mark.parametrize("table", ["[tool.pytest.ini_options]", "[tool.pytest]"])
def test_an_array_of_toml_is_a_list_of_values(project: Project, table: str) -> None:
    if table == "[tool.pytest]" and pytest.version_tuple < (9, 0):
        pytest.skip("older pytest reads one table only")
    project.file(GOOD)
    lists = 'ltm_span = ["300", "400"]\nltm_agents = ["bot = echo"]\nltm_fail_under = ["mean:0", "worst:0"]'
    project.file(f"{table}\n{lists}\n", "pyproject.toml")

    result = project.pytest("--ltm", "--ltm-suite=none", "-v", "-W", "error")

    result.stdout.fnmatch_lines(
        [
            "*test_good[[]bot-300-0-0]*",
            "*test_good[[]bot-400-0-0]*",
            "gate: passed (2 rules*",
        ]
    )


def test_a_run_on_a_dumb_terminal_is_told_in_ascii_within_its_width(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "60")
    test = "def test_a(ltm):\n    ltm.say('x' * 90)\n    ltm.ask('?')\n    assert not 'a reason that takes a line'"
    project.file(f"import pytest\n@pytest.mark.ltm(examples=7)\n{test}\n")

    shown = project.pytest(
        "--ltm-agent=x=echo,y=echo,z=full", "--ltm-suite=none", "--ltm-span=2k"
    ).stdout.str()

    assert shown.isascii()
    told = shown[shown.index("a 0/7 at 2k (x), 0/7 at 2k (y), and 1 more: ") :]
    assert "-----" in told
    assert max(map(len, told.splitlines())) <= 60

"""Planted secrets and escape sequences enter through every input; no output shows them, in any encoding."""

from __future__ import annotations

import base64
import contextlib
import gzip
import html
import json
import re
import stat
import sys
import textwrap
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from conftest import Project
from json_server import Answer, Post, serving

from pytest_ltm.api.storage import COLOR
from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

VALUE = "pl4nted/Heron+42?vÄlue&so-on"
KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTU"
PASSWORD = "Winter-4711-glove"
CONTROLS = (
    "\x1b]52;c;aGVyb24=\x07\x1b[2J\x9b2J\x90q\u202ekcab\u2066\x08\x1b[8mhid\x1b[0m"
)
FORMS = {
    "plain": VALUE,
    "json": json.dumps(VALUE)[1:-1],
    "url": quote(VALUE, safe=""),
    "lower url": re.sub(
        "%[0-9A-F]{2}", lambda found: found.group().lower(), quote(VALUE, safe="")
    ),
    "hex": VALUE.encode().hex(),
    "HEX": VALUE.encode().hex().upper(),
    "html": html.escape(VALUE),
    **{
        f"base64 {n}": base64.b64encode(
            b"user:pw"[:n] + VALUE.encode() + b":x"[: n % 3]
        ).decode()
        for n in (0, 1, 2)
    },
    **{
        f"urlsafe {n}": base64.urlsafe_b64encode(b"?>?"[:n] + VALUE.encode()).decode()
        for n in (0, 1, 2)
    },
}
HIDDEN = {
    **{
        name: form
        for name, form in FORMS.items()
        if not name.startswith(("base64", "urlsafe"))
    },
    **{
        name: form[8:40]
        for name, form in FORMS.items()
        if name.startswith(("base64", "urlsafe"))
    },
    "key": KEY[:20],
    "second line of a key": KEY[-20:],
    "password": PASSWORD,
    "bearer": "t0ken-of-a-bearer",
}
"""Forbidden texts; of base64, the part that does not depend on the surrounding text."""
PLANTED = "\n".join(
    [
        *FORMS.values(),
        f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n-----END RSA PRIVATE KEY-----",
        json.dumps({"user": "ann", "password": PASSWORD}),
        f"db:\n  password: {PASSWORD}",
        f"DB_PASSWORD={PASSWORD}",
        "Authorization: Bearer t0ken-of-a-bearer",
        CONTROLS,
    ]
)
BOTS = """
import os, sys, warnings
from pathlib import Path
from pytest_ltm import Reply

PLANTED = Path(__file__).with_name("planted.txt").read_text(encoding="utf-8")

class Bot:
    def reply(self, message):
        print("out", PLANTED)
        print("err", PLANTED, file=sys.stderr)
        if "raise" in message:
            raise ValueError("refused: " + PLANTED)
        return "You said: " + PLANTED + message

    def retrieved(self):
        return [PLANTED]

    def configuration(self):
        return {"api_key": "short", "note": PLANTED}

class Judge:
    def assess(self, inquiry):
        if "raise" in inquiry.text:
            raise ValueError(PLANTED)
        return Reply(PLANTED + " GRADE: yes", cost_usd=0.5)
"""
SCENARIOS = """
import logging, sys, warnings
import pytest
from pathlib import Path

PLANTED = Path(__file__).with_name("planted.txt").read_text(encoding="utf-8")

def test_says(ltm, record_property):
    record_property("planted", PLANTED)
    warnings.warn(PLANTED)
    logging.getLogger("it").warning(PLANTED)
    print(PLANTED)
    print(PLANTED, file=sys.stderr)
    ltm.say(PLANTED)
    ltm.say("=1+1 " + PLANTED)
    answer = ltm.ask("Which? " + PLANTED)
    ltm.check("=2+5+cmd " + PLANTED, False)
    ltm.check(PLANTED, PLANTED in answer)

def test_is_judged(ltm, ltm_judge):
    ltm.say("I carve spoons. " + PLANTED)
    ltm.check("is right", ltm_judge.grade("What do I do? " + PLANTED, ltm.ask("What do I do?"), "spoons " + PLANTED))

def test_is_not_judged(ltm, ltm_judge):
    ltm.say("I carve spoons.")
    ltm.check("is right", ltm_judge.grade("What should raise?", ltm.ask("What do I do?"), "spoons"))

def test_asserts(ltm):
    ltm.say(PLANTED)
    answer = ltm.ask("What?")
    assert answer == [PLANTED, "other"], PLANTED

def test_raises(ltm):
    local = PLANTED
    ltm.say("Hello")
    ltm.ask("There?")
    raise RuntimeError(local)

def test_skips(ltm):
    pytest.skip(PLANTED)

@pytest.mark.xfail(reason=PLANTED)
def test_is_expected_to_fail(ltm):
    ltm.say("Hello")
    ltm.ask("There?")
    pytest.fail(PLANTED)

def test_agent_raises(ltm):
    ltm.say("Hello")
    ltm.ask("Now raise " + PLANTED)
"""
CMD = """
import json, os, sys
planted = open("planted.txt", encoding="utf-8").read()
for line in sys.stdin:
    sys.stderr.write(planted + "\\n")
    sys.stderr.flush()
    said = json.loads(line)["message"]
    given = {"error": planted} if "raise" in said else {"reply": planted + str(dict(os.environ))}
    print(json.dumps(given), flush=True)
"""


@pytest.fixture
def planted(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.invite("html", "html_fixtures", "metadata")
    monkeypatch.setenv("PLANTED_API_KEY", VALUE)
    project.file(PLANTED, "planted.txt")
    project.file(BOTS, "bots.py")
    project.file(CMD, "bot.py")
    project.file(SCENARIOS)
    return project


SOURCES = {
    "planted.txt",
    "bots.py",
    "bot.py",
    "test_it.py",
    "conftest.py",
    "ticks.py",
    "http.yml",
}


def written(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every written file by name, in every encoding that can be unpacked."""
    for path in sorted(folder.rglob("*")):
        if (
            path.is_file()
            and path.name not in SOURCES
            and path.suffix not in {".pyc", ".lock"}
        ):
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            yield from (
                (str(path.relative_to(folder)), layer) for layer in layers(text)
            )


def layers(text: str, deep: int = 0) -> Iterator[str]:
    """Yield a text and its packed contents: HTML attributes, JSON, JSON lines, base64 of compressed texts."""
    yield text
    if deep > 4:
        return
    if "&" in text and (plain := html.unescape(text)) != text:
        yield from layers(plain, deep + 1)
    for part in re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text):
        with contextlib.suppress(ValueError, OSError, zlib.error, EOFError):
            data = base64.b64decode(part)
            yield from layers(
                (
                    gzip.decompress(data)
                    if data[:2] == b"\x1f\x8b"
                    else zlib.decompress(data)
                ).decode(),
                deep + 1,
            )
    for part in (
        text,
        *text.splitlines(),
        *re.findall(r'data-jsonblob="([^"]*)"', text),
    ):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(html.unescape(part))
            if isinstance(found, (dict, list)):
                yield from (
                    inner for one in texts(found) for inner in layers(one, deep + 1)
                )


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from texts(list(pair))
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def leaks(where: str, text: str) -> list[str]:
    return [
        f"{name} in {where}: …{text[max(0, (at := text.find(form)) - 80) : at + 40]!r}"
        for name, form in HIDDEN.items()
        if form in text
    ]


def controls(text: str, allowed: str = "\n\t") -> set[str]:
    """Return the control characters of a text."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {sign for sign in text if unicodedata.category(sign) in kinds} - set(allowed)


def check(project: Project, *screens: str) -> None:
    found = [leak for text in screens for leak in leaks("the screen", text)]
    seen = set()
    for where, text in written(project.path):
        seen.add(where)
        found += leaks(where, text)
        if where.endswith((".xml", ".md", ".csv", ".txt")):
            assert not controls(text), where
    assert not found, "\n".join(dict.fromkeys(found))
    assert not [controls(text) for text in screens if controls(text)]
    assert any(name.endswith("journal.jsonl") for name in seen)


ALL = (
    "--html=r.html",
    "--self-contained-html",
    "--junitxml=r.xml",
    "--ltm-report=own.html",
    "--ltm-summary=own.md",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("-q",), (), ("-v", "-l", "-rA"), ("-vv", "-s", "-rA"), ("-n", "2", "-v", "-rA")],
    ids=" ".join,
)
def test_nothing_planted_comes_out_of_a_run(
    planted: Project, options: tuple[str, ...]
) -> None:
    given = (
        "-o",
        "junit_logging=all",
        "--log-file=run.log",
        "--ltm-judge=bots:Judge?canaries=off",
        *ALL,
    )
    done = planted.ltm(*given, *options, agent="bots:Bot", subprocess=True)
    assert done.ret == 75, str(done.stdout)  # the agent loses an example
    # With -s, output of other code keeps its colours.
    check(
        planted,
        *(
            COLOR.sub("", str(text)) if "-s" in options else str(text)
            for text in (done.stdout, done.stderr)
        ),
    )


@pytest.mark.slow
def test_nothing_planted_comes_out_of_commands(
    planted: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        planted.ltm(
            "--ltm-save=base",
            "-k",
            "not agent_raises",
            agent="bots:Bot",
            subprocess=True,
        )
    assert (planted.path / "ltm_baselines" / "base.json").is_file()
    first, second = sorted(
        path.name for path in (planted.path / ".ltm" / "runs").iterdir()
    )
    capsys.readouterr()
    for words in (
        ["doctor"],
        ["doctor", second],
        ["doctor", second, "--json"],
        ["report", second, "-o", "two.html"],
        ["compare", first, second],
        ["lab", "amend", second, "test_says", "--score=1", f"--reason={PLANTED}"],
        ["merge", first, second, "-o", "merged"],
        ["nothing", PLANTED],
        [PLANTED],
    ):
        with contextlib.suppress(SystemExit):
            main(words)
    said = capsys.readouterr()
    assert len(said.out) > 1000
    check(planted, said.out, said.err)


@pytest.mark.slow
def test_nothing_planted_comes_out_of_an_agents_process(planted: Project) -> None:
    done = planted.ltm(
        "-v", "-rA", *ALL, agent=f"cmd:{sys.executable} bot.py", subprocess=True
    )
    assert list(planted.path.rglob("agent-stderr.txt"))
    check(planted, str(done.stdout), str(done.stderr))


@pytest.mark.slow
def test_nothing_planted_comes_out_of_a_servers_answer(
    planted: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(post: Post) -> Answer:
        return (
            Answer(json.dumps({"error": PLANTED}) + PLANTED, 400)
            if "raise" in str(post.body)
            else Answer({"reply": PLANTED})
        )

    # its name does not mark it as secret; its use does
    monkeypatch.setenv("WHOSE", VALUE)
    monkeypatch.delenv("PLANTED_API_KEY")
    with serving(answer) as server:
        planted.file(
            textwrap.dedent(f"""
            agent: {server.url}/chat
            parameters: {{headers: {{X-Whose: "${{WHOSE}}"}}}}
            """),
            "http.yml",
        )
        done = planted.ltm("-v", "-rA", *ALL, agent="http.yml", subprocess=True)
    check(planted, str(done.stdout), str(done.stderr))


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_run_folders_are_the_owners_alone_and_what_is_there_stays(
    project: Project,
) -> None:
    project.file("def test_a(ltm):\n    ltm.say('Hello')\n    ltm.ask('There?')\n")
    there = project.path / "there"
    there.mkdir(mode=0o755)
    for where in (".ltm", "there"):
        project.ltm(f"--ltm-dir={where}")
        folders = [path for path in (project.path / where).rglob("*") if path.is_dir()][
            :2
        ]
        assert [stat.S_IMODE(path.stat().st_mode) for path in folders] == [0o700, 0o700]
    assert stat.S_IMODE((project.path / ".ltm").stat().st_mode) == 0o700
    assert stat.S_IMODE(there.stat().st_mode) == 0o755


LOUD = """
import atexit, os, subprocess, sys
def shout(when):
    text = f"{when} planted-value-77 \\x1b]52;c;aGk=\\x07"
    print(text)
    print(text, file=sys.stderr)
    os.write(1, f"{text}\\n".encode())
    subprocess.run([sys.executable, "-c", f"import os; os.write(2, {text.encode() + bytes([10])!r})"])

class Loud:
    def __init__(self): shout("made")
    def configuration(self): shout("configured"); return {}
    def reply(self, message): shout("asked"); return "Teal."
    def save(self): shout("saved"); return b""
    def load(self, state): shout("loaded")
    def close(self): shout("closed")
    def __del__(self): print("collected planted-value-77 \\x1b]52;c;aGk=\\x07")

shout("imported")
KEPT = Loud()
atexit.register(globals().pop, "KEPT")  # no interpreter promises to collect what is left at its end
"""
ASKED = "def test_asked(ltm): ltm.say('Hi'); ltm.ask('What?')"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "--capture=fd",
        "--capture=sys",
        "--capture=tee-sys",
        "-s",
        "-n1 -p xdist",
        "--ltm-concurrency=2",
    ],
)
def test_what_an_agent_prints_is_sanitized_whenever_it_does(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "planted-value-77")
    project.file(LOUD, "loud.py")
    project.file(ASKED)
    done = project.ltm(*options.split(), agent="loud:Loud", subprocess=True)
    screen = COLOR.sub("", f"{done.stdout}\n{done.stderr}")
    assert done.ret == 0, screen
    for when in (
        "imported",
        "made",
        "configured",
        "saved",
        "closed",
        *([] if "-n" in options else ["collected"]),
    ):
        assert rf"{when} [redacted $PLANTED_TOKEN] \x1b]52;c;aGk=\x07" in screen
    assert "planted-value-77" not in screen
    assert not controls(screen)


OTHERS = """
import pytest
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    with open("seen.txt", "a") as file:
        print(report.nodeid, item._report_sections, report.sections, report.longrepr, file=file)
    return report
"""


def test_reports_of_others_are_handed_no_secret(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "planted-value-77")
    project.file(OTHERS, "conftest.py")
    project.file(
        "import os, pytest\n"
        "KEY = os.environ['PLANTED_TOKEN']\n"
        "@pytest.mark.parametrize('key', [KEY, KEY.encode(), 'plain'])\n"
        "def test_key(ltm, key): print(KEY); ltm.say('Hi'); ltm.ask('What?'); assert key == KEY + '!'\n"
    )
    project.ltm().assert_outcomes(failed=3)
    seen = (project.path / "seen.txt").read_text()
    assert "planted-value-77" not in seen
    assert seen.count("[redacted $PLANTED_TOKEN]\\n") >= 3
    for parameter in ("redacted_PLANTED_TOKEN0", "redacted_PLANTED_TOKEN1", "plain"):
        assert f"-{parameter}]" in seen


@pytest.mark.slow
def test_a_secret_parameter_shows_in_no_file_of_other_reporters(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "planted-value-77")
    project.file(
        "import os, pytest\n"
        "@pytest.mark.parametrize('key', [os.environ['PLANTED_TOKEN']])\n"
        "def test_key(ltm, key): ltm.say('Hi'); ltm.ask('What?')\n"
    )
    words = (
        "-p",
        "metadata",
        "-p",
        "html",
        "--html=r.html",
        "--self-contained-html",
        "--junitxml=r.xml",
        "-v",
    )
    done = project.ltm(*words, subprocess=True)
    done.assert_outcomes(passed=1)
    for text in (
        str(done.stdout),
        *(
            (project.path / name).read_text(encoding="utf-8")
            for name in ("r.html", "r.xml")
        ),
    ):
        assert "test_key" in text
        assert "planted-value-77" not in text

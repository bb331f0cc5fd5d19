"""`init`: from a bot to a gate: an adapter, a scenario, a workflow, and a first run saved as baseline."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.framework_adapters import Framework, load_frameworks
from pytest_ltm.agents.project import Project
from pytest_ltm.agents.project_choice import choose_candidate
from pytest_ltm.api.storage import ConfigurationError, load_packaged_yaml, read_text
from pytest_ltm.commands.arguments import add_flags, add_option
from pytest_ltm.commands.gate_proof import GateProof, Setting
from pytest_ltm.commands.new_files import NewFiles

NAME = "agent-memory"
TEXT = Path(__file__).with_name("SKILL.md")


def write_skill(skills: Path) -> int:
    """Write the skill into a folder of skills. ConfigurationError if it exists."""
    path = skills / NAME / TEXT.name
    if path.exists():
        raise ConfigurationError(
            f"already exists: {path}. No file is overwritten: remove it to get the current one"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"wrote {path}")
    return 0


TEMPLATE_FILES: Mapping[str, Any] = load_packaged_yaml(__file__, "init.yml")
AGENT, STAND_IN = "ltm_agent", "ltm_bot"
"""The modules to write: the agent under test, and a stand-in for an unknown bot."""
IGNORE = ".gitignore"
WORKFLOW = ".github/workflows/ltm.yml"
_SAVED = {0, 1}  # exit statuses of pytest with a saved baseline
_UNPROVEN = 1
"""The exit status if no gate was seen to turn red."""
_MORE_TRIALS = (1, 2, 4)
"""Factors for the number of trials, tried in order."""


class Gate(Struct, frozen=True):
    """The gate that the workflow runs."""

    setting: Setting
    budget: str = ""
    """The option that limits its cost; "" for none."""
    is_played: bool = False
    """Whether its baseline is saved, and it was seen to turn red."""
    status: int = 0
    """The exit status of the run that saved the baseline."""


class Start(Struct, frozen=True, kw_only=True):
    """The initial setup of a project."""

    agent: str
    """The spec of the agent under test."""
    why: str
    """The reason for the choice, as a sentence for the user."""
    texts: dict[str, str] = {}
    """The agent's files by path."""
    requires: str = ""
    """Additional packages for the workflow."""
    keys: list[str] = []
    """The repository secrets that the workflow passes to the agent."""
    stand_in: str = ""
    """The file with a stand-in for the user's bot; "" for the bot itself."""

    @property
    def gate(self) -> dict[str, Any]:
        """The rule of the workflow, and the minimum number of trials."""
        gate: dict[str, Any] = TEMPLATE_FILES["gate"]
        return gate

    @property
    def setting(self) -> Setting:
        """The setting to try first."""
        return Setting(TEMPLATE_FILES["span"], self.gate["trials"])

    def workflow(self, folder: Path, root: Path, gate: Gate) -> str:
        """Return the workflow of the repository at `root`, which tests the agent in `folder`."""
        below = folder.resolve().relative_to(root.resolve()).as_posix()
        if below == ".":
            inside = ""
        else:
            inside = f"    defaults: {{run: {{working-directory: {below}}}}}\n"
        own = "-r requirements.txt" if (folder / "requirements.txt").is_file() else ""
        own = own or ("-e ." if (folder / "pyproject.toml").is_file() else "")
        values = {
            "inside": inside,
            "packages": " ".join(filter(None, ["pytest-ltm", own or self.requires])),
            "played": gate.setting.shell_words(self.agent),
            "budget": f" {gate.budget}" if gate.budget else "",
            "rule": self.gate["rule"],
            "key": _environment_of(self.keys),
            "report": "ltm.html" if below == "." else f"{below}/ltm.html",
        }
        return _fill_template("workflow", values)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the folder, the agent's framework, and the agent."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="(default: here)",
    )
    skill = "write only a skill for coding agents, into the folder of skills, such as .agents/skills"
    add_option(parser, "--skill", "FOLDER", skill, None, type=Path)
    names = [*load_frameworks(), *TEMPLATE_FILES["stubs"]]
    made = f"what your bot is made with: {', '.join(names)} (default: what your project imports)"
    add_option(parser, "--from", "LIBRARY", made, None, dest="library", choices=names)
    add_option(
        parser,
        "--agent",
        "SPEC",
        "your agent, as for --ltm-agent: then no adapter is written",
        None,
    )
    add_option(
        parser,
        "--max-cost",
        "DOLLARS",
        "what the first run and its proof may cost (default: 1)",
        1.0,
        type=float,
    )
    add_flags(parser, no_play="write the files only: no first run and no baseline")


def write_first_files(arguments: Namespace) -> int:
    """Write an adapter for your bot, a scenario and a workflow; play them and save the baseline.

    Without --from and --agent it looks for your bot in your project's definitions, without running any of them, and
    asks if there are several or none. With --from the adapter is ltm_agent.py; a stand-in for your bot is not played.
    The price is shown before the first message. Then the bot is played once more with its memory cut, which must turn
    the gate red: more trials are played until it does, otherwise no gate is written. The scenario's subject comes from
    the project's name, description and README, as in test_ltm_trip.py, or else it is test_ltm_appointment.py: replace
    it with your own. The workflow for GitHub Actions goes to the root of the repository. No file is overwritten.
    """
    if arguments.skill is not None:
        return write_skill(arguments.folder / arguments.skill)
    folder: Path = arguments.folder
    start = _choose_start(folder, arguments)
    root = _repository_root(folder)
    subject, seen = _choose_subject(folder)
    scenario = {
        **subject,
        "project": _project_name(folder),
        "first": subject["first"].format(day="Tuesday"),
        "then": subject["then"].format(day="Friday"),
    }
    texts = {folder / path: text for path, text in start.texts.items()}
    scenario_file = _tests_folder(folder) / f"test_ltm_{subject['name']}.py"
    # An earlier call with --from has written it, and the user may have edited it since.
    if not (arguments.agent and scenario_file.is_file()):
        texts[scenario_file] = _fill_template("scenario", scenario)
    workflow = root / WORKFLOW
    ignore = folder / IGNORE
    files = NewFiles(root)
    files.refuse_pipes(folder)
    # Checked before anything is written: half of the files would be worse than none.
    plays = not start.stand_in and not arguments.no_play
    gates = [workflow] if plays or arguments.no_play else []
    baseline = [GateProof.baseline_file(folder)] if plays else []
    files.check([*texts, *gates, *baseline])
    ignored = files.lines_to_add(ignore, TEMPLATE_FILES["ignored"])
    print(start.why)
    if seen:
        print(
            f"the scenario is about a subject of your project, which mentions {', '.join(seen)}: {subject['name']}"
        )
    files.write(texts)
    files.add_lines(ignore, ignored)
    gate = Gate(start.setting)
    if plays:
        with files.taken_back_on_error(*baseline):
            proven = _play_until_red(start, folder, arguments.max_cost)
        if proven is None:
            return _UNPROVEN
        gate = proven
    if gates and gate.status in _SAVED:
        files.write({workflow: start.workflow(folder, root, gate)})
    steps = _next_steps(start, folder, gate)
    if not gates:
        print(
            "\nnothing was played, and no baseline saved: no bot of yours answers yet"
        )
        steps = _steps_to_own_bot(start, folder)
    print("\n".join(["", "next:", *steps]))
    return 0 if gate.status in _SAVED else gate.status


def _next_steps(start: Start, folder: Path, gate: Gate) -> Iterator[str]:
    if folder.resolve() != Path.cwd():
        yield f"  cd {shlex.quote(str(folder))}"
    if not gate.is_played:
        command = gate.setting.command(start.agent)
        yield f"  {command}    # saves the baseline that the workflow compares with"
    yield "  ltm show --failed    # what was forgotten"
    if start.keys:
        yield f"  add {', '.join(start.keys)} to the secrets of the repository"
    yield "  git add . && git commit -m 'Test the memory'"


def _steps_to_own_bot(start: Start, folder: Path) -> Iterator[str]:
    place = "" if folder.resolve() == Path.cwd() else f" {shlex.quote(str(folder))}"
    yield f"  put your bot in place of what {start.stand_in} has"
    yield f"  ltm init{place} --agent={shlex.quote(start.agent)}    # plays it, and writes a gate"


def _play_until_red(start: Start, folder: Path, max_cost: float) -> Gate | None:
    """Save baselines with more and more trials, until the bot with its memory cut turns the gate red.

    Returns None, without leaving a baseline, if no gate turned red.
    """
    proof = GateProof(start.agent, folder, start.gate["rule"])
    why = "its score with its memory cut is not shown to be worse"
    for times in _MORE_TRIALS:
        setting = Setting(start.setting.span, start.setting.trials * times)
        forecast = proof.forecast(setting)
        print(f"\nto play, and once more for the proof: {forecast.text}")
        if 2 * (forecast.dollars or 0.0) > max_cost:
            why = f"that is more than ${max_cost:g}: give --max-cost"
            break
        print(f"$ {setting.command(start.agent)}", flush=True)
        status = proof.save_baseline(setting)
        if status not in _SAVED:
            return Gate(setting, status=status)
        if proof.is_hopeless():
            why = (
                "the bot scores no better than guessing, so there is no memory to lose"
            )
            break
        print("\nthe same bot with its memory cut, a fresh one for each message:")
        is_red, verdict = proof.turns_red(setting)
        print(f"  {verdict}", flush=True)
        if is_red:
            return Gate(setting, forecast.budget, is_played=True)
    removed = ""
    if proof.baseline.is_file():
        proof.baseline.unlink()
        removed = ", and the baseline is removed"
    print(f"\nno gate is written{removed}, as none was seen to turn red: {why}")
    return None


def _repository_root(folder: Path) -> Path:
    """Return the folder with `.git` that is or contains a folder; without one, the folder."""
    for parent in (folder.resolve(), *folder.resolve().parents):
        if (parent / ".git").exists():
            return parent
    return folder


def _choose_start(folder: Path, arguments: Namespace) -> Start:
    """Return the requested setup, or the one that the project suggests."""
    if arguments.agent:
        _refuse_stand_in(folder, arguments.agent)
        return Start(
            agent=arguments.agent,
            why=f"the agent under test is {arguments.agent}",
            keys=Project.read(folder).key_names(),
        )
    if arguments.library in TEMPLATE_FILES["stubs"]:
        return _stub_start(arguments.library)
    project = Project.read(folder)
    if arguments.library is None:
        place = "" if folder.resolve() == Path.cwd() else f" {shlex.quote(str(folder))}"
        found = choose_candidate(project, f"ltm init{place} --agent=SPEC")
        _refuse_stand_in(folder, found.spec)
        return Start(
            agent=found.spec,
            why=f"found {found.what}: {found.spec}",
            keys=project.key_names(),
            requires=_requirement_of(found.framework),
        )
    bots: list[tuple[str, str]] = []
    for candidate in project.candidates():
        if candidate.framework == arguments.library:
            bots.append((candidate.module, candidate.name))
    return _framework_start(load_frameworks()[arguments.library], bots[:1])


def _refuse_stand_in(folder: Path, spec: str) -> None:
    """Raise ConfigurationError if a spec names an unedited stand-in from an earlier call."""
    adapter = folder / f"{AGENT}.py"
    text = spec
    if AGENT in spec and adapter.is_file():
        text += read_text(adapter, errors="replace")
    stand_ins: set[str] = set()
    for stub in TEMPLATE_FILES["stubs"].values():
        stand_ins.update(stub["files"].values())
    for framework in load_frameworks().values():
        stand_ins |= {framework.stand_in, framework.adapter}
    for path in sorted(folder.glob("ltm_*")):
        if (
            path.is_file()
            and path.stem in text
            and read_text(path, errors="replace") in stand_ins
        ):
            raise ConfigurationError(
                f"{path.name} is still the stand-in that `ltm init` wrote, so its scores say nothing of your bot: put "
                "yours in its place"
            )


def _requirement_of(framework: str) -> str:
    return load_frameworks()[framework].requires if framework else ""


def _framework_start(framework: Framework, bots: list[tuple[str, str]]) -> Start:
    """Return an adapter for the first bot of a project, or else for the library's stand-in."""
    module, name = bots[0] if bots else (STAND_IN, framework.name)
    texts = {f"{AGENT}.py": framework.adapter_text(module, name)}
    stand_in = f"{AGENT}.py"
    title = framework.title
    if bots:
        stand_in = ""
        reason = f"found a bot made with {title}: {module}.{name}"
    elif framework.stand_in:
        stand_in = f"{STAND_IN}.py"
        texts[stand_in] = framework.stand_in
        reason = f"found no bot of {title} that is made when its module is imported: {STAND_IN}.py stands in for it"
    elif "{module}" in framework.adapter:
        reason = f"found no bot of {title}: have {AGENT}.py import yours in place of {STAND_IN}.{name}"
    else:
        reason = f"wrote a bot for {title}: put yours in place of it in {AGENT}.py"
    return Start(
        agent=AGENT,
        texts=texts,
        why=reason,
        keys=["OPENAI_API_KEY"] if "OpenAI()" in framework.adapter else [],
        requires=framework.requires,
        stand_in=stand_in,
    )


def _stub_start(name: str) -> Start:
    stub = TEMPLATE_FILES["stubs"][name]
    return Start(
        agent=stub["agent"],
        why=stub["why"],
        texts=stub["files"],
        stand_in=next(iter(stub["files"])),
    )


def _environment_of(keys: list[str]) -> str:
    """Return the lines of a workflow step that pass secrets to it."""
    lines = [f"          {key}: ${{{{ secrets.{key} }}}}\n" for key in keys]
    return f"        env:\n{''.join(lines)}" if lines else ""


def _tests_folder(folder: Path) -> Path:
    """Return the folder of a project's tests: the first of `testpaths`, else the project's."""
    for name in ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        for word in _test_paths(folder / name):
            if (folder / word).is_dir():
                return folder / word
    return folder


def _test_paths(path: Path) -> list[str]:
    text = read_text(path, errors="replace") if path.is_file() else ""
    match = re.search(
        r"^\s*testpaths\s*=\s*(\[[^\]]*\]|.*(?:\n[ \t]+\S.*)*)", text, re.MULTILINE
    )
    return re.findall(r"[^\s,\[\]\"']+", match[1]) if match else []


def _project_name(folder: Path) -> str:
    """Return the project's name in pyproject.toml, or else the folder's name."""
    path = folder / "pyproject.toml"
    text = read_text(path, errors="replace") if path.is_file() else ""
    match = re.search(r'^\s*name\s*=\s*["\']([^"\'\n]+)', text, re.MULTILINE)
    return match[1] if match else folder.resolve().name


def _choose_subject(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the subject that the project's own words suggest, and these words; empty without any."""
    text = (
        _project_name(folder)
        + " "
        + _read_top(folder / "pyproject.toml")
        + " "
        + _read_top(folder / "README.md")
    )
    words = re.findall(r"[a-z]+", text.lower())

    def mentioned(subject: dict[str, Any]) -> list[str]:
        subject_words = set(subject["words"])
        hits: list[str] = []
        for word in words:
            if word in subject_words or word.removesuffix("s") in subject_words:
                hits.append(word)
        return hits

    subject = max(
        TEMPLATE_FILES["subjects"], key=lambda subject: len(mentioned(subject))
    )
    return subject, list(dict.fromkeys(mentioned(subject)))


def _read_top(path: Path) -> str:
    """Return title and lead of a README, or name and description in pyproject.toml."""
    lines = read_text(path, errors="replace").splitlines() if path.is_file() else []
    if path.suffix == ".toml":
        pattern = re.compile(r"\s*(description|keywords)\s*=")
        return " ".join(filter(pattern.match, lines))
    prose: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith(("[!", "<")):
            prose.append(line)
    return " ".join(prose[:5])


# --- Templates.


def _fill_template(name: str, values: Mapping[str, str]) -> str:
    # Not str.format: a workflow has braces of its own.
    return re.sub(
        r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), TEMPLATE_FILES[name]
    )

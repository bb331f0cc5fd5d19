"""Definition files and configurations of the published LTM Benchmark, and folders of definitions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pytest_ltm.api.scenarios import (
    Ask,
    Definition,
    Say,
    Step,
    Suite,
    SuiteEntry,
    Wait,
    built_in,
    label_of,
    natural_sort_key,
    read_definition,
    read_json,
)
from pytest_ltm.api.storage import DefinitionError, Field, lazy_pattern
from pytest_ltm.api.storage import schema as _yaml
from pytest_ltm.datasets.suite_file import load_suite, separate_entries

# The file with the menu of the published Restaurant: dishes by section, `{"Section":
# ["dish", …]}`.
MENU = "restaurant_menu.json"
# The number of parent folders searched for the menu: the scenario's, the benchmark's,
# `definitions`, and the one above.
_LEVELS = 4


def complete_definition(
    definition: Definition, path: Path, scenario: str
) -> Definition:
    """Return a published definition, completed from the files around `path` as its scenario requires."""
    extra: dict[str, Any] = {}
    if scenario == "spy_meeting":
        extra = {"other_messages": _other_groups(definition.expected, path)}
    elif scenario == "restaurant" and (file := menu_above(path)):
        menu = {}
        for name, dishes in read_json(file).mapping().items():
            menu[name] = [dish.text() for dish in dishes.items("dishes")]
        extra = {"menu": menu}
    if extra:
        return replace(definition, parameters={**definition.parameters, **extra})
    return definition


def _other_groups(expected: Sequence[Sequence[str]], path: Path) -> list[list[str]]:
    """Return the keyword groups of a folder's other examples that share no word with the expected ones."""
    expected_words: set[str] = set().union(*expected)
    other_groups: list[list[str]] = []
    for neighbour in sorted(path.parent.glob(f"*{ENDING}")):
        # a malformed neighbour is reported when its own example is read
        with suppress(DefinitionError):
            fields = read_json(neighbour).mapping(required=["expected_responses"])
            fresh = []
            for group in keyword_groups(fields["expected_responses"]):
                if group not in other_groups and expected_words.isdisjoint(group):
                    fresh.append(group)
            other_groups += fresh
    return other_groups


def keyword_groups(expected: Field) -> list[list[str]]:
    """Return the keyword groups of Spy Meeting, one for each message."""
    groups = []
    for group in expected.items("lists of words"):
        groups.append([word.text() for word in group.items("words")])
    if not groups or not all(groups):
        raise expected.error("a list of words for each message")
    return groups


def menu_above(path: Path) -> Path | None:
    """Return the menu file that belongs to a definition file, if there is one."""
    for folder in path.absolute().parents[:_LEVELS]:
        if (folder / MENU).is_file():
            return folder / MENU
    return None


# The published folder names with our names of the scenarios.
_TABLES = _yaml.load_packaged_yaml(__file__, "published.yml")
FOLDERS: Mapping[str, str] = _TABLES["folders"]
# The suffix of definition files.
ENDING = ".def.json"

_SCRIPT = ("script", "is_question", "expected_responses")
_NTH = lazy_pattern(
    r"(\d{1,6})(?:st|nd|rd|th) new message|after the next (\d{1,6}) statements",
    re.IGNORECASE,
)
# Version 1: a quote in quotation marks, its author before or after it, and a sentence
# to say.
_QUOTE = lazy_pattern(
    r"""\s*(?:(?P<before>.*?),\s*)?(?P<mark>['"])(?P<quote>.+)(?P=mark)(?:\s*-\s*(?P<after>.+?))?\s*""",
    re.DOTALL,
)
_SAID = lazy_pattern(r"say: '(.+)'", re.DOTALL)
# A leg of directions: from where, how far, in which direction, to where.
LEG = lazy_pattern(
    r"From ([^,\n]+), go (\d+(?:\.\d+)?) ?km (\w+) to ([^.\n]+)\.", re.IGNORECASE
)
_STRAIGHT = lazy_pattern(
    r"\s*(\d+(?:\.\d+)?) ?km (north|south|east|west)\.?\s*", re.IGNORECASE
)


def scenario_of(folder: str) -> str:
    """Return our name for a published data set (ignoring case, spaces and _), else the name itself."""
    return _BY_KEY.get(_folder_key(folder), folder)


def read_any(path: str | Path, scenario: str) -> Definition:
    """Read a definition file in our format or the published one, which its fields distinguish.

    Data that a published file leaves to its neighbours is read from those.
    """
    top = read_json(path)
    if (
        isinstance(top.value, Mapping)
        and "steps" not in top.value
        and not top.value.keys().isdisjoint(_SCRIPT)
    ):
        return complete_definition(from_published(top, scenario), Path(path), scenario)
    return read_definition(top)


def from_published(top: Field, scenario: str) -> Definition:
    """Convert a published definition to ours; DefinitionError names the field of a fault.

    An empty wait is not a step. Version 1 has `token_spacings` and `time_jumps` instead of `waits`. `expected` is the
    text itself for scenarios with one text, a mapping for Prospective Memory (quote, author, nth), Locations (km,
    direction) and Locations Directions (start, route), else the published list.
    """
    has_spacings = (
        isinstance(top.value, Mapping)
        and "waits" not in top.value
        and "token_spacings" in top.value
    )
    waits = ["token_spacings", "time_jumps"] if has_spacings else ["waits"]
    fields = top.mapping(required=[*_SCRIPT, *waits])
    steps = tuple(_parse_steps(fields))
    expected = _expected_data(scenario, fields)
    if scenario == "prospective_memory":
        # the second message is marked as a question, but is the instruction
        steps = tuple(map(_as_statement, steps))
    return Definition(steps=steps, expected=expected)


def _as_statement(step: Step) -> Step:
    return Say(step.text) if isinstance(step, Ask) else step


def _parse_steps(fields: dict[str, Field]) -> Iterable[Step]:
    """Yield the steps, without a question created at run time (one flag more than texts)."""
    script = [item.text() for item in fields["script"].items("texts")]
    flags = [item.boolean() for item in fields["is_question"].items("true and false")]
    if "waits" in fields:
        name = "waits"
        waits = []
        for item in fields["waits"].items("waits"):
            parts = item.mapping(("tokens", "time", "percentage_finished"))
            percentage = parts.get("percentage_finished")
            waits.append(
                Wait(
                    span=percentage.number(0, 100, "a percentage of the memory span")
                    / 100
                    if percentage
                    else 0.0,
                    tokens=parts["tokens"].whole() if "tokens" in parts else 0,
                    time=parts["time"].duration() if "time" in parts else timedelta(0),
                )
            )
    else:  # version 1 names tokens and seconds after each message, and none at the end
        name = "token_spacings"
        spacings = fields["token_spacings"].items("numbers of tokens")
        tokens = [item.whole() for item in spacings]
        jumps = [item.duration() for item in fields["time_jumps"].items("seconds")]
        if len(jumps) > len(tokens):
            raise fields["time_jumps"].fault(
                f"expected at most {len(tokens)} values, got {len(jumps)}."
            )
        pairs = zip(tokens[:-1], [*jumps, *[timedelta(0)] * len(tokens)], strict=False)
        waits = [*(Wait(tokens=count, time=jump) for count, jump in pairs), Wait()]
    at_run_time = len(flags) == len(script) + 1 and flags[-1]
    if len(flags) != len(script) and not at_run_time:
        raise fields["is_question"].fault(
            f"expected {len(script)} values, one for each text, got {len(flags)}."
        )
    if len(waits) != len(flags):
        raise fields[name].fault(
            f"expected {len(flags)} waits, as many as in is_question, got {len(waits)}."
        )
    # zip ends with the script: it is followed by the run-time question and the wait
    # after it.
    for text, is_question, wait in zip(script, flags, waits, strict=False):
        yield Ask(text) if is_question else Say(text)
        if wait != Wait():
            yield wait


def _expected_data(scenario: str, fields: dict[str, Field]) -> Any:
    """Return the expected data in the form of our scenario."""
    expected = fields["expected_responses"]
    result: Any
    match scenario:
        case (
            "chapter_break" | "colours" | "jokes" | "kv_pairs" | "names" | "sally_anne"
        ):
            result = _one_text(expected)
        case "locations":
            direction = _STRAIGHT.fullmatch(_one_text(expected))
            if direction is None:
                raise expected.error("a text such as '3 km North'")
            result = {"km": float(direction[1]), "direction": direction[2].lower()}
        case "locations_directions":
            # the text is an example of an answer, one leg per line
            legs = LEG.findall(_one_text(expected))
            if not legs:
                raise expected.error("legs such as 'From Mill, go 2km North to Inn.'")
            route = [[float(km), word.lower(), goal] for _, km, word, goal in legs]
            result = {"start": legs[0][0], "route": route}
        case "prospective_memory":
            result = _prospective_data(expected, fields["script"])
        case "spy_meeting":
            result = keyword_groups(expected)
        case "trigger_response":  # version 1 has "say: '…'" around the sentence
            result = [_said_text(item.text()) for item in expected.items("texts")]
        case _:
            result = expected.json()
    return result


def _said_text(text: str) -> str:
    match = _SAID.fullmatch(text)
    return match[1] if match else text


def _one_text(expected: Field) -> str:
    texts = expected.items("texts")
    if len(texts) != 1:
        raise expected.error("a list of one text")
    return texts[0].text()


def _prospective_data(expected: Field, script: Field) -> dict[str, Any]:
    """Return quote, author and number; versions 1 and 2 have them in the two messages, and expect a sentence.

    "In the 8th new message after this one" is the ninth reply, because the reply to the instruction is the first.
    """
    values = expected.items("values")
    if len(values) != 1:
        raise expected.error("a list of one value")
    if not isinstance(values[0].value, str):
        parts = values[0].items("quote, author and number")
        if len(parts) != 3:
            raise values[0].error("a list of quote, author and number")
        return {
            "quote": parts[0].text(),
            "author": parts[1].text(),
            "nth": parts[2].whole(least=1),
        }
    texts = [item.text() for item in script.items("texts")]
    quote = _QUOTE.fullmatch(texts[0]) if texts else None
    nth = _NTH.search(texts[-1]) if texts else None
    author = quote and (quote["after"] or (quote["before"] or "").rpartition(", ")[2])
    if not quote or not nth or not author:
        raise script.error(
            "\"'quote' - author\" and an instruction that names the number of a new message"
        )
    return {"quote": quote["quote"], "author": author, "nth": int(nth[1] or nth[2]) + 1}


class DefinitionsFolder:
    """A folder `DIR/<scenario or published folder name>/<example>.def.json`, with or without a `config.yml`."""

    def __init__(self, path: str | Path) -> None:
        """List the folder and read only `config.yml`; DefinitionError if it is unusable."""
        self.path = Path(path)
        self._files = _definition_files(self.path)
        self.span: int | None = _memory_span(self.path / "config.yml")
        """The default memory span in tokens, if `config.yml` has one."""
        self.examples: dict[str, tuple[str, ...]] = {}
        """The names of the examples (the files' stems, as in node ids) by scenario, in natural order."""
        for name, files in self._files.items():
            self.examples[name] = tuple(files)
        self.is_published = any((self.path / name).is_dir() for name in FOLDERS)
        """Whether its folders have the published benchmark's names."""
        names = FOLDERS.values()
        self.unknown = tuple(name for name in self.examples if name not in names)
        """The unknown scenarios in `examples`."""

    def file(self, scenario: str, example: str) -> Path:
        """Return the path of one example; DefinitionError if there is none."""
        try:
            return self._files[scenario][example]
        except KeyError:
            raise DefinitionError(
                f"{self.path}: no definition of {scenario}/{example}."
            ) from None

    def definition(self, scenario: str, example: str) -> Definition:
        """Return one example's data; DefinitionError for a fault in its file, or if there is none."""
        return read_any(self.file(scenario, example), scenario)


def _definition_files(folder: Path) -> dict[str, dict[str, Path]]:
    paths: dict[str, dict[str, Path]] = {}
    try:
        for path in _visible_folders(folder):
            files = sorted(
                path.glob(f"*{ENDING}"), key=lambda file: natural_sort_key(file.name)
            )
            name = scenario_of(path.name)
            if files and name in paths:
                raise DefinitionError(
                    f"{folder}: more than one folder holds the scenario {name!r}; keep one of them."
                )
            for file in files:
                label = label_of(file.name.removesuffix(ENDING))
                first_file = paths.setdefault(name, {}).setdefault(label, file)
                if first_file is not file:
                    cure = "Give one of them another name"
                    raise DefinitionError(
                        f"{file}: {first_file.name} is example {label!r}, too. {cure}."
                    )
    except OSError as error:
        raise DefinitionError(
            f"{folder}: cannot be read: {error.strerror or error}."
        ) from None
    if not paths:
        way_out = f"Expected files like {str(folder / 'colours' / ('0' + ENDING))!r}"
        if any(folder.glob(f"*{ENDING}")):
            way_out = f"The files lie one level too high: give the folder above, {str(folder.parent)!r}"
        elif any(folder.glob(f"definitions/*/*{ENDING}")):
            way_out = f"Give the folder below, {str(folder / 'definitions')!r}"
        raise DefinitionError(f"{folder}: no definitions here. {way_out}.")
    return dict(sorted(paths.items()))


def _visible_folders(folder: Path) -> list[Path]:
    folders = []
    for path in folder.iterdir():
        if path.is_dir() and not path.name.startswith("."):
            folders.append(path)
    return sorted(folders)


def _memory_span(config: Path) -> int | None:
    if not config.exists():
        return None
    top = _yaml.load_yaml(config)
    top.mapping()
    for names in (("memory_span",), ("datasets", "args", "memory_span")):
        place: Field | None = top
        for name in names:
            if place and isinstance(place.value, Mapping):
                place = place.mapping().get(name)
            else:
                place = None
        if place is not None and place.value is not None:
            return place.tokens()
    return None


def _folder_key(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


_BY_KEY: Mapping[str, str] = _TABLES["more_names"] | {
    _folder_key(name): scenario
    for folder, scenario in FOLDERS.items()
    for name in (folder, scenario)
}

# --- published configurations, which name spans, examples and parameters, as suites

# Settings of a published configuration for all data sets.
_COMMON = ("memory_span", "dataset_examples", "seed")
# Spacing settings of earlier versions of the benchmark.
_SPACING = ("filler_tokens_low", "filler_tokens_high", "pre_question_filler")
_UNHONOURED: Mapping[str, str] = _TABLES["unhonoured"]


def load_any_suite(path: str | Path, known: Collection[str] | None = None) -> Suite:
    """Load the suite in our file, or the one that a published configuration (`config`, `datasets`) asks for."""
    top = _yaml.load_yaml(path)
    if not (isinstance(top.value, Mapping) and "datasets" in top.value):
        return load_suite(path, known)
    parts = top.mapping(("config", "datasets"), required=("datasets",))
    config = (
        parts["config"].mapping(("run_name", "incompatibilities", *_UNHONOURED))
        if "config" in parts
        else {}
    )
    datasets = parts["datasets"].mapping(("args", "datasets"), required=("datasets",))
    common = (
        datasets["args"].mapping((*_COMMON, *_SPACING)) if "args" in datasets else {}
    )
    if field := next((common[name] for name in _SPACING if name in common), None):
        raise field.fault(
            "cannot be honoured: this version of the benchmark put filler of a fixed size between two messages, and "
            "examples generated here are stretched over a memory span. Give a memory_span in its place, or play the "
            "published definitions of that version: --ltm-definitions=DIR --ltm-count=filler."
        )
    lists = (
        config["incompatibilities"].items("lists")
        if "incompatibilities" in config
        else ()
    )
    groups = []
    for group in lists:
        groups.append({_known_scenario(name, known) for name in group.items("names")})
    items = datasets["datasets"].items("data sets")
    entries = [_configured_entry(item, common, known) for item in items]
    at = {}
    for name, field_name in (("span", "memory_span"), ("seed", "seed")):
        if field_name in common:
            at[name] = common[field_name]
    unhonoured = []
    for name, reason in _UNHONOURED.items():
        if name in config:
            unhonoured.append(f"{Path(path).name}: config.{name}: {reason}")
    return Suite(
        name=config["run_name"].text() if "run_name" in config else Path(path).stem,
        path=str(path),
        entries=separate_entries(datasets["datasets"].items(), entries, groups),
        spans=(at["span"].tokens(),) if "span" in at else (),
        seed=at["seed"].whole(least=None) if "seed" in at else None,
        lines={name: field.line or 0 for name, field in at.items()},
        unhonoured=tuple(unhonoured),
    )


def _configured_entry(
    item: Field, common: Mapping[str, Field], known: Collection[str] | None
) -> SuiteEntry:
    """Return the entry of a data set, with the parameters of the suite `paper` by default."""
    fields = item.mapping(("name", "args"), required=("name",))
    own = fields["args"].mapping() if "args" in fields else {}
    scenario = _known_scenario(fields["name"], known)
    paper = built_in("paper").entry(scenario)
    examples = own.pop("dataset_examples", common.get("dataset_examples"))
    parameters = {
        **(paper.parameters if paper else {}),
        **{name: field.json() for name, field in own.items()},
    }
    count = None if examples is None else examples.whole(least=1)
    return SuiteEntry(
        scenario=scenario, name=scenario, parameters=parameters, examples=count
    )


def _known_scenario(field: Field, known: Collection[str] | None) -> str:
    name = scenario_of(field.text("the name of a data set"))
    if known is not None and name not in known:
        raise field.fault(f"no scenario here plays the data set {field.value!r}.")
    return name

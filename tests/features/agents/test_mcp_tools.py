"""MCP tools by templates: nested arguments, constants, result paths, presets for known servers."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.agents._mcp_tools import (
    PRESETS,
    Tool,
    fill_template,
    parse_tool,
    places_in,
    preset_of,
    walk,
)
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import AgentError, DefinitionError, Field

OURS = ("text", "role", "new_id")
SERVER = Path(__file__).parents[2] / "servers" / "graph_server.py"
GRAPH = f"""
agent: 'mcp:{shlex.join([sys.executable, str(SERVER)])}'
parameters:
  env: {{GRAPH_FILE: "{{folder}}/graph.json"}}
  add:
    tool: create_entities
    constants: {{source: test}}
    arguments:
      entities_: [{{name: "{{new_id}}", entityType: "said by {{role}}", observations: ["{{text}}"]}}]
  search: {{tool: search_nodes, arguments: {{query: query}}, results: "entities[]", text: "observations[]", id: name}}
  list: {{tool: read_graph, results: "entities[]", text: "observations[]", id: name}}
  delete: {{tool: delete_entities, arguments: {{names: ["{{id}}"]}}}}
"""
needs_mcp = pytest.mark.skipif(
    find_spec("mcp") is None, reason="pip install 'pytest-ltm[mcp]'"
)
WHO = Scope(user="ann", session="1", at=datetime(2024, 3, 4, tzinfo=timezone.utc))


def store_of(path: Path, text: str) -> Any:
    path.write_text(text)
    agent: Any = find_agent(str(path)).make()
    return agent.store


def test_a_template_is_filled_at_any_depth_and_a_whole_place_keeps_its_type() -> None:
    template = {"entities": [{"name": "{id}", "of": ["{k}", "at {k}: {id}"]}], "n": 3}
    filled = fill_template(template, {"id": "m1", "k": 5})
    assert filled == {"entities": [{"name": "m1", "of": [5, "at 5: m1"]}], "n": 3}


@given(text=st.text())
def test_what_is_filled_in_is_not_read_as_a_template(text: str) -> None:
    assert fill_template(["{text}"], {"text": text, "role": "x"}) == [text]
    assert fill_template("a {text}", {"text": text, "role": "x"}) == f"a {text}"


_JSON = st.recursive(
    st.text(st.characters(exclude_characters="{}")) | st.integers() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
)


@given(value=_JSON)
def test_a_template_without_places_is_a_constant(value: Any) -> None:
    assert fill_template(value, {}) == value
    assert list(places_in(value)) == []


@given(names=st.lists(st.text("abcdef", min_size=1), max_size=4), value=st.integers())
def test_a_path_leads_to_what_was_put_there(names: list[str], value: int) -> None:
    made: Any = value
    for name in reversed(names):
        made = {name: [made]}
    assert list(walk(made, ".".join(f"{name}[]" for name in names))) == [value]
    assert list(walk({"other": 1}, "entities[].name")) == []


def test_records_are_read_at_their_paths_or_by_a_pattern() -> None:
    graph = {"entities": [{"name": "m1", "observations": ["one", "two"]}]}
    tool = Tool("t", results="entities[]", text="observations[]", id="name")
    [record] = tool.records(graph)
    assert (record["id"], record["text"]) == ("m1", "one\ntwo")
    prose = Tool("t", pattern=r"(?P<id>\w+) says: (?P<text>.*)")
    assert prose.records("m1 says: one\nm2 says: two")[1] == {"id": "m2", "text": "two"}
    assert prose.records("nothing found") == []


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"tool": "t", "arguments": {"a": ["{txt}"]}}, r"'text' or 'role'.*in braces"),
        ({"tool": "t", "arguments": {"a": "txt"}}, "constants"),
        ({"tool": "t", "results": "entities[0"}, "a path such as"),
        ({"tool": "t", "pattern": "("}, "a regular expression"),
        ({"tool": "t", "pattern": "(.*)"}, "a group"),
        ({"tool": "t", "argument": {}}, "unknown field"),
    ],
)
def test_a_wrong_template_is_refused_with_the_way_out(
    described: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError, match=message):
        parse_tool(Field(described, "bot.yml"), "add", OURS)


@pytest.mark.parametrize("names", PRESETS)
def test_a_known_server_is_known_by_package_version_and_program(names: str) -> None:
    package, *programs = names.split()
    preset = preset_of(["npx", "-y", f"{package}@1.2.3"])
    assert preset == preset_of(["npx", package]) == PRESETS[names]
    assert {"add", "search", "env"} <= set(preset)
    for program in programs:
        assert preset_of([f"/usr/local/bin/{program}"]) == preset
    assert preset_of(["python", "server.py"]) == {}


@needs_mcp
def test_every_preset_is_a_valid_file_of_at_most_20_lines() -> None:
    for names in PRESETS:
        find_agent(f"mcp:npx -y {names.split()[0]}")
    assert len(GRAPH.strip().splitlines()) <= 20


@needs_mcp
@pytest.mark.slow
def test_a_server_that_takes_lists_of_objects_is_driven_by_a_file(
    tmp_path: Path,
) -> None:
    store = store_of(tmp_path / "graph.yml", GRAPH)
    try:
        keys = [
            store.add(text, role="user", scope=WHO)
            for text in ("My boat is Vivi.", "My kite is Zoro.", "My dog is Rex.")
        ]
        assert keys == ["m1", "m2", "m3"]
        assert store.search("the kite?", k=2)[0][:2] == ("m2", "My kite is Zoro.")
        assert len(store.search("the kite?", k=2)) == 2
        store.delete("m2")
        store.reopen()
        listed = {record["id"]: record["text"] for record in store.list()}
        assert listed == {"m1": "My boat is Vivi.", "m3": "My dog is Rex."}
        assert (Path(store.path) / "graph.json").exists()
    finally:
        store.close()
    assert not Path(store.path).exists()


@needs_mcp
@pytest.mark.slow
def test_each_server_has_a_folder_of_its_own_and_prose_is_read(tmp_path: Path) -> None:
    prose = GRAPH.replace("graph_server.py", "graph_server.py --prose").replace(
        'results: "entities[]", text: "observations[]", id: name}\n  list',
        "pattern: '(?P<id>m\\d+) says: (?P<text>.*)'}\n  list",
    )
    first = store_of(tmp_path / "graph.yml", GRAPH)
    second = store_of(tmp_path / "prose.yml", prose)
    try:
        first.add("My boat is Vivi.", role="user", scope=WHO)
        assert second.search("boat", k=5) == []
        second.add("My kite is Zoro.", role="user", scope=WHO)
        assert second.search("kite", k=5)[0][:2] == ("m1", "My kite is Zoro.")
    finally:
        first.close()
        second.close()


@needs_mcp
def test_a_tool_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "graph.yml").write_text(GRAPH.replace("read_graph", "read_grpah"))
    with pytest.raises(AgentError, match="no tool 'read_grpah'"):
        find_agent(str(tmp_path / "graph.yml")).make()

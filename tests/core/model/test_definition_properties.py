"""load(dump(x)) == x, and reading any file raises DefinitionError or nothing."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm._core.model.scenario import (
    Ask,
    Definition,
    Say,
    Wait,
    format_json,
    from_json,
    read_definition,
    read_json,
    time_to_json,
    to_json,
    write_definition,
)
from pytest_ltm._core.storage.clock import duration
from pytest_ltm._core.storage.errors import DefinitionError

characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters, min_size=1).filter(lambda text: text.strip() != "")
times = st.timedeltas(min_value=timedelta(0))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(characters),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(characters), inner, max_size=3)
    ),
    max_leaves=8,
)
waits = st.builds(
    Wait, span=st.floats(0, 1), tokens=st.integers(min_value=0), time=times
)
asks = st.builds(Ask, texts, st.lists(texts, max_size=2).map(tuple))
definitions = st.builds(
    Definition,
    steps=st.lists(st.builds(Say, texts) | waits | asks, max_size=6).map(tuple),
    expected=values,
    parameters=st.dictionaries(st.text(characters), values, max_size=3),
)


@given(definitions)
def test_what_is_dumped_loads_as_it_was(definition: Definition) -> None:
    assert (
        from_json(json.loads(format_json(to_json(definition))), where="x") == definition
    )


@given(definitions)
def test_what_is_written_is_read_back(
    tmp_path_factory: Any, definition: Definition
) -> None:
    path = tmp_path_factory.getbasetemp() / "property.def.json"
    write_definition(path, definition)
    assert read_definition(read_json(path)) == definition


@given(times)
def test_a_time_is_written_exactly_also_over_several_days(time: timedelta) -> None:
    assert duration(time_to_json(time)) == time


steps = st.fixed_dictionaries(
    {},
    optional={
        "say": values,
        "ask": values,
        "about": values,
        "wait": values,
        "wait ": values,
    },
)
hostile = values | st.fixed_dictionaries(
    {
        "steps": values
        | st.lists(
            steps
            | st.fixed_dictionaries(
                {
                    "wait": st.dictionaries(
                        st.sampled_from(["span", "tokens", "time"]),
                        values | st.sampled_from(["9d", "99999999999d", -1, 1e308]),
                    )
                }
            )
        )
    },
    optional={"expected": values, "parameters": values},
)


@given(hostile)
def test_any_content_is_a_definition_or_a_definition_error(data: object) -> None:
    try:
        definition = from_json(data, where="x")
    except DefinitionError:
        return
    assert from_json(to_json(definition), where="x") == definition


@given(st.binary() | st.text(characters).map(str.encode))
def test_any_bytes_are_a_definition_or_a_definition_error(
    tmp_path_factory: Any, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.def.json"
    path.write_bytes(content)
    with contextlib.suppress(DefinitionError):
        read_definition(read_json(path))

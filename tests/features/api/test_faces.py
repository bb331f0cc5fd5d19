"""The public modules in front of the core: every name they list resolves lazily to the core's own object."""

from __future__ import annotations

import importlib
import pkgutil

from pytest_ltm import api

FACES = [
    f"pytest_ltm.api.{module.name}" for module in pkgutil.iter_modules(api.__path__)
]


def test_every_name_of_a_face_is_there_when_it_is_used() -> None:
    absent = [
        f"{face}.{name}"
        for face in ["pytest_ltm.api", *FACES]
        for name in importlib.import_module(face).__all__
        if not hasattr(importlib.import_module(face), name)
    ]
    assert absent == []


def test_a_face_knows_no_other_name() -> None:
    for face in FACES:
        assert not hasattr(importlib.import_module(face), "no_such_name"), face

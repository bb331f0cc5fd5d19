"""The faces of the core: all that they name is there when it is used, and is the core's own."""

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

"""The report file and the local page in a real browser: one chromium per module; skipped if not installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _chromium import Chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    pytest.importorskip(
        "websockets",
        reason="the browser is driven over a web socket: pip install websockets",
    )
    from _chromium import BROWSER, Chromium

    if BROWSER is None:
        pytest.skip("no chromium here")
    with Chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(browser: Chromium) -> Iterator[Chromium]:
    """A page that must neither complain nor send requests."""
    browser.screen(1300, 1000)
    yield browser
    assert browser.complaints == []
    assert browser.requests == []

"""The guards of tests/conftest.py: seeded randomness, and nothing left behind for the next test."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def guarded(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder whose tests are guarded like this project's, with a shorter patience."""
    pytester.makeconftest(
        CONFTEST.read_text(encoding="utf-8").replace(
            "PATIENCE = 60.0", "PATIENCE = 0.2"
        )
    )
    return pytester


@pytest.mark.parametrize(
    "drawn",
    [
        "random.random()",
        "random.seed(7)",
        "threading.Thread(target=random.random).start(); time.sleep(0.05)",
        "tenacity.wait_random()(None)",
    ],
)
def test_a_test_during_which_the_module_level_generator_moves_fails(
    guarded: pytest.Pytester, drawn: str
) -> None:
    guarded.makepyfile(
        f"import random, tenacity, threading, time\ndef test_it():\n    {drawn}"
    )

    result = guarded.runpytest_subprocess()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*drew from the module-level `random`*"])


@pytest.mark.parametrize(
    ("left", "named"),
    [
        (
            "threading.Thread(target=time.sleep, args=[9], name='sleepy', daemon=True).start()",
            "thread sleepy",
        ),
        ("KEPT.append(subprocess.Popen(['sleep', '1']))", "process *"),
        ("KEPT.append(socket.create_server(('127.0.0.1', 0)))", "port *"),
    ],
    ids=["thread", "process", "port"],
)
@pytest.mark.skipif(
    not Path("/proc/self/task").exists(),
    reason="processes and ports are looked for in /proc",
)
def test_a_test_that_leaves_something_behind_errs(
    guarded: pytest.Pytester, left: str, named: str
) -> None:
    guarded.makepyfile(
        f"import socket, subprocess, threading, time\nKEPT = []\ndef test_it():\n    {left}\ndef test_next():\n    pass"
    )

    result = guarded.runpytest_subprocess()

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines([f"*left behind: {named}"])


def test_a_test_may_draw_from_a_generator_of_its_own_and_stop_what_it_started(
    guarded: pytest.Pytester,
) -> None:
    guarded.makepyfile(
        """
        import random, socket, subprocess, threading

        def test_it():
            random.Random(7).random()
            thread = threading.Thread(target=print)
            thread.start()
            subprocess.run(["true"], check=True)
            socket.create_server(("127.0.0.1", 0)).close()
            thread.join()
        """
    )

    guarded.runpytest_subprocess().assert_outcomes(passed=1)

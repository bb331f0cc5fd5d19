"""Several items set up at once: the one place that touches what pytest keeps private.

pytest has one setup stack and one cached value for each fixture. Two classes replace them, in an LTM run only:
`TreeSetupState` (the live nodes form a tree, not one path) and `LaneFixtures` (an item's own copies of the fixture
definitions). A `Stretch` swaps, for each stretch of a body, what pytest keeps one of in the process.

Relied on, pytest 8.0 to 9.2, and tested against each: SetupState.setup/teardown_exact/stack[node][0];
item._request._arg2fixturedefs; FixtureDef.cached_result/_finalizers/_scope/argnames; callspec._arg2scope/indices;
session._fixturemanager.getfixturedefs; runner.call_and_report/check_interactive_exception/show_test_item;
warnings.catch_warnings_for_item; CaptureManager._capture_fixture and its resume/suspend/read methods;
logging.LogCaptureHandler with the two stash keys of caplog; stepwiseplugin.lastfailed/cached_info.last_failed;
WorkerInteractor.item_index and sendevent (xdist). Elsewhere in the plugin are only read: item._fixtureinfo,
session._fixturemanager.getfixturedefs, terminalreporter._tw; and Module._getobj is overridden.
"""

from pytest_ltm.plugin._internals._lane_fixtures import LaneFixtures, Pool, dispose, prepare
from pytest_ltm.plugin._internals._phases import empty_teardown, failed_setup, last_teardown, phase, show_item, subtest
from pytest_ltm.plugin._internals._stepwise import leave_none_behind
from pytest_ltm.plugin._internals._stretch import Stretch, unclaimed, worker_interactor
from pytest_ltm.plugin._internals._swaps import Output
from pytest_ltm.plugin._internals._tree_setup import TreeSetupState, install
from pytest_ltm.plugin._internals._warnings import Warnings

__all__ = [
    "LaneFixtures",
    "Output",
    "Pool",
    "Stretch",
    "TreeSetupState",
    "Warnings",
    "dispose",
    "empty_teardown",
    "failed_setup",
    "install",
    "last_teardown",
    "leave_none_behind",
    "phase",
    "prepare",
    "show_item",
    "subtest",
    "unclaimed",
    "worker_interactor",
]

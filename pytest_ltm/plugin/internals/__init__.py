"""Several items set up at once: the one place that touches what pytest keeps private.

pytest has one setup stack and one cached value for each fixture. Two classes replace them, in an LTM run only:
`TreeSetupState` (the live nodes form a tree, not one path) and `LaneFixtures` (an item's own copies of the fixture
definitions). A `Stretch` swaps, for each stretch of a body, what pytest keeps one of in the process. What other plugins
wrap around the protocol goes `Around` each item by itself, and not around what pytest asks for (`one_by_one`).

Relied on, pytest 8.0 to 9.2, and tested against each: SetupState.setup/teardown_exact/stack[node][0];
item._request._arg2fixturedefs; FixtureDef.cached_result/_finalizers/_scope/argnames; callspec._arg2scope/indices;
session._fixturemanager.getfixturedefs; runner.call_and_report/check_interactive_exception/show_test_item;
config.hook.pytest_runtest_protocol, which pytest and xdist call; warnings.catch_warnings_for_item;
CaptureManager._capture_fixture, its resume/suspend/read methods and _global_capturing.out/err.tmpfile.buffer; that
_pytest.capture looks up setattr in its module first; logging.LogCaptureHandler with the two stash keys of caplog;
stepwiseplugin.lastfailed/cached_info.last_failed; WorkerInteractor.item_index and sendevent (xdist). Elsewhere in the
plugin are only read: config._inicfg and config._parser._inidict, item._fixtureinfo,
session._fixturemanager.getfixturedefs, terminalreporter._tw; and Module._getobj is overridden.
"""

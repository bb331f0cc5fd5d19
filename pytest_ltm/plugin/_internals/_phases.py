"""The phases of an item: run with all hooks, their reports not logged yet."""

from __future__ import annotations

from typing import Any, cast

import pytest
from _pytest.runner import call_and_report, check_interactive_exception, show_test_item

from pytest_ltm.plugin._internals._frames import as_users_see_it


def phase(item: pytest.Item, when: Any, **arguments: Any) -> pytest.TestReport:
    """Run one phase of an item with all hooks, and return its report without logging it."""
    return call_and_report(item, when, log=False, **arguments)


def failed_setup(item: pytest.Item, error: BaseException) -> pytest.TestReport:
    """Return the report of a setup that raised the error, in place of the one that passed: pytest shows ERROR."""
    shown = as_users_see_it(error)

    def raise_it() -> None:
        # Hidden behind the user's frames; where there are none, pytest must have one to show.
        __tracebackhide__ = shown.__traceback__ is not None
        raise shown

    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(raise_it, when="setup")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    if check_interactive_exception(call, report):
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)
    return report


def empty_teardown(item: pytest.Item) -> pytest.TestReport:
    """Return the report of the teardown of an item that was never set up: plugins wait for it."""
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(lambda: None, when="teardown")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report


def subtest(report: pytest.TestReport) -> tuple[str, bool] | None:
    """Return label and success of a subtest's report, of pytest 9 or of pytest-subtests; None for any other."""
    if type(report).__name__.lower() != "subtestreport" or report.skipped or hasattr(report, "wasxfail"):
        return None
    context: Any = cast("Any", report).context
    named = [f"{name}={value}" for name, value in context.kwargs.items()]
    return " ".join([*filter(None, [context.msg]), *named]) or "subtest", report.passed


def show_item(item: pytest.Item) -> None:
    """Show the item as `--setup-show` does."""
    if pytest.version_tuple >= (9, 1):
        show_test_item(item, add_space=True)
    else:
        cast("Any", show_test_item)(item)


def last_teardown(item: pytest.Item) -> pytest.TestReport:
    """Tear down whatever is still up, and return the report of it as that of a second teardown of this item."""
    state = cast("Any", item.session)._setupstate
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(lambda: state.teardown_exact(None), when="teardown")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report

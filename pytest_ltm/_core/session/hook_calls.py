"""HookCalls: the hooks of features that look on; one that raises is named in the report, and the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._core.storage.errors import DiskFault, describe_error

if TYPE_CHECKING:
    from pytest_ltm._core.journal.events import Event

# What a hook may raise to end the session: a disk that failed, a run that is refused.
_ENDING = (DiskFault, OSError, pytest.UsageError)
_FAULTS = (Exception, pytest.fail.Exception, pytest.skip.Exception)


class HookCalls:
    """Calls hooks one implementation at a time, in pluggy's order.

    Wrappers of these hooks are not called: nothing is decided that they could change.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.faults: list[str] = []
        """A sentence for each hook that raised, once for each of its errors."""
        self.is_over = False
        """Whether all conversations are: from then on no error of a hook ends anything."""

    def ask_all(self, hook_name: str, /, **arguments: Any) -> Iterator[Any]:
        """Yield what each implementation of a hook returns that is not None."""
        for hook in reversed(getattr(self._config.hook, hook_name).get_hookimpls()):
            values = [arguments[argument] for argument in hook.argnames]
            try:
                result = hook.function(*values)
            except _ENDING as error:
                if not self.is_over:
                    raise
                self._note(f"{hook_name} of {_plugin_name(hook.plugin)}", error)
            except _FAULTS as error:
                self._note(f"{hook_name} of {_plugin_name(hook.plugin)}", error)
            else:
                if result is not None:
                    yield result

    def tell_all(self, hook_name: str, /, **arguments: Any) -> None:
        """Call each implementation of a hook whose results nobody needs."""
        for _ in self.ask_all(hook_name, **arguments):
            pass

    def first_reason(self, session: pytest.Session) -> str:
        """Return the first reason of the prechecks, ""; where there is none."""
        return next(self.ask_all("pytest_ltm_precheck", session=session), "")

    def guard(self, observer: Callable[[Event], object]) -> Callable[[Event], None]:
        """Return an observer that is noted where it raises, and told no more."""
        raised = False

        def observe(event: Event) -> None:
            nonlocal raised
            if raised:
                return
            try:
                observer(event)
            except _ENDING:
                raise
            except _FAULTS as error:
                raised = True
                self._note(f"an observer of {observer.__module__}", error)

        return observe

    def _note(self, hook_name: str, error: BaseException) -> None:
        fault = f"the hook {hook_name} raised {describe_error(error)}"
        if fault not in self.faults:
            self.faults.append(fault)


def _plugin_name(plugin: object) -> str:
    name = getattr(plugin, "__name__", None)
    return str(name or type(plugin).__qualname__)

"""HookCalls: the hooks of features that look on; one that raises is named in the report, and the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._core.calls.airlock import (
    class_name,
    exact_text,
    inherits,
    read_attribute,
    settle_error,
)
from pytest_ltm._core.storage.errors import (
    ConfigurationError,
    DiskFault,
    LtmError,
    describe_error,
)

if TYPE_CHECKING:
    from pytest_ltm._core.journal.events import Event

# What a hook may raise to end the session: a disk that failed, a run that is refused.
_ENDING = (DiskFault, OSError, pytest.UsageError)
_FAULTS = (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception)


def _as_it_is(answer: Any) -> Any:
    return answer


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

    def ask_all(
        self,
        hook_name: str,
        /,
        admit: Callable[[Any], Any] = _as_it_is,
        **arguments: Any,
    ) -> Iterator[Any]:
        """Yield what each implementation of a hook returns that is not None, as `admit` makes something of it."""
        for hook in reversed(getattr(self._config.hook, hook_name).get_hookimpls()):
            values = [arguments[argument] for argument in hook.argnames]
            try:
                answer = hook.function(*values)
                result = None if answer is None else admit(answer)
            except _ENDING as error:
                if not self.is_over and _ends_session(error, hook.function):
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
        reasons = self.ask_all("pytest_ltm_precheck", exact_text, session=session)
        return next(reasons, "")

    def guard(self, observer: Callable[[Event], object]) -> Callable[[Event], None]:
        """Return an observer that is noted where it raises, and told no more."""
        raised = False

        def observe(event: Event) -> None:
            nonlocal raised
            if raised:
                return
            try:
                observer(event)
            except (*_ENDING, *_FAULTS) as error:
                if _ends_session(error, observer):
                    raise
                raised = True
                module = read_attribute(observer, "__module__")
                self._note(f"an observer of {module or class_name(observer)}", error)

        return observe

    def _note(self, hook_name: str, error: BaseException) -> None:
        fault = f"the hook {hook_name} raised {describe_error(settle_error(error))}"
        if fault not in self.faults:
            self.faults.append(fault)


def _ends_session(error: BaseException, function: object) -> bool:
    """Return whether what was raised ends the session: of others no OSError, which may be a network."""
    if not isinstance(error, _ENDING):
        return False
    module = read_attribute(function, "__module__")
    is_ours = inherits(module, str) and module.partition(".")[0] == "pytest_ltm"
    return is_ours or not isinstance(error, OSError)


def _plugin_name(plugin: object) -> str:
    name = read_attribute(plugin, "__name__")
    if inherits(name, str):
        return exact_text(name)
    return class_name(plugin)


def ask_first(config: pytest.Config, hook_name: str, /, **arguments: Any) -> Any:
    """Return what the first implementation of a hook returns that knows; ConfigurationError for what one raises."""
    try:
        return getattr(config.hook, hook_name)(**arguments)
    except (LtmError, pytest.UsageError):
        raise
    except _FAULTS as error:
        settled = settle_error(error)
        raise ConfigurationError(
            f"the hook {hook_name} raised {describe_error(settled)}"
        ) from settled

"""HookCalls: calls the hooks of observing features; one that raises or hangs is reported, and the run continues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._core.calls.airlock import (
    class_name,
    exact_text,
    inherits,
    read_attribute,
    settle_error,
)
from pytest_ltm._core.calls.conversation_thread import OutOfTime
from pytest_ltm._core.calls.time_limits import call_within
from pytest_ltm._core.storage.errors import (
    ConfigurationError,
    DiskFault,
    LtmError,
    describe_error,
)

if TYPE_CHECKING:
    from pytest_ltm._core.journal.events import Event

# Exceptions of a hook that end the session: a failed disk, a refused run.
_ENDING = (DiskFault, OSError, pytest.UsageError)
_FAULTS = (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception)


class _Hung(BaseException):
    """A foreign function did not return within the limit; distinct from a timeout of its own."""


def _as_it_is(answer: Any) -> Any:
    return answer


class HookCalls:
    """Calls hooks one implementation at a time, in pluggy's order.

    Wrappers of these hooks are not called: there is no result for them to change.
    `limit`: seconds allowed for a call of a foreign implementation (None: no limit);
    one that has exceeded it is not called again.
    """

    def __init__(self, config: pytest.Config, limit: float | None = None) -> None:
        self._config, self._limit = config, limit
        self._hung: set[int] = set()
        """The ids of implementations, which live as long as the session."""
        self.faults: list[str] = []
        """One sentence for each distinct error of each hook."""
        self.is_over = False
        """Whether all conversations are over: from then on no error of a hook ends anything."""

    def ask_all(
        self,
        hook_name: str,
        /,
        admit: Callable[[Any], Any] = _as_it_is,
        **arguments: Any,
    ) -> Iterator[Any]:
        """Yield each implementation's result that is not None, converted by `admit`."""
        for hook in reversed(getattr(self._config.hook, hook_name).get_hookimpls()):
            if id(hook) in self._hung:
                continue
            values = [arguments[argument] for argument in hook.argnames]
            call = partial(self._answer_of, hook.function, values, admit)
            try:
                result = self._call_in_time(hook.function, call)
            except _ENDING as error:
                if not self.is_over and _ends_session(error, hook.function):
                    raise
                self._note_fault(f"{hook_name} of {_plugin_name(hook.plugin)}", error)
            except _FAULTS as error:
                self._note_fault(f"{hook_name} of {_plugin_name(hook.plugin)}", error)
            except _Hung:
                self._hung.add(id(hook))
                self._note_hung(f"{hook_name} of {_plugin_name(hook.plugin)}")
            else:
                if result is not None:
                    yield result

    def _answer_of(
        self,
        function: Callable[..., Any],
        values: Sequence[Any],
        admit: Callable[[Any], Any],
    ) -> Any:
        answer = function(*values)
        return None if answer is None else admit(answer)

    def _call_in_time(self, function: object, call: Callable[[], Any]) -> Any:
        """Call a function and return its result; foreign functions have a time limit."""
        if self._limit is None or _is_ours(function):
            return call()
        try:
            return call_within(self._limit, call)
        except OutOfTime as error:
            raise _Hung from error

    def tell_all(self, hook_name: str, /, **arguments: Any) -> None:
        """Call each implementation of a hook and ignore the results."""
        for _ in self.ask_all(hook_name, **arguments):
            pass

    def first_reason(self, session: pytest.Session) -> str:
        """Return the first reason given by a precheck; "" if there is none."""
        reasons = self.ask_all("pytest_ltm_precheck", exact_text, session=session)
        return next(reasons, "")

    def guard(self, observer: Callable[[Event], object]) -> Callable[[Event], None]:
        """Wrap an observer; if it raises, report the error and do not call it again."""
        is_out = False

        def observe(event: Event) -> None:
            nonlocal is_out
            if is_out:
                return
            try:
                self._call_in_time(observer, partial(observer, event))
            except (*_ENDING, *_FAULTS) as error:
                if _ends_session(error, observer):
                    raise
                is_out = True
                self._note_fault(_observer_name(observer), error)
            except _Hung:
                is_out = True
                self._note_hung(_observer_name(observer))

        return observe

    def _note_fault(self, hook_name: str, error: BaseException) -> None:
        self._add_fault(
            f"the hook {hook_name} raised {describe_error(settle_error(error))}"
        )

    def _note_hung(self, hook_name: str) -> None:
        self._add_fault(
            f"the hook {hook_name} did not return within {self._limit:g} s, and is not called any more. "
            "If it may take longer, give --ltm-evaluator-timeout=SECONDS"
        )

    def _add_fault(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)


def _ends_session(error: BaseException, function: object) -> bool:
    """Return whether an error ends the session; a foreign OSError does not, as it may concern a network."""
    if not isinstance(error, _ENDING):
        return False
    return _is_ours(function) or not isinstance(error, OSError)


def _is_ours(function: object) -> bool:
    if type(function) is MethodType:
        function = function.__func__
    # Reading the module must not run foreign code: in the airlock, other conversations
    # would continue in the meantime, at each exchange and after the first failure with
    # -x.
    if type(function) is FunctionType:
        module: object = function.__module__
    else:
        module = read_attribute(function, "__module__")
    return type(module) is str and module.partition(".")[0] == "pytest_ltm"


def _observer_name(observer: object) -> str:
    module = read_attribute(observer, "__module__")
    return f"an observer of {module or class_name(observer)}"


def _plugin_name(plugin: object) -> str:
    name = read_attribute(plugin, "__name__")
    if inherits(name, str):
        return exact_text(name)
    return class_name(plugin)


def ask_first(config: pytest.Config, hook_name: str, /, **arguments: Any) -> Any:
    """Return the first result of a hook that is not None; ConfigurationError if an implementation raises."""
    try:
        return getattr(config.hook, hook_name)(**arguments)
    except (LtmError, pytest.UsageError):
        raise
    except _FAULTS as error:
        settled = settle_error(error)
        raise ConfigurationError(
            f"the hook {hook_name} raised {describe_error(settled)}"
        ) from settled

"""HookCalls: the hooks of features that look on; one that raises or hangs is named, and the run goes on."""

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

# What a hook may raise to end the session: a disk that failed, a run that is refused.
_ENDING = (DiskFault, OSError, pytest.UsageError)
_FAULTS = (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception)


class _Hung(BaseException):
    """A function of others did not return within the limit: ours, not one of a caller."""


def _as_it_is(answer: Any) -> Any:
    return answer


class HookCalls:
    """Calls hooks one implementation at a time, in pluggy's order.

    Wrappers of these hooks are not called: nothing is decided that they could change.
    `limit`: the seconds that one of others may take for a call (None: no limit); what
    has taken longer is not called again.
    """

    def __init__(self, config: pytest.Config, limit: float | None = None) -> None:
        self._config, self._limit = config, limit
        self._hung: set[int] = set()
        """The identities of implementations, which live as long as the session."""
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
        """Return the result of a call of others' function, within the limit; ours has none."""
        if self._limit is None or _is_ours(function):
            return call()
        try:
            return call_within(self._limit, call)
        except OutOfTime as error:
            raise _Hung from error

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
    """Return whether what was raised ends the session: of others no OSError, which may be a network."""
    if not isinstance(error, _ENDING):
        return False
    return _is_ours(function) or not isinstance(error, OSError)


def _is_ours(function: object) -> bool:
    if type(function) is MethodType:
        function = function.__func__
    # Nothing of others runs to read it here. The airlock would let other conversations
    # go on meanwhile, at each exchange, and after the first failure with -x.
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

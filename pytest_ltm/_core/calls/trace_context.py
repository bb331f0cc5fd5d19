"""The trace of an exchange (W3C Trace Context), passed to the agent so that its spans belong to the exchange."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_TRACEPARENT: ContextVar[str] = ContextVar("_TRACEPARENT", default="")


@contextmanager
def carry_trace(traceparent: str) -> Iterator[None]:
    """Carry a trace in the block: as a header of our requests, and as the parent of this process's spans."""
    attached = None
    previous = _TRACEPARENT.get()
    with suppress(ImportError):  # without it, this process sends no spans
        from opentelemetry import context
        from opentelemetry.trace.propagation.tracecontext import (
            TraceContextTextMapPropagator,
        )

        attached = context.attach(
            TraceContextTextMapPropagator().extract({"traceparent": traceparent})
        )
    _TRACEPARENT.set(traceparent)
    try:
        yield
    finally:
        _TRACEPARENT.set(previous)
        if attached is not None:
            context.detach(attached)


def carry_over(call: Callable[[], T]) -> Callable[[], T]:
    """Wrap a call to carry the current trace in another thread."""
    traceparent = _TRACEPARENT.get()

    def carrying() -> T:
        with carry_trace(traceparent):
            return call()

    return carrying if traceparent else call


def carry_into_loop(begin: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    """Do the same for a coroutine function that an event loop awaits, which has a context of its own."""
    traceparent = _TRACEPARENT.get()

    async def carrying() -> T:
        with carry_trace(traceparent):
            return await begin()

    return carrying if traceparent else begin


def add_trace(request: Any) -> None:
    """Add the current trace, if any, to a request of httpx."""
    if traceparent := _TRACEPARENT.get():
        request.headers["traceparent"] = traceparent

"""The trace of an exchange (W3C Trace Context), carried to the agent: so its spans say where they belong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_TRACEPARENT: ContextVar[str] = ContextVar("_TRACEPARENT", default="")


@contextmanager
def carry_trace(traceparent: str) -> Iterator[None]:
    """Have what is called within carry a trace: requests of ours in a header, spans of this process as their parent."""
    attached = None
    previous = _TRACEPARENT.get()
    with suppress(ImportError):  # without it nobody in this process sends spans
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
    """Return a call that carries in another thread what is carried here."""
    traceparent = _TRACEPARENT.get()

    def carrying() -> T:
        with carry_trace(traceparent):
            return call()

    return carrying if traceparent else call


def carry_into_loop(begin: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
    """Return the same of what an event loop is to await, which has a context of its own."""
    traceparent = _TRACEPARENT.get()

    async def carrying() -> T:
        with carry_trace(traceparent):
            return await begin()

    return carrying if traceparent else begin


def add_trace(request: Any) -> None:
    """Give a request of httpx the trace that is carried, if one is."""
    if traceparent := _TRACEPARENT.get():
        request.headers["traceparent"] = traceparent

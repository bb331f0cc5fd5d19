"""A chat server on loopback with a limit on concurrent requests; it refuses the others. Runs in its own process.

`python loopback.py SECONDS LIMIT BURST` prints its port. A reply takes SECONDS.
Requests beyond LIMIT are refused with status 429, and so are all for half a second in
every BURST seconds (0: never). GET returns the counts. It uses one thread and the
standard library only.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter


class Server:
    """Answers, refuses and counts requests."""

    def __init__(self, seconds: float, limit: int, burst: float) -> None:
        self._seconds, self._limit, self._burst = seconds, limit, burst
        self._busy = 0
        self._answered: Counter[int] = Counter()
        self._refused = self._most = 0
        self._first = self._last = 0.0
        self._ends: list[float] = []

    async def connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection until it is closed."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                words = head.decode("latin-1").lower().split("\r\n")
                lengths = [
                    int(word.partition(":")[2])
                    for word in words
                    if word.startswith("content-length:")
                ]
                body = await reader.readexactly(sum(lengths))
                status, answer = (
                    (200, self._told())
                    if head.startswith(b"GET")
                    else await self._reply(body)
                )
                text = json.dumps(answer).encode()
                writer.write(
                    f"HTTP/1.1 {status} So\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
                    f"{'Retry-After: 1' if status == 429 else 'X-None: 0'}\r\n\r\n".encode()
                    + text
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _reply(self, body: bytes) -> tuple[int, object]:
        now = time.monotonic()
        self._first = self._first or now
        if self._busy >= self._limit or (
            self._burst and (now - self._first) % self._burst > self._burst - 0.5
        ):
            self._refused += 1
            return 429, {
                "error": {
                    "message": "Too many requests",
                    "type": "requests",
                    "code": "rate_limit_exceeded",
                }
            }
        self._busy += 1
        self._most = max(self._most, self._busy)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            self._busy -= 1
        self._answered[hash(body)] += 1
        self._last = time.monotonic()
        self._ends.append(self._last - self._first)
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "loopback",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {
                        "role": "assistant",
                        "content": f"Reply {sum(self._answered.values())}",
                    },
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        }

    def _told(self) -> object:
        return {
            "answered": self._answered.total(),
            "doubled": self._answered.total() - len(self._answered),
            "refused": self._refused,
            "most": self._most,
            "seconds": self._last - self._first,
            "ends": self._ends,
        }


async def _main(seconds: float, limit: int, burst: float) -> None:
    server = await asyncio.start_server(
        Server(seconds, limit, burst).connection, "127.0.0.1", 0
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))

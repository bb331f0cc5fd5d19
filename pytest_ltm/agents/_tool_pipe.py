"""Script that a coding agent runs as its MCP server: relays lines between its streams and a ToolServer's port."""

import socket
import sys
import threading


def main() -> None:
    """Connect, send the secret, and relay until either side ends."""
    port, secret = sys.argv[1:]
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        connection.sendall(f"{secret}\n".encode())
        thread = threading.Thread(
            target=_relay_answers, args=(connection,), daemon=True
        )
        thread.start()
        for request in sys.stdin.buffer:
            connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        thread.join()


def _relay_answers(connection: socket.socket) -> None:
    for answer in connection.makefile("rb"):
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

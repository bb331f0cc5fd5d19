"""Script that a coding agent runs as its MCP server: relays lines to and from a ToolServer's port."""

import socket
import sys
import threading


def main() -> None:
    """Connect, send the secret word, and relay until either side ends."""
    port, word = sys.argv[1:]
    with socket.create_connection(("127.0.0.1", int(port))) as line:
        line.sendall(f"{word}\n".encode())
        answers = threading.Thread(target=_pass_answers, args=(line,), daemon=True)
        answers.start()
        for request in sys.stdin.buffer:
            line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        answers.join()


def _pass_answers(line: socket.socket) -> None:
    for answer in line.makefile("rb"):
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

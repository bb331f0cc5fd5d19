"""`serve`: the local pages: runs, the live view, reports and comparisons."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
import sys
from argparse import ArgumentParser, Namespace
from threading import Thread

from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.commands.arguments import add_flags, add_ltm_dir, add_option

_LAST_PORT = 65_535


def add_arguments(parser: ArgumentParser) -> None:
    """Add the address of the page."""
    add_option(parser, "--port", "N", "port (default: 8642; 0: any free one)", 8642)
    add_option(
        parser,
        "--host",
        "ADDRESS",
        "address (default: 127.0.0.1, for this computer alone)",
        "127.0.0.1",
    )
    add_flags(parser, i_know="let others reach another --host, unencrypted")
    live = "link to this run's live view, and stop when standard input ends, as --ltm-live does"
    add_option(parser, "--live", "RUN", live)
    add_ltm_dir(parser)


def serve_pages(arguments: Namespace) -> int:
    """Serve local pages: runs (also in progress), reports, and comparisons of two runs.

    It prints a link with a key, starts no run and sends nothing anywhere. Needs pip install 'pytest-ltm[web]'.
    """
    try:
        import uvicorn

        from pytest_ltm.web.app import make_app
        from pytest_ltm.web.guard import ENTRANCE, MOST_STRANGERS, Strangers
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ltm serve needs {error.name}: pip install 'pytest-ltm[web]'"
        ) from error

    listening = _listening_socket(arguments)
    port = listening.getsockname()[1]
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    hosts = {
        f"{host}:{port}",
        *(
            {f"localhost:{port}", f"127.0.0.1:{port}"}
            if _is_loopback(arguments.host)
            else ()
        ),
    }
    secret = secrets.token_hex(16)
    strangers = Strangers()
    app = make_app(
        ltm_dir=arguments.ltm_dir,
        secret=secret,
        hosts=hosts,
        port=port,
        live=arguments.live,
        strangers=strangers,
    )
    if not _is_loopback(arguments.host):
        audience = f"anyone who can reach {host}:{port}"
        print(
            f"Warning: runs in {arguments.ltm_dir} are served unencrypted to {audience}"
        )
    print(f"http://{host}:{port}{ENTRANCE}{secret}", flush=True)
    print("Ctrl-C ends it; runs do not need it.", flush=True)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=3,
        http=strangers.protocol(),
        backlog=MOST_STRANGERS,
    )
    server = uvicorn.Server(config)
    app.state.ending = lambda: server.should_exit  # the last pages must be delivered

    def end_with_input() -> None:
        # Standard input ends when the run that started this is over or was killed.
        while sys.stdin.buffer.read(1):
            pass
        server.should_exit = True

    if arguments.live:
        Thread(target=end_with_input, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    return 0


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listening_socket(arguments: Namespace) -> socket.socket:
    """Return the socket; ConfigurationError if it fails, or if others could reach it without --i-know."""
    host = arguments.host
    port = arguments.port
    if not _is_loopback(host) and not arguments.i_know:
        raise ConfigurationError(
            f"--host {host}: others could then read the transcripts of all runs in {arguments.ltm_dir}, unencrypted. "
            "Add --i-know if you mean it"
        )
    # the operating system would take the remainder
    if not 0 <= port <= _LAST_PORT:
        raise ConfigurationError(f"--port {port}: a port is at most {_LAST_PORT}")
    # 0.0.0.0 and :: mean every address, but a link needs a specific one
    if not host.strip("0.:"):
        raise ConfigurationError(
            f"--host {host}: name one address, which links can then have"
        )
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )
        listening = socket.socket(family)
        # a server that has just ended leaves its port waiting
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen()
        except OSError:
            listening.close()
            raise
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"cannot listen at {host}, port {port}: {getattr(error, 'strerror', None) or error}. Another server may be "
            "there: end it, or give another --port (0: any that is free)"
        ) from error
    return listening

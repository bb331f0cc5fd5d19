"""An ssh server on loopback that lets a single user, with a key generated for it, run commands."""

from __future__ import annotations

import asyncio
import getpass
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from typing_extensions import Self


class SshServer:
    """A context manager; inside it `config` is an ssh configuration that names the server as host `far`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "ssh_config"
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="ssh server"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(30):
            raise RuntimeError("the ssh server does not start")
        return self

    def __exit__(self, *ended: object) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        host, user = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
        user.write_private_key(self.folder / "key")
        (self.folder / "key").chmod(0o600)
        user.write_public_key(self.folder / "authorized")
        async with asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[host],
            authorized_client_keys=str(self.folder / "authorized"),
            process_factory=self._run,
            encoding=None,
        ) as server:
            port = server.get_port()
            known = host.export_public_key().decode()
            (self.folder / "known").write_text(
                f"[127.0.0.1]:{port} {known}", encoding="utf-8"
            )
            self.config.write_text(
                f"Host far\n  HostName 127.0.0.1\n  Port {port}\n  User {getpass.getuser()}\n"
                f"  IdentityFile {self.folder}/key\n  UserKnownHostsFile {self.folder}/known\n"
                "  IdentitiesOnly yes\n  BatchMode yes\n",
                encoding="utf-8",
            )
            self._ready.set()
            await self._done.wait()

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_shell(
            process.command or "", stdin=pipe, stdout=pipe, stderr=pipe
        )
        try:
            await process.redirect(
                stdin=child.stdin, stdout=child.stdout, stderr=child.stderr
            )
            process.exit(await child.wait())
            await process.wait_closed()
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()

"""The web server of containers on the database of a test, for tests of its connections."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from portal.embedded import roles
from portal.embedded.supervisor import Supervisor
from tests.integration.faults.support import environment
from tests.ports import free_port
from tests.processes import wait_until


@dataclass
class Web:
    """Where the server listens, who asks, and what it logs."""

    port: int
    cookie: str
    person: User
    log: Path

    def connect(self, receive_bytes: int = 0) -> socket.socket:
        """A connection; `receive_bytes` limits what is received ahead."""
        made = socket.socket()
        if receive_bytes:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        made.settimeout(60)
        made.connect(("127.0.0.1", self.port))
        return made

    def begin(
        self, path: str, receive_bytes: int = 4096
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """The head of an answer to a slow reader."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port)
        asked.sock = self.connect(receive_bytes)
        asked.request("GET", path, headers={"Cookie": self.cookie})
        return asked, asked.getresponse()

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        """A whole answer, of somebody who is signed in; its body is in `text`."""
        return self.ask("GET", path, None, {"Cookie": self.cookie} | headers)

    def ask(
        self, method: str, path: str, body: str | bytes | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        """Another request, answered as by `get`."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            asked.request(method, path, body, headers)
            answer = asked.getresponse()
            answer.text = answer.read().decode()  # type: ignore[attr-defined]
            return answer
        finally:
            asked.close()


@contextmanager
def web_server(
    redis_url: str,
    folder: Path,
    person: User,
    *,
    timeout_s: int = roles.WEB_TIMEOUT_S,
    seen: dict[str, str] | None = None,
) -> Iterator[Web]:
    """The server, as `person`; `seen` is added to its environment."""
    # The tests' secret, so that the server knows the session.
    environ = (
        environment(redis_url) | {"SECRET_KEY": settings.SECRET_KEY} | (seen or {})
    )
    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    port = free_port()
    supervisor = Supervisor(environ, folder, lambda _text: None)
    supervisor.start("web", roles.web(f"127.0.0.1:{port}", timeout_s=timeout_s))
    try:
        wait_until(lambda: _listens(port))
        cookie = f"{name}={client.cookies[name].value}"
        yield Web(port, cookie, person, folder / "web.log")
    finally:
        supervisor.stop()


def _listens(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0

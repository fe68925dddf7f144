"""A small HTTP server whose answers a test decides: one function from path to answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Answer:
    """What is sent.

    Attributes:
        length: what the head says of the body's length, where that is a lie.
        drip_s: seconds between single bytes of the body.
        is_silent: nothing at all is sent until the server ends.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    drip_s: float = 0.0
    is_silent: bool = False


@dataclass(frozen=True)
class Question:
    """What was asked: the path and the parameters, of query and form."""

    path: str
    parameters: dict[str, str]
    headers: dict[str, str]


LONGEST_S = 60.0  # that a silent answer is kept waiting
Script = Callable[[Question], Answer]


@contextmanager
def serving(script: Script, port: int = 0) -> Iterator[str]:
    """The address of a server that answers as the script says; on a free port, or this."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            form = self.rfile.read(length).decode() if length else ""
            pairs = parse_qs(f"{parts.query}&{form}")
            parameters = {key: values[0] for key, values in pairs.items()}
            said = script(Question(parts.path, parameters, dict(self.headers)))
            if said.is_silent:
                ended.wait(LONGEST_S)
                return
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            size = len(said.body) if said.length is None else said.length
            self.send_header("Content-Length", str(size))
            self.end_headers()
            try:
                self.send_body(said)
            except OSError:  # the one who asked has gone
                self.close_connection = True

        def send_body(self, said: Answer) -> None:
            if not said.drip_s:
                self.wfile.write(said.body)
                return
            for place in range(len(said.body)):
                self.wfile.write(said.body[place : place + 1])
                if ended.wait(said.drip_s):
                    return

        do_GET = do_POST = answer  # noqa: N815  # the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join(10)

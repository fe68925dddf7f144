"""A small HTTP server whose answers a test decides: one function from path to answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Answer:
    """What is sent; `length` may lie about the body."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None


@dataclass(frozen=True)
class Question:
    """What was asked: the path and the parameters, of query and form."""

    path: str
    parameters: dict[str, str]
    headers: dict[str, str]


Script = Callable[[Question], Answer]


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """The address of a server on a free port that answers as the script says."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            form = self.rfile.read(length).decode() if length else ""
            pairs = parse_qs(f"{parts.query}&{form}")
            parameters = {key: values[0] for key, values in pairs.items()}
            said = script(Question(parts.path, parameters, dict(self.headers)))
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            size = len(said.body) if said.length is None else said.length
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_POST = answer  # noqa: N815  # the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)

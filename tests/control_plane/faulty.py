"""A server or a network that fails in a chosen way, on loopback."""

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

END_S = 10.0


class Fault(socketserver.ThreadingTCPServer):
    """Answers every connection in one way.

    Attributes:
        seen: the first line of each request.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, answer: bytes | None, *, is_reset: bool, drip_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.is_reset = is_reset
        self.drip_s = drip_s
        self.seen: list[str] = []
        self.ending = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.BaseRequestHandler):
    server: Fault

    def handle(self) -> None:
        with suppress(OSError):
            self._handle()

    def _handle(self) -> None:
        connection: socket.socket = self.request
        connection.settimeout(END_S)
        while request := connection.recv(65536):
            line = request.split(b"\r\n", 1)[0].decode(errors="replace")
            is_hello = request.startswith(b"\x16")  # of TLS
            if not is_hello and not line.endswith("HTTP/1.1"):
                continue  # the body of the request before
            self.server.seen.append(line)
            if self.server.is_reset:
                # no linger: the other side sees a reset, not an end
                option = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
                return
            if self.server.answer is None:
                self.server.ending.wait(END_S)
                return
            self._send(connection, self.server.answer)

    def _send(self, connection: socket.socket, answer: bytes) -> None:
        if not self.server.drip_s:
            connection.sendall(answer)
            return
        for byte in answer:
            connection.sendall(bytes([byte]))
            if self.server.ending.wait(self.server.drip_s):
                return


@contextmanager
def failing(
    answer: bytes | None = None, *, is_reset: bool = False, drip_s: float = 0.0
) -> Iterator[Fault]:
    """A server that gives one answer to all requests.

    Args:
        answer: all of it, headers too; None for silence.
        is_reset: cut the connection when a request has come.
        drip_s: seconds between two bytes of the answer.
    """
    with Fault(answer, is_reset=is_reset, drip_s=drip_s) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.ending.set()
            server.shutdown()
            thread.join(END_S)


def response(code: int, body: bytes, *headers: str) -> bytes:
    """One answer of HTTP/1.1."""
    lines = [f"HTTP/1.1 {code} X", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class CountingProxy:
    """Passes bytes to a server and counts what goes through; can be cut.

    Attributes:
        requests: connections so far.
    """

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.links: list[socket.socket] = []
        self.connections = 0
        self.is_mute = False
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def cut(self) -> None:
        """Break all connections that are open now."""
        for link in self.links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
        for link in self.links:
            link.close()
        self.thread.join(END_S)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _address = self.listener.accept()
                self.connections += 1
                far = socket.create_connection(self.target, timeout=END_S)
                far.settimeout(None)
                self.links += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(
                        target=self._pass, args=(one, other), daemon=True
                    ).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                while self.is_mute:
                    time.sleep(0.02)
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(port: int) -> Iterator[CountingProxy]:
    """A proxy before a server on loopback."""
    one = CountingProxy("127.0.0.1", port)
    try:
        yield one
    finally:
        one.close()

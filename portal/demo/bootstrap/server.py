"""The simulated cluster on a loopback port: exporters and kube-state-metrics over HTTP.

`/nodes/<place>/metrics` is the exporter of the node in a slot,
`/kube-state/metrics` is kube-state-metrics, `/kueue/metrics` Kueue's controller, `/healthz` shows
that the server is up. An exporter that is down in the scenario responds with 503. Each response has
the state of the current moment.
The Kubernetes API has a separate port, and two tokens in the home folder.
"""

import argparse
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from portal.demo.kube_api.mirror import Mirror
from portal.demo.kube_api.server import SimulatedApiServer
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.users import User
from portal.demo.metrics.exposition import kube_text, node_text
from portal.demo.metrics.queues import queue_text
from portal.demo.scenario.edits import load
from portal.demo.scenario.engine import Engine
from portal.demo.scenario.fleet import Pool, pools_of
from portal.demo.scenario.story import Story

HOST = "127.0.0.1"
KUBE_PATH, QUEUE_PATH = "/kube-state/metrics", "/kueue/metrics"
READER_TOKEN, PUSHER_TOKEN = "api-reader.token", "api-pusher.token"  # files
FOLLOW_S = 2.0  # between two reads of changes in the API
_NODE_PATH = re.compile(r"/nodes/([a-z0-9-]+)/metrics")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def places(story: Story) -> list[tuple[Pool, str]]:
    """Every place that can have a node: the targets to scrape, for good."""
    return [
        (pool, f"{pool.name}-{number:02}")
        for pool in pools_of(story)
        for number in range(1, pool.nodes + 1)
    ]


@dataclass(slots=True)
class SimulatedCluster:
    """The engine, kept at the current time for several readers."""

    engine: Engine
    mirror: Mirror | None = None
    clock: Callable[[], float] = time.time
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep_up(self) -> None:
        """Advance engine and API to the current time, and apply changes by people."""
        with self._lock:
            if self.mirror is not None:
                self.mirror.follow(self._now_s())
            now_s = self._advance()
            if self.mirror is not None:
                self.mirror.show(now_s)

    def keep_api_up(self, seconds: float) -> None:
        """Keep the API current also while nobody scrapes the cluster."""
        while True:
            self.keep_up()
            time.sleep(seconds)

    def _now_s(self) -> int:
        return max(int(self.clock()), self.engine.now_s)  # time never goes back

    def _advance(self) -> int:
        now_s = self._now_s()
        self.engine.advance(now_s)
        return now_s

    def answer(self, path: str) -> tuple[HTTPStatus, str]:
        """The response of a path now; the API is updated by another thread."""
        if path == "/healthz":
            return HTTPStatus.OK, "ok\n"
        with self._lock:
            now_s = self._advance()
            if path == KUBE_PATH and not self.engine.is_kube_seen(now_s):
                return HTTPStatus.SERVICE_UNAVAILABLE, "restarting\n"
            if path in (KUBE_PATH, QUEUE_PATH):
                text = kube_text if path == KUBE_PATH else queue_text
                return HTTPStatus.OK, text(self.engine, now_s)
            found = _NODE_PATH.fullmatch(path)
            if found is None:
                return HTTPStatus.NOT_FOUND, "nothing here\n"
            node = self.engine.node_in(found[1], now_s)
            if node is None:
                return HTTPStatus.SERVICE_UNAVAILABLE, "no exporter answers here\n"
            return HTTPStatus.OK, node_text(self.engine, node, now_s)


class Server(ThreadingHTTPServer):
    """Serves one cluster."""

    daemon_threads = True
    request_queue_size = 64  # all exporters are scraped at once

    def __init__(self, cluster: SimulatedCluster, port: int) -> None:
        self.cluster = cluster
        super().__init__((HOST, port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # else a body waits 40 ms for the client to confirm the headers that were sent before it
    disable_nagle_algorithm = True

    def do_GET(self) -> None:  # the base class's name
        status, text = self.server.cluster.answer(self.path.partition("?")[0])
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the signature of http.server
        """No log lines: every scrape would be one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until stopped. The scenario is read as JSON, the port is printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--story", required=True, help="the story's values as JSON")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--home", type=Path, help="of what people change in the API")
    parser.add_argument("--api-port", type=int, default=0)
    options = parser.parse_args(arguments)
    edits = load(options.home) if options.home else []
    engine = Engine(Story(**json.loads(options.story)), edits)
    engine.advance(int(time.time()))
    cluster = SimulatedCluster(engine)
    if options.home:
        cluster.mirror = Mirror(engine, options.home)
        _serve_api(cluster, cluster.mirror.store, options)
    server = Server(cluster, options.port)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # it stores nothing
    # Ctrl-C is handled by the parent process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
    return 0


def _serve_api(
    cluster: SimulatedCluster, store: Store, options: argparse.Namespace
) -> None:
    users = {
        (options.home / file).read_text().strip(): User(name, is_pusher=is_pusher)
        for name, file, is_pusher in (
            ("gpu-ledger-reader", READER_TOKEN, False),
            ("gpu-ledger-pusher", PUSHER_TOKEN, True),
        )
    }
    api = SimulatedApiServer(store, users, options.api_port)
    for work in (api.serve_forever, lambda: cluster.keep_api_up(FOLLOW_S)):
        threading.Thread(target=work, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())

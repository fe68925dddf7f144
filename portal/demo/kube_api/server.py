"""The Kubernetes API of the demo's cluster, limited to the calls of the portal.

Quotas, priority classes, limit ranges, namespaces, nodes, pods and queues: get, list in pages,
watch, create, merge patch, JSON patch, server-side apply with dry run, delete with preconditions.
It passes the same contract tests as a real API server (tests/integration/clusters/client).
"""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from portal.demo.kube_api.field_managers import merge
from portal.demo.kube_api.refusals import StatusError
from portal.demo.kube_api.store import Store
from portal.demo.kube_api.target import AddressedObject, is_chosen, is_seen, target_of
from portal.demo.kube_api.users import User, forbidden
from scheduler_view.clusters.client.kinds import KINDS

VERSION = {"major": "1", "minor": "34", "gitVersion": "v1.34.4-simulated"}
WATCH_S = 1800.0  # if the client does not set it
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class SimulatedApiServer(ThreadingHTTPServer):
    """The server; one thread for each request."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, store: Store, users: Mapping[str, User], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.store = store
        self.users = users
        self.ending = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def end(self) -> None:
        """Stop, including watches."""
        self.ending.set()
        self.shutdown()
        self.server_close()


@contextmanager
def serving(
    store: Store, users: Mapping[str, User], port: int = 0
) -> Iterator[SimulatedApiServer]:
    """Run the server in a thread, within a context."""
    api = SimulatedApiServer(store, users, port)
    thread = Thread(target=api.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.end()
        thread.join(10)


class Handler(BaseHTTPRequestHandler):
    """Reads a request, calls the store, writes the response."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds of silence after which a connection is closed
    # else a body waits 40 ms for the client to confirm the headers that were sent before it
    disable_nagle_algorithm = True
    server: SimulatedApiServer

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_PATCH(self) -> None:
        self._answer(self._patch)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def log_message(self, *_arguments: object) -> None:
        """No log lines: they would hide the demo's own."""

    def _answer(self, act: Any) -> None:
        self.query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
        self.route = urlsplit(self.path).path
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        try:
            self.user = self._user()
            found = self._json(raw)
            self.operations = found if isinstance(found, list) else []
            self.body = found if isinstance(found, dict) else {}
            act()
        except StatusError as refusal:
            self._send(refusal.code, refusal.status)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _user(self) -> User:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        user = self.server.users.get(token)
        if user is None:
            raise StatusError(401, "Unauthorized")
        return user

    def _json(self, raw: bytes) -> Any:
        """An object, or the list of operations of a JSON patch."""
        try:
            found = json.loads(raw or b"{}")
        except ValueError:
            raise StatusError(400, "the body is not JSON") from None
        is_patch = self.headers.get("Content-Type") == JSON_PATCH
        if not isinstance(found, list if is_patch else dict):
            raise StatusError(400, "the body is not an object")
        return found

    def _target(self, verb: str) -> AddressedObject:
        target = target_of(self.route)
        if target is None:
            raise StatusError(404, "the server could not find the requested resource")
        if not self.user.may(verb, target.kind):
            raise forbidden(self.user, verb, target)
        return target

    def _get(self) -> None:
        if self.route == "/version":
            return self._send(200, VERSION)
        if self.route == "/readyz":
            return self._send(200, {})
        if self.query.get("watch") == "true":
            return self._watch(self._target("watch"))
        target = self._target("get")
        if target.name:
            return self._send(200, self.server.store.get(target.key))
        return self._send(200, self._page(target))

    def _page(self, target: AddressedObject) -> dict[str, Any]:
        found, version = self.server.store.all_of(target.kind, target.namespace)
        chosen = [one for one in found if is_chosen(one, self.query)]
        after = ["", ""]
        if given := self.query.get("continue"):
            version, after = json.loads(base64.urlsafe_b64decode(given))
            if version < self.server.store.oldest - 1:
                raise StatusError(410, "The provided continue parameter is too old")
            chosen = [one for one in chosen if _place(one) > after]
        limit = int(self.query.get("limit") or 0) or len(chosen)
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        if len(chosen) > limit:
            token = json.dumps([version, _place(chosen[limit - 1])])
            meta["continue"] = base64.urlsafe_b64encode(token.encode()).decode()
        kind = KINDS[target.kind]
        items = [{k: v for k, v in o.items() if k != "kind"} for o in chosen[:limit]]
        return {
            "kind": f"{target.kind}List",
            "apiVersion": kind.version,
            "metadata": meta,
            "items": items,
        }

    def _watch(self, target: AddressedObject) -> None:
        seconds = float(self.query.get("timeoutSeconds") or WATCH_S)
        end = time.monotonic() + seconds

        def is_over() -> bool:
            return time.monotonic() > end or self.server.ending.is_set()

        version = int(self.query.get("resourceVersion") or 0)
        changes = self.server.store.watch(target.kind, version, is_over)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for change in changes:
                if is_seen(change, target, self.query):
                    self._chunk({"type": change.type, "object": change.manifest})
        except StatusError as refusal:
            self._chunk({"type": "ERROR", "object": refusal.status})
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, event: Mapping[str, Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def _post(self) -> None:
        if self.route == REVIEWS:
            return self._review()
        target = self._target("create")
        name = (self.body.get("metadata") or {}).get("name")
        if not name:
            raise StatusError(422, "metadata.name: Required value")
        manager = self.query.get("fieldManager", "python-requests")
        is_dry = self.query.get("dryRun") == "All"
        key = (target.kind, target.namespace, name)
        made = self.server.store.create(key, self.body, manager, dry_run=is_dry)
        return self._send(201, made)

    def _review(self) -> None:
        asked = (self.body.get("spec") or {}).get("resourceAttributes") or {}
        found = [name for name, k in KINDS.items() if k.plural == asked.get("resource")]
        is_allowed = bool(found) and self.user.may(asked.get("verb", ""), found[0])
        self._send(201, merge(self.body, {"status": {"allowed": is_allowed}}))

    def _patch(self) -> None:
        target = self._target("patch")
        manager = self.query.get("fieldManager", "python-requests")
        store = self.server.store
        form = self.headers.get("Content-Type", "")
        if form == MERGE:
            made = store.patch(
                target.key, self.body, manager, is_status=target.is_status
            )
            return self._send(200, made)
        is_dry = self.query.get("dryRun") == "All"
        if form == JSON_PATCH:
            made = store.json_patch(
                target.key, self.operations, manager, dry_run=is_dry
            )
            return self._send(200, made)
        if form != APPLY:
            raise StatusError(
                415, f"the body of the request was in an unknown format: {form}"
            )
        if "fieldManager" not in self.query:
            raise StatusError(
                422, "fieldManager: Required value: is required for apply patch"
            )
        made, is_new = store.apply(
            target.key,
            self.body,
            manager,
            force=self.query.get("force") == "true",
            dry_run=is_dry,
        )
        return self._send(201 if is_new else 200, made)

    def _delete(self) -> None:
        target = self._target("delete")
        uid = (self.body.get("preconditions") or {}).get("uid", "")
        self._send(200, self.server.store.delete(target.key, uid))

    def _send(self, code: int, body: Mapping[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _place(manifest: Mapping[str, Any]) -> list[str]:
    meta = manifest["metadata"]
    return [meta.get("namespace", ""), meta["name"]]

"""The only client of a Kubernetes API: reads objects, and changes quotas, classes and queues.

Objects are decoded directly; the client library's models would take ten times as long for a page
of 500, and lose unknown fields. Every call has a deadline.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from scheduler_view.clusters.client import transport
from scheduler_view.clusters.client.access import ClusterAccess
from scheduler_view.clusters.client.answers import decode, status_error, wrong_answer
from scheduler_view.clusters.client.errors import NotFound, WatchExpired
from scheduler_view.clusters.client.kinds import KINDS, ObjectKind, patched, written
from scheduler_view.clusters.client.live import (
    Listing,
    LiveObject,
    Manifest,
    WatchEvent,
    live_object,
)
from scheduler_view.clusters.client.session import Session
from scheduler_view.clusters.rules.live_objects import MANAGER

PAGE = 500  # objects of one response; as client-go's reflectors use
LISTS_TRIED = 3  # a list that expired between two pages is restarted
_APPLY = "application/apply-patch+yaml"  # JSON is YAML
_JSON_PATCH = "application/json-patch+json"
_Found = TypeVar("_Found")


class _PageMeta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815  # the API server's spelling
    next: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _PageMeta
    items: tuple[msgspec.Raw, ...] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class ClusterClient:
    """One identity at one API server; thread-safe.

    Every method raises a `ClusterError` of `clusters.client.errors` if it fails.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self.access = access
        self._session = Session(access)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def version(self) -> str:
        """The server's version, such as `v1.34.4`; needs no permissions except a valid identity."""
        answer = decode(self._call("GET", "/version"), dict[str, Any])
        return str(answer.get("gitVersion", ""))

    def get(self, kind: str, name: str, namespace: str = "") -> LiveObject:
        """One object, in the newest version that the cluster has; `NotFound` if none exists."""
        return _newest(
            kind,
            lambda one: _live(kind, self._call("GET", one.path(namespace, name))),
        )

    def list(
        self, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listing:
        """All objects of a kind, in pages, as of one version of the store.

        If the cluster does not have the newest version of its API, the next is tried.

        Args:
            namespace: only this one; empty for all.
            labels, fields: selectors, such as `team=a`, `spec.nodeName=node-1`.

        Raises:
            WatchExpired: the list expired between two pages, three times.
        """
        for left in reversed(range(LISTS_TRIED)):
            try:
                return _newest(
                    kind,
                    lambda one: self._list(kind, one.path(namespace), labels, fields),
                )
            except WatchExpired:
                if not left:
                    raise
        raise AssertionError("not reached")

    def watch(
        self, kind: str, resource_version: str, *, for_s: float, labels: str = ""
    ) -> Iterator[WatchEvent]:
        """Changes since a version of the store, as they occur, for some seconds.

        Raises:
            WatchExpired: the version is too old: list again.
        """
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(for_s))),
        } | _selectors(labels=labels)
        # The server ends a watch after timeoutSeconds; otherwise it is closed here.
        patience_s = for_s + self.access.timeout_s
        with self._session.open(
            "GET", KINDS[kind].path(), query, timeout_s=patience_s
        ) as raw:
            for line in transport.lines(raw):
                yield _event(kind, decode(line, _Event))

    def apply(
        self,
        body: Manifest,
        *,
        dry_run: bool = False,
        force: bool = False,
        uid: str = "",
    ) -> LiveObject:
        """Server-side apply of the desired state of a quota or a priority class.

        Args:
            body: all our fields; a key that we applied before and leave out is removed.
            dry_run: everything except the write, including admission.
            force: take over fields of other managers.
            uid: only if the object is still this one; `UidMismatch` otherwise.

        Raises:
            FieldConflict: other managers have fields that we would change.
        """
        kind, meta = body["kind"], body["metadata"]
        query = {"fieldManager": MANAGER, "force": str(force).lower()}
        if dry_run:
            query["dryRun"] = "All"
        sent = {**body, "metadata": {**meta, "uid": uid}} if uid else dict(body)
        path = written(kind).path(meta.get("namespace", ""), meta["name"])
        return _live(kind, self._call("PATCH", path, query, sent, _APPLY))

    def apply_fields(
        self,
        kind: str,
        body: Manifest,
        *,
        uid: str,
        dry_run: bool = False,
        force: bool = False,
    ) -> LiveObject:
        """Server-side apply of the fields that we own in another person's object.

        Args:
            kind: in stored rows.
            body: all our fields; one that we applied before and leave out is removed.
            uid: of the object; without it, the call would create one.
            dry_run: everything except the write, including admission.
            force: take over fields of other managers.

        Raises:
            FieldConflict: other managers have fields that we would change.
            UidMismatch: the object does not exist any more.
        """
        path = patched(kind, body["apiVersion"]).path("", body["metadata"]["name"])
        sent = {**body, "metadata": {**body["metadata"], "uid": uid}}
        query = _write_query(dry_run=dry_run) | {"force": str(force).lower()}
        return _live(kind, self._call("PATCH", path, query, sent, _APPLY))

    def patch(
        self,
        kind: str,
        live: Manifest,
        operations: Sequence[Manifest],
        *,
        dry_run: bool = False,
    ) -> LiveObject:
        """JSON patch of an object; nothing is written if a `test` operation fails.

        Args:
            kind: in stored rows.
            live: the object as just read.
            operations: of the patch.
            dry_run: everything except the write, including admission.

        Raises:
            Invalid: a `test` operation failed, or the result is not valid.
        """
        meta = live["metadata"]
        is_ours = KINDS[kind].is_written
        one = KINDS[kind] if is_ours else patched(kind, live["apiVersion"])
        path = one.path(meta.get("namespace", ""), meta["name"])
        query = _write_query(dry_run=dry_run)
        answer = self._call("PATCH", path, query, operations, _JSON_PATCH)
        return _live(kind, answer)

    def delete(self, kind: str, name: str, namespace: str = "", *, uid: str) -> None:
        """Remove an object, if it is still the one with this uid.

        Raises:
            NotFound: it does not exist.
            UidMismatch: another object has its name.
        """
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid},
        }
        path = written(kind).path(namespace, name)
        self._call("DELETE", path, {}, options, "application/json")

    def may(self, verb: str, kind: str, namespace: str = "") -> bool:
        """True if RBAC permits an action, such as `list` pods; the server is queried."""
        review = {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "spec": {
                "resourceAttributes": {
                    "verb": verb,
                    "resource": KINDS[kind].plural,
                    "group": KINDS[kind].group,
                    "namespace": namespace,
                }
            },
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = self._call("POST", path, {}, review, "application/json")
        status = decode(answer, dict[str, Any]).get("status") or {}
        return bool(status.get("allowed"))

    def _list(self, kind: str, path: str, labels: str, fields: str) -> Listing:
        found: list[LiveObject] = []
        query = {"limit": str(PAGE)} | _selectors(labels=labels, fields=fields)
        while True:
            page = decode(self._call("GET", path, query), _Page)
            found += [_live(kind, item) for item in page.items or ()]
            if not page.metadata.next:
                return Listing(tuple(found), page.metadata.resourceVersion)
            query["continue"] = page.metadata.next

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Manifest | Sequence[Manifest] | None = None,
        content_type: str = "",
    ) -> bytes:
        timeout_s = self.access.timeout_s
        deadline = time.monotonic() + timeout_s
        with self._session.open(method, path, query, body, content_type) as raw:
            return transport.read(raw, deadline, timeout_s)


def connect(access: ClusterAccess) -> ClusterClient:
    """A client for an access; does not open a connection yet."""
    return ClusterClient(access)


def _newest(kind: str, call: Callable[[ObjectKind], _Found]) -> _Found:
    """A call in the newest version of a kind that the cluster has."""
    *newer, oldest = KINDS[kind].versions
    for one in newer:
        try:
            return call(one)
        except NotFound:
            continue
    return call(oldest)


def _write_query(*, dry_run: bool) -> dict[str, str]:
    return {"fieldManager": MANAGER} | ({"dryRun": "All"} if dry_run else {})


def _selectors(*, labels: str = "", fields: str = "") -> dict[str, str]:
    given = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in given.items() if value}


def _live(kind: str, raw: bytes | msgspec.Raw) -> LiveObject:
    try:
        return live_object(kind, KINDS[kind].version, raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise wrong_answer(bytes(raw)) from None


def _event(kind: str, event: _Event) -> WatchEvent:
    if event.type == "ERROR":
        raise status_error(decode(bytes(event.object), dict[str, Any]))
    return WatchEvent(event.type, _live(kind, event.object))

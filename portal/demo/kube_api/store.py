"""The objects of the simulated cluster: versions, history, and effects of writes."""

import copy
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portal.demo.kube_api import rules
from portal.demo.kube_api.field_managers import apply, merge, now, update
from portal.demo.kube_api.json_patch import json_patch
from portal.demo.kube_api.refusals import StatusError, invalid, not_found, uid_mismatch
from scheduler_view.clusters.client.kinds import KINDS, NAMESPACE, POD
from scheduler_view.clusters.rules.live_objects import CLASS, QUOTA

HISTORY = 20_000  # events from which a watch can start; older ones are dropped

Manifest = dict[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name


@dataclass(frozen=True, slots=True)
class StoredChange:
    """One entry of the history."""

    version: int
    type: str
    kind: str
    manifest: Manifest


@dataclass
class Store:
    """All objects; every method holds the lock, and returns copies.

    Attributes:
        oldest: the first version from which a watch can start.
    """

    objects: dict[Key, Manifest] = field(default_factory=dict)
    history: deque[StoredChange] = field(default_factory=lambda: deque(maxlen=HISTORY))
    version: int = 1
    oldest: int = 1
    changed: threading.Condition = field(default_factory=threading.Condition)

    def get(self, key: Key) -> Manifest:
        """One object; 404 if it does not exist."""
        with self.changed:
            return copy.deepcopy(self._live(key))

    def all_of(self, kind: str, namespace: str) -> tuple[list[Manifest], int]:
        """Objects by namespace and name, and their version."""
        with self.changed:
            found = [
                copy.deepcopy(self.objects[key])
                for key in sorted(self.objects)
                if key[0] == kind and namespace in ("", key[1])
            ]
            return found, self.version

    def create(
        self, key: Key, body: Manifest, manager: str, *, dry_run: bool = False
    ) -> Manifest:
        """A new object (POST)."""
        with self.changed:
            if key in self.objects:
                plural = KINDS[key[0]].plural
                raise StatusError(
                    409, f'{plural} "{key[2]}" already exists', name=key[2]
                )
            bare = self._new(key, body)
            made = update(bare, _with(bare, body), manager)
            return self._write(key, made, None, dry_run=dry_run)

    def patch(
        self, key: Key, change: Manifest, manager: str, *, is_status: bool = False
    ) -> Manifest:
        """A merge patch, as `kubectl edit` sends it."""
        with self.changed:
            live = self._live(key)
            if is_status:
                made = merge(live, {"status": change.get("status") or {}})
            else:
                plain = {k: v for k, v in change.items() if k != "status"}
                made = update(live, copy.deepcopy(merge(live, plain)), manager)
            return self._write(key, made, live)

    def json_patch(
        self,
        key: Key,
        operations: Sequence[Mapping[str, Any]],
        manager: str,
        *,
        dry_run: bool,
    ) -> Manifest:
        """A JSON patch; objects that count generations get another one."""
        with self.changed:
            live = self._live(key)
            made = update(live, json_patch(live, operations), manager)
            if (
                made.get("spec") != live.get("spec")
                and "generation" in live["metadata"]
            ):
                made["metadata"]["generation"] += 1
            return self._write(key, made, live, dry_run=dry_run)

    def apply(
        self, key: Key, body: Manifest, manager: str, *, force: bool, dry_run: bool
    ) -> tuple[Manifest, bool]:
        """Server-side apply; the object, and whether it is new."""
        with self.changed:
            live = self.objects.get(key)
            self._check_pins(key, body, live)
            made = apply(live or self._new(key, body), body, manager, force=force)
            if key[0] == QUOTA:
                rules.check(QUOTA, made, live)
            return self._write(key, made, live, dry_run=dry_run), live is None

    def delete(self, key: Key, uid: str = "") -> Manifest:
        """Delete an object, or start to, if a finalizer holds it."""
        with self.changed:
            live = self._live(key)
            if uid and live["metadata"]["uid"] != uid:
                plural, found = KINDS[key[0]].plural, live["metadata"]["uid"]
                raise uid_mismatch(plural, key[2], uid, found)
            made = copy.deepcopy(live)
            made["metadata"].setdefault("deletionTimestamp", now())
            if key[0] == NAMESPACE:
                made["status"] = {"phase": "Terminating"}
                self._put(key, made)
                for inner in [k for k in self.objects if k[1] == key[2]]:
                    self.delete(inner)
            self._settle(key, made)
            return copy.deepcopy(made)

    def put(self, key: Key, made: Manifest) -> None:
        """Store an object as its controller has it now, without admission.

        One that is being deleted stays until its controller drops it.
        """
        with self.changed:
            self._put(key, copy.deepcopy(made))
            if key[0] in (POD, QUOTA):
                self._count(key[1])

    def drop(self, key: Key) -> None:
        """Remove an object that its controller has deleted."""
        with self.changed:
            if key in self.objects:
                self._remove(key, copy.deepcopy(self.objects[key]))
                self._count(key[1])

    def watch(
        self, kind: str, version: int, is_over: Callable[[], bool]
    ) -> Iterator[StoredChange]:
        """Changes after a version, as they occur; 410 if it is too old."""
        while not is_over():
            with self.changed:
                if version < self.oldest - 1:
                    raise StatusError(410, f"too old resource version: {version}")
                found = [c for c in self.history if c.version > version]
                if not found:
                    self.changed.wait(0.2)
            for change in found:
                version = change.version
                if change.kind == kind:
                    yield change

    def forget(self) -> None:
        """Drop the history, like the compaction of a real store."""
        with self.changed:
            self.history.clear()
            self.oldest = self.version + 1

    def _live(self, key: Key) -> Manifest:
        found = self.objects.get(key)
        if found is None:
            group = KINDS[key[0]].group
            plural = KINDS[key[0]].plural
            raise not_found(f"{plural}.{group}" if group else plural, key[2])
        return found

    def _new(self, key: Key, body: Manifest) -> Manifest:
        """An empty new object, if it may be created."""
        kind, namespace, name = key
        if namespace:
            place = self.objects.get((NAMESPACE, "", namespace))
            if place is None:
                raise not_found("namespaces", namespace)
            if place["metadata"].get("deletionTimestamp"):
                words = f"because namespace {namespace} is being terminated"
                cause = {"reason": "NamespaceTerminating", "message": "", "field": ""}
                text = f'{KINDS[kind].plural} "{name}" is forbidden: unable to create '
                raise StatusError(403, f"{text}new content {words}", causes=[cause])
        meta = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": now()}
        if namespace:
            meta["namespace"] = namespace
        version = body.get("apiVersion") or KINDS[kind].version
        return {
            "kind": kind,
            "apiVersion": version,
            "metadata": {**meta, "managedFields": []},
        }

    def _check_pins(self, key: Key, body: Manifest, live: Manifest | None) -> None:
        """Check the preconditions of the request."""
        meta, plural = body.get("metadata") or {}, KINDS[key[0]].plural
        uid, version = meta.get("uid"), meta.get("resourceVersion")
        if live is None:
            if uid:
                raise StatusError(
                    409,
                    f'Operation cannot be fulfilled on {plural} "{key[2]}": uid mismatch:'
                    f" the provided object specified uid {uid}, and no existing object "
                    "was found",
                )
            return
        found = live["metadata"]
        if uid and uid != found["uid"]:
            shown = f'Invalid value: "{uid}": field is immutable'
            raise invalid(key[0], key[2], "metadata.uid", shown)
        if version and version != found["resourceVersion"]:
            raise StatusError(
                409,
                f'Operation cannot be fulfilled on {plural} "{key[2]}": the object has '
                "been modified; please apply your changes to the latest version and try "
                "again",
            )

    def _write(
        self,
        key: Key,
        made: Manifest,
        live: Manifest | None,
        *,
        dry_run: bool = False,
    ) -> Manifest:
        kind, namespace, _name = key
        rules.check(kind, made, live)
        if kind == CLASS:
            rules.check_default(
                made, [o for k, o in self.objects.items() if k[0] == kind]
            )
        if kind == POD and live is None:
            classes = {k[2]: o for k, o in self.objects.items() if k[0] == CLASS}
            rules.set_priority(made, classes)
            rules.check_room(made, self._in(QUOTA, namespace))
            made.setdefault("status", {"phase": "Pending"})
        if kind == NAMESPACE and live is None:
            made["status"] = {"phase": "Active"}
        if dry_run or made == live:
            made["metadata"].setdefault("resourceVersion", "")
            return copy.deepcopy(made)
        self._settle(key, made)
        return copy.deepcopy(made)

    def _settle(self, key: Key, made: Manifest) -> None:
        """Store it, or remove it if it is being deleted without finalizers."""
        meta = made["metadata"]
        is_empty = key[0] != NAMESPACE or not any(k[1] == key[2] for k in self.objects)
        is_gone = meta.get("deletionTimestamp") and not meta.get("finalizers")
        if is_gone and is_empty:
            self._remove(key, made)
        else:
            self._put(key, made)
        if key[0] in (POD, QUOTA):
            self._count(key[1])

    def _put(self, key: Key, made: Manifest) -> None:
        is_new = key not in self.objects
        self.version += 1
        made["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = made
        self._record("ADDED" if is_new else "MODIFIED", key[0], made)

    def _remove(self, key: Key, made: Manifest) -> None:
        self.version += 1
        made["metadata"]["resourceVersion"] = str(self.version)
        self.objects.pop(key, None)
        self._record("DELETED", key[0], made)
        place = (NAMESPACE, "", key[1])
        if key[1] and place in self.objects:
            going = self.objects[place]
            if going["metadata"].get("deletionTimestamp"):
                self._settle(place, copy.deepcopy(going))

    def _record(self, type_: str, kind: str, made: Manifest) -> None:
        if len(self.history) == HISTORY:
            self.oldest = self.history[0].version + 1
        change = StoredChange(self.version, type_, kind, copy.deepcopy(made))
        self.history.append(change)
        self.changed.notify_all()

    def _count(self, namespace: str) -> None:
        """Update `status` as the quota controller does after each change of a pod or a quota."""
        pods = self._in(POD, namespace)
        for quota in self._in(QUOTA, namespace):
            status = rules.quota_status(quota, pods)
            if quota.get("status") != status:
                made = {**quota, "status": status}
                meta = made["metadata"]
                self._put((QUOTA, namespace, meta["name"]), copy.deepcopy(made))

    def _in(self, kind: str, namespace: str) -> list[Manifest]:
        return [
            one for key, one in self.objects.items() if key[:2] == (kind, namespace)
        ]


def _with(bare: Manifest, body: Manifest) -> Manifest:
    """A new object with the content of the request."""
    meta = {**(body.get("metadata") or {}), **bare["metadata"]}
    return copy.deepcopy({**body, **bare, "metadata": meta})

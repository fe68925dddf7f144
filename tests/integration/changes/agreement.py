"""What the report, REST, the pages and kubectl say of one cluster: they say the same."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client

from accounting.access.models.people import Person
from scheduler_view.clusters.rules.live_objects import OWNER, OWNER_LABEL
from scheduler_view.clusters.rules.quota_key import resource_of
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.rules.quota_objects import quota_key_of
from tests import programs
from tests.control_plane.admin import class_path, quota_path
from tests.control_plane.server import ADMIN
from tests.control_plane.world import World
from tests.integration.changes.office import Office
from tests.integration.metering.support import report
from tests.page_html import html_of

Rows = list[dict[str, Any]]
BADGES = {
    "In sync": "in_sync",
    "Differs in cluster": "differs",
    "Managed by": "other",
    "Not compared yet": "not_compared",
}


def agree(office: Office) -> Rows:
    """The quotas of a cluster, as all four tell them, just after a change.

    Nothing looks at the cluster first: what was applied is known when it is applied.
    """
    name = office.cluster.name
    quotas = report("quotas", cluster=name)
    tiers = report("tiers", cluster=name)
    with somebody() as client:
        assert rest(client, "quotas", name) == quotas
        assert rest(client, "tiers", name) == tiers
        assert sorted(shown(client, name)) == sorted(map(_of_page, quotas))
        page = html_of(client.get("/tiers"))
    for row in quotas:
        _agree_quota(office.world, row)
    for row in tiers:
        found = kubectl(office.world, "priorityclass", row["class_name"])
        assert found["value"] == row["value"]
        assert found["metadata"]["labels"][OWNER_LABEL] == OWNER
        assert row["class_name"] in page
        assert bool(found.get("globalDefault")) == row["is_default"]
    _nothing_else(office.world, quotas)
    return quotas


def agree_after_a_look(office: Office) -> Rows:
    """The same, where somebody else changed the cluster: the next look tells of it."""
    observe_once(office.cluster, now=office.now)
    return agree(office)


@contextmanager
def somebody() -> Iterator[Client]:
    """An admin who is signed in."""
    users = get_user_model().objects
    user, is_new = users.get_or_create(username="ana")
    if is_new:
        Person.objects.create(user=user, role="admin")
    client = Client()
    client.force_login(user)
    yield client


def rest(client: Client, noun: str, cluster: str) -> Rows:
    """All rows of a list of the API."""
    answer = client.get(f"/api/v1/{noun}?cluster={cluster}")
    assert answer.status_code == 200, answer.content
    rows: Rows = answer.json()["rows"]
    return rows


def shown(client: Client, cluster: str) -> list[tuple[str, str, str, str, str]]:
    """Team, resource, tier, GPUs and badge of each row of the quotas page."""
    answer = client.get(f"/quotas?cluster={cluster}")
    assert answer.status_code == 200
    found = []
    for row in html_of(answer).split("<tr data-quota")[1:]:
        names = re.search(r'name="q\|([^"]+)" value="(\d+)"', row)
        assert names is not None, row
        team, resource, tier, _version, was = names[1].split("|")
        assert names[2] == was
        (badge,) = (state for message, state in BADGES.items() if f">{message}" in row)
        found.append((team, resource, tier, was, badge))
    return found


def kubectl(world: World, kind: str, name: str = "", namespace: str = "") -> Any:
    """What `kubectl get` prints, as JSON; the demo's API is read over HTTP."""
    if not world.ca_file:
        is_class = kind == "priorityclass"
        path = class_path(name) if is_class else quota_path(namespace, name)
        return world.admin.get(path)
    program = programs.control_plane_program("kubectl")
    assert program is not None
    place = ["--namespace", namespace] if namespace else []
    done = subprocess.run(
        [
            program,
            f"--server={world.url}",
            f"--certificate-authority={world.ca_file}",
            f"--token={ADMIN}",
            f"--cache-dir={world.folder / 'kubectl'}",
            *("get", kind, *([name] if name else []), *place, "--output=json"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"KUBECONFIG": "/dev/null"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _of_page(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    return row["team"], row["resource"], row["tier"], str(row["gpus"]), row["sync"]


def _hard(world: World, namespace: str) -> dict[str, dict[str, str]]:
    items = kubectl(world, "resourcequota", namespace=namespace)["items"]
    return {
        one["metadata"]["name"]: dict(one["spec"].get("hard") or {}) for one in items
    }


def _agree_quota(world: World, row: Mapping[str, Any]) -> None:
    """What we say of a row is what the cluster has, in sync or not."""
    live = {}
    for namespace in row["split"]:
        hard = _hard(world, namespace).get(quota_key_of(namespace, row["tier"]).name)
        value = None if hard is None else hard.get(row["key"])
        live[namespace] = None if value is None else int(value)
    assert row["live"] == live
    assert sum(row["split"].values()) == row["gpus"]
    assert (row["sync"] == "in_sync") == (row["split"] == live), row


def _nothing_else(world: World, quotas: Rows) -> None:
    """No GPU key of an object of ours that no row tells of."""
    told = {
        (place, quota_key_of(place, row["tier"]).name, row["key"])
        for row in quotas
        for place in row["split"]
    }
    for namespace in (world.name, f"{world.name}-b", f"{world.name}-c"):
        found = kubectl(world, "resourcequota", namespace=namespace)["items"]
        ours = [
            one
            for one in found
            if (one["metadata"].get("labels") or {}).get(OWNER_LABEL) == OWNER
        ]
        for one in ours:
            keys = {key for key in one["spec"].get("hard") or {} if resource_of(key)}
            name = one["metadata"]["name"]
            assert {(namespace, name, key) for key in keys} <= told

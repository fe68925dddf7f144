"""Objects of others whose fields have wrong types: what is wrong is named, all else is read.

Complete objects of each kind, with random parts replaced, go through every reader of them.
Not here: pages (`integration/quotas/test_limits_page.py`).
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduler_view.changes.rules.drift import standing_of
from scheduler_view.clusters.client.live import LiveObject, live_object
from scheduler_view.clusters.rules.difference import live_fields
from scheduler_view.clusters.rules.live_objects import appliers, git_owner, pin_of
from scheduler_view.clusters.rules.object_key import ObjectKey
from scheduler_view.clusters.rules.resource_claims import given as allocations
from scheduler_view.clusters.rules.schedulers import QUEUE_FIELDS, QUEUE_OBJECTS
from scheduler_view.clusters.rules.stored_manifest import kept
from scheduler_view.quotas.rules.limit_range import predict, ranged_resources
from scheduler_view.quotas.rules.limits.lending import lending, waiting_text
from scheduler_view.quotas.rules.limits.maker import maker_of
from scheduler_view.quotas.rules.limits.queue_node import in_order, roots
from scheduler_view.quotas.rules.limits.queue_readers import queue_nodes
from scheduler_view.waits.rules.explain import Explainer
from scheduler_view.waits.rules.node_notes import notes_of_cluster
from scheduler_view.waits.rules.world.world import read_world
from tests.unit.waits.worlds import GPU, NOW_MS

AT = "2026-11-20T07:00:00Z"
AMOUNTS = {GPU: "4", "cpu": "8"}
FLAVORS = [
    {"name": "a100", "resources": [{"name": GPU, "total": "3", "borrowed": "1"}]},
]
GROUPS = [
    {
        "coveredResources": [GPU],
        "flavors": [
            {
                "name": "a100",
                "resources": [
                    {
                        "name": GPU,
                        "nominalQuota": "4",
                        "borrowingLimit": "2",
                        "lendingLimit": "1",
                    }
                ],
            }
        ],
    }
]
CONTAINER = {"name": "main", "resources": {"requests": AMOUNTS, "limits": AMOUNTS}}
CONDITION = {"type": "Active", "status": "False", "reason": "Gone", "message": "no"}
KINDS: dict[str, dict[str, Any]] = {
    "ClusterQueue": {
        "spec": {
            "cohortName": "all",
            "stopPolicy": "None",
            "resourceGroups": GROUPS,
            "namespaceSelector": {"matchLabels": {"a": "b"}},
        },
        "status": {
            "flavorsReservation": FLAVORS,
            "flavorsUsage": FLAVORS,
            "pendingWorkloads": 3,
            "conditions": [CONDITION],
        },
    },
    "Cohort": {"spec": {"parentName": "top", "resourceGroups": GROUPS}},
    "LocalQueue": {
        "spec": {"clusterQueue": "one", "stopPolicy": "Hold"},
        "status": {"pendingWorkloads": 1},
    },
    "WorkloadPriorityClass": {"value": 10, "description": "x"},
    "VolcanoQueue": {
        "spec": {
            "weight": 1,
            "capability": AMOUNTS,
            "deserved": AMOUNTS,
            "guarantee": {"resource": AMOUNTS},
            "reclaimable": True,
            "parent": "root",
        },
        "status": {"state": "Open", "allocated": AMOUNTS, "pending": 2},
    },
    "KaiQueue": {
        "spec": {
            "parentQueue": "top",
            "priority": 1,
            "resources": {"gpu": {"quota": 4.5, "limit": -1, "overQuotaWeight": 1}},
        },
        "status": {"allocated": AMOUNTS, "requested": AMOUNTS},
    },
    "ResourceQuota": {
        "spec": {
            "hard": {f"requests.{GPU}": "4"},
            "scopes": ["NotTerminating"],
            "scopeSelector": {
                "matchExpressions": [
                    {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}
                ]
            },
        },
        "status": {"hard": {f"requests.{GPU}": "4"}, "used": {f"requests.{GPU}": "1"}},
    },
    "PriorityClass": {
        "value": 5,
        "globalDefault": False,
        "preemptionPolicy": "Never",
        "description": "x",
    },
    "LimitRange": {
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    **dict.fromkeys(
                        ("max", "min", "default", "defaultRequest"), AMOUNTS
                    ),
                }
            ]
        }
    },
    "Namespace": {"spec": {}, "status": {"phase": "Active"}},
    "Node": {
        "spec": {
            "unschedulable": False,
            "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}],
        },
        "status": {
            "allocatable": AMOUNTS,
            "capacity": AMOUNTS,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    },
    "Pod": {
        "spec": {
            "containers": [CONTAINER],
            "initContainers": [{**CONTAINER, "restartPolicy": "Always"}],
            "priorityClassName": "a",
            "priority": 5,
            "resourceClaims": [{"name": "g", "resourceClaimName": "own"}],
            "schedulingGates": [{"name": "wait"}],
            "tolerations": [{"key": "a", "operator": "Exists"}],
        },
        "status": {
            "phase": "Pending",
            "conditions": [
                {"type": "PodScheduled", "status": "False", "lastTransitionTime": AT}
            ],
        },
    },
    "PodDisruptionBudget": {
        "spec": {"selector": {"matchLabels": {"a": "b"}}},
        "status": {"disruptionsAllowed": 0, "observedGeneration": 1},
    },
    "NodePool": {
        "spec": {"limits": AMOUNTS, "template": {"spec": {"startupTaints": []}}},
        "status": {"resources": AMOUNTS},
    },
    "NodeClaim": {"status": {"conditions": [CONDITION]}},
    "ResourceClaim": {
        "spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {
                            "driver": "gpu.nvidia.com",
                            "pool": "n",
                            "device": "gpu-0",
                            "adminAccess": False,
                        }
                    ]
                }
            },
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        },
    },
    "ResourceSlice": {
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n",
            "pool": {"name": "n"},
            "devices": [
                {
                    "name": "gpu-0",
                    "attributes": {
                        "type": {"string": "gpu"},
                        "uuid": {"string": "GPU-1"},
                    },
                },
                {"name": "m", "basic": {"attributes": {"type": {"string": "mig"}}}},
            ],
        }
    },
    "Workload": {
        "spec": {"queueName": "jobs", "podSets": [{"count": 2, "template": {}}]},
        "status": {"conditions": [CONDITION], "admission": {"clusterQueue": "one"}},
    },
}


def complete(kind: str) -> dict[str, Any]:
    """An object with every field that is read."""
    fields: dict[str, Any] = {f"f:{name}": {} for name in KINDS[kind]}
    meta = {
        "name": "one",
        "namespace": "lab",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": AT,
        "labels": {"a": "b"},
        "annotations": {"a": "b"},
        "ownerReferences": [{"kind": "Job", "name": "j", "controller": True}],
        "managedFields": [
            {
                "manager": "kubectl",
                "operation": "Apply",
                "time": AT,
                "fieldsV1": {"f:spec": fields},
            }
        ],
    }
    return {"metadata": meta, **deepcopy(KINDS[kind])}


def paths(value: object, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all parts of an object, except what identifies it."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for name, one in inner:
        path = (*above, name)
        if path == ("metadata",) or path[:2] in IDENTITY:
            yield from paths(one, path) if path == ("metadata",) else ()
            continue
        yield path
        yield from paths(one, path)


IDENTITY = {
    ("metadata", name) for name in ("name", "namespace", "uid", "resourceVersion")
}
GARBAGE = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**40), 10**40),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
        st.sampled_from(
            [
                "1e999",
                "9" * 70,
                "-4",
                "1e300",
                "2026-02-30T00:00:00Z",
                "0001-01-01",
                GPU,
            ]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", GPU, "flavors", "f:a"]), inner),
    ),
    max_leaves=6,
)


@st.composite
def broken(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A kind, and an object of it of which some parts are garbage."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    found = complete(kind)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(paths(found)) or [("spec",)]))
        inner: Any = found
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = draw(GARBAGE)
    return kind, found


def read_all(kind: str, live: LiveObject) -> None:
    """What plans, pages and observations read of an object."""
    manifest = live.manifest
    stored = kept(kind, live.sent)
    pin_of(manifest), git_owner(manifest), appliers(manifest, ("spec",))
    maker_of(manifest, [("spec",)]), live.labels, live.spec, live.status, live.managers
    if stored is not None:
        json.dumps(stored, allow_nan=False)
        maker_of(stored, [("spec",)])
        nodes = queue_nodes([(kind, "", "one", stored)], {})
        found = lending(nodes)
        roots(nodes)
        for line in in_order(nodes):
            one = line.node
            key = (one.name, one.flavor, one.resource)
            if key in found:
                assert isinstance(waiting_text(one, found[key], names=True), str)
    for part in (manifest, *([stored] if stored else [])):
        read_fields(kind, part)
    claims = [manifest] if kind == "ResourceClaim" else []
    allocations(claims, [manifest] if kind == "ResourceSlice" else [])
    world = read_world({kind: [live.sent], "Job": [live.sent]}, NOW_MS)
    explainer = Explainer(world)
    list(explainer.waiting()), list(notes_of_cluster(explainer.index))


def read_fields(kind: str, manifest: Any) -> None:
    if kind in QUEUE_FIELDS:
        fields = QUEUE_FIELDS[kind]
        values = fields.values(manifest, [GPU])
        for name in values:
            fields.used(manifest, name.rpartition("/")[0])
        fields.marks(manifest)
        fields.rules(manifest, [manifest]), fields.doubts(manifest, [manifest])
        standing_of(ObjectKey(kind, "", "one"), {"values": values}, manifest, {})
    objects = QUEUE_OBJECTS.get(kind)
    if objects and objects.facts:
        objects.facts("one", manifest, 0)
    if objects and objects.served:
        objects.served(manifest)
    if kind in ("ResourceQuota", "PriorityClass"):
        live_fields(manifest)
        standing_of(ObjectKey(kind, "lab", "one"), None, manifest, {})
    if kind == "LimitRange":
        items = (manifest.get("spec") or {}).get("limits") or []
        predict(items, GPU), ranged_resources(items)


@given(broken())
@example(("ClusterQueue", {"metadata": complete("Cohort")["metadata"], "spec": "x"}))
@settings(max_examples=200, deadline=None)
def test_garbage_stops_no_reader(drawn: tuple[str, dict[str, Any]]) -> None:
    kind, manifest = drawn
    text = json.dumps(manifest, allow_nan=False).encode("utf-8", "surrogatepass")
    read_all(kind, live_object(kind, "v1", text))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_complete_object_is_read_as_it_was_sent(kind: str) -> None:
    live = live_object(kind, "v1", json.dumps(complete(kind)).encode())
    assert {**live.manifest} == {**complete(kind), "kind": kind, "apiVersion": "v1"}
    stored = kept(kind, live.sent)
    assert stored is not None
    assert "faults" not in stored


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"a\u0000b", "a?b"),
        (r"\u0000\u0000", "??"),
        (r"C:\\u0000", r"C:\u0000"),
        (r"C:\\\u0000", "C:\\?"),
    ],
)
def test_a_nul_is_replaced_and_only_a_nul(written: str, read: str) -> None:
    text = f'{{"metadata": {{"name": "a"}}, "description": "{written}"}}'
    live = live_object("PriorityClass", "v1", text.encode())
    assert live.manifest["description"] == read


def test_of_an_object_that_cannot_be_decoded_the_head_is_read() -> None:
    text = '{"metadata": {"name": "a", "uid": "u"}, "value": 1e999}'
    live = live_object("PriorityClass", "v1", text.encode())
    assert live.manifest["metadata"]["uid"] == "u"
    assert kept("PriorityClass", live.sent)

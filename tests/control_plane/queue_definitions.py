"""Definitions of Kueue's, Volcano's and KAI's objects, as small as tests need them.

Our own, with the group, scope, list types, defaults and CEL rules of the released ones. No
controller and no webhook runs: a test writes the status as the controllers would.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scheduler_view.clusters.client.kinds import FRAMEWORKS, KINDS
from tests.control_plane.admin import Admin, RefusedByServer
from tests.processes import wait_until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INT32: Schema = {"type": "integer", "format": "int32"}
QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    r"([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
}
ANYTHING: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
AMOUNTS: Schema = {"type": "object", "additionalProperties": QUANTITY}


def mapping(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def listed(items: Schema, *keys: str, atomic: bool = False) -> Schema:
    """A list: atomic, or a map by some keys."""
    found = {"type": "array", "items": items}
    if atomic:
        return found | {"x-kubernetes-list-type": "atomic"}
    more = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    items["required"] = list(keys)
    return found | more


CONDITIONS = listed(
    mapping(type=TEXT, status=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TEXT),
    "type",
)


def resource_groups() -> Schema:
    """Atomic; inside, flavors and their resources are maps by name."""
    limits = mapping(
        name=TEXT,
        nominalQuota=QUANTITY,
        borrowingLimit=QUANTITY,
        lendingLimit=QUANTITY,
    )
    flavor = mapping(name=TEXT, resources=listed(limits, "name"))
    group = mapping(
        coveredResources=listed(TEXT, atomic=True), flavors=listed(flavor, "name")
    )
    group["x-kubernetes-validations"] = [
        {
            "rule": "self.flavors.all(x, size(x.resources) == "
            "size(self.coveredResources))",
            "message": "flavors must have the same number of resources as the "
            "coveredResources",
        }
    ]
    group["properties"]["flavors"]["maxItems"] = 64
    flavor["properties"]["resources"]["maxItems"] = 64
    group["properties"]["coveredResources"]["maxItems"] = 64
    return listed(group, atomic=True) | {"maxItems": 16}


def cluster_queue(cohort: str) -> Schema:
    """`spec.cohortName`; `spec.cohort` in v1beta1."""
    spec = mapping(
        resourceGroups=resource_groups(),
        queueingStrategy=TEXT | {"default": "BestEffortFIFO"},
        stopPolicy=TEXT | {"default": "None"},
        preemption=mapping(
            withinClusterQueue=TEXT | {"default": "Never"},
            reclaimWithinCohort=TEXT | {"default": "Never"},
        )
        | {"default": {}},
        namespaceSelector=ANYTHING,
        fairSharing=mapping(weight=QUANTITY),
        **{cohort: TEXT},
    )
    spec["x-kubernetes-validations"] = [
        {
            "rule": f"!has(self.{cohort}) && has(self.resourceGroups) ? "
            "self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, "
            "!has(r.borrowingLimit)))) : true",
            "message": "borrowingLimit must be nil when cohort is empty",
        }
    ]
    usage = listed(
        mapping(
            name=TEXT,
            resources=listed(
                mapping(name=TEXT, total=QUANTITY, borrowed=QUANTITY), "name"
            ),
        ),
        "name",
    )
    status = mapping(
        flavorsReservation=usage,
        flavorsUsage=usage,
        pendingWorkloads=INT32,
        reservingWorkloads=INT32,
        admittedWorkloads=INT32,
        conditions=CONDITIONS,
    )
    return mapping(spec=spec, status=status)


LOCAL_QUEUE = mapping(
    spec=mapping(
        clusterQueue=TEXT
        | {
            "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "field is immutable"}
            ]
        },
        stopPolicy=TEXT | {"default": "None"},
    ),
    status=mapping(pendingWorkloads=INT32, conditions=CONDITIONS),
)
COHORT = mapping(
    spec=mapping(parentName=TEXT, resourceGroups=resource_groups()), status=ANYTHING
)
PRIORITY = mapping(value={"type": "integer"}, description=TEXT)
PRIORITY["required"] = ["value"]
WORKLOAD = mapping(
    spec=mapping(
        queueName=TEXT,
        priority=INT32,
        priorityClassRef=mapping(name=TEXT, kind=TEXT, group=TEXT),
        active={"type": "boolean"},
        podSets=listed(
            mapping(name=TEXT, count=INT32, minCount=INT32, template=ANYTHING), "name"
        ),
    ),
    status=mapping(
        conditions=CONDITIONS,
        admission=ANYTHING,
        requeueState=ANYTHING,
        admissionChecks=listed(mapping(name=TEXT, state=TEXT, message=TEXT), "name"),
    ),
)
VOLCANO_QUEUE = mapping(
    spec=mapping(
        weight=INT32 | {"default": 1, "minimum": 1, "maximum": 65535},
        capability=AMOUNTS,
        deserved=AMOUNTS,
        guarantee=mapping(resource=AMOUNTS),
        reclaimable={"type": "boolean"},
        parent=TEXT,
        priority=INT32,
        dequeueStrategy=TEXT,
    ),
    status=mapping(
        state=TEXT, allocated=AMOUNTS, pending=INT32, running=INT32, inqueue=INT32
    ),
)
POD_GROUP = mapping(
    spec=mapping(
        minMember=INT32,
        queue=TEXT,
        priorityClassName=TEXT,
        minResources=AMOUNTS,
        preemptibility=TEXT,
        subGroups={"type": "array", "items": ANYTHING},
    ),
    status=mapping(
        phase=TEXT,
        running=INT32,
        conditions={"type": "array", "items": ANYTHING},
        schedulingConditions={"type": "array", "items": ANYTHING},
    ),
)


def _kai_amount() -> Schema:
    number = {"type": "number"}
    return mapping(quota=number, limit=number, overQuotaWeight=number)


KAI_QUEUE = mapping(
    spec=mapping(
        displayName=TEXT,
        parentQueue=TEXT,
        priority={"type": "integer"},
        resources=mapping(gpu=_kai_amount(), cpu=_kai_amount(), memory=_kai_amount()),
        preemptMinRuntime=TEXT,
        reclaimMinRuntime=TEXT,
    ),
    status=mapping(
        allocated=AMOUNTS,
        allocatedNonPreemptible=AMOUNTS,
        requested=AMOUNTS,
        childQueues={"type": "array", "items": TEXT},
    ),
)


def definition(
    group: str,
    kind: str,
    plural: str,
    versions: dict[str, Schema],
    *,
    is_namespaced: bool = False,
) -> dict[str, Any]:
    """A CustomResourceDefinition; the first version is stored."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    note = {"api-approved.kubernetes.io": "unapproved, of a test"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": note},
        "spec": {
            "group": group,
            "scope": "Namespaced" if is_namespaced else "Cluster",
            "names": names,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": index == 0,
                    "schema": {"openAPIV3Schema": schema},
                    # without a status part, as WorkloadPriorityClass
                    **(
                        {"subresources": {"status": {}}}
                        if "status" in schema["properties"]
                        else {}
                    ),
                }
                for index, (version, schema) in enumerate(versions.items())
            ],
        },
    }


KUEUE, VOLCANO, KAI = "kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.run.ai"


def kueue(version: str = "v1beta2") -> list[dict[str, Any]]:
    """Kueue's objects in one version of the API."""
    cohort = "cohortName" if version == "v1beta2" else "cohort"

    def one(kind: str, plural: str, schema: Schema, **more: bool) -> dict[str, Any]:
        return definition(KUEUE, kind, plural, {version: schema}, **more)

    return [
        one("ClusterQueue", "clusterqueues", cluster_queue(cohort)),
        one("Cohort", "cohorts", COHORT),
        one("LocalQueue", "localqueues", LOCAL_QUEUE, is_namespaced=True),
        one("Workload", "workloads", WORKLOAD, is_namespaced=True),
        one("WorkloadPriorityClass", "workloadpriorityclasses", PRIORITY),
    ]


def volcano() -> list[dict[str, Any]]:
    """Volcano's queues and pod groups."""
    return [
        definition(VOLCANO, "Queue", "queues", {"v1beta1": VOLCANO_QUEUE}),
        definition(
            VOLCANO,
            "PodGroup",
            "podgroups",
            {"v1beta1": POD_GROUP},
            is_namespaced=True,
        ),
    ]


def kai() -> list[dict[str, Any]]:
    """KAI's queues and pod groups."""
    return [
        definition(KAI, "Queue", "queues", {"v2": KAI_QUEUE}),
        definition(
            KAI, "PodGroup", "podgroups", {"v2alpha2": POD_GROUP}, is_namespaced=True
        ),
    ]


def frameworks() -> list[dict[str, Any]]:
    """Objects of frameworks that make pods; of their fields only the parts that are read."""
    return [
        definition(
            kind.group,
            "PodGroup"
            if name == "CoschedulingPodGroup"
            else name.removeprefix("Volcano"),
            kind.plural,
            {kind.version.rpartition("/")[2]: mapping(spec=ANYTHING, status=ANYTHING)},
            is_namespaced=True,
        )
        for name in FRAMEWORKS
        for kind in (KINDS[name],)
    ]


@contextmanager
def installed(admin: Admin, definitions: list[dict[str, Any]]) -> Iterator[None]:
    """The definitions on an API server, for as long as a test needs them."""
    for one in definitions:
        admin.create(CRDS, one)
    for one in definitions:
        wait_until(lambda o=one: _is_served(admin, o), 30)  # type: ignore[misc]
    try:
        yield
    finally:
        for one in definitions:
            admin.delete(f"{CRDS}/{one['metadata']['name']}")
        for one in definitions:
            wait_until(lambda o=one: not _is_served(admin, o), 30)  # type: ignore[misc]


def _is_served(admin: Admin, one: dict[str, Any]) -> bool:
    spec = one["spec"]
    version = spec["versions"][0]["name"]
    try:
        admin.get(f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
    except (RefusedByServer, ValueError):  # no such group: plain text
        return False
    return True

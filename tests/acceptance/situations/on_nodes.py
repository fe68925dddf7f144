"""Situations of what work requires of its node: labels, taints, CPU, volumes, other pods."""

from tests.control_plane.recorded_case import Manifest
from tests.control_plane.situation import Situation
from tests.control_plane.situation_objects import HOST, container, hold, node, obj, pod

ON_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE, POOL = "topology.kubernetes.io/zone", "example.com/pool"
HOLDS = {"change": "end_pod", "pod": "$/hold-a"}


def selects(key: str, *values: str) -> Manifest:
    """A required node affinity."""
    rule = {"key": key, "operator": "In", "values": values}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    return {"nodeAffinity": {ON_REQUIRED: terms}}


def near(kind: str, app: str) -> Manifest:
    """A rule between pods on one node."""
    selector = {"matchLabels": {"app": app}}
    return {kind: {ON_REQUIRED: [{"labelSelector": selector, "topologyKey": HOST}]}}


def mounted(claim: str = "data") -> Manifest:
    """A volume of a claim."""
    return {
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}],
    }


def claim(name: str = "data", mode: str = "ReadWriteOnce", **spec: str) -> Manifest:
    own = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
    own |= {"storageClassName": "c-$"} | spec
    return obj("PersistentVolumeClaim", name, spec=own)


CLASS = obj(
    "StorageClass",
    "c-$",
    "",
    provisioner="kubernetes.io/no-provisioner",
    volumeBindingMode="WaitForFirstConsumer",
)


def volume(zone: str = "", mode: str = "ReadWriteOnce") -> Manifest:
    """One that is only in a zone, if it is given."""
    own: Manifest = {"capacity": {"storage": "1Gi"}, "accessModes": [mode]}
    own |= {"storageClassName": "c-$", "hostPath": {"path": "/data"}}
    own |= {"claimRef": {"name": "data", "namespace": "$"}}
    if zone:
        rule = {"key": ZONE, "operator": "In", "values": [zone]}
        terms = [{"matchExpressions": [rule]}]
        own["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return obj("PersistentVolume", "v-$", "", spec=own)


SITUATIONS = [
    Situation(
        "gke-taint",
        "taint",
        {"change": "tolerate", "taint": {"key": "nvidia.com/gpu"}},
        [
            node(
                taints=[
                    {"key": "nvidia.com/gpu", "value": "present"}
                    | {"effect": "NoSchedule"}
                ]
            ),
            pod(gpus=4),
        ],
    ),
    Situation(
        "selector-of-nobody",
        "no_matching_node",
        {"change": "drop_selector", "key": "pool"},
        [node(), pod(gpus=4, nodeSelector={"pool": "gold"})],
    ),
    Situation(
        "pinned-to-a-replaced-node",
        "no_matching_node",
        {"change": "drop_selector", "key": HOST},
        [node(), pod(gpus=4, nodeSelector={HOST: "$-old"})],
        never=("add_node",),
    ),
    Situation(
        "spot-nodes-are-free",
        "no_free_gpu",
        {"change": "drop_affinity", "key": POOL},
        [
            node("g0", labels={POOL: "main"}),
            node("g1", labels={POOL: "spot"}),
            hold("a", 8),
            pod(gpus=4, affinity=selects(POOL, "main")),
        ],
        is_first=False,
        says={"facts": {"free_behind": [{"units": 8}]}},
    ),
    Situation(
        "startup-taint-stays",
        "node_setup",
        {"change": "finish_setup", "taint": "node.cilium.io/agent-not-ready"},
        [
            node(
                taints=[
                    {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}
                ]
            ),
            pod(gpus=4),
        ],
        never=("tolerate",),
    ),
    Situation(
        "selector-and-taint",
        "taint",
        {"change": "tolerate"},
        [
            node(
                labels={"pool": "a"},
                taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}],
            ),
            node("g1", labels={"pool": "b"}),
            pod(gpus=4, nodeSelector={"pool": "a"}),
        ],
        is_first=False,
    ),
    Situation(
        "much-scratch-space",
        "cpu_memory",
        {"change": "add_node", "also": {"ephemeral-storage": "3Ti"}},
        [node(), pod(gpus=4, requests={"ephemeral-storage": "3Ti"})],
        is_first=False,
    ),
    Situation(
        "no-rdma-device",
        "cpu_memory",
        {"change": "add_node", "also": {"rdma/hca": "1"}},
        [node(), pod(gpus=4, limits={"rdma/hca": "1"})],
        is_first=False,
    ),
    Situation(
        "too-much-cpu",
        "cpu_memory",
        {"change": "shrink_request", "resource": "cpu", "to": "24"},
        [
            node(),
            hold("a", 2, requests={"cpu": "40"}),
            pod(gpus=2, requests={"cpu": "32"}),
        ],
        is_first=False,
    ),
    Situation(
        "cpu-is-held",
        "cpu_memory",
        HOLDS,
        [
            node(),
            hold("a", 2, requests={"cpu": "40"}),
            pod(gpus=2, requests={"cpu": "32"}),
        ],
    ),
    Situation(
        "no-place-for-pods",
        "pod_slots",
        HOLDS,
        [node(offers={"pods": "1"}), hold("a", 2), pod(gpus=2)],
    ),
    Situation(
        "host-port",
        "host_port",
        HOLDS,
        [
            node(),
            hold(
                "a",
                1,
                containers=[container(ports=[{"containerPort": 1, "hostPort": 9999}])],
            ),
            pod(
                containers=[container(ports=[{"containerPort": 1, "hostPort": 9999}])],
            ),
        ],
    ),
    Situation(
        "apart-from-a-sibling",
        "pod_anti_affinity",
        HOLDS,
        [
            node(),
            hold("a", 2, labels={"app": "x"}),
            pod(gpus=2, affinity=near("podAntiAffinity", "x")),
        ],
    ),
    Situation(
        "near-a-cache",
        "pod_affinity",
        {"change": "start_pod", "labels": {"app": "cache"}},
        [node(), pod(gpus=2, affinity=near("podAffinity", "cache"))],
    ),
    Situation(
        "spread-over-hosts",
        "spread",
        {"change": "relax_spread", "key": "example.com/rack-$"},
        [
            node("g0", labels={"example.com/rack-$": "r0"}),
            node("g1", labels={"example.com/rack-$": "r1"}, gpus=2),
            hold("b", 2, "g1"),
            hold("a", 2, labels={"app": "w"}),
            pod(
                gpus=2,
                labels={"app": "w"},
                topologySpreadConstraints=[
                    {
                        "maxSkew": 1,
                        "topologyKey": "example.com/rack-$",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "w"}},
                    }
                ],
            ),
        ],
        is_first=False,
    ),
    Situation(
        "claim-does-not-exist",
        "volume_missing",
        {"change": "create_claim", "name": "$/data"},
        [CLASS, node(), pod(gpus=2, **mounted())],
    ),
    Situation(
        "no-volume-for-a-claim",
        "volume_unbound",
        {"change": "provide_volume", "name": "$/data"},
        [CLASS, claim(), node(), pod(gpus=2, **mounted())],
    ),
    Situation(
        "volume-of-another-zone",
        "volume_zone",
        HOLDS,
        [
            CLASS,
            volume("$-b"),
            claim(),
            node("g0", 4, labels={ZONE: "$-b"}),
            node("g1", 4, labels={ZONE: "$-c"}),
            hold("a", 4, "g0"),
            pod(gpus=4, **mounted()),
        ],
        says={"contributing": ["no_free_gpu"]},
        is_first=False,
    ),
    Situation(
        "zone-of-a-volume-needs-a-node",
        "volume_zone",
        {"change": "add_node", "labels": {ZONE: "$-b"}},
        [
            CLASS,
            volume("$-b"),
            claim(),
            node("g1", 4, labels={ZONE: "$-c"}),
            pod(gpus=4, **mounted()),
        ],
        is_first=False,
    ),
    Situation(
        "volume-in-use",
        "volume_in_use",
        HOLDS,
        [
            CLASS,
            volume(mode="ReadWriteOncePod"),
            claim(mode="ReadWriteOncePod"),
            node("g0"),
            node("g1"),
            hold("a", 2, **mounted()),
            pod(gpus=2, **mounted()),
        ],
        never=("add_node",),
    ),
    Situation(
        "unknown-scheduler",
        "not_tried",
        {"change": "start_scheduler", "scheduler": "nobody"},
        [node(), pod(gpus=2, schedulerName="nobody")],
    ),
]

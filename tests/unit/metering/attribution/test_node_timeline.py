"""What a node's timeline is made from: geometry and holds of several kinds (N17, MIG)."""

from accounting.metering.rules.samples.series import GpuKey, PodName
from tests.unit.metering.fleet import Fleet

SMALL, LARGE = "nvidia_com_mig_1g_10gb", "nvidia_com_mig_3g_40gb"


def capacity(fleet: Fleet, **units: float) -> None:
    for resource, count in units.items():
        shown = dict.fromkeys(fleet.scrapes, count)
        labels = {"node": "n", "resource": resource}
        fleet.add("kube_node_status_capacity", shown, labels)


def test_a_geometry_that_changes_within_a_window_cuts_it() -> None:
    """4/7 are left for two minutes, then 6/7 for eight: 480 s are stranded."""
    fleet = Fleet()
    capacity(fleet, **{LARGE: 1, SMALL: 1})
    before, after = GpuKey("M", "n", "1", "3g.40gb"), GpuKey("M", "n", "2", "1g.10gb")
    fleet.add("engine_active", fleet.every(0.5, end=120), gpu=before)
    fleet.add("engine_active", fleet.every(0.5, 120), gpu=after)
    assert round(fleet.seconds("M")["stranded"]) == 480


def test_a_pod_with_a_gpu_and_an_instance_holds_each_by_its_kind() -> None:
    fleet = Fleet()
    capacity(fleet, nvidia_com_gpu=1, **{SMALL: 1})
    fleet.pod("p", "n", 0, fleet.scrapes)
    request = {"namespace": "ns", "pod": "p", "uid": "uid-p", "container": "d"}
    fleet.add(
        "kube_pod_container_resource_requests",
        dict.fromkeys(fleet.scrapes, 1.0),
        request | {"node": "n", "resource": SMALL},
    )
    pod = PodName("ns", "p")
    for gpu in (
        GpuKey("A", "n", plain=pod),
        GpuKey("M", "n", "1", "1g.10gb", plain=pod),
    ):
        fleet.add("engine_active", fleet.every(0.5), gpu=gpu)
    assert fleet.seconds("A", "p") == {"busy": 300, "idle": 300}
    assert round(sum(fleet.seconds("M", "p").values())) == 86  # 600 / 7

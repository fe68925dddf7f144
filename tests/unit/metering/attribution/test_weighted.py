"""A divided GPU under another policy than compute, through the whole domain (T12, T13, N23)."""

from accounting.core.interval import Interval
from accounting.core.ledger_line import LedgerLine
from accounting.metering.rules.attribution.attribute import attribute
from accounting.metering.rules.attribution.node_timeline import node_timelines
from accounting.metering.rules.holds.derive import derive
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.series import GpuKey, PodName
from accounting.metering.rules.units.mig_profiles import Policy
from accounting.metering.rules.units.share_policy import Policies
from tests.unit.metering.fleet import ZERO_MS, Fleet, ms

A100 = "NVIDIA-A100-SXM4-40GB"
LENGTH = 300_000


def lines(policies: Policies) -> list[dict[tuple[int, str], LedgerLine]]:
    """By window: (instance, pod) of one GPU of which a pod holds one of two instances."""
    fleet = Fleet()
    node = {"node": "n", "resource": "nvidia_com_mig_3g_20gb"}
    fleet.add("kube_node_status_capacity", fleet.every(2.0), node)
    labels = {"node": "n", "label_nvidia_com_gpu_product": A100}
    fleet.add("kube_node_labels", fleet.every(1.0), labels)
    pod = {"namespace": "ns", "pod": "a", "uid": "u"}
    fleet.add("kube_pod_info", fleet.every(1.0), pod | {"node": "n"})
    request = {"container": "c", "resource": "nvidia_com_mig_3g_20gb"}
    fleet.add("kube_pod_container_resource_requests", fleet.every(1.0), pod | request)
    start = fleet.every(ms(0) / 1000)
    fleet.add("kube_pod_status_scheduled_time", start, pod)
    for number, named in (("1", PodName("ns", "a")), ("2", None)):
        key = GpuKey("M", "n", number, "3g.20gb", A100, exported=named)
        fleet.add("engine_active", fleet.every(0.5), gpu=key)
    whole = Interval(ZERO_MS, ms(600))
    inventory = Inventory(policies=policies)
    observe(inventory, [fleet.reading()], whole)
    derived = derive(inventory, whole, whole.end_ms)
    nodes = node_timelines(inventory, derived, whole, whole.end_ms)
    ledgers = attribute(list(whole.windows()), [fleet.reading()], nodes)
    return [
        {(line.instance, line.pod_uid): line for line in ledger.lines}
        for ledger in ledgers
    ]


def told(
    found: dict[tuple[int, str], LedgerLine],
) -> dict[tuple[int, str], tuple[int, ...]]:
    """Busy, idle, free, stray and stranded milliseconds."""
    return {
        key: (it.busy_ms, it.idle_ms, it.free_ms, it.stray_ms, it.stranded_ms)
        for key, it in found.items()
    }


COMPUTE = {  # 3/7 each, 1/7 stranded; largest remainders make 300,000
    (-1, ""): (0, 0, 0, 0, 42_857),
    (1, "u"): (64_286, 64_286, 0, 0, 0),
    (2, ""): (0, 0, 64_286, 64_285, 0),
}
MEMORY = {  # half of the memory each: nothing is left
    (1, "u"): (75_000, 75_000, 0, 0, 0),
    (2, ""): (0, 0, 75_000, 75_000, 0),
}


def test_compute_shares_are_the_default() -> None:
    """T13: 3/7 each of 300,000 ms, and what they leave is stranded."""
    assert [told(found) for found in lines(())] == [COMPUTE, COMPUTE]


def test_memory_shares_count_where_they_are_chosen() -> None:
    """T12: 3g.20gb is half of the memory."""
    assert [told(found) for found in lines([(0, Policy.MEMORY)])] == [MEMORY, MEMORY]


def test_policy_counts_from_its_time_on() -> None:
    """Also within a window: from 300 s on, and from 450 s."""
    assert [told(x) for x in lines([(ms(300), Policy.MEMORY)])] == [COMPUTE, MEMORY]
    _, second = lines([(ms(450), Policy.MEMORY)])
    # four remainders of 0.857 come before that of 0.571
    assert (second[1, "u"].busy_ms, second[1, "u"].idle_ms) == (69_643, 69_643)
    assert second[-1, ""].stranded_ms == 21_428
    assert sum(line.total_ms for line in second.values()) == LENGTH

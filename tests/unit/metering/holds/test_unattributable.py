"""What of the evidence cannot be booked (issue: nothing of it reaches a bill), and room (N11)."""

from fractions import Fraction

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.holds.displacement import make_room
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.unattributable import unbooked
from accounting.metering.rules.inventory.records import (
    ClaimRecord,
    Device,
    GpuRecord,
    Inventory,
    NodeRecord,
    PodRecord,
    SampleSpan,
    ScrapeLocation,
)
from accounting.metering.rules.samples.series import ScraperIdentity

PERIOD = Interval(100, 1000)
GPU = "nvidia.com/gpu"
LABELS = {"label_nvidia_com_gpu_product": "NVIDIA-A100-SXM4-40GB"}


def pod(
    first: int = 0,
    last: int = 2000,
    *,
    node: str = "n",
    resource: str = "",
    **more: object,
) -> PodRecord:
    found = PodRecord("u", "ns", "a", first, last, node=node, node_first_ms=first)
    if resource:
        found.requests = {("main", "c", resource): 1}
    for name, value in more.items():
        setattr(found, name, value)
    return found


def told(*pods: PodRecord, **more: object) -> list[tuple[str, str, int, int, str]]:
    inventory = Inventory(
        pods={p.uid: p for p in pods},
        nodes={"n": NodeRecord("n", labels=[(0, LABELS)])},
    )
    for name, value in more.items():
        setattr(inventory, name, value)
    return [
        (i.code, i.subject, i.first_ms, i.last_ms, i.severity)
        for i in unbooked(inventory, PERIOD)
    ]


NONE = "nvidia.com/mig-9g.99gb"


def test_profile_that_is_in_no_table_is_told() -> None:
    expected = ("unknown_profile", f"ns/a {NONE}", 0, 2000, "error")
    assert told(pod(resource=NONE)) == [expected]
    assert told(pod(resource="nvidia.com/mig-1g.5gb")) == []
    assert told(pod(resource=GPU)) == []
    assert told(pod(resource=NONE), added={NONE: Fraction(1, 2)}) == []


@pytest.mark.parametrize(
    ("first", "last", "is_told"),
    [(0, 99, False), (0, 100, True), (999, 2000, True), (1000, 2000, False)],
)
def test_only_pods_of_the_period_are_told(first: int, last: int, is_told: bool) -> None:
    assert bool(told(pod(first, last, resource=NONE))) is is_told


def test_pod_without_a_node_is_not_told() -> None:
    """T20c: it holds nothing."""
    assert told(pod(node="", resource=NONE)) == []


@pytest.mark.parametrize(
    ("fraction", "codes"), [("1", []), ("0.5", []), ("1.5", ["share_above_one"])]
)
def test_share_above_one_is_told(fraction: str, codes: list[str]) -> None:
    """T21: nobody can have more than a GPU by a fraction."""
    found = told(pod(annotations={"gpu_fraction": fraction}))
    assert [issue[0] for issue in found] == codes
    assert [issue[1:] for issue in found] == [("ns/a", 0, 2000, "error")] * len(codes)


def test_claim_without_a_device_is_told() -> None:
    """N13: devices come from the API or from the exporter's labels."""
    missing = ("claim_without_device", "ns/a c", 0, 2000, "warning")
    assert told(pod(claims={"c"})) == [missing]
    device = Device("gpu.nvidia.com", "n", "gpu-0", "G")
    claims = {("ns", "c"): ClaimRecord("ns", "c", {device})}
    assert told(pod(claims={"c"}), claims=claims) == []


def geometry(*changes: tuple[int, tuple[tuple[int, str], ...]]) -> dict[str, GpuRecord]:
    return {"G": GpuRecord("G", "NVIDIA-A100-SXM4-40GB", geometry=list(changes))}


def test_instance_that_no_gpu_of_the_model_has_is_told_for_as_long_as_it_is_there() -> (
    None
):
    """Its time is stranded; clipped to the period."""
    odd, good = (1, "9g.99gb"), (2, "1g.5gb")
    code, subject = "unknown_profile", "G 9g.99gb"
    assert told(gpus=geometry((0, (odd, good)))) == [
        (code, subject, 100, 1000, "error")
    ]
    found = told(gpus=geometry((50, (good,)), (200, (odd, (3, "9g.99gb"))), (600, ())))
    assert found == [(code, subject, 200, 600, "error")]
    assert told(gpus=geometry((0, (odd,)), (100, ()))) == []
    assert told(gpus=geometry((1000, (odd,)))) == []
    assert told(gpus=geometry((0, (odd,)), (101, ()))) == [
        (code, subject, 100, 101, "error")
    ]
    assert told(gpus=geometry((999, ((1, ""),)))) == [(code, "G ", 999, 1000, "error")]


def test_what_is_at_stake_is_the_part_of_the_gpu() -> None:
    """A known model and unknown numbers: by the slices; else what its instances leave."""
    gpu = geometry((0, ((1, "2g.99gb"), (2, "2g.99gb"), (3, "9g.99gb"), (4, "1g.5gb"))))
    issues = {i.subject: i for i in unbooked(Inventory(gpus=gpu), PERIOD)}
    read, not_read = issues["G 2g.99gb"], issues["G 9g.99gb"]
    assert (read.severity, read.at_stake_ms) == ("warning", 900 * 4 // 7)
    assert "2/7 of the GPU" in read.message
    assert (not_read.severity, not_read.at_stake_ms) == ("error", 900 * 2 // 7)


def test_an_issue_of_an_instance_ends_with_its_samples() -> None:
    place = ScrapeLocation("n", ScraperIdentity("dcgm"))
    gpu = GpuRecord(
        "G", spans={place: [SampleSpan(0, 600, 30)]}, geometry=[(0, ((1, "9g.9gb"),))]
    )
    [issue] = unbooked(Inventory(gpus={"G": gpu}), PERIOD)
    assert (issue.first_ms, issue.last_ms, issue.at_stake_ms) == (100, 630, 530)


A100, H100 = "NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3"


def sampled_on(*nodes: tuple[str, int, int]) -> GpuRecord:
    """A GPU with an instance that an A100 of 40 GB has and an H100 has not."""
    places = {
        ScrapeLocation(node, ScraperIdentity("dcgm")): [SampleSpan(first, last, 30)]
        for node, first, last in nodes
    }
    return GpuRecord("G", H100, spans=places, geometry=[(0, ((1, "1g.5gb"),))])


@pytest.mark.parametrize(
    ("gpu", "is_told"),
    [
        (sampled_on(("a", 0, 900)), False),
        (sampled_on(("h", 0, 900)), True),
        (sampled_on(("a", 0, 400), ("h", 500, 900)), True),
        (sampled_on(("h", 0, 400), ("a", 500, 900)), False),
        (sampled_on(("unknown", 0, 900)), True),  # by its own samples
        (sampled_on(), True),
    ],
)
def test_the_model_of_an_instance_is_that_of_its_latest_node(
    gpu: GpuRecord, is_told: bool
) -> None:
    nodes = {
        name: NodeRecord(name, labels=[(0, {"label_nvidia_com_gpu_product": model})])
        for name, model in (("a", A100), ("h", H100))
    }
    assert bool(told(gpus={"G": gpu}, nodes=nodes)) is is_told


def test_each_unknown_kind_of_a_gpu_is_told_once() -> None:
    instances = ((1, "9g.99gb"), (2, "8g.88gb"), (3, "9g.99gb"), (4, "1g.5gb"))
    found = told(gpus=geometry((0, instances)))
    assert [subject for _, subject, *_ in found] == ["G 8g.88gb", "G 9g.99gb"]


def test_claim_that_the_api_shows_without_a_device_is_not_told() -> None:
    """N13: nothing was allocated to it."""
    claims = {("ns", "c"): ClaimRecord("ns", "c", is_observed=True)}
    assert told(pod(claims={"c"}), claims=claims) == []


def test_an_issue_says_what_to_do() -> None:
    inventory = Inventory(
        pods={
            "u": pod(resource=NONE, annotations={"gpu_fraction": "1.5"}, claims={"c"})
        },
        nodes={"n": NodeRecord("n", labels=[(0, LABELS)])},
        gpus=geometry((300, ((1, "9g.99gb"),))),
    )
    found = {
        issue.subject: (issue.message, issue.advice, issue.at_stake_ms)
        for issue in unbooked(inventory, PERIOD)
    }
    assert found == {
        "G 9g.99gb": (
            "GPUs of this model do not have such instances. The time counts as stranded.",
            "Check the exporter's labels GPU_I_PROFILE and modelName.",
            700,  # all that is stranded, to the end of the period
        ),
        f"ns/a {NONE}": (
            "No GPU of this node can have this partition. It is not booked.",
            "Check the node's model label and the name of the resource.",
            900,
        ),
        "ns/a": (
            "Its annotations request 1.5 of one GPU.",
            "It is not booked. Request several devices instead.",
            900,
        ),
        "ns/a c": (
            "The device of its resource claim is not known.",
            (
                "Give the portal access to the Kubernetes API, or configure the exporter to"
                " report claims (KUBERNETES_ENABLE_DRA)."
            ),
            900,
        ),
    }


@pytest.mark.parametrize(
    ("first", "last", "stake"),
    [(0, 2000, 900), (300, 700, 400), (300, 2000, 700), (0, 100, 0), (999, 999, 0)],
)
def test_time_at_stake_is_that_of_the_pod_in_the_period(
    first: int, last: int, stake: int
) -> None:
    """From its bind to its last sample, clipped to the period."""
    asks = pod(
        first, last, resource=NONE, annotations={"gpu_fraction": "2"}, claims={"c"}
    )
    away = pod(node="", uid="away")
    inventory = Inventory(pods={"away": away, "u": asks})
    found = {i.code: i.at_stake_ms for i in unbooked(inventory, PERIOD)}
    codes = ("unknown_profile", "share_above_one", "claim_without_device")
    assert found == dict.fromkeys(codes, stake)


# --- room (N11) ----------------------------------------------------------------------


def hold(
    uid: str, bound: int, until: int = 900, units: int = 1, **more: object
) -> Hold:
    values: dict[str, object] = {
        "uid": uid,
        "namespace": "ns",
        "pod": uid,
        "node": "n",
        "resource": GPU,
        "units": units,
        "share": Fraction(1),
        "created_ms": None,
        "bound_ms": bound,
        "ended_ms": until,
        "booked_until_ms": until,
        "ended_by": "gone",
    }
    return Hold(**(values | more))  # type: ignore[arg-type]  # of several types


def ends(
    *holds: Hold, absent: dict[str, int], capacity: int | None = 2
) -> dict[str, int]:
    shown = [(0, {GPU: capacity})] if capacity is not None else []
    inventory = Inventory(nodes={"n": NodeRecord("n", capacity=shown)})
    gone = {(uid, "n"): last for uid, last in absent.items()}
    return {h.uid: h.booked_until_ms for h in make_room(list(holds), inventory, gone)}


def test_hold_by_absence_with_the_oldest_sample_gives_way_to_a_bind() -> None:
    """N11: ties by uid; only while more is held than there is."""
    holds = [hold("a", 0), hold("b", 0), hold("c", 500)]
    assert ends(*holds, absent={"a": 400, "b": 300}) == {"a": 900, "b": 500, "c": 900}
    assert ends(*holds, absent={"a": 300, "b": 300}) == {"a": 500, "b": 900, "c": 900}
    assert ends(*holds, absent={"a": 300, "b": 300}, capacity=3)["a"] == 900
    assert ends(*holds, absent={"a": 300, "b": 200}, capacity=1) == {
        "a": 500,
        "b": 500,
        "c": 900,
    }
    assert ends(*holds, absent={"a": 300}, capacity=None)["a"] == 900


def test_hold_with_a_sample_at_the_bind_or_later_stays() -> None:
    """N11: the oldest last sample before this bind."""
    holds = [hold("a", 0), hold("b", 0), hold("c", 500)]
    assert ends(*holds, absent={"a": 500, "b": 600})["a"] == 900
    assert ends(*holds, absent={"a": 499})["a"] == 500
    assert ends(*holds, absent={}) == {"a": 900, "b": 900, "c": 900}


def test_units_are_counted_and_not_holds() -> None:
    """N11: four of four are held; a bind of two needs one hold of two."""
    holds = [hold("a", 0, units=2), hold("b", 0, units=2), hold("c", 500, units=2)]
    absent = {"a": 100, "b": 200}
    assert ends(*holds, absent=absent, capacity=4) == {"a": 500, "b": 900, "c": 900}
    assert ends(*holds, absent=absent, capacity=6)["a"] == 900


def test_claims_other_resources_and_what_ended_before_need_no_room() -> None:
    """N11: units held on the node at the bind."""
    absent = {"a": 100}
    claim = hold("c", 500, is_unit=False)
    assert ends(hold("a", 0), claim, absent=absent, capacity=1)["a"] == 900
    other = hold("c", 500, resource="nvidia.com/mig-1g.5gb")
    assert ends(hold("a", 0), other, absent=absent, capacity=1)["a"] == 900
    ended = hold("a", 0, 500)
    assert ends(ended, hold("c", 500), absent=absent, capacity=1)["a"] == 500
    own = ends(hold("a", 500, units=2), absent={"a": 100}, capacity=1)
    assert own == {"a": 900}  # it does not give way to itself


def test_hold_that_gave_way_says_so() -> None:
    """N11, N13: gone; only labels spoke for it until then, or no longer."""
    inventory = Inventory(nodes={"n": NodeRecord("n", capacity=[(0, {GPU: 1})])})
    for since, kept in ((499, 499), (500, None), (600, None), (None, None)):
        lasts = hold("a", 0, ended_ms=None, ended_by="", inferred_from_ms=since)
        a, _ = make_room([lasts, hold("c", 500)], inventory, {("a", "n"): 100})
        assert (a.ended_ms, a.booked_until_ms, a.ended_by) == (500, 500, "gone")
        assert a.inferred_from_ms == kept

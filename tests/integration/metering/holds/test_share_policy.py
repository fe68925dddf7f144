"""Which share of a part of a GPU counts: set for a cluster, from when on, and where it is said.

The numbers of each policy: traps T12 and T13. Here: docs/decisions/0013.
"""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from accounting.access.scope import EVERYTHING
from accounting.explain.reads.explain import explain
from accounting.fleet.reads.clusters import cluster_rows
from accounting.kit.reads.selection import LAST, Selection, parse_selection
from accounting.metering.models.cluster import Cluster, SharePolicy
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.reads.share_policies import policies_in
from accounting.metering.rules.units.geometry import GpuPart
from accounting.metering.rules.units.mig_profiles import Policy
from accounting.metering.rules.units.share_policy import (
    factors_of,
    memory_of,
    policy_at,
)
from tests.builders import SETUP
from tests.integration.metering.support import run
from tests.traps.scene import START, Pod, Scene, usage
from tests.traps.shapes import mig_node, part

SMALL = "1g.10gb"


def configured(folder: Path, share: str) -> str:
    path = folder / "share.yaml"
    path.write_text(SETUP + f"clusters: [{{name: north{share}}}]\n")
    return run("configure", path)


def rows() -> list[tuple[datetime, str]]:
    found = SharePolicy.objects.filter(cluster__name="north").order_by("valid_from")
    return list(found.values_list("valid_from", "policy"))


@pytest.mark.django_db
def test_a_new_cluster_has_its_policy_for_all_time(tmp_path: Path) -> None:
    assert "shares of north by memory" in configured(tmp_path, ", share: memory")
    assert rows() == [(datetime(1970, 1, 1, tzinfo=UTC), "memory")]
    assert "share" not in configured(tmp_path, ", share: memory")
    assert "share" not in configured(tmp_path, "")  # what is left out stays
    assert rows() == [(datetime(1970, 1, 1, tzinfo=UTC), "memory")]


@pytest.mark.django_db
def test_a_change_counts_from_the_next_billing_month(tmp_path: Path) -> None:
    configured(tmp_path, "")
    IngestWindow.objects.create(
        cluster=Cluster.objects.get(), window_start=datetime(2026, 10, 1, tzinfo=UTC)
    )
    configured(tmp_path, ", share: dominant")
    [(start, policy)] = rows()
    now = datetime.now(UTC)
    assert policy == "dominant"
    assert now < start <= now + timedelta(days=33)
    assert (start + timedelta(hours=2)).day == 1  # midnight in Berlin
    [row] = cluster_rows(EVERYTHING)
    assert row.share_policy == "compute"  # as yet
    configured(tmp_path, ", share: compute")  # it never came into force
    assert rows() == []


@pytest.mark.django_db
def test_a_word_that_is_no_policy_is_a_fault_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        configured(tmp_path, ", share: fair")
    assert ended.value.code == 2
    assert rows() == []


@pytest.mark.django_db(transaction=True)
def test_reports_and_explain_say_which_shares_count(tmp_path: Path) -> None:
    told = Scene()
    mig_node(told, {SMALL: 1})
    told.pod(Pod("one", resource="nvidia_com_mig_1g_10gb"))
    told.gpu("GPU-1", 0.5, part(SMALL, 1) | {"namespace": "vision", "pod": "one"})
    told.read(tmp_path, SETUP + "clusters: [{name: north, share: memory}]\n")

    assert "Shares of divided GPUs: memory." in run("report", "usage")
    assert "Shares of divided GPUs" not in run("report", "usage", "--format=csv")
    inputs = dict(explain(Selection(EVERYTHING), "charge").inputs)
    assert inputs["Shares of divided GPUs"] == "memory"
    assert cluster_rows(EVERYTHING)[0].share_policy == "memory"


@pytest.mark.django_db
def test_the_policies_of_a_range_are_those_in_force_in_it() -> None:
    cluster = Cluster.objects.create(name="north")
    Cluster.objects.create(name="south")
    starts = {"memory": datetime(2026, 9, 1, tzinfo=UTC), "dominant": LAST}
    starts["dominant"] = datetime(2026, 10, 1, tzinfo=UTC)
    for policy, at in starts.items():
        SharePolicy.objects.create(cluster=cluster, valid_from=at, policy=policy)

    def named(start: str | None, end: str | None, name: str = "north") -> str:
        found = parse_selection(EVERYTHING, start, end, {"cluster": name})
        return " ".join(policies_in(found))

    assert named("2026-08-01T00:00Z", "2026-09-01T00:00Z") == "compute"
    assert named("2026-09-01T00:00Z", "2026-10-01T00:00Z") == "memory"
    assert named("2026-08-31T00:00Z", "2026-10-02T00:00Z") == "compute dominant memory"
    assert named("2026-10-01T00:00Z", None) == "dominant"
    assert named(None, None, "south") == "compute"


@pytest.mark.django_db(transaction=True)
def test_a_window_takes_the_policy_that_is_valid_at_its_start(tmp_path: Path) -> None:
    """From 10:30 on by memory: 6 windows of 1/7 and 6 of 1/8 of the card."""
    configured(tmp_path, "")
    half_past = datetime.fromtimestamp(START, UTC) + timedelta(minutes=30)
    SharePolicy.objects.create(
        cluster=Cluster.objects.get(), valid_from=half_past, policy="memory"
    )
    told = Scene()
    mig_node(told, {SMALL: 1})
    told.pod(Pod("one", resource="nvidia_com_mig_1g_10gb"))
    told.gpu("GPU-1", 0.5, part(SMALL, 1) | {"namespace": "vision", "pod": "one"})
    told.read(tmp_path)

    found = usage("pod")["one"]["allocated_ms"]
    assert found == pytest.approx(1_800_000 / 7 + 1_800_000 / 8, abs=12)


def test_factors_turn_compute_shares_into_weights() -> None:
    small, big = GpuPart("GPU-1", 1, "1g.10gb"), GpuPart("GPU-1", 2, "3g.40gb")
    compute = {small: Fraction(1, 7), big: Fraction(3, 7)}
    instances = ((1, "1g.10gb"), (2, "3g.40gb"))
    memory = memory_of("GPU-1", instances, "NVIDIA-A100-SXM4-80GB")
    assert memory == {small: Fraction(1, 8), big: Fraction(1, 2)}
    assert factors_of(compute, memory, Policy.COMPUTE) == {}
    assert factors_of(compute, {}, Policy.MEMORY) == {}
    assert factors_of(compute, memory, Policy.MEMORY) == {
        small: Fraction(7, 8),
        big: Fraction(7, 6),
    }
    assert factors_of(compute, memory, Policy.DOMINANT) == {
        small: 1,
        big: Fraction(7, 6),
    }


def test_the_policy_of_an_instant_is_the_last_that_began() -> None:
    known = [(100, Policy.MEMORY), (200, Policy.DOMINANT)]
    assert [policy_at(known, at) for at in (99, 100, 199, 200)] == [
        Policy.COMPUTE,
        Policy.MEMORY,
        Policy.MEMORY,
        Policy.DOMINANT,
    ]

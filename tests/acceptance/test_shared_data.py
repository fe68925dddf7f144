"""Real traces and recordings through the product, against what is known of them.

The data are not part of the project: a test whose data are absent is skipped by name.
"""

from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from accounting.core.interval import Interval, to_ms
from accounting.metering.rules.holds.hold import Hold
from tests.acceptance.given import data, expected_of, rows_of
from tests.acceptance.trace import utilization_of, write_trace
from tests.held_time import held_ms_by
from tests.integration.metering.support import report, run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]


def test_genai_cluster_is_as_busy_as_its_trace(tmp_path: Path) -> None:
    """The interval is declared: some pods were sampled every third time only, and a sample
    speaks for 57 s all the same.
    """
    folder = data("public-genai-2026a")
    expected = expected_of(folder)
    path = write_trace(tmp_path / "genai.om", utilization_of(folder))
    setup = tmp_path / "setup.yaml"
    setup.write_text(
        "clusters: [{name: genai, sources: [{kind: openmetrics, interval: 57}]}]"
    )
    run("configure", setup)
    run("import_metrics", "--cluster=genai", path)

    [total] = report("usage", by="cluster")
    observed = total["busy_ms"] + total["idle_ms"]
    assert total["busy_ms"] / 3_600_000 == pytest.approx(
        expected["busy_gpu_hours"], abs=5e-4
    )
    assert observed / 3_600_000 == pytest.approx(expected["alloc_gpu_hours"], abs=5e-4)
    pods = {row["pod"]: row for row in report("usage", by="pod")}
    busiest = sorted(pods, key=lambda pod: -pods[pod]["efficiency"])[:5]
    assert busiest == [pod["pod"] for pod in expected["busiest"]]
    for pod in expected["busiest"]:
        assert pods[pod["pod"]]["efficiency"] * 100 == pytest.approx(
            pod["mean"], abs=5e-4
        )
    assert "FAIL" not in run("verify")


def test_recorded_kube_state_gives_the_holds_that_happened() -> None:
    """The truth comes from the API's own watch events, never from metrics."""
    folder = data("public-ksm-2026")
    expected = expected_of(folder)
    run("import_metrics", "--cluster=kwok", folder / "kube_state_metrics.om.gz")
    holds = {(row["uid"], row["resource"]): row for row in report("holds")}
    wanted = {
        (pod["uid"], resource): (pod, units)
        for pod in expected["pods"]
        if pod["bound"] is not None
        for resource, units in pod["units"].items()
    }
    assert holds.keys() == wanted.keys()
    for key, (pod, units) in wanted.items():
        row = holds[key]
        assert row["units"] == units
        assert _seconds(row["bound"]) == pytest.approx(pod["bound"], abs=1)
        if pod["ended"] is None:
            assert row["ended"] is None
        else:
            assert _seconds(row["ended"]) == pytest.approx(pod["ended"], abs=5)
            assert row["ended_by"] == pod["ended_by"]
    _check_held_seconds(holds.values(), expected)


def _check_held_seconds(holds: Any, expected: dict[str, Any]) -> None:
    """Held unit-seconds by namespace and resource, within one scrape a hold."""
    start, end = expected["recorded"]
    held: dict[tuple[str, str], float] = defaultdict(float)
    count: dict[tuple[str, str], int] = defaultdict(int)
    for row in holds:
        low = max(start, _seconds(row["bound"]))
        high = end if row["ended"] is None else min(end, _seconds(row["ended"]))
        key = (row["namespace"], row["resource"])
        held[key] += row["units"] * max(0.0, high - low)
        count[key] += row["units"]
    for namespace, resources in expected["unit_seconds_held_in_recording"].items():
        for resource, seconds in resources.items():
            key = (namespace, resource)
            assert held[key] == pytest.approx(seconds, abs=6 * max(1, count[key])), key


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_philly_jobs_sum_to_their_virtual_clusters() -> None:
    """A job's GPU time in hours, by virtual cluster, through holds and rollup sums."""
    folder = data("public-philly-2017")
    expected = expected_of(folder)
    holds: list[tuple[str, Hold]] = []
    for i, row in enumerate(rows_of(folder / "philly_jobs.csv.gz")):
        at = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
        start = to_ms(at)
        end = start + round(float(row["duration"]) * 1000)
        holds.append(
            (
                row["cluster"],
                Hold(
                    uid=str(i),
                    namespace=row["cluster"],
                    pod=str(i),
                    node="",
                    resource="nvidia.com/gpu",
                    units=int(row["num_gpus"]),
                    share=Fraction(1),
                    created_ms=start,
                    bound_ms=start,
                    ended_ms=end,
                    booked_until_ms=end,
                ),
            )
        )
    whole = Interval(0, 2**45)
    total = held_ms_by([("all", hold) for _, hold in holds], whole)
    assert _hours(total["all"]) == Decimal(str(expected["gpu_hours"]))
    by_cluster = held_ms_by(holds, whole)
    for name, known in expected["by_vc"].items():
        assert _hours(by_cluster[name]) == Decimal(str(known["gpu_hours"])), name


def _hours(milliseconds: int) -> Decimal:
    return round(Decimal(milliseconds) / 3_600_000, 3)

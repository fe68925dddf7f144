"""The metric of a number is told by the name under which its exporter showed it (N7)."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from accounting.access.scope import EVERYTHING
from accounting.core.interval import to_instant
from accounting.explain.reads.explain import Explanation, explain
from accounting.kit.reads.selection import parse_selection
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.usage import UtilizationMetric
from accounting.metering.rules.attribution.metric_names import NAMES
from accounting.metering.rules.attribution.utilization import ENGINE, UTIL
from accounting.metering.sources.catalogue import EXPORTER_METRICS
from tests.traps.scene import ENGINE as OLD_NAME
from tests.traps.scene import START, Pod, Scene
from tests.traps.scene import UTIL as PERCENT

NEW_NAME = "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"
AMD = {"Hostname": "", "UUID": "", "hostname": "n1", "gpu_id": "0"}
AMD |= {"serial_number": "GPU-1", "card_model": "MI300X"}


def explained(**filters: list[str]) -> Explanation:
    return explain(parse_selection(EVERYTHING, None, None, filters), "busy_share")


def test_every_name_of_utilization_is_stored_as_itself() -> None:
    utilization = {
        name for name, it in EXPORTER_METRICS.items() if it.id in {ENGINE, UTIL}
    }
    assert utilization == set(NAMES)
    assert {UtilizationMetric(code).label: code for code in NAMES.values()} == NAMES


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("metric", "value", "labels", "resource"),
    [
        ("gpu_gfx_activity", 80, AMD, "amd_com_gpu"),
        ("habanalabs_utilization", 80, {}, "habana_ai_gaudi"),
        ("DCGM_FI_DEV_GPU_UTIL_RATIO", 0.8, {}, "nvidia_com_gpu"),
        (NEW_NAME, 0.8, {}, "nvidia_com_gpu"),
    ],
)
def test_the_drawer_names_what_was_read(
    metric: str, value: float, labels: dict[str, str], resource: str, tmp_path: Path
) -> None:
    told = Scene()
    told.node(units={resource: 1})
    told.pod(Pod("train", resource=resource))
    told.gpu("GPU-1", value, labels, metric=metric)
    told.read(tmp_path)

    found = explained()
    assert [name for name, _ in found.metrics] == [metric]
    assert found.promql == (f"{metric}[5m]",)
    label = "serial_number" if labels else "UUID"
    assert explained(gpu=["GPU-1"]).promql == (f'{metric}{{{label}=~"GPU-1"}}[5m]',)
    node = "hostname" if labels else "Hostname"
    assert explained(node=["n1"]).promql == (f'{metric}{{{node}=~"n1"}}[5m]',)


@pytest.mark.django_db(transaction=True)
def test_each_window_has_the_name_that_it_was_read_under(tmp_path: Path) -> None:
    told = Scene()
    told.node()
    told.pod(Pod("train"))
    upgrade = START + 2400 - 60  # the last two samples of a window have the new name
    before = [at for at in told.scrapes if at < upgrade]
    after = [at for at in told.scrapes if at >= upgrade]
    told.gpu("GPU-1", 0.5, metric=OLD_NAME, at=before)
    told.gpu("GPU-1", 0.5, metric=NEW_NAME, at=after)
    told.read(tmp_path)

    assert explained().metrics == ((OLD_NAME, 8), (NEW_NAME, 4))


@pytest.mark.django_db(transaction=True)
def test_only_the_metrics_of_what_was_asked_for_are_named(tmp_path: Path) -> None:
    told = Scene()
    for node, name in (("a", OLD_NAME), ("b", NEW_NAME)):
        told.node(node)
        told.pod(Pod(f"on-{node}", node))
        told.gpu(f"GPU-{node}", 0.5, node=node, metric=name)
    told.read(tmp_path)

    assert explained().metrics == ((OLD_NAME, 12), (NEW_NAME, 12))
    assert explained(pod=["on-b"]).metrics == ((NEW_NAME, 12),)
    assert explained(node=["a"]).metrics == ((OLD_NAME, 12),)


@pytest.mark.django_db(transaction=True)
def test_samples_of_a_team_are_those_of_the_namespaces_that_it_held_in(
    tmp_path: Path,
) -> None:
    told = Scene()
    told.node(units=2)
    told.pod(Pod("train"))
    told.pod(Pod("serve", namespace="speech"))
    for n, (namespace, pod) in enumerate((("vision", "train"), ("speech", "serve"))):
        told.gpu(f"GPU-{n}", 0.5, {"namespace": namespace, "pod": pod})
    told.read(tmp_path)

    def asked(**filters: list[str]) -> str:
        [found] = explained(**filters).promql
        return found.removeprefix(OLD_NAME).removesuffix("[5m]")

    assert asked(team=["vision"]) == '{exported_namespace=~"vision"}'
    assert asked(namespace=["speech"]) == '{exported_namespace=~"speech"}'
    of_pod = '{exported_namespace=~"vision", exported_pod=~"train"}'
    assert asked(pod=["train"]) == of_pod
    assert asked() == ""


@pytest.mark.django_db(transaction=True)
def test_the_rule_of_another_scale_is_named_in_its_time(tmp_path: Path) -> None:
    """N8: 1 is all of a GPU where its scraper shows fractions, and a person sees why."""
    told = Scene(seconds=7200)
    told.node()
    told.pod(Pod("train"))
    told.gpu("GPU-1", lambda at: 0.5 if at < START + 600 else 1, metric=PERCENT)
    told.read(tmp_path)

    def rules(figure: str, start: str, end: str, **filters: list[str]) -> Sequence[str]:
        selection = parse_selection(EVERYTHING, start, end, filters)
        return explain(selection, figure).rules

    day = f"{to_instant(START * 1000):%Y-%m-%d}"
    full = [f"{day}T10:30:00Z", f"{day}T10:35:00Z"]
    for figure in ("busy_share", "idle_charge", "ledger"):
        assert "N8" in rules(figure, *full)
        assert "N8" not in rules(figure, f"{day}T12:00:00Z", f"{day}T12:05:00Z")
    assert "N8" in rules("ledger", *full, cluster=["north"])
    assert "N8" not in rules("allocated", *full)
    Cluster.objects.create(name="south")
    assert "N8" not in rules("ledger", *full, cluster=["south"])

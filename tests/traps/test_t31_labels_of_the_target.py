"""T31: labels of the scraped target on the series of what it shows."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.traps.scene import (
    HOUR,
    HOUR_MS,
    MINUTE_MS,
    START,
    Pod,
    Scene,
    gpus,
    holds,
    issues,
    states,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)

HALF = START + HOUR / 2
OPERATOR = {"namespace": "monitoring", "pod": "kube-state-0", "container": "main"}
TARGET = OPERATOR | {"node": "infra", "uid": "uid-kube-state"}


class Scraped(Scene):
    """A scene whose kube-state has labels of its target, as Prometheus adds them."""

    def __init__(
        self,
        target: Mapping[str, str],
        *,
        honors: bool = True,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """`honors`: honor_labels; `without`: metrics that the scrape drops."""
        super().__init__()
        self.target, self.honors, self.without = target, honors, without

    def _add(
        self, name: str, labels: Mapping[str, object], value: object, at: float
    ) -> None:
        if name in self.without:
            return
        if labels.get("job") == "kube-state-metrics":
            labels = dict(self._mutated(labels))
        super()._add(name, labels, value, at)

    def _mutated(self, labels: Mapping[str, object]) -> Iterator[tuple[str, object]]:
        """An empty label is no label; of two, one is renamed or not taken."""
        own = {key: value for key, value in labels.items() if value != ""}
        for key, value in own.items():
            is_renamed = key in self.target and not self.honors
            yield (f"exported_{key}" if is_renamed else key), value
        for key, value in self.target.items():
            if not self.honors or key not in own:
                yield key, value


def scene(told: Scraped) -> Scraped:
    """A pod waits for half an hour, and holds one of two GPUs for the other half."""
    told.node(units=2)
    told.node("infra", units={})
    told.pod(Pod("train-0", bound=HALF))
    on = [at for at in told.scrapes if at >= HALF]
    told.gpu("GPU-a", 0.5, {"namespace": "vision", "pod": "train-0"}, at=on)
    told.gpu("GPU-a", 0, at=[at for at in told.scrapes if at < HALF])
    told.gpu("GPU-b", 0)
    return told


PHASES = "kube_pod_status_phase"
TIMES = frozenset({"kube_pod_status_scheduled_time", "kube_pod_created"})
CASES = {
    "honor_labels=true": Scraped(TARGET),
    "honor_labels=false": Scraped(TARGET, honors=False),
    "only the node": Scraped({"node": "infra"}),
    "no scheduled time": Scraped(TARGET, without=TIMES),
    "no other series": Scraped(TARGET, without=TIMES | {PHASES}),
    "no other series, honor_labels=false": Scraped(
        TARGET, honors=False, without=TIMES | {PHASES}
    ),
    "kube-state on the pod's node": Scraped(TARGET | {"node": "n1"}),
    "kube-state on the pod's node, renamed": Scraped(
        TARGET | {"node": "n1"}, honors=False
    ),
}


@pytest.mark.parametrize(
    "told", [pytest.param(x, id=name) for name, x in CASES.items()]
)
def test_t31_a_pod_is_on_the_node_that_kube_state_names(
    told: Scraped, tmp_path: Path
) -> None:
    scene(told).read(tmp_path)

    [hold] = holds().values()
    assert (hold["pod"], hold["node"]) == ("train-0", "n1")
    assert usage("pod")["train-0"]["allocated_ms"] == 30 * MINUTE_MS
    half = {"free": 30 * MINUTE_MS, "busy": 15 * MINUTE_MS, "idle": 15 * MINUTE_MS}
    assert states(gpus()["GPU-a"]) == half
    assert states(gpus()["GPU-b"]) == {"free": HOUR_MS}
    assert issues() == set()


def test_t31_a_pod_that_waits_holds_nothing_where_kube_state_runs(
    tmp_path: Path,
) -> None:
    told = Scraped({"node": "n1"})
    told.node(units=2)
    told.pod(Pod("train-0", bound=None))
    told.gpu("GPU-a", 0)
    told.gpu("GPU-b", 0)

    told.read(tmp_path)

    assert holds() == {}
    assert {state for row in gpus().values() for state in states(row)} == {"free"}


def test_t31_two_replicas_of_kube_state_on_two_nodes(tmp_path: Path) -> None:
    told = Scraped({"node": "infra"})
    scene(told)
    told.target = {"node": "other"}
    told.pod(Pod("train-0", bound=HALF), instance="kube-state-2:8080")

    told.read(tmp_path)

    assert [hold["node"] for hold in holds().values()] == ["n1"]
    assert usage("pod")["train-0"]["allocated_ms"] == 30 * MINUTE_MS


def test_t31_the_exporters_uid_is_not_the_workloads(tmp_path: Path) -> None:
    """The workload is named by the exporter, `pod_uid` is that of the exporter's pod."""
    told = Scene()
    told.node(units=2)
    own = {"namespace": "gpu-operator", "pod": "dcgm-x7"}
    told.pod(Pod("train-0"), Pod("dcgm-x7", namespace="gpu-operator", units=0))
    named = {"namespace": "vision", "pod": "train-0", "pod_uid": "uid-dcgm-x7"}
    told.gpu("GPU-a", 0.5, named)
    told.gpu("GPU-b", 0.9, own | {"pod_uid": "uid-dcgm-x7"})

    told.read(tmp_path)

    row = usage("pod")["train-0"]
    assert (row["busy_ms"], row["estimated"]) == (HOUR_MS // 2, False)
    assert set(usage("pod")) == {"train-0"}

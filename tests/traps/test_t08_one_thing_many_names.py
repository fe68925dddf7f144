"""T8: names that differ for the same thing."""

from pathlib import Path

import pytest

from tests.builders import MODEL
from tests.integration.metering.support import report
from tests.traps.scene import (
    ENGINE,
    HOUR,
    PRODUCT,
    START,
    Pod,
    Scene,
    gpus,
    hours,
    usage,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_t8a_an_exporter_upgrade_keeps_the_gpu(tmp_path: Path) -> None:
    told = Scene(24 * HOUR, step=60)
    told.node()
    told.pod(Pod("train-0"))
    noon = START + 12 * HOUR
    base = {"job": "dcgm", "instance": "n1:9400", "UUID": "GPU-1", "modelName": MODEL}
    old = base | {"Hostname": "n1", "DCGM_FI_DRIVER_VERSION": "550"}
    new = base | {"hostname": "n1", "DCGM_FI_SYSTEM_DRIVER_VERSION": "570"}
    told.add(ENGINE, 0.5, old, [at for at in told.scrapes if at < noon])
    renamed = "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"
    told.add(renamed, 0.5, new, [at for at in told.scrapes if at >= noon])
    naive = {
        (s.labels["UUID"], s.labels.get("Hostname"))
        for s in told.samples
        if "UUID" in s.labels
    }
    assert len(naive) == 2

    told.read(tmp_path)

    assert [hours(row["wall_ms"]) for row in gpus().values()] == [24]
    assert hours(usage("team")["vision"]["busy_ms"]) == 12
    assert usage("team")["vision"]["coverage"] == 1


SPELLINGS = [PRODUCT, f"{PRODUCT}-SHARED", f"{PRODUCT}-MIG-1g.10gb"]


def test_t8b_every_spelling_of_a_model_has_one_price(tmp_path: Path) -> None:
    told = Scene()
    for n, product in enumerate(SPELLINGS):
        is_shared, is_mig = product.endswith("SHARED"), "MIG" in product
        labels: dict[str, object] = {"gpu_count": 7 if is_mig else 1}
        if is_shared:
            labels |= {"gpu_replicas": 4, "gpu_sharing_strategy": "time-slicing"}
        if is_mig:
            labels |= {"mig_strategy": "single"}
        units = {PRODUCT: 1, f"{PRODUCT}-SHARED": 4}.get(product, 7)
        told.node(f"n{n}", units, labels, product)
        told.pod(Pod(f"pod-{n}", f"n{n}"))
        if not is_mig:
            told.gpu(f"GPU-{n}", 0.5, node=f"n{n}")
    naive = {
        s.labels.get("modelName") or s.labels.get("label_nvidia_com_gpu_product")
        for s in told.samples
    } - {None}
    assert len(naive) == 4

    told.read(tmp_path)

    rows = usage("model")
    assert set(rows) == {PRODUCT}
    # one whole GPU, a quarter and a seventh, all at EUR 2.10
    assert float(rows[PRODUCT]["charge"]) == pytest.approx(2.1 * (1 + 1 / 4 + 1 / 7))
    assert {row["wall_charge"] for row in gpus().values()} == {"2.100000"}


LIFECYCLES = [
    ("label_karpenter_sh_capacity_type", "spot", "spot"),
    ("label_eks_amazonaws_com_capacityType", "SPOT", "spot"),
    ("label_eks_amazonaws_com_capacity_type", "SPOT", "spot"),
    ("label_cloud_google_com_gke_spot", "true", "spot"),
    ("label_kubernetes_azure_com_scalesetpriority", "spot", "spot"),
    ("label_karpenter_sh_capacity_type", "reserved", "reserved"),
    ("label_other", "x", "unknown"),
]


def test_t8c_every_cloud_spells_spot_in_its_way(tmp_path: Path) -> None:
    told = Scene()
    for n, (label, value, _) in enumerate(LIFECYCLES):
        told.node(f"n{n}", 1, {label: value}, lifecycle="")
        told.gpu(f"GPU-{n}", 0.5, node=f"n{n}")
        told.pod(Pod(f"pod-{n}", f"n{n}"))
    naive = [value in {"spot", "true"} for _, value, _ in LIFECYCLES]
    assert naive != [kind == "spot" for _, _, kind in LIFECYCLES]

    told.read(tmp_path)

    found = {
        row["node"]: row["lifecycle"] for row in report("usage", by="node,lifecycle")
    }
    assert found == {f"n{n}": kind for n, (_, _, kind) in enumerate(LIFECYCLES)}

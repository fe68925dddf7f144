"""The catalogue: its page, its names and labels, version by version."""

import pytest

from accounting.metering.sources.catalogue import (
    EXPORTER_METRICS,
    KNOWN_METRICS,
    gpu_key,
    gpu_metric_of,
    is_kept,
    is_unknown_gpu_metric,
)
from tests import shared_data, sources_page

WRITE = "out of date: python -m tests.sources_page"


def test_the_page_shows_the_catalogue() -> None:
    page = sources_page.PAGE.read_text()
    assert sources_page.part(page, "catalogue") == sources_page.catalogue(), WRITE


def test_the_page_shows_how_every_cloud_spells_a_lifecycle() -> None:
    page = sources_page.PAGE.read_text()
    assert sources_page.part(page, "lifecycles") == sources_page.lifecycles(), WRITE


def test_the_page_lists_every_profile() -> None:
    page = sources_page.METERING.read_text()
    assert sources_page.part(page, "profiles") == sources_page.profiles(), WRITE
    assert "| A30 | `1g.6gb` | 1/4 | 1/4 | 4 |" in page


def test_the_page_shows_readings_of_real_gpus() -> None:
    page = sources_page.METERING.read_text()
    assert sources_page.part(page, "readings") == sources_page.readings(), WRITE


def test_the_page_shows_every_code_of_an_issue() -> None:
    page = sources_page.HEALTH.read_text()
    assert sources_page.part(page, "codes") == sources_page.codes(), WRITE


def test_the_page_shows_what_every_recorded_file_says() -> None:
    if not sources_page.RECORDED.is_dir():
        pytest.skip(shared_data.missing("exposition"))
    page = sources_page.PAGE.read_text()
    assert sources_page.part(page, "files") == sources_page.files(), WRITE


def test_every_recorded_name_is_known() -> None:
    if not sources_page.RECORDED.is_dir():
        pytest.skip(shared_data.missing("exposition"))
    for path in sources_page.recorded():
        names = sources_page.names_of(path)
        assert names, path
        unknown = [n for n in names if sources_page.sort_of(n) == "unknown"]
        assert unknown == [], path


def test_a_name_is_in_one_table() -> None:
    assert not EXPORTER_METRICS.keys() & KNOWN_METRICS.keys()
    assert all(is_kept(name) for name in (*EXPORTER_METRICS, *KNOWN_METRICS))


@pytest.mark.parametrize(
    ("old", "new", "value", "base"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_UTIL_RATIO", 85, 0.85),
        ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_USED_BYTES", 40960, 42_949_672_960),
        (
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL",
            1_540_000_000,
            1_540_000,
        ),
        ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS", 300, 300),
        (
            "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
            "DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND",
            182_000,
            186_368_000_000,
        ),
        ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS", 60, 60),
        ("DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR", 31, 31),
    ],
)
def test_old_and_new_names_are_one_measure(
    old: str, new: str, value: float, base: float
) -> None:
    before, after = EXPORTER_METRICS[old], EXPORTER_METRICS[new]
    assert before.id == after.id
    assert value * before.scale == pytest.approx(base)
    assert after.scale == 1


def test_no_prefix_makes_a_name_known_that_is_in_no_table() -> None:
    assert is_kept("DCGM_FI_DEV_SOMETHING_NEW")  # proves presence
    assert is_unknown_gpu_metric("DCGM_FI_DEV_SOMETHING_NEW")
    assert is_unknown_gpu_metric("gpu_something")
    assert not is_unknown_gpu_metric("DCGM_FI_PROF_PIPE_FP64_ACTIVE")
    assert not is_unknown_gpu_metric("DCGM_EXP_XID_ERRORS_COUNT")
    assert not is_unknown_gpu_metric("kueue_pending_workloads")


CARD = {
    "hostname": "n1",
    "gpu_id": "3",
    "serial_number": "692251001124",
    "card_series": "AMD INSTINCT MI300X",
    "card_model": "102-G30211-00",
}


def test_partitions_of_a_card_are_parts_of_one_gpu() -> None:
    part = CARD | {"gpu_partition_id": "3", "gpu_compute_partition_type": "CPX"}
    key = gpu_key(part)
    assert key is not None
    assert (key.uuid, key.instance, key.profile) == ("692251001124", "3", "cpx")
    assert key.model == "AMD-INSTINCT-MI300X"
    whole = gpu_key(
        CARD | {"gpu_partition_id": "0", "gpu_compute_partition_type": "spx"}
    )
    assert whole is not None
    assert (whole.instance, whole.profile) == ("", "")


def test_a_guests_card_without_a_number_is_told_by_node_and_index() -> None:
    key = gpu_key(CARD | {"serial_number": ""})
    assert key is not None
    assert key.uuid == "n1/amd-3"


@pytest.mark.parametrize(
    ("index", "part", "kind", "card"),
    [
        ("1", "0", "spx", "n1/amd-1"),
        ("15", "7", "cpx", "n1/amd-1"),
        ("6", "2", "qpx", "n1/amd-1"),
        ("x", "2", "qpx", "n1/amd-x"),
    ],
)
def test_a_guests_partitions_are_parts_of_one_card(
    index: str, part: str, kind: str, card: str
) -> None:
    """Each has a UUID of its own: it is not that of the card."""
    labels = {"gpu_id": index, "gpu_partition_id": part, "serial_number": ""}
    labels |= {"gpu_compute_partition_type": kind}
    labels |= {} if kind == "spx" else {"gpu_uuid": "c3ff74a1"}
    key = gpu_key(CARD | labels)
    assert key is not None
    assert key.uuid == card


def test_a_serial_number_is_enough_to_tell_a_card() -> None:
    """Models may be missing; the UUID of NVIDIA's is never taken for another's number."""
    alone = {
        "hostname": "n1",
        "serial_number": "692",
        "gpu_uuid": "c3ff",
        "gpu_id": "3",
    }
    key = gpu_key(alone)
    assert key is not None
    assert key.uuid == "692"
    nvidia = gpu_key({"UUID": "GPU-a", "serial_number": "692", "Hostname": "n1"})
    assert nvidia is not None
    assert nvidia.uuid == "GPU-a"


def test_only_the_first_partition_speaks_of_activity() -> None:
    """T10: the others show 0, which is no idleness."""
    part = CARD | {"gpu_compute_partition_type": "cpx"}
    first, other = part | {"gpu_partition_id": "0"}, part | {"gpu_partition_id": "3"}
    assert gpu_metric_of("gpu_gfx_activity", {}, first).id == "engine_active"
    assert not gpu_metric_of("gpu_gfx_activity", {}, other).is_used
    assert gpu_metric_of("gpu_used_vram", {}, other).id == "memory_used_bytes"


@pytest.mark.parametrize(
    "labels",
    [
        {"UUID": "GPU-1", "Hostname": "n1", "pod": "p", "namespace": "a"},
        {"uuid": "GPU-1", "Hostname": "n1", "pod_name": "p", "pod_namespace": "a"},
        {"UUID": "GPU-1", "hostname": "n1", "pod": "p", "namespace": "a"},
        {"gpu_uuid": "GPU-1", "hostname": "n1", "pod": "p", "namespace": "a"},
    ],
)
def test_spellings_of_the_versions_are_one_gpu(labels: dict[str, str]) -> None:
    key = gpu_key(labels)
    assert key is not None
    assert (key.uuid, key.node) == ("GPU-1", "n1")
    assert key.plain is not None
    assert (key.plain.namespace, key.plain.pod) == ("a", "p")

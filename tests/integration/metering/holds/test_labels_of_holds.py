"""Which GPUs a hold has by labels of its whole life, in whatever order they are read (N17).

And holds that labels make and keep while kube-state is silent for hours (N13): each window is
computed once more at most, and stays as it is.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from accounting.metering.models.evidence import GpuLabelHour, ScrapeHour
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.models.pod import PodHold
from accounting.metering.tasks.facts import retention
from tests.integration.metering.support import clear, facts, report, run
from tests.traps.scene import HOUR, HOUR_MS, START, Pod, Scene, gpus, states, usage

pytestmark = pytest.mark.django_db(transaction=True)

NAMED = {"namespace": "vision", "pod": "p"}


def named_for_a_while() -> Scene:
    """Five hours of `p`; its GPU-a is named for ten minutes, GPU-b never, and does more."""
    told = Scene(5 * HOUR, step=60)
    told.node("n1", 2)
    told.pod(Pod("p"))
    first = [t for t in told.scrapes if t < START + 600]
    told.gpu("GPU-a", 0.25, NAMED, at=first)
    told.gpu("GPU-a", 0.25, at=[t for t in told.scrapes if t >= START + 600])
    told.gpu("GPU-b", 0.75)
    return told


def swapped() -> Scene:
    """Four hours of `p`; its GPU-a is swapped for GPU-b after 70 minutes."""
    told = Scene(4 * HOUR, step=60)
    told.node("n1", 2)
    told.pod(Pod("p"))
    first = [t for t in told.scrapes if t < START + 4200]
    rest = [t for t in told.scrapes if t >= START + 4200]
    told.gpu("GPU-a", 0.5, NAMED, at=first)
    told.gpu("GPU-b", 0.5, NAMED, at=rest)
    told.gpu("GPU-c", 0.9)
    return told


def parts(told: Scene, hours: int) -> list[str]:
    """The text by the hour."""
    return [
        told.text.between(START + n * HOUR, START + (n + 1) * HOUR)
        for n in range(hours)
    ]


def read(texts: Sequence[str], folder: Path) -> None:
    for n, text in enumerate(texts):
        path = folder / f"{n}.om"
        path.write_text(text)
        run("import_metrics", "--cluster=north", path)


def test_a_gpu_is_a_holds_for_its_whole_life(tmp_path: Path) -> None:
    """Named hours ago is named: it is not concluded from what GPUs did."""
    read([named_for_a_while().openmetrics()], tmp_path)
    row = usage("pod")["p"]
    assert row["busy_ms"] == 5 * HOUR_MS // 4
    assert row["estimated"] is False
    assert states(gpus()["GPU-b"]) == {
        "stray": 5 * HOUR_MS * 3 // 4,
        "free": 5 * HOUR_MS // 4,
    }


@pytest.mark.parametrize("scene", [named_for_a_while, swapped])
def test_any_order_of_hours_gives_the_same_facts(scene, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # one of two functions
    told = scene()
    texts = parts(told, 5 if scene is named_for_a_while else 4)
    read([told.openmetrics()], tmp_path)
    whole = facts()
    orders = {
        "in time": texts,
        "newest first": texts[::-1],
        "every second first": [*texts[::2], *texts[1::2]],
        "again and again": [*texts[2:], texts[3], *texts[:2], texts[0]],
    }
    for name, order in orders.items():
        clear()
        read(order, tmp_path)
        assert facts() == whole, name


def test_kube_state_that_is_read_after_the_labels(tmp_path: Path) -> None:
    """Holds that become known hours after their labels were read are counted then."""
    told = named_for_a_while()
    read([told.openmetrics()], tmp_path)
    whole = facts()
    labels = [told.text.text("DCGM")]
    kube = Scene(5 * HOUR, step=60)
    kube.text.families = {
        name: lines
        for name, lines in told.text.families.items()
        if name.startswith("kube_")
    }
    for order in ([*labels, *parts(kube, 5)], [*parts(kube, 5)[::-1], *labels]):
        clear()
        read(order, tmp_path)
        assert facts() == whole


def silence(*, comes_back: bool) -> Scene:
    """kube-state is silent from 11:00 on, or until 16:00; labels go on until 15:00.

    GPU-1 has the pod `p`, which kube-state shows before; GPU-2 has `q` from 12:00 on.
    """
    told = Scene(7 * HOUR, step=60)
    every = told.scrapes
    is_read = [
        t for t in every if t < START + HOUR or (comes_back and t >= START + 6 * HOUR)
    ]
    told.node("n1", 2, at=is_read)
    told.scrapes = is_read
    told.pod(Pod("p", gone=START + 6 * HOUR))
    told.scrapes = every
    for uuid, pod, since in (("GPU-1", "p", 0), ("GPU-2", "q", 2 * HOUR)):
        at = [t for t in every if START + since <= t < START + 5 * HOUR]
        told.gpu(uuid, 0.5, {"namespace": "vision", "pod": pod}, at=at)
        told.gpu(uuid, 0.0, at=[t for t in every if t not in set(at)])
    return told


@pytest.mark.parametrize("comes_back", [False, True])
def test_holds_of_a_long_silence_are_found_once(
    comes_back: bool, tmp_path: Path
) -> None:
    """N13: they last to one step after their last label, whichever hour is looked at."""
    told = silence(comes_back=comes_back)
    read([told.openmetrics()], tmp_path)
    whole = facts()
    held = {row["pod"]: row["allocated_ms"] for row in report("usage", by="pod")}
    assert held == {"p": 5 * HOUR_MS, "q": 3 * HOUR_MS}
    assert max(IngestWindow.objects.values_list("fence", flat=True)) <= 2
    for order in (parts(told, 7), parts(told, 7)[::-1]):
        clear()
        read(order, tmp_path)
        assert facts() == whole


def test_an_hour_that_is_read_again_moves_no_end_far_away(tmp_path: Path) -> None:
    """kube-state falls silent at 13:00, and a label keeps `p` until 15:00.

    Reading 10:00 again loads no label of that silence; nothing there is computed again.
    """
    told = Scene(7 * HOUR, step=60)
    every = told.scrapes
    told.scrapes = [t for t in every if t < START + 3 * HOUR]
    told.node("n1", 1)
    told.pod(Pod("p"))
    told.scrapes = every
    named = [t for t in every if t < START + 5 * HOUR]
    told.gpu("GPU-1", 0.5, NAMED, at=named)
    told.gpu("GPU-1", 0.0, at=[t for t in every if t >= START + 5 * HOUR])
    read([told.openmetrics()], tmp_path)
    whole = facts()
    [row] = report("usage", by="pod")
    assert row["allocated_ms"] == 5 * HOUR_MS
    fences = dict(IngestWindow.objects.values_list("window_start", "fence"))
    again, late = parts(told, 1), START + 3 * HOUR
    read(again, tmp_path)
    assert facts() == whole
    [hold] = PodHold.objects.filter(is_inferred=False)
    assert hold.booked_until_ms == (START + 5 * HOUR) * 1000
    moved = {
        start.timestamp()
        for start, fence in IngestWindow.objects.values_list("window_start", "fence")
        if fence != fences[start]
    }
    assert not {at for at in moved if at >= late}


def test_what_is_kept_by_the_hour_expires_with_the_facts(tmp_path: Path) -> None:
    """It is bounded: 35 days and one; a hold that lasts keeps its counts."""
    told = named_for_a_while()
    told.pod(Pod("short", "n1", gone=START + HOUR))
    read([told.openmetrics()], tmp_path)
    assert GpuLabelHour.objects.exists()
    newest = IngestWindow.objects.latest("window_start")
    retention.forget_evidence(newest.window_start)
    assert GpuLabelHour.objects.exists()
    first = newest.window_start - timedelta(hours=5)
    newest.window_start += timedelta(days=36, hours=5)
    newest.save()
    retention.forget_evidence(first)  # the hours of then are not rolled up yet
    assert GpuLabelHour.objects.exists()
    retention.forget_evidence(newest.window_start)
    assert not GpuLabelHour.objects.exists()
    assert not ScrapeHour.objects.exists()
    kept = dict(PodHold.objects.values_list("pod__name", "label_counts"))
    assert kept["p"] is not None
    assert kept["short"] is None


def two_silences() -> Scene:
    """kube-state is silent from 10:10 to 10:25, and from 10:40 on; a label names `q` all the time.

    kube-state never shows `q`: only labels make its holds, one in each silence.
    """
    told = Scene(5 * HOUR, step=60)
    every = told.scrapes
    told.scrapes = [
        t for t in every if t < START + 600 or START + 1500 <= t < START + 2400
    ]
    told.node("n1", 1)
    told.scrapes = every
    told.gpu("GPU-1", 0.5, {"namespace": "vision", "pod": "q"})
    return told


def test_an_hour_beside_a_short_silence_finds_its_holds_once(tmp_path: Path) -> None:
    """Labels are loaded by the hour: those of the first silence, too, which ended before.

    The import of 13:00 wrote the hold of 10:10 once more, and ended with an IntegrityError.
    """
    told = two_silences()
    read([told.openmetrics()], tmp_path)
    whole = facts()
    assert PodHold.objects.filter(is_inferred=True).count() == 2
    for order in (parts(told, 5), parts(told, 5)[::-1]):
        clear()
        read(order, tmp_path)
        assert facts() == whole

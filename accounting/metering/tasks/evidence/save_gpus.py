"""Saves changed evidence of GPUs, of their scrapers and of the pods that their samples name."""

from collections.abc import Iterable

import numpy as np

from accounting.core.interval import Interval, to_instant
from accounting.metering.mapping import pack_steps, pack_times
from accounting.metering.models.cluster import Cluster, Gpu, GpuGeometry, GpuSpan
from accounting.metering.models.evidence import (
    GpuLabelHour,
    NodeScraper,
    ScrapeHour,
    Scraper,
    ScrapeSpan,
)
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.series import ScraperIdentity, Times
from accounting.metering.tasks import bulk_copy
from accounting.metering.tasks.evidence import gpu_models
from accounting.metering.tasks.evidence.ids import BATCH, Ids


def save_gpus(
    cluster: Cluster, inventory: Inventory, ids: Ids, touched: ChangedRecords
) -> None:
    models = gpu_models.models_of(inventory, sorted(touched.gpus))
    gpu_models.rename(cluster, inventory, models)
    bulk_copy.merge(
        Gpu,
        ["cluster", "uuid", "model", "is_placeholder"],
        [(cluster.pk, uuid, model, False) for uuid, model in models.items()],
        key=["cluster", "uuid"],
        update=["model"],
    )
    found = Gpu.objects.filter(cluster=cluster, uuid__in=touched.gpus)
    ids.gpus.update(found.values_list("uuid", "pk"))
    changed = [ids.gpus[uuid] for uuid in touched.gpus]
    GpuSpan.objects.filter(gpu_id__in=changed).delete()
    bulk_copy.append(
        GpuSpan,
        ["gpu", "node", "scraper", "first_ms", "last_ms", "step_ms"],
        [
            (
                ids.gpus[uuid],
                ids.nodes[place.node],
                ids.scrapers[place.scraper],
                span.first_ms,
                span.last_ms,
                span.step_ms,
            )
            for uuid in touched.gpus
            for place, spans in inventory.gpus[uuid].spans.items()
            for span in spans
        ],
    )
    GpuGeometry.objects.filter(gpu_id__in=changed).delete()
    GpuGeometry.objects.bulk_create(
        [
            GpuGeometry(gpu_id=ids.gpus[uuid], from_ms=at, instances=divided)
            for uuid in touched.gpus
            for at, divided in inventory.gpus[uuid].geometry
        ],
        batch_size=BATCH,
    )


def save_scrapers(
    cluster: Cluster,
    inventory: Inventory,
    ids: Ids,
    touched: ChangedRecords,
    period: Interval,
) -> None:
    Scraper.objects.bulk_create(
        [
            Scraper(
                cluster=cluster,
                job=key.job,
                instance=key.instance,
                replica=key.replica,
                shows_exported=inventory.scrapers[key].shows_exported,
                is_kube_state=inventory.scrapers[key].kube_times is not None,
                interval_ms=inventory.scrapers[key].interval_ms,
                scales=inventory.scrapers[key].scales,
            )
            for key in sorted(touched.scrapers)
        ],
        update_conflicts=True,
        unique_fields=["cluster", "job", "instance", "replica"],
        update_fields=["shows_exported", "is_kube_state", "interval_ms", "scales"],
    )
    for row in Scraper.objects.filter(cluster=cluster):
        ids.scrapers[ScraperIdentity(row.job, row.instance, row.replica)] = row.pk
    _save_scrape_spans(inventory, ids, touched)
    hours: list[ScrapeHour] = []
    for key in touched.scrapers:
        times = inventory.scrapers[key].kube_times
        if times is not None:
            hours.extend(
                ScrapeHour(
                    scraper_id=ids.scrapers[key],
                    hour_start=to_instant(hour),
                    times=pack_times(times[part], hour),
                )
                for hour, part in _by_hour(times, period)
            )
    ScrapeHour.objects.bulk_create(
        hours,
        update_conflicts=True,
        unique_fields=["scraper", "hour_start"],
        update_fields=["times"],
    )


def _save_scrape_spans(inventory: Inventory, ids: Ids, touched: ChangedRecords) -> None:
    changed = [ids.scrapers[key] for key in touched.scrapers]
    ScrapeSpan.objects.filter(scraper_id__in=changed).delete()
    ScrapeSpan.objects.bulk_create(
        [
            ScrapeSpan(
                scraper_id=ids.scrapers[key],
                first_ms=span.first_ms,
                last_ms=span.last_ms,
                step_ms=span.step_ms,
            )
            for key in touched.scrapers
            for span in inventory.scrapers[key].spans
        ],
        batch_size=BATCH,
    )
    NodeScraper.objects.bulk_create(
        [
            NodeScraper(node_id=ids.nodes[name], scraper_id=ids.scrapers[key])
            for name in touched.nodes
            for key in inventory.nodes[name].scrapers
        ],
        ignore_conflicts=True,
        batch_size=BATCH,
    )


def _by_hour(times: Times, period: Interval) -> Iterable[tuple[int, slice]]:
    """The hours that a period overlaps, each with the index range of its times."""
    for hour in period.hours():
        low, high = np.searchsorted(times, [hour.start_ms, hour.end_ms])
        if high > low:
            yield hour.start_ms, slice(int(low), int(high))


def save_labels(
    inventory: Inventory, ids: Ids, touched: ChangedRecords, period: Interval
) -> None:
    bulk_copy.merge(
        GpuLabelHour,
        [*_LABEL_KEY, "times", "steps"],
        [
            (
                ids.gpus[key.uuid],
                ids.nodes[key.place.node],
                ids.scrapers[key.place.scraper],
                to_instant(hour),
                key.instance,
                key.profile,
                key.vgpu,
                key.pod.namespace,
                key.pod.pod,
                key.pod.uid,
                key.is_plain,
                pack_times(shown.times[part], hour),
                pack_steps(shown.steps[part]),
            )
            for key in touched.labels
            for shown in [inventory.gpu_labels[key]]
            for hour, part in _by_hour(shown.times, period)
        ],
        key=_LABEL_KEY,
        update=["times", "steps"],
    )


_LABEL_KEY = (
    "gpu",
    "node",
    "scraper",
    "hour_start",
    "instance",
    "profile",
    "vgpu",
    "namespace",
    "pod",
    "pod_uid",
    "is_plain",
)

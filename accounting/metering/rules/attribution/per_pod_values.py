"""Per-pod values of a shared GPU, which divide its activity (rules.md N22, T15).

Newer exporters show `GPU_UTIL` of the device without a pod, and also one series for each
pod with the pod's activity. A pod with several containers or replicas has several copies
of one value: the largest counts. If all values are zero, the exporter could not see processes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounting.metering.rules.inventory.labels import Ownership
from accounting.metering.rules.samples.scraper_series import of_one_series
from accounting.metering.rules.samples.series import PodName, Series


@dataclass(frozen=True, slots=True)
class PodValues:
    """Per-pod values of one GPU (part) from one scraper.

    Attributes:
        at: by time of the scrape, what each pod used, in billionths.
    """

    at: Mapping[int, Mapping[PodName, int]]

    def weights(
        self, at_ms: int, holders: Sequence[tuple[str, tuple[str, str]]]
    ) -> list[int] | None:
        """The activity of each holder in a scrape; None if no holder has a value.

        Args:
            at_ms: time of the scrape.
            holders: uid, and (namespace, name).
        """
        values = self.at.get(at_ms)
        if not values:
            return None
        found = [
            max(
                (
                    value
                    for pod, value in values.items()
                    if (pod.namespace, pod.pod) == name and pod.uid in {"", uid}
                ),
                default=0,
            )
            for uid, name in holders
        ]
        return found if any(found) else None


def pod_values(parts: Sequence[Series], whose: Ownership) -> PodValues | None:
    """Samples with a workload in scrapes that also have one without; None if there are none."""
    named: list[tuple[PodName, Series]] = []
    device: set[int] = set()
    for series in parts:
        gpu = series.gpu
        pod = None if gpu is None else whose.workload(gpu, series.scraper)
        if pod is None:
            device.update(series.times_ms[of_one_series(series) >= 0].tolist())
        else:
            named.append((pod, series))
    if not device or not named:
        return None
    found: dict[int, dict[PodName, int]] = defaultdict(dict)
    for pod, series in named:
        if device.isdisjoint(series.times_ms.tolist()):
            continue  # as if each pod had the GPU alone, with no samples between them
        utilization = of_one_series(series).tolist()
        for at, value in zip(series.times_ms.tolist(), utilization, strict=True):
            if at in device and value >= 0:
                found[at][pod] = max(found[at].get(pod, 0), value)
    shown = {at: values for at, values in found.items() if any(values.values())}
    return PodValues(shown) if shown else None

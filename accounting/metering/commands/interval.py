"""The interval of a source as text: declared, or derived from its samples (rules.md N4)."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from accounting.metering.rules.samples.scraper_series import (
    DEFAULT_STEP_MS,
    MAX_STEP_MS,
)
from accounting.metering.sources.intervals import Sampler

MOST_NAMED = 5  # scrapers that differ from the others of their job


def interval_line(
    declared_s: int | None, concluded: Mapping[Sampler, int | None]
) -> str:
    """One line for a person.

    Args:
        declared_s: the declared interval in seconds, which is used if set.
        concluded: by sampler, in milliseconds; None with too few samples.
    """
    shown = _by_job(concluded)
    if declared_s is None:
        return f"interval: {shown}, derived from the samples"
    if shown == _seconds(declared_s * 1000):
        return f"interval: {shown}, declared"
    return f"interval: {declared_s} s, declared; the samples arrive every {shown}"


def _by_job(concluded: Mapping[Sampler, int | None]) -> str:
    jobs: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for sampler, gap_ms in sorted(concluded.items()):
        job = sampler.job or ("kube-state" if sampler.is_kube else "exporters")
        jobs[job][_seconds(gap_ms)].append(sampler.instance)
    every = {words for found in jobs.values() for words in found}
    if len(every) == 1:
        return every.pop()
    return ", ".join(f"{_of_job(found)} ({job})" for job, found in sorted(jobs.items()))


def _of_job(found: Mapping[str, list[str]]) -> str:
    counts = Counter({words: len(instances) for words, instances in found.items()})
    (most, _), *_ = counts.most_common(1)
    parts = [most]
    for words, instances in sorted(found.items()):
        if words != most:
            named = ", ".join(name or "no instance" for name in instances[:MOST_NAMED])
            more = len(instances) - MOST_NAMED
            parts.append(
                f"{words} from {named}" + (f" and {more} more" if more > 0 else "")
            )
    return ", but ".join(parts)


def _seconds(gap_ms: int | None) -> str:
    """Rounded to tenths: scrapes are never exactly on time."""
    if gap_ms is None:
        return f"{DEFAULT_STEP_MS / 1000:g} s (default, no samples)"
    return f"{round(min(gap_ms, MAX_STEP_MS) / 1000, 1):g} s"

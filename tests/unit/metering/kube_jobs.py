"""Samples and roles of the jobs of kube-state, at seconds from 0."""

from accounting.core.interval import FAR_MS, Interval
from accounting.metering.rules.inventory.kube_state.jobs import JobRole, RoleInterval
from accounting.metering.rules.samples.series import ScraperIdentity, Series
from tests.unit.metering.kube_series import ones, series

WHOLE = Interval(0, FAR_MS)
REQUESTS = "kube_pod_container_resource_requests"


def kube(job: str, metric: str, *seconds: int, **labels: str) -> Series:
    """Samples of one metric of a job."""
    return series(f"kube_{metric}", ones(*seconds), labels, ScraperIdentity(job))


def during(role: JobRole, start: int = 0, end: int | None = None) -> RoleInterval:
    """A role from one second to another; without an end, for ever."""
    until = FAR_MS if end is None else end * 1000
    return RoleInterval(Interval(start * 1000, until), role)

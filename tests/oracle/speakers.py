"""Whose samples are read at all (rules.md N40)."""

from collections.abc import Iterable

from tests.oracle.samples import Sample
from tests.oracle.setup import Setup


def read(samples: Iterable[Sample], setup: Setup) -> list[Sample]:
    """The samples of the jobs that the source names; all where it names none."""
    found = list(samples)
    return [s for s in found if job_of(s) in setup.jobs] if setup.jobs else found


def job_of(sample: Sample) -> str:
    """The job that took a sample; a missing one is a job too."""
    return sample.labels.get("job", "")

"""All revisions of months, without what is long: a page reads them once."""

from collections.abc import Sequence

from accounting.core.read_once import read_once
from accounting.months.models.period import PeriodRevision


@read_once
def revisions() -> Sequence[PeriodRevision]:
    """Every revision, in the order of months and numbers; names of payers and checks are not read.

    A month has few: there are a dozen a year.
    """
    found = PeriodRevision.objects.select_related("closed_by", "reopened_by")
    return list(found.defer("payers", "checks", "causes"))


def revisions_of(period: str) -> list[PeriodRevision]:
    """Those of a month, YYYY-MM, the first one first."""
    return [one for one in revisions() if one.period == period]


def in_effect(period: str) -> PeriodRevision | None:
    """The revision of a month that was not reopened; None before its first booking."""
    return next((one for one in revisions_of(period) if not one.reopened_at), None)


def reopened(period: str) -> list[PeriodRevision]:
    """The revisions of a month that were closed and opened again, the first one first."""
    return [one for one in revisions_of(period) if one.reopened_at]


def next_revision(period: str) -> int:
    """The number of the revision in effect, or of the one that the next close makes."""
    return len(reopened(period)) + 1

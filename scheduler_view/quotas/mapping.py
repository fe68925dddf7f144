"""Rows of desired quotas and tiers as values."""

from scheduler_view.quotas.models import QuotaTarget, Tier
from scheduler_view.quotas.rules.quota_objects import DesiredQuota
from scheduler_view.quotas.rules.tiers import TierSpec, TierState


def target_of(row: QuotaTarget) -> DesiredQuota:
    """A row as a value."""
    return DesiredQuota(
        row.team.slug, row.resource, row.tier, row.gpus, dict(row.split)
    )


def tier_of(row: Tier) -> TierState:
    """A row as a value."""
    spec = TierSpec(row.name, row.value, row.preempts, row.is_default, row.description)
    return TierState(spec, [row.class_name, *row.old_classes])

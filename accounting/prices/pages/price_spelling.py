"""A price of something that was never seen, or that begins after its GPUs were."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounting.core.billing_calendar import midnight
from accounting.kit.pages.permissions import Visitor
from accounting.prices.reads.gpu_models import ModelInUse, first_seen, unpriced_before


@dataclass(frozen=True, slots=True)
class Doubts:
    """Possible mistakes in a price; none of them is rejected.

    Attributes:
        model, tier: never seen in any cluster; empty if known.
        unpriced_ms: held GPU time before its first day that stays unpriced.
        first_seen: of the model, if time before its first day stays unpriced.
    """

    model: str = ""
    tier: str = ""
    unpriced_ms: int = 0
    first_seen: datetime | None = None


def doubts_of(
    visitor: Visitor,
    chosen: dict[str, Any],
    models: list[ModelInUse],
    tiers: list[str],
) -> Doubts:
    """The possible mistakes in what a price matches."""
    model, tier = chosen["model"], chosen["tier"]
    seen = first_seen(model)
    is_known = seen is not None or any(one.name == model for one in models)
    since = midnight(chosen["valid_from"], visitor.billing.zone)
    has_rate = chosen["rate_per_gpu_hour"] is not None
    unpriced = unpriced_before(model, since) if has_rate else 0
    return Doubts(
        model="" if is_known else model,
        tier="" if not tier or tier in tiers else tier,
        unpriced_ms=unpriced,
        first_seen=seen if unpriced else None,
    )

"""What pages show of a checked price list: each row, and what saving does to charges (M19, M21)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from accounting.core.money import minor_places
from accounting.kit.pages.permissions import Visitor
from accounting.metering.models.cluster import Cluster, Gpu
from accounting.months.tasks.price_effect import NewRate, list_effect
from accounting.prices.models.price import PriceKind
from accounting.prices.rules.price_import import WORDS
from accounting.prices.rules.price_offers import Offer

SHOWN = 500  # rows; those that need a decision come first
SAID = {
    "filtered": "Left out",
    "no_count": "No GPUs",
    "no_price": "No price",
    "bad_number": "Number not valid",
    "bad_currency": "Currency not valid",
    "bad_date": "Date not valid",
    "unknown_model": "Unknown model",
    "absurd": "Far from the others",
    "conflict": "Several prices",
    "same": "Already there",
    "overlap": "Overlaps another price",
    "taken": "Taken",
}
"""Words of money.md M19 as the page says them."""
WELL = ("taken", "same", "filtered")
MOST_PREVIEWED = 20
"""Rates whose effect on charges is computed: each takes about as long as the form of a price."""


def check_context(visitor: Visitor, offers: Sequence[Offer]) -> dict[str, Any]:
    """The context of `_price_check.html`."""
    counts = Counter(offer.word for offer in offers)
    ordered = sorted(offers, key=lambda offer: offer.word in WELL and not offer.warning)
    rates = _effective(visitor, offers)
    currency = visitor.billing.currency
    return {
        "counts": [
            (SAID[word], counts[word]) for word in reversed(WORDS) if counts[word]
        ],
        "taken": counts["taken"],
        "warned": sum(bool(offer.warning) for offer in offers),
        "respelled": sorted(
            {(one.text, one.model) for one in offers if _is_respelled(one)}
        ),
        "effect": list_effect(rates[:MOST_PREVIEWED], minor_places(currency)),
        "previewed": min(len(rates), MOST_PREVIEWED),
        "not_previewed": max(0, len(rates) - MOST_PREVIEWED),
        "currency": currency,
        "rows": [(one, SAID[one.word]) for one in ordered[:SHOWN]],
        "all": len(offers),
    }


def _is_respelled(offer: Offer) -> bool:
    """True for a price that is taken for a model which the file spells in another way."""
    return offer.word == "taken" and offer.text.casefold() != offer.model.casefold()


def _effective(visitor: Visitor, offers: Sequence[Offer]) -> list[NewRate]:
    """Rates that are taken, have begun, and are of a model that has been used."""
    clusters = dict(Cluster.objects.values_list("name", "pk"))
    used = set(Gpu.objects.values_list("model", flat=True).distinct())
    return [
        NewRate(
            model=offer.model,
            rate=offer.price,
            currency=offer.currency,
            valid_from=offer.valid_from,
            valid_to=offer.valid_to,
            cluster_id=clusters[offer.cluster] if offer.cluster else None,
            profile=offer.profile,
            lifecycle=offer.lifecycle,
            tier=offer.tier,
        )
        for offer in offers
        if offer.word == "taken"
        and offer.kind == PriceKind.RATE
        and offer.model in used
        and offer.price is not None
        and offer.valid_from is not None
        and offer.valid_from <= visitor.now
    ]

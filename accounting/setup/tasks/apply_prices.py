"""Applies the sections `prices` and `conversions` of a setup file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from accounting.kit.audit import Actor
from accounting.metering.models.cluster import Cluster
from accounting.prices.actions.conversions import SetConversion, set_conversion_rate
from accounting.prices.actions.prices import default_list, reprice
from accounting.prices.models.conversion import ConversionRate
from accounting.prices.models.price import PriceKind, UnitPrice
from accounting.prices.reads.price_doubts import dated, price_doubts
from accounting.prices.rules.price_doubts import DatedPrice
from accounting.setup.tasks.replaced_rows import ends_of, replace_rows
from accounting.setup.tasks.schema import ConversionSpec, PriceSpec


def set_prices(
    wanted: Sequence[PriceSpec],
    currency: str,
    changes: list[str],
    warnings: list[str] | None,
) -> None:
    """Make the price book what the file says, and add a sentence for what changed.

    Args:
        wanted: the prices of the file.
        currency: of those that name none.
        changes: gets the sentence.
        warnings: gets one for each new price that is probably a mistake.
    """
    clusters = dict(Cluster.objects.values_list("name", "pk"))
    amounts = [
        (kind, spec, amount)
        for spec in wanted
        for kind, amount in (
            (PriceKind.RATE, spec.rate),
            (PriceKind.COST, spec.cost),
        )
        if amount is not None
    ]
    ends = ends_of([((kind, spec.key), spec.valid_from) for kind, spec, _ in amounts])
    rows = [
        {
            "kind": kind,
            "price_list_id": default_list(kind, spec.currency or currency).pk,
            "model": spec.model,
            "profile": spec.profile,
            "lifecycle": spec.lifecycle,
            "cluster_id": clusters.get(spec.cluster),
            "tier": spec.tier,
            "currency": spec.currency or currency,
            "rate_per_gpu_hour": amount,
            "valid_from": spec.valid_from,
            "valid_to": end,
            "source_note": spec.source,
        }
        for (kind, spec, amount), end in zip(amounts, ends, strict=True)
    ]
    if warnings is not None:
        warnings += _doubted(rows)
    if replace_rows(UnitPrice, rows):
        changes.append(f"{len(wanted)} prices")
        reprice()


def _doubted(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A sentence for each price that is new and probably a mistake."""
    book = [dated(row) for row in UnitPrice.objects.all()]
    known = {(one.sets, one.valid_from, one.rate_per_gpu_hour) for one in book}
    names = [one.name for one in fields(DatedPrice)]
    wanted = [DatedPrice(**{name: row[name] for name in names}) for row in rows]
    new = [
        one
        for one in wanted
        if (one.sets, one.valid_from, one.rate_per_gpu_hour) not in known
    ]
    for one, doubt in zip(new, price_doubts(new, book), strict=True):
        if doubt:
            yield f"{one.kind} of {one.model} from {one.valid_from.date()}: {doubt.text}"


def set_conversions(
    wanted: Sequence[ConversionSpec], changes: list[str], actor: Actor
) -> None:
    """The rates of the file; those of other days stay, because every month adds some."""
    known = {
        (row.from_currency, row.to_currency, row.on): row.rate
        for row in ConversionRate.objects.all()
    }
    differing = [
        spec
        for spec in wanted
        if known.get((spec.from_currency, spec.to_currency, spec.day)) != spec.rate
    ]
    for spec in differing:
        set_conversion_rate(
            SetConversion(
                from_currency=spec.from_currency,
                to_currency=spec.to_currency,
                on=spec.day,
                rate=spec.rate,
                reason="configure",
            ),
            actor,
        )
    if differing:
        changes.append(f"{len(differing)} conversions")

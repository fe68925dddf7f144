"""A price as a person previewed it: saved once, and not after something changed (money.md M21)."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import NON_FIELD_ERRORS
from django.db import models

from accounting.kit.locks import lock
from accounting.kit.once import LONGEST_KEY, KeyReused, digest_of, once
from accounting.kit.preview import Preview
from accounting.kit.reads.database_clock import database_now
from accounting.metering.sources.catalogue import normal_model
from accounting.prices.actions.prices import PriceError, set_unit_price
from accounting.prices.models.price import UnitPrice

_BESIDE = ("reason", "source_note")  # may be corrected without another preview


def price_seen(terms: Mapping[str, Any]) -> str:
    """A digest of a price that is not saved yet, and of those of its model beside it.

    Args:
        terms: arguments of `set_unit_price` without the actor.
    """
    known = UnitPrice.objects.filter(model=normal_model(terms["model"])).order_by("pk")
    shown = {n: value for n, value in _plain(terms).items() if n not in _BESIDE}
    return digest_of(shown, list(known.values()))


def set_previewed_price(
    terms: Mapping[str, Any], author: AbstractBaseUser, preview: Preview
) -> None:
    """Save a price as it was previewed; sent again, it is the one that was saved.

    Args:
        terms: arguments of `set_unit_price` without the actor.
        preview: its `seen` is `price_seen` of what was shown.

    Raises:
        PriceError: the price or those beside it are others now, or it is not valid; nothing was
            saved.
    """

    def make() -> int:
        lock("prices", 0)
        if price_seen(terms) != preview.seen:
            raise _changed()
        return set_unit_price(**terms, actor=author).pk

    if not preview.key:
        raise _changed()
    try:
        once(
            user_id=author.pk,
            key=f"price {preview.key}"[:LONGEST_KEY],
            digest=digest_of(_plain(terms)),
            at=database_now(),
            make=make,
        )
    except KeyReused:
        raise _changed() from None


def _changed() -> PriceError:
    return PriceError(
        NON_FIELD_ERRORS,
        "This price, or one beside it, has changed since the preview, and nothing was saved. "
        "Check its effect again.",
    )


def _plain(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Rows by their numbers."""
    return {
        name: value.pk if isinstance(value, models.Model) else value
        for name, value in terms.items()
    }

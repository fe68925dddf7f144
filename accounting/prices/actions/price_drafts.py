"""Price lists that finance prepares, until an administrator saves them (money.md M19)."""

import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from accounting.kit.audit import act
from accounting.kit.outcomes import RefusalCode, Refused
from accounting.prices.actions.price_import import (
    ImportOptions,
    check_price_file,
    import_price_file,
)
from accounting.prices.models.price_draft import DraftState, PriceDraft
from accounting.prices.rules.price_offers import Offer, PriceFileError


def prepare_draft(
    text: str,
    options: Mapping[str, Any],
    read_as: ImportOptions,
    *,
    author: AbstractBaseUser,
    reason: str,
) -> PriceDraft:
    """Keep a checked file for an administrator.

    Args:
        text: of the file.
        options: of the form, as JSON.
        read_as: the same for the import.

    Raises:
        PriceFileError: the file or an option cannot be used, or none of its prices is taken.
    """
    offers = check_price_file(io.StringIO(text, newline=""), read_as)
    if not any(offer.word == "taken" for offer in offers):
        raise PriceFileError("no price of this file would be saved")
    with act(author, reason):
        return PriceDraft.objects.create(
            text=text, options=dict(options), reason=reason, author_id=author.pk
        )


def save_draft(
    draft: PriceDraft,
    read_as: ImportOptions,
    *,
    actor: AbstractBaseUser,
    reason: str,
    seen: str,
    now: datetime,
) -> list[Offer]:
    """Save the prices of a draft that are taken, all or none.

    Args:
        seen: the digest of the check that the administrator saw.

    Raises:
        Refused: it was saved or discarded meanwhile.
        PriceFileError: as `import_price_file`.
    """
    with act(actor, reason, requested_by=draft.author.get_username()):
        _end(draft, DraftState.SAVED, actor, now)
        lines = io.StringIO(draft.text, newline="")
        return import_price_file(lines, read_as, actor=actor, reason=reason, seen=seen)


def discard_draft(draft: PriceDraft, *, actor: AbstractBaseUser, now: datetime) -> None:
    """End a draft without saving.

    Raises:
        Refused: it was saved or discarded already.
    """
    with act(actor, f"Discarded the price list of {draft.author}"):
        _end(draft, DraftState.DISCARDED, actor, now)


def _end(
    draft: PriceDraft, state: DraftState, actor: AbstractBaseUser, now: datetime
) -> None:
    changed = PriceDraft.objects.filter(pk=draft.pk, state=DraftState.OPEN).update(
        state=state, ended_by_id=actor.pk, ended_at=now
    )
    if not changed:
        raise Refused(
            "this price list was saved or discarded already", RefusalCode.CONFLICT
        )

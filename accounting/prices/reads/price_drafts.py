"""Price lists that finance prepared and an administrator saves (money.md M19)."""

from collections.abc import Sequence
from datetime import datetime

from accounting.access.scope import Scope
from accounting.kit.inbox import Asker, DoneRow, InboxRow, Kind
from accounting.prices.models.price_draft import DraftState, PriceDraft

PRICE_LIST = "price-list"


def _waiting(asker: Asker) -> list[InboxRow]:
    del asker
    drafts = PriceDraft.objects.filter(state=DraftState.OPEN).select_related("author")
    return [
        InboxRow(
            kind=PRICE_LIST,
            what=f"Save the price list of {one.author.get_username()}",
            about=one.reason,
            asked_by=one.author.get_username(),
            since=one.made_at,
            does="Check",
            route="price-draft",
            args=(one.pk,),
        )
        for one in drafts.defer("text").order_by("made_at")
    ]


def _done(scope: Scope, since: datetime) -> Sequence[DoneRow]:
    if not scope.is_finance:
        return []
    ended = PriceDraft.objects.filter(ended_at__gte=since).defer("text")
    return [
        DoneRow(
            PRICE_LIST,
            f"Price list of {one.author.get_username()}",
            one.get_state_display(),
            one.ended_by.get_username() if one.ended_by else "",
            one.ended_at,
            "price-draft",
            (one.pk,),
        )
        for one in ended.select_related("author", "ended_by")
        if one.ended_at
    ]


PRICE_LISTS = Kind(
    PRICE_LIST,
    "Price list",
    "prices",
    lambda scope: scope.is_admin,
    "SELECT count(*) FROM accounting_pricedraft WHERE %(admin)s AND state = 'open'",
    _waiting,
    _done,
)

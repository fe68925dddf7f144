"""Marking bills as final: the provider has closed their billing period (money.md M43)."""

from accounting.audit import Actor, act
from accounting.models import Bill


class BillError(ValueError):
    """The bill cannot be changed so; nothing was changed."""


def set_final(bill: Bill, *, actor: Actor, reason: str) -> Bill:
    """Mark a bill as final.

    Raises:
        BillError: another bill has replaced it.
    """
    with act(actor, reason):
        row = Bill.objects.select_for_update().get(pk=bill.pk)
        if row.replaced_at is not None:
            raise BillError("another file has replaced this bill: mark that one")
        if not row.is_final:
            row.is_final = True
            row.save(update_fields=["is_final"])
    return row

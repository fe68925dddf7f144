"""Marking bills as final: the provider has closed their billing period (money.md M43)."""

from accounting.bills.models import Bill
from accounting.kit.audit import Actor, act
from accounting.kit.outcomes import RefusalCode, Refused


def set_final(bill: Bill, *, actor: Actor, reason: str) -> Bill:
    """Mark a bill as final.

    Raises:
        Refused: another bill has replaced it.
    """
    with act(actor, reason):
        row = Bill.objects.select_for_update().get(pk=bill.pk)
        if row.replaced_at is not None:
            raise Refused(
                "another file has replaced this bill: mark that one",
                RefusalCode.CONFLICT,
            )
        if not row.is_final:
            row.is_final = True
            row.save(update_fields=["is_final"])
    return row

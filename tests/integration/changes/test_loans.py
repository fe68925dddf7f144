"""Loans that meet faults: what was lent comes back, or a person is told.

The plain loan, and one that was changed since, stand in `test_quotas`.
"""

from datetime import timedelta

import pytest

from scheduler_view.changes.actions.change_sets import undo
from scheduler_view.changes.actions.ending import discard
from scheduler_view.changes.models import ChangeSet
from tests.control_plane.admin import quota_path
from tests.control_plane.faulty import failing, response
from tests.control_plane.world import GPU_KEY
from tests.integration.changes.office import REASON, Office, quota
from tests.integration.changes.test_faults import heal, speak_to

BROKEN = response(503, b"down for repair")
LATER = timedelta(hours=8, minutes=1)


@pytest.fixture
def lent(both: Office) -> ChangeSet:
    """Four GPUs, and ten for eight hours."""
    both.applied(quota(4))
    return both.applied(quota(10), ends_at=both.now() + timedelta(hours=8))


@pytest.mark.parametrize("roles", [("reader", "pusher"), ("pusher",)])
def test_a_cluster_that_is_down_when_a_loan_ends_is_waited_for(
    both: Office, lent: ChangeSet, roles: tuple[str, ...]
) -> None:
    both.ahead = LATER
    with failing(BROKEN) as server:
        speak_to(both, server.url, *roles)
        both.work()
        back = lent.undos.get()
        assert (back.state, back.plan_wanted_at is None) == ("draft", False)
        assert "down for repair" in back.error
        asked = len(server.seen)
        both.work()
        assert len(server.seen) == asked  # not before the time
        both.ahead = LATER + timedelta(hours=3)
        both.work()
        assert len(server.seen) > asked
    heal(both)
    both.ahead = LATER + timedelta(hours=3, minutes=2)
    both.work()
    back.refresh_from_db()
    lent.refresh_from_db()
    assert (back.state, lent.state) == ("applied", "undone"), back.error
    assert both.hard() == {GPU_KEY: "4"}


def test_an_undo_that_nobody_carried_out_does_not_keep_a_loan(
    both: Office, lent: ChangeSet
) -> None:
    mine = undo(lent, actor="ana", reason=REASON, at=both.now())
    discard(mine, version=mine.version, actor="ana", reason=REASON, at=both.now())
    both.ahead = LATER
    both.work()
    lent.refresh_from_db()
    assert lent.state == "undone"
    assert both.hard() == {GPU_KEY: "4"}


def test_a_loan_that_was_applied_in_part_returns_too(both: Office) -> None:
    both.applied(quota(4), quota(4, "speech"))
    loan = both.agreed(
        quota(10), quota(10, "speech"), ends_at=both.now() + timedelta(hours=8)
    )
    theirs = quota_path(f"{both.world.name}-b", "gpu-ledger")
    both.world.admin.edit(theirs, {"spec": {"hard": {GPU_KEY: "7"}}})
    both.apply(loan)
    assert loan.state == "partly_applied"
    assert both.hard() == {GPU_KEY: "10"}
    both.ahead = LATER
    both.work()
    back = loan.undos.get()
    assert back.state == "refused"
    assert "does not revert automatically: undo it manually" in back.error
    assert "kubectl-edit" in back.error
    ticked = f"ResourceQuota {both.world.name}-b/gpu-ledger"
    mine = undo(loan, actor="ana", reason=REASON, at=both.now())
    ChangeSet.objects.filter(pk=mine.pk).update(forced=[ticked])
    mine.refresh_from_db()
    both.apply(both.approve(both.plan(mine)))
    assert mine.state == "applied", mine.error
    assert both.hard() == both.hard(f"{both.world.name}-b") == {GPU_KEY: "4"}


def test_the_return_of_a_loan_that_is_refused_is_not_tried_for_ever(
    both: Office, lent: ChangeSet
) -> None:
    both.ahead = LATER
    both.world.admin.delete(f"/api/v1/namespaces/{both.world.name}")
    both.work()
    both.work()
    assert lent.undos.count() == 1
    assert lent.undos.get().error

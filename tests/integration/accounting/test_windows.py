"""The window ledger: a claim that lost one window gives the others of its hour back."""

import pytest

from accounting.actions import windows
from accounting.actions.windows import FenceError, Outcome
from accounting.domain.period import WINDOW_MS, Period
from accounting.models import Cluster
from tests.builders import HOUR_ZERO

pytestmark = pytest.mark.django_db

FIRST = Period(HOUR_ZERO * 1000, HOUR_ZERO * 1000 + WINDOW_MS)
SECOND = Period(FIRST.end_ms, FIRST.end_ms + WINDOW_MS)


def test_windows_whose_neighbour_was_taken_over_are_due_again() -> None:
    cluster = Cluster.objects.create(name="north")
    windows.mark(cluster.pk, [FIRST, SECOND], "new", create=True)
    claimed = windows.claim(cluster.pk)
    assert claimed is not None
    assert claimed.windows == (FIRST, SECOND)
    windows.mark(cluster.pk, [SECOND], "late", create=False)
    with pytest.raises(FenceError):
        windows.finish(
            claimed, [Outcome(w, 0, b"hash", 0, 0, False, 1) for w in claimed.windows]
        )
    assert windows.claim(cluster.pk, within=FIRST) is None

    windows.give_back(claimed)

    again = windows.claim(cluster.pk)
    assert again is not None
    assert again.windows == (FIRST, SECOND)

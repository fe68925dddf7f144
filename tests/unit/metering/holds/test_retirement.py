"""Holds and presences end where a cluster was retired (rules.md N38)."""

from dataclasses import replace
from fractions import Fraction

from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.presence_record import PresenceRecord
from accounting.metering.rules.holds.retirement import holds_until, presences_until

RETIRED = 1000
HOLD = Hold(
    uid="u1",
    namespace="vision",
    pod="train",
    node="n1",
    resource="nvidia.com/gpu",
    units=1,
    share=Fraction(1),
    created_ms=None,
    bound_ms=100,
    ended_ms=None,
    booked_until_ms=2000,
)


def test_a_hold_that_lasts_ends_with_its_cluster() -> None:
    [found] = holds_until([HOLD], RETIRED)
    assert found == replace(
        HOLD, ended_ms=1000, booked_until_ms=1000, ended_by="retired"
    )


def test_a_hold_that_kube_state_lost_sight_of_is_booked_no_longer_than_seen() -> None:
    [found] = holds_until([replace(HOLD, booked_until_ms=700)], RETIRED)
    assert (found.ended_ms, found.booked_until_ms) == (1000, 700)


def test_a_hold_that_ended_before_stays() -> None:
    ended = replace(HOLD, ended_ms=1000, booked_until_ms=1000, ended_by="gone")
    assert holds_until([ended], RETIRED) == [ended]


def test_a_hold_that_began_later_is_none() -> None:
    assert holds_until([replace(HOLD, bound_ms=1000)], RETIRED) == []


def test_presence_ends_with_the_cluster() -> None:
    there = [
        PresenceRecord("n1", "GPU-a", 0, None),
        PresenceRecord("n1", "GPU-b", 0, 900),
        PresenceRecord("n1", "GPU-c", 999, 1001),
        PresenceRecord("n1", "GPU-d", 1000, None),
    ]
    assert presences_until(there, RETIRED) == [
        PresenceRecord("n1", "GPU-a", 0, 1000),
        PresenceRecord("n1", "GPU-b", 0, 900),
        PresenceRecord("n1", "GPU-c", 999, 1000),
    ]

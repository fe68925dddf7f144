"""The end of a cluster: all presence and holds end when it was retired (rules.md N38)."""

from collections.abc import Iterable
from dataclasses import replace

from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.presence_record import PresenceRecord

RETIRED = "retired"  # `ended_by` of such holds


def holds_until(holds: Iterable[Hold], retired_ms: int) -> list[Hold]:
    """The holds that started before a cluster was retired, ended there at the latest.

    A hold without a known end, because kube-state was no longer seen, ends there as well; its time
    is booked only as far as it was seen.
    """
    found: list[Hold] = []
    for hold in holds:
        if hold.bound_ms >= retired_ms:
            continue
        if hold.ended_ms is not None and hold.ended_ms <= retired_ms:
            found.append(hold)
            continue
        end = min(hold.booked_until_ms, retired_ms)
        found.append(
            replace(hold, ended_ms=retired_ms, booked_until_ms=end, ended_by=RETIRED)
        )
    return found


def presences_until(
    presences: Iterable[PresenceRecord], retired_ms: int
) -> list[PresenceRecord]:
    """The presences that started before a cluster was retired, ended there at the latest."""
    return [
        presence
        if presence.end_ms is not None and presence.end_ms <= retired_ms
        else replace(presence, end_ms=retired_ms)
        for presence in presences
        if presence.start_ms < retired_ms
    ]

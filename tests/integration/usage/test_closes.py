"""Reports without some values, and as a close booked them, whatever became of it since.

Aspects: what is excluded and what is left come to the whole; any two groupings come to the ledger's
total; a named close after late facts, another price, a reopening and another close; what a close
does not have.
Not here: money of closed days in reports without a named close (`test_booked_days.py`).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations

import pytest

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, Scope
from accounting.core.interval import Interval
from accounting.core.money import amount_of
from accounting.kit.reads.selection import Amounts, Selection, SelectionError
from accounting.months.tasks.close import close_period, reopen_period
from accounting.usage.reads.usage import usage_rows, usage_total
from accounting.usage.rules.rows import UsageRow
from tests.integration.months.people import person
from tests.integration.prices.books import WINDOW, Books

HOUR = timedelta(hours=1)
START = datetime(2026, 10, 5, 22, tzinfo=UTC)  # a midnight in Berlin
OCTOBER = Interval.of(
    datetime(2026, 9, 30, 22, tzinfo=UTC), datetime(2026, 10, 31, 23, tzinfo=UTC)
)
BY = (
    *("team", "cluster", "namespace", "family", "workload", "workload_type", "model"),
    *("lifecycle", "tier", "day", "week", "month"),
)
SET_UP = """
billing: {currency: EUR, timezone: Europe/Berlin}
teams: [{slug: a, name: A}, {slug: b, name: B}]
bindings:
  - {namespace: a, team: a}
  - {namespace: b, team: b}
prices:
  - {model: NVIDIA-L40S, rate_per_gpu_hour: "1.234567"}
  - {model: NVIDIA-L40S, tier: low, rate_per_gpu_hour: "0.777777"}
"""


@pytest.fixture
def october(books: Books) -> Selection:
    """Three GPUs over eight days of October; one namespace is of no team."""
    books.configure(SET_UP)
    gpus = [
        books.gpu(f"GPU-{n}", lifecycle=kind)
        for n, kind in enumerate(("spot", "on-demand", "reserved"))
    ]
    pods = [
        books.pod("train-7xk2p", space="a"),
        books.pod("serve", space="b", tier="low"),
        books.pod("notebook", space="nobody"),
    ]
    with books.together():
        for n in range(64):
            for g, gpu in enumerate(gpus):
                at = START + n * 3 * HOUR + g * WINDOW
                times = {"busy": 70_003 + 7 * n, "idle": 50_001 * g + n, "unknown": 11}
                books.write(gpu, at, pods[(n + g) % 3], **times)
                books.write(gpu, at, free=300_000 - sum(times.values()))
    books.settle()
    return Selection(EVERYTHING, OCTOBER)


def sums(rows: Sequence[UsageRow]) -> tuple[int, int, int, Decimal, Decimal]:
    """Busy, idle and unknown milliseconds, charge and idle charge."""
    return (
        sum(row.busy_ms for row in rows),
        sum(row.idle_ms for row in rows),
        sum(row.unknown_ms for row in rows),
        sum((amount_of(row.charge) or Decimal(0) for row in rows), Decimal(0)),
        sum((amount_of(row.idle_charge) or Decimal(0) for row in rows), Decimal(0)),
    )


def test_any_two_groupings_come_to_the_total(october: Selection) -> None:
    """While the month is open, as its close booked it, and with the data known after it."""
    total = sums([usage_total(october)])
    assert all(total)
    for by in combinations((*BY, "node", "gpu"), 2):
        assert sums(usage_rows(october, by))[:4] == total[:4], by
    close_period("2026-10")
    pinned = replace(october, revisions=("2026-10-r1",))
    measured = replace(october, amounts=Amounts.MEASURED)
    booked = sums(usage_rows(october, ()))
    for by in combinations(BY, 2):
        assert sums(usage_rows(pinned, by)) == booked, by
        assert sums(usage_rows(measured, by))[:4] == total[:4], by


@pytest.mark.parametrize("state", ["open", "closed", "pinned"])
def test_what_is_excluded_and_what_is_left_come_to_the_whole(
    october: Selection, state: str
) -> None:
    if state != "open":
        close_period("2026-10")
    if state == "pinned":
        october = replace(october, revisions=("2026-10-r1",))
    whole = usage_rows(october, ("team", "tier"))
    for name in ("team", "namespace", "model", "lifecycle", "tier", "cluster"):
        values = {row.key[name] for row in usage_rows(october, (name,))}
        for value in values:
            only = replace(october, filters={name: (value,)})
            others = replace(october, excludes={name: (value,)})
            parts = [usage_rows(one, ("team", "tier")) for one in (only, others)]
            kept = {row.key[name] for row in usage_rows(others, (name,))}
            assert kept == values - {value}
            assert sums([*parts[0], *parts[1]]) == pytest.approx(
                sums(whole), abs=Decimal("0.000002")
            ), (name, value)


def test_a_node_is_excluded(october: Selection) -> None:
    rows = usage_rows(october, ("node",))
    left = replace(october, excludes={"node": ("node-of-GPU-1", "node-of-GPU-2")})
    [row] = usage_rows(left, ("node",))
    assert row.key == {"node": "node-of-GPU-0"}
    assert row.allocated_ms == rows[0].allocated_ms


def test_a_named_close_says_the_same_whatever_became_of_it(
    october: Selection, books: Books
) -> None:
    close_period("2026-10")
    pinned = replace(october, revisions=("2026-10-r1",))
    was = {by: usage_rows(pinned, by) for by in combinations(BY, 2)}
    now = usage_rows(october, ("team",))
    books.hours(
        books.gpu("GPU-late"), START, START + HOUR, books.pod("late", space="b")
    )
    books.configure(SET_UP.replace("1.234567", "3"))
    books.settle()
    anna, bert = person("anna"), person("bert")
    reopen_period("2026-10", reason="a price was wrong", by=anna, confirmed_by=bert)
    close_period("2026-10")
    assert usage_rows(october, ("team",)) != now
    assert {by: usage_rows(pinned, by) for by in was} == was
    again = usage_rows(replace(october, revisions=("2026-10-r2",)), ("team",))
    assert sums(again) == sums(usage_rows(october, ("team",)))
    assert sums(again) != sums(was["team", "cluster"])


def test_a_lead_gets_the_own_part_of_a_close(october: Selection) -> None:
    close_period("2026-10")
    team = Team.objects.get(slug="a")
    scope = Scope(frozenset({team.pk}), frozenset({team.pk}))
    own = replace(october, scope=scope, revisions=("2026-10-r1",))
    rows = usage_rows(own, ("team", "namespace"))
    assert [row.key for row in rows] == [{"team": "a", "namespace": "a"}]
    assert sums(rows) == sums(
        usage_rows(replace(own, revisions=()), ("team", "namespace"))
    )


def test_what_a_close_does_not_have_is_refused(october: Selection) -> None:
    close_period("2026-10")
    pinned = replace(october, revisions=("2026-10-r1",))
    longer = Interval(OCTOBER.start_ms, OCTOBER.end_ms + 3_600_000)
    for one, by, words in (
        (pinned, ("node",), "a close has no node"),
        (pinned, ("hour",), "a close has no hour"),
        (replace(pinned, excludes={"gpu": ("GPU-1",)}), ("team",), "has no gpu"),
        (replace(pinned, revisions=("2026-10-r7",)), ("team",), "is not a close"),
        (replace(pinned, period=None), ("team",), "every day of the range"),
        (replace(pinned, period=longer), ("team",), "every day of the range"),
    ):
        with pytest.raises(SelectionError) as refused:
            usage_rows(one, by)
        assert words in str(refused.value).lower()

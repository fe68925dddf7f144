"""The tables of docs/quotas.md, line by line, through the functions that pages and plans use."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from accounting.kit.serializers.declared import serializer_of
from accounting.metering.rules.inventory.scheduler_queues import (
    QueueKey,
    QueueValue,
    queue_facts,
)
from scheduler_view.changes.rules.quota_file import (
    QuotaFileError,
    differing,
    read_quota_file,
)
from scheduler_view.clusters.rules.drift_state import DriftState
from scheduler_view.clusters.rules.quantity import QuantityError, whole_gpus
from scheduler_view.clusters.rules.quota_key import KeyRefused, quota_key
from scheduler_view.quotas.reads.quotas import QuotaRow
from scheduler_view.quotas.rules.headroom import limited_by, room
from scheduler_view.quotas.rules.limit_range import predict
from scheduler_view.quotas.rules.limits.lending import amount, lending
from scheduler_view.quotas.rules.limits.queue_node import QueueName, QueueNode
from scheduler_view.quotas.rules.split import SplitRule, divide
from scheduler_view.quotas.rules.tiers import TierSpec, next_class, tier_faults
from scheduler_view.waits.rules.wording import CAUSE_TEXTS
from tests.unit.quotas.examples import quota

PAGE = Path(__file__).parents[3] / "docs" / "quotas.md"
RESOURCE = "nvidia.com/gpu"
GPU = f"requests.{RESOURCE}"


def part(name: str) -> str:
    """What stands between the marks of a part."""
    found = re.search(
        rf"<!-- {name} -->\n(.*?)<!-- end {name} -->", PAGE.read_text(), re.DOTALL
    )
    assert found, f"docs/quotas.md has no part {name}"
    return found.group(1)


def rows(name: str) -> list[tuple[str, ...]]:
    """The lines of a table below its head, without marks of code."""
    lines = [line for line in part(name).splitlines() if line.startswith("|")]
    found = [
        tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
        for line in lines[2:]
    ]
    assert len(found) > 1
    return found


@pytest.mark.parametrize(("written", "becomes"), rows("keys"))
def test_keys(written: str, becomes: str) -> None:
    if becomes == "refused":
        with pytest.raises(KeyRefused):
            quota_key(written)
    else:
        assert quota_key(written).key == becomes


def test_a_key_that_the_set_up_names_is_accepted() -> None:
    added = {"example_com_half": "example.com/half"}
    assert quota_key("example.com/half", added).key == "requests.example.com/half"


@pytest.mark.parametrize(("typed", "number"), rows("numbers"))
def test_numbers(typed: str, number: str) -> None:
    if number == "refused":
        with pytest.raises(QuantityError):
            whole_gpus(typed)
    else:
        assert whole_gpus(typed) == int(number)


@pytest.mark.parametrize("row", rows("split"))
def test_split(row: tuple[str, ...]) -> None:
    gpus, rule, given, *parts = row
    named = {name: int(n) for name, n in (one.split("=") for one in given.split())}
    found, _ = divide(int(gpus), list("abc"), SplitRule(rule), named)
    wanted = zip("abc", parts, strict=True)
    assert found == {name: int(n) for name, n in wanted if n != "none"}
    assert sum(found.values()) == int(gpus)


@pytest.mark.parametrize("row", rows("lent"))
def test_lent(row: tuple[str, ...]) -> None:
    quotas, used, borrowed, lent = (cell.split(", ") for cell in row)
    nodes = [
        QueueNode(
            QueueName("ClusterQueue", "", str(number)),
            QueueName("Cohort", "", "all"),
            "a100",
            RESOURCE,
            quota=Fraction(quota),
            used=Fraction(units),
        )
        for number, (quota, units) in enumerate(zip(quotas, used, strict=True))
    ]
    found = lending(nodes)
    of_nodes = [found[node.name, "a100", RESOURCE] for node in nodes]
    assert [amount(one.borrowed) for one in of_nodes] == borrowed
    assert [one.lent for one in of_nodes] == lent


@pytest.mark.parametrize("row", rows("room"))
def test_room(row: tuple[str, ...]) -> None:
    hard, used, scoped_hard, scoped_used, critical, other = row
    general = limited_by(quota({GPU: hard}, used={GPU: used}))
    scoped = limited_by(
        quota(
            {GPU: scoped_hard}, used={GPU: scoped_used}, name="c", classes=("critical",)
        )
    )
    assert room([general, scoped], RESOURCE, "critical") == int(critical)
    assert room([general, scoped], RESOURCE, "normal") == int(other)


@pytest.mark.parametrize("row", rows("ranges"))
def test_ranges(row: tuple[str, ...]) -> None:
    kind, most, default, then = row
    item: dict[str, object] = {"type": kind, "max": {RESOURCE: most}}
    if default:
        item["default"] = {RESOURCE: default}
    found = predict([item], RESOURCE)
    said = "refused" if found.refused else f"gets {found.gets}"
    assert said == then


@pytest.mark.parametrize("row", rows("tiers"))
def test_tiers(row: tuple[str, ...]) -> None:
    name, present, _, wanted, named = row
    taken = {present} if present else set()
    assert next_class(TierSpec(name, int(wanted)), taken, ()) == named


@pytest.mark.parametrize(("refused", "why"), rows("tier names"))
def test_refused_tiers(refused: str, why: str) -> None:
    what, _, text = refused.replace("`", "").partition(" ")
    spec = TierSpec(text, 10) if what == "name" else TierSpec("batch", int(text))
    faults = tier_faults(spec)
    assert faults
    needle = "system-" if what == "name" else "1,000,000,000"
    assert needle in why
    assert needle in " ".join(faults)


@pytest.mark.parametrize("row", rows("quota file"))
def test_the_lines_of_a_quota_file(row: tuple[str, ...]) -> None:
    present, team, resource, tier, gpus, edit = row
    text = f"team,resource,tier,gpus\n{team},{resource},{tier},{gpus}\n"
    if edit == "refused":
        with pytest.raises(QuotaFileError, match="line 2: '-1' is not a whole number"):
            read_quota_file(text, ["vision"])
        return
    now = {("vision", resource, tier): int(present)} if present else {}
    found = differing(read_quota_file(text, ["vision"]), now)
    assert [one.gpus for one in found] == (
        [] if not edit else [None if edit == "none" else int(edit)]
    )


def test_every_state_of_drift_is_told() -> None:
    assert {row[0] for row in rows("drift")} == {state.value for state in DriftState}


@pytest.mark.parametrize("row", rows("queues"))
def test_queues(row: tuple[str, ...]) -> None:
    values = dict(zip(("a_quota", "a_used", "b_quota", "b_used"), row, strict=False))
    found = {}
    for name, value in values.items():
        flavor, field = name.split("_")
        found[QueueKey("kueue", "q", RESOURCE, field, flavor)] = QueueValue(
            1, float(value)
        )
    for flavor in "ab":
        key = QueueKey("kueue", "q", RESOURCE, "borrowing_limit", flavor)
        found[key] = QueueValue(1, float(row[4]))
    [facts] = queue_facts(found)
    shown = (facts.quota, facts.used, facts.borrowed, facts.borrowing_limit)
    assert tuple(map(str, shown)) == row[5:]


def test_every_reason_to_wait_is_told() -> None:
    shown = {cause.value: text for cause, text in CAUSE_TEXTS.items()}
    assert {row[0]: row[1] for row in rows("waits")} == shown


def test_fields() -> None:
    row = QuotaRow(
        cluster="c",
        team="t",
        team_name="T",
        resource=RESOURCE,
        tier="",
        gpus=4,
        rule="evenly",
        split={},
        in_use=0,
        peak=0,
        version=1,
    )
    found = serializer_of(QuotaRow).one(row)
    assert part("fields").strip().strip("`").split() == list(found)
    assert [found[name] for name in ("used", "room", "borrowed", "queued")] == [
        None
    ] * 4

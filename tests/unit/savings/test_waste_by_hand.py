"""Waste by hand: one scripted fleet for each rule, with GPU-ms and money worked out in comments.

Covered: S20, S23, S25, S27, S28, S29 and their order. Not here: reading facts, storing findings
(`tests/integration/savings`), and rules that are not measured (docs/scheduling.md).
"""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from accounting.prices.rules.charge import charge_of
from scheduler_view.savings.rules.duration import limit_of
from scheduler_view.savings.rules.evidence_wording import evidence_text
from scheduler_view.savings.rules.find import find
from scheduler_view.savings.rules.finding import Finding, WasteRule
from scheduler_view.savings.rules.fragmentation import (
    Beside,
    FreeWindows,
    PodClass,
    fragmented,
    popular,
    unusable_ms,
)
from scheduler_view.savings.rules.gangs import Gang, GangMember, least_nodes
from tests.unit.savings.fleets import DAY, HOUR, RATE, at, hold

Found = list[tuple[str, int, Decimal]]


def shown(findings: list[Finding]) -> Found:
    """Rule, GPU-ms, money."""
    return [(one.rule.value, one.gpu_ms, charge_of(one.raw, 6)) for one in findings]


def test_a_gang_that_waits_for_members_wastes_the_time_of_the_bound_ones() -> None:
    # 8 pods of 1 GPU. Six are bound at 10:00, two at 10:25, all busy until 11:00.
    # 6 x 25 min = 6 x 1,500,000 = 9,000,000 GPU-ms, 2.5 GPU-hours x 2.50 = 6.25.
    holds = [
        hold("b" * 12, start_ms=at(10), pod=n)
        if n < 6
        else hold("b" * 7, start_ms=at(10, 25), pod=n)
        for n in range(8)
    ]
    members = tuple(
        GangMember(one.pod, at(10), at(11), one.bound_ms, succeeded=True)
        for one in holds
    )
    found = find(holds, Gang(members), at(12))
    assert {one.rule for one in found} == {WasteRule.GANG}
    assert sum(one.gpu_ms for one in found) == 9_000_000
    assert charge_of(sum((one.raw for one in found), Fraction(0)), 2) == Decimal("6.25")
    assert {(one.start_ms, one.end_ms) for one in found} == {(at(10), at(10, 25))}
    assert found[0].evidence == {"bound": 6, "size": 8}


def test_a_gang_is_incomplete_again_when_a_member_fails() -> None:
    # Two members, busy. One fails at 10:30; another pod replaces it at 10:40.
    # The one that stayed wastes 10 min = 600,000 ms x 2.50 / 3,600,000 = 0.416667.
    stays, failed = (
        hold("b" * 12, start_ms=at(10)),
        hold("b" * 6, start_ms=at(10), pod=2),
    )
    later = hold("b" * 4, start_ms=at(10, 40), pod=3)
    members = (
        GangMember(1, at(10), at(11), at(10), succeeded=True),
        GangMember(2, at(10), at(10, 30), at(10)),
        GangMember(3, at(10, 31), at(11), at(10, 40), succeeded=True),
    )
    found = find([stays, failed, later], Gang(members), at(12))
    assert shown(found) == [("gang_incomplete", 600_000, Decimal("0.416667"))]


def test_members_that_succeed_early_are_not_missing() -> None:
    holds = [hold("b" * 12, pod=1), hold("b" * 3, pod=2)]
    members = tuple(
        GangMember(one.pod, 0, one.ended_ms, 0, succeeded=True) for one in holds
    )
    assert find(holds, Gang(members), at(2)) == []


def test_a_hold_that_was_never_busy_is_one_finding() -> None:
    # 1 hour idle on 2 GPUs: 2 x 3,600,000 = 7,200,000 ms = 2 GPU-hours x 2.50 = 5.
    found = find([hold("i" * 12, "i" * 12)], None, at(2))
    assert shown(found) == [("never_busy", 7_200_000, Decimal("5.000000"))]
    assert found[0].evidence == {"idle_ms": 3_600_000}


def test_idle_time_is_never_more_than_the_hold() -> None:
    # Held from 10:04 to 10:40, in 8 windows: 36 minutes, and not 40.
    held = replace(hold("i" * 8, start_ms=at(10)), bound_ms=at(10, 4))
    [found] = find([held], None, at(12))
    assert (found.start_ms, found.end_ms) == (at(10, 4), at(10, 40))
    assert evidence_text(found.evidence) == "36 min idle"
    # Busy in the first window, then idle for 27 minutes in 6 windows: less than 30.
    ended = replace(
        hold("bi" + "i" * 5, start_ms=at(10), kind="Deployment"),
        ended_ms=at(10, 32),
    )
    assert find([ended], None, at(12)) == []


def test_idle_time_that_another_finding_has_is_told() -> None:
    """40 minutes of one GPU were said of the 10 that its hold's finding has left."""
    found = find([hold("iiiiiibb", "iiiiiiii", is_open=True)], None, at(1))
    assert [evidence_text(one.evidence) for one in found] == [
        "30 min idle",
        "1 of 2 GPUs, 40 min idle, 30 min of it in other findings",
    ]


def test_findings_of_older_versions_tell_their_windows() -> None:
    assert evidence_text({"idle_windows": 8}) == "8 idle windows of five minutes"


@pytest.mark.parametrize(
    ("windows", "why"),
    [
        ("iiiii", "held for 25 minutes"),
        ("iiiiuuuuuuuu", "observed for a third"),
        ("iiiiimbiiiii", "busy once"),
    ],
)
def test_other_holds_are_not_called_never_busy(windows: str, why: str) -> None:
    rules = {one.rule for one in find([hold(windows)], None, at(2))}
    assert WasteRule.NEVER_BUSY not in rules, why


def test_a_tail_is_from_the_last_busy_window_to_the_end() -> None:
    # Busy 30 min, then idle 20 min to the end: 1,200,000 ms x 2.50 / 3.6e6 = 0.833333.
    found = find([hold("bbbbbbiiii")], None, at(1))
    assert shown(found) == [("tail", 1_200_000, Decimal("0.833333"))]
    assert (found[0].start_ms, found[0].end_ms) == (at(0, 30), at(0, 50))


def test_a_tail_needs_fifteen_minutes_and_an_end_and_services_have_none() -> None:
    assert find([hold("bbbbbbii")], None, at(1)) == []
    assert find([hold("bbbbbbiiii", is_open=True)], None, at(1)) == []
    assert find([hold("bbbbbbiiii", kind="Deployment")], None, at(1)) == []
    assert find([hold("bbbbbbiiii", kind="RayCluster")], None, at(1)) == []


def test_an_idle_holder_counts_idle_windows_only() -> None:
    # b i i i u i i i b: 6 idle windows = 30 min, the unknown one is not counted:
    # 1,800,000 ms x 2.50 / 3,600,000 = 1.25.
    found = find([hold("biiiuiiib")], None, at(1))
    assert shown(found) == [("idle", 1_800_000, Decimal("1.250000"))]
    assert found[0].evidence == {"idle_ms": 1_800_000}
    assert (found[0].start_ms, found[0].end_ms) == (at(0, 5), at(0, 40))
    assert find([hold("biiiuiib")], None, at(1)) == []  # 25 min


def test_more_than_six_unknown_windows_end_an_episode() -> None:
    # Six unknown windows continue it: 3 + 3 idle ones are one episode. Seven end it.
    assert len(find([hold("biii" + "u" * 6 + "iiib")], None, at(2))) == 1
    assert find([hold("biii" + "u" * 7 + "iiib")], None, at(2)) == []
    # windows without facts are as unknown ones
    assert find([hold("biii" + "." * 7 + "iiib")], None, at(2)) == []


def test_a_window_between_the_thresholds_is_as_the_one_before() -> None:
    # 7 % after idle is idle, its 279,000 ms count: 5 x 300,000 + 279,000 = 1,779,000.
    found = find([hold("biiimiib")], None, at(1))
    assert shown(found) == [("idle", 1_779_000, Decimal("1.235417"))]
    # 7 % after busy is busy: 5 idle windows are too few, and its 279,000 ms are idle in use
    found = find([hold("bmiiiiib")], None, at(1))
    assert shown(found) == [("idle_in_use", 279_000, Decimal("0.193750"))]


def test_only_the_idle_time_of_a_window_counts() -> None:
    # 4 % busy: 288,000 idle each; 60 % observed: 180,000 each. 3 x 288,000 + 3 x 180,000.
    found = find([hold("bggghhhb")], None, at(1))
    assert shown(found) == [("idle", 1_404_000, Decimal("0.975000"))]


def test_idle_gpus_of_a_busy_hold_are_counted_apart() -> None:
    # 2 of 8 GPUs idle for 1 hour: 2 x 3,600,000 ms = 2 GPU-hours x 2.50 = 5.
    gpus = ["i" * 12, "i" * 12, *["b" * 12] * 6]
    found = find([hold(*gpus)], None, at(1))
    assert shown(found) == [("idle_gpus", 7_200_000, Decimal("5.000000"))]
    assert found[0].evidence == {"idle_ms": 3_600_000, "idle_gpus": 2, "held_gpus": 8}


def test_an_idle_gpu_counts_only_outside_of_the_episode_of_its_hold() -> None:
    # Both idle for 30 min, then one is busy for 10 min. The other one is idle throughout:
    # hold 2 x 1,800,000; single GPU 600,000. The hold is open: no tail.
    found = find([hold("iiiiiibb", "iiiiiiii", is_open=True)], None, at(1))
    assert [(one.rule.value, one.gpu_ms) for one in found] == [
        ("idle", 3_600_000),
        ("idle_gpus", 600_000),
    ]


def test_time_after_the_limit_is_waste_even_if_it_is_busy() -> None:
    # Limit 1 h, held for 1.5 h, busy: 1,800,000 ms x 2.50 / 3,600,000 = 1.25.
    found = find([hold("b" * 18, limit_ms=HOUR)], None, at(3))
    assert shown(found) == [("too_long", 1_800_000, Decimal("1.250000"))]
    assert found[0].start_ms == at(1)


def test_a_limit_in_the_middle_of_a_window_divides_it_by_time() -> None:
    # Limit 7 min of 10: 3 min = 180,000 ms x 2.50 / 3,600,000 = 0.125.
    found = find([hold("bb", limit_ms=7 * 60_000)], None, at(3))
    assert shown(found) == [("too_long", 180_000, Decimal("0.125000"))]


@pytest.mark.parametrize(
    ("text", "limit"),
    [("12h", 12 * HOUR), ("1d12h", 36 * HOUR), ("90m", 5_400_000), ("30s", 30_000)]
    + [(text, None) for text in ("", "soon", "12", "0h", "1h ", "h")],
)
def test_a_limit_is_a_duration(text: str, limit: int | None) -> None:
    assert limit_of(text) == limit


def test_a_gang_on_more_nodes_than_needed_puts_its_time_at_risk() -> None:
    # 4 pods of 2 GPUs on nodes a, b, c; before, d had 8 free: 1 node was enough.
    # Each holds 1 h busy on 2 GPUs: 4 x 7,200,000 = 28,800,000 GPU-ms.
    holds = [hold("b" * 12, "b" * 12, pod=n) for n in range(4)]
    members = tuple(
        GangMember(n, 0, HOUR, 0, succeeded=True, node="abcc"[n], units=2)
        for n in range(4)
    )
    free = {"a": 2, "b": 2, "c": 4, "d": 8}
    found = find(holds, Gang(members, free=free), at(2))
    assert sum(one.gpu_ms for one in found) == 28_800_000
    assert found[0].rule is WasteRule.SPREAD
    assert found[0].evidence == {"nodes": 3, "fewest_nodes": 1}
    assert find(holds, Gang(members, free={"a": 2, "b": 2, "c": 4}), at(2)) == []
    assert find(holds, Gang(members), at(2)) == []  # free units are not known


def test_whole_pods_are_placed_where_most_is_free() -> None:
    assert least_nodes([4, 4], {"a": 6, "b": 6}) == 2  # two pods of 4 are not in 6
    assert least_nodes([4, 2], {"a": 6, "b": 6}) == 1
    assert least_nodes([8], {"a": 6, "b": 6}) is None


def test_a_millisecond_goes_to_the_first_rule_that_claims_it() -> None:
    # A gang of 2: one member idle from 0:00 to 1:00, the other bound at 0:30 and busy.
    # 30 min are incomplete (S20); the rest of the idle hold is never busy (S29), although its
    # limit of 40 min is exceeded (S23): 1,800,000 each.
    first = hold("i" * 12, pod=1, limit_ms=40 * 60_000)
    second = hold("b" * 6, start_ms=at(0, 30), pod=2)
    members = (
        GangMember(1, 0, HOUR, 0, succeeded=True),
        GangMember(2, 0, HOUR, at(0, 30), succeeded=True),
    )
    found = find([first, second], Gang(members), at(2))
    assert [(one.rule.value, one.gpu_ms) for one in found] == [
        ("gang_incomplete", 1_800_000),
        ("never_busy", 1_800_000),
    ]


def test_time_without_a_price_is_not_free_of_charge() -> None:
    [found] = find([hold("i" * 12, rate=None)], None, at(2))
    [part] = found.slices.values()
    assert (part.gpu_ms, part.unpriced_ms) == (3_600_000, 3_600_000)
    assert not part.raw


CLASSES = [
    (PodClass(1), 50),
    (PodClass(1, Fraction(1, 2)), 20),
    (PodClass(2), 10),
    (PodClass(0), 20),
]


def test_free_parts_that_usual_pods_cannot_use_are_fragmented() -> None:
    # Free 1000 and 400 thousandths. 1 GPU (50 %): 400 are too small. Half (20 %): 400. Two
    # GPUs (10 %): do not fit, 1400. None (20 %): 1400.
    # 0.5 x 400 + 0.2 x 400 + 0.1 x 1400 + 0.2 x 1400 = 700 thousandths of a window.
    found = unusable_ms((300_000, 120_000), CLASSES)
    assert found == Fraction(700, 1000) * 300_000


def test_a_node_is_a_finding_with_the_fragmented_time_of_its_day() -> None:
    # 12 such windows: 12 x 210,000 = 2,520,000 ms = 0.7 GPU-hours x 2.50 = 1.75.
    windows = [FreeWindows((300_000, 120_000), 12, RATE, "USD")]
    found = fragmented(5, DAY, (0, 24 * HOUR), windows, CLASSES)
    assert found is not None
    assert shown([found]) == [("fragmented", 2_520_000, Decimal("1.750000"))]
    assert found.evidence == {
        "free_ms": 12 * 420_000,
        "classes": 4,
        "cpu_known_ms": 0,
        "pods": 100,
        "cpu_known_pods": 0,
    }


def test_without_enough_cpu_or_the_model_a_class_can_use_nothing() -> None:
    # As above, but the pods with half a GPU request 8 CPUs. 4 are free: they cannot use 1400.
    # 0.5 x 400 + 0.2 x 1400 + 0.1 x 1400 + 0.2 x 1400 = 900. With 8 it is 700 again.
    parts = 300_000, 120_000
    classes = [
        (PodClass(1, cpu_milli=2_000), 50),
        (PodClass(1, Fraction(1, 2), 8_000), 20),
        (PodClass(2, cpu_milli=4_000), 10),
        (PodClass(0, cpu_milli=1_000), 20),
    ]
    assert unusable_ms(parts, classes, Beside(4_000)) == 900 * 300
    assert unusable_ms(parts, classes, Beside(8_000)) == 700 * 300
    assert unusable_ms(parts, classes) == 700 * 300, "not observed: only GPUs count"
    # Those with one GPU accept two models: on a third one they lose 1400, 0.5 x 1000 more.
    classes[0] = PodClass(1, cpu_milli=2_000, models=("A100", "H100")), 50
    assert unusable_ms(parts, classes, Beside(8_000, "H100")) == 700 * 300
    assert unusable_ms(parts, classes, Beside(8_000, "L4")) == 1_200 * 300
    assert unusable_ms(parts, []) == 0


def test_the_evidence_says_how_much_is_known_of_cpu() -> None:
    windows = [
        FreeWindows((300_000,), 9, RATE, "USD", Beside(1_000)),
        FreeWindows((300_000,), 3, RATE, "USD"),
    ]
    classes = [(PodClass(1, cpu_milli=2_000), 4), (PodClass(2), 1)]
    found = fragmented(5, DAY, (0, 24 * HOUR), windows, classes)
    # 9 x 300,000 nobody can use, 3 x 300,000 x 1/5
    assert found is not None
    assert found.slices[next(iter(found.slices))].gpu_ms == 2_880_000
    assert evidence_text(found.evidence) == (
        "of 1.0 free GPU-hours; CPU and models count where they were observed: for 75% of "
        "this time and 80% of the usual pods"
    )
    old = {"free_ms": 3_600_000, "classes": 1}
    nothing = "of 1.0 free GPU-hours; CPU and models were not observed and do not count"
    assert evidence_text(old) == nothing
    all_known = old | {"cpu_known_ms": 3_600_000, "pods": 5, "cpu_known_pods": 5}
    assert evidence_text(all_known) == "of 1.0 free GPU-hours"


def test_popular_classes_cover_95_percent_of_pods() -> None:
    counts = [(PodClass(n), count) for n, count in ((1, 90), (2, 5), (4, 4), (8, 1))]
    assert [one.gpus for one, _ in popular(counts)] == [1, 2]

"""What a change does, in the words of the review step."""

from dataclasses import replace
from decimal import Decimal

from scheduler_view.changes.rules.effects import (
    ClassFacts,
    QuotaFacts,
    ResourceFacts,
    class_effects,
    quota_effects,
    resource_effect,
)
from scheduler_view.clusters.rules.wording import listed, units, whose
from scheduler_view.quotas.rules.spend import UnitRates

SEARCH = QuotaFacts(
    team="search",
    name="Search",
    resource="nvidia.com/gpu",
    tier="",
    before=56,
    after=48,
    in_use=52,
    peak=56,
    days_over=18,
    idle_percent=46,
    rates=UnitRates(Decimal("2.10"), Decimal("2.10")),
    currency="EUR",
)


def said(facts: QuotaFacts) -> list[str]:
    return [effect.text for effect in quota_effects(facts)]


def test_a_lowered_quota_says_what_the_picture_says() -> None:
    assert said(SEARCH) == [
        (
            "Search holds 52 GPUs now and the new limit is 48. Running pods are not stopped. "
            "New pods are refused until Search holds fewer than 48."
        ),
        (
            "In the last 30 days Search held more than 48 on 18 days (at most 56); 46% of "
            "what it held was idle."
        ),
        (
            "Search's highest possible charge in a 30-day month falls from €84,672.00 to "
            "€72,576.00 (56 → 48 at €2.10 an hour)."
        ),
    ]


def test_a_sentence_names_the_team_and_keeps_its_slug() -> None:
    facts = replace(SEARCH, team="search-2", name="Search & Ads")
    effects = quota_effects(facts)
    assert {effect.team for effect in effects} == {"search-2"}
    assert not any("search-2" in effect.text for effect in effects)
    assert all("Search & Ads" in effect.text for effect in effects)


def test_other_directions() -> None:
    parts = {"search-a": 40, "search-b": 20}
    raised = said(
        replace(SEARCH, after=60, days_over=0, split="evenly over 2", parts=parts)
    )
    assert raised[0] == (
        "Search's quota is raised from 56 to 60 GPUs. In use now: 52, "
        "so at most 8 are free."
    )
    assert "held at most 56" in raised[1]
    assert "rises from" in raised[2]
    assert raised[3] == (
        "Search's quota is divided evenly over 2: 40 to search-a, 20 to search-b."
    )
    one = replace(SEARCH, split="all to search-a", parts={"search-a": 48})
    assert said(one)[3] == "All 48 go to namespace search-a."
    assert "not limited" in said(replace(SEARCH, after=None))[0]
    assert "Every new pod is refused" in said(replace(SEARCH, after=0))[0]
    assert "cannot be computed" in said(replace(SEARCH, rates=UnitRates()))[2]
    assert "becomes €" in said(replace(SEARCH, before=None))[2]
    assert "stays €" in said(replace(SEARCH, before=48))[2]


def test_an_undo_that_lowers_a_quota_says_lowered_and_never_more() -> None:
    back = said(replace(SEARCH, before=30, after=24, in_use=0, peak=None))
    assert back[0] == (
        "Search's quota is lowered from 30 to 24 GPUs. In use now: 0, "
        "so at most 24 are free."
    )
    full = said(
        replace(SEARCH, before=None, after=1, in_use=0, peak=None, tier="batch")
    )
    assert full[0] == (
        "Search gets a quota of 1 GPU in tier batch; it had no quota. In use now: 0, "
        "so at most 1 is free."
    )
    same = said(replace(SEARCH, before=60, after=60, peak=None))
    assert same[0] == (
        "Search's quota stays 60 GPUs. In use now: 52, so at most 8 are free."
    )


def test_a_model_without_a_price_is_left_out_and_named() -> None:
    rates = UnitRates(Decimal("0.30"), Decimal("3.20"), (("NVIDIA-RTX-A6000", 4),))
    assert said(replace(SEARCH, before=24, after=30, in_use=0, rates=rates))[2] == (
        "Search's highest possible charge in a 30-day month rises from €55,296.00 to "
        "€69,120.00 (24 → 30 at €3.20 an hour, the highest rate of this resource; the "
        "lowest is €0.30). NVIDIA-RTX-A6000 (4 GPUs) has no price and is left out."
    )
    bare = UnitRates(unpriced=(("A", 1), ("B", 2), ("C", 3), ("D", 4)))
    assert said(replace(SEARCH, rates=bare))[2] == (
        "Search's highest possible charge in a 30-day month cannot be computed: no model of this "
        "resource has a price. A (1 GPU), B (2 GPUs), C (3 GPUs) and 1 more model "
        "have no price and are left out."
    )


def test_committed_against_capacity() -> None:
    over = ResourceFacts("nvidia.com/gpu", 392, 384, 320, 271)
    assert resource_effect(over).text == (
        "Committed quota becomes 384 of 320 GPUs (120%). Over-commitment is allowed; the "
        "peak in use was 271."
    )
    mig = ResourceFacts("nvidia.com/mig-1g.10gb", 7, 7, None, None)
    assert resource_effect(mig).text.startswith(
        "Committed quota stays 7 MIG 1g.10gb; no node"
    )


def test_pods_keep_their_number() -> None:
    facts = ClassFacts(
        "batch", "batch-v1", "batch-v2", 1000, 2000, preempts=True, pods=20
    )
    texts = [effect.text for effect in class_effects(facts)]
    assert texts[0].startswith("20 running GPU pods keep priority 1000")
    assert "batch-v2 get 2000" in texts[0]
    assert "can preempt" in texts[1]
    never = class_effects(replace(facts, preempts=False, pods=0))
    assert "do not preempt others; they can still be preempted" in never[0].text


def test_names_of_units_teams_and_lists() -> None:
    assert units("nvidia.com/gpu") == "GPUs"
    assert units("gpu.nvidia.com.deviceclass.resource.k8s.io/devices") == (
        "devices of gpu.nvidia.com"
    )
    assert units("nvidia.com/gpu.shared") == "gpu.shared units"
    assert (whose("Vision"), whose("Language models")) == (
        "Vision's",
        "Language models'",
    )
    assert (listed(["a"]), listed(["a", "b", "c"])) == ("a", "a, b and c")

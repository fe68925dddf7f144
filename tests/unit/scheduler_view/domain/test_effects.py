"""What a change does, in words: product.md 4.7 and the picture of the review step."""

from dataclasses import replace
from decimal import Decimal

from scheduler_view.domain.effects import (
    ClassFacts,
    PoolFacts,
    QuotaFacts,
    class_effects,
    highest,
    pool_effect,
    quota_effects,
    units,
)

SEARCH = QuotaFacts(
    team="search",
    name="Search",
    pool="nvidia.com/gpu",
    tier="",
    before=56,
    after=48,
    in_use=52,
    peak=56,
    days_over=18,
    idle_percent=46,
    rate=Decimal("2.10"),
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
            "The most Search can be charged in a 30-day month falls from EUR 84,672.00 to "
            "EUR 72,576.00 (56 → 48 at EUR 2.10 an hour)."
        ),
    ]


def test_a_sentence_names_the_team_and_keeps_its_slug() -> None:
    facts = replace(SEARCH, team="search-2", name="Search & Ads")
    effects = quota_effects(facts)
    assert {effect.team for effect in effects} == {"search-2"}
    assert not any("search-2" in effect.text for effect in effects)
    assert all("Search & Ads" in effect.text for effect in effects)


def test_other_directions() -> None:
    raised = said(replace(SEARCH, after=60, days_over=0, split="evenly over 2"))
    assert "may hold 60: 8 more" in raised[0]
    assert "held at most 56" in raised[1]
    assert "rises from" in raised[2]
    assert raised[3] == "Search's quota is divided: evenly over 2."
    assert "nothing limits" in said(replace(SEARCH, after=None))[0]
    assert "Every new pod is refused" in said(replace(SEARCH, after=0))[0]
    assert "not known" in said(replace(SEARCH, rate=None))[2]
    assert "becomes EUR" in said(replace(SEARCH, before=None))[2]
    assert "stays EUR" in said(replace(SEARCH, before=48))[2]


def test_committed_against_capacity() -> None:
    over = PoolFacts("nvidia.com/gpu", 392, 384, 320, 271)
    assert pool_effect(over).text == (
        "Committed quota becomes 384 of 320 GPUs (120%). Over-commitment is allowed; the "
        "peak in use was 271."
    )
    mig = PoolFacts("nvidia.com/mig-1g.10gb", 7, 7, None, None)
    assert pool_effect(mig).text.startswith(
        "Committed quota stays 7 MIG 1g.10gb; no node"
    )


def test_pods_keep_their_number() -> None:
    facts = ClassFacts(
        "batch", "batch-v1", "batch-v2", 1000, 2000, preempts=True, pods=20
    )
    texts = [effect.text for effect in class_effects(facts)]
    assert texts[0].startswith("20 running GPU pods keep priority 1000")
    assert "batch-v2 get 2000" in texts[0]
    assert "can push out" in texts[1]
    never = class_effects(replace(facts, preempts=False, pods=0))
    assert "do not push others out; they can still be pushed out" in never[0].text


def test_names_of_units_and_the_dearest_rate() -> None:
    assert units("nvidia.com/gpu") == "GPUs"
    assert units("gpu.nvidia.com.deviceclass.resource.k8s.io/devices") == (
        "devices of gpu.nvidia.com"
    )
    assert units("nvidia.com/gpu.shared") == "gpu.shared units"
    assert highest([Decimal(1), Decimal(3)]) == Decimal(3)
    assert highest([Decimal(1), None]) is None
    assert highest([]) is None

"""T28: tiers as versioned PriorityClasses."""

import pytest

from scheduler_view.quotas.rules.tiers import (
    TEMPLATES,
    TierSpec,
    default_faults,
    next_class,
    tier_faults,
)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (TierSpec("system-batch", 1), "reserved for Kubernetes"),
        (TierSpec("batch", 2_000_000_000), "between"),
        (TierSpec("batch", -2_147_483_649), "between"),
        (TierSpec("Batch", 1), "not a valid tier name"),
        (TierSpec("", 1), "not a valid tier name"),
        (TierSpec("b" * 60, 1), "not a valid tier name"),
        (TierSpec("batch", 1, description="x" * 501), "longer"),
    ],
)
def test_what_kubernetes_refuses_is_refused_before(spec: TierSpec, why: str) -> None:
    assert why in "; ".join(tier_faults(spec))


def test_the_largest_value_and_templates_are_fine() -> None:
    assert not tier_faults(TierSpec("batch", 1_000_000_000))
    for template in TEMPLATES:
        values = [tier.value for tier in template.tiers]
        assert values == sorted(values, reverse=True)
        assert not default_faults(template.tiers, ())
        for tier in template.tiers:
            assert not tier_faults(tier)


def test_a_second_default_is_refused() -> None:
    normal, batch = TierSpec("a", 1, is_default=True), TierSpec("b", 2, is_default=True)
    assert "a and b would both be the default" in default_faults([normal, batch], ())[0]
    assert "unset it on theirs" in default_faults([normal], ["theirs"])[0]
    assert not default_faults([normal], ())
    assert not default_faults([TierSpec("c", 1)], ["theirs"])


def test_a_changed_value_is_a_new_version_and_undo_finds_the_old_one() -> None:
    batch = TierSpec("batch", 2000)
    assert next_class(batch, []) == "batch-v1"
    assert next_class(batch, ["batch-v1", "batch-v10", "other-v20"]) == "batch-v11"
    assert next_class(batch, ["batch-v1", "batch-v2"], same=["batch-v1"]) == "batch-v1"

"""A demo that is started again: prices and rules that people changed are kept."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounting.access.models.teams import Binding, Team
from accounting.kit.audit import SYSTEM
from accounting.organization.actions.bindings import add_binding
from accounting.prices.actions.prices import set_unit_price
from accounting.prices.models.price import UnitPrice
from portal.demo.bootstrap.setup import set_up
from portal.demo.scenario.story import Story

NOW = datetime(2026, 11, 21, 11, tzinfo=UTC)
REASON = "Tried in the demo."


@pytest.mark.django_db
def test_what_people_changed_is_kept() -> None:
    story = Story.ending_at(int(NOW.timestamp()), seed=7, days=56, gpus=308)
    first = set_up(story, 8001, "secret")
    assert UnitPrice.objects.filter(model="Tesla-T4", kind="rate").count() == 1
    set_unit_price(
        model="Tesla-T4",
        rate_per_gpu_hour=Decimal("0.55"),
        cost_per_gpu_hour=None,
        currency="EUR",
        valid_from=datetime(2026, 10, 19, 22, tzinfo=UTC),
        actor=SYSTEM,
        reason=REASON,
    )
    add_binding(
        kind="namespace",
        label="",
        glob="hackathon",
        team=Team.objects.get(slug="vision"),
        valid_from=NOW,
        actor=SYSTEM,
        reason=REASON,
    )
    prices = set(UnitPrice.objects.values_list("pk", "rate_per_gpu_hour", "valid_to"))
    rules = set(Binding.objects.values_list("pk", "glob"))
    assert set_up(story, 8001, "secret") == first
    found = set(UnitPrice.objects.values_list("pk", "rate_per_gpu_hour", "valid_to"))
    assert found == prices
    assert set(Binding.objects.values_list("pk", "glob")) == rules

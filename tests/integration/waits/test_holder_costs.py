"""What a holder costs per hour: its GPUs at the price of its latest time (scheduling.md S12).

Shown on pages and over REST: `tests/integration/api/test_waits.py`.
"""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounting.access.scope import EVERYTHING, Scope
from accounting.metering.models.pod import PodHold
from scheduler_view.waits.reads.holder_costs import hourly_costs
from tests.story import MODELS, Held, Story

pytestmark = pytest.mark.django_db
RATES = {model: rate for model, _, rate, _ in MODELS}


def open_holds(story: Story) -> list[Held]:
    """Pods that hold GPUs when the story ends."""
    running = set(
        PodHold.objects.filter(ended_ms=None).values_list("pod__uid", flat=True)
    )
    return [held for held in story.held if held.pod.uid in running]


def test_a_holder_costs_its_gpus_at_their_price(story: Story) -> None:
    holds = open_holds(story)
    uids = [held.pod.uid for held in holds]
    costs = hourly_costs(EVERYTHING, story.cluster, uids, story.until)
    expected = {
        held.pod.uid: len(held.gpus) * rate
        for held in holds
        if (rate := RATES[held.model]) is not None
    }
    assert {uid: cost.amount for uid, cost in costs.items()} == expected
    assert {cost.currency for cost in costs.values()} == {"EUR"}
    assert max(expected.values()) > Decimal(3)
    assert len(expected) < len(holds), "a model without a price has no cost"


def test_a_lead_sees_costs_of_own_teams_only(story: Story) -> None:
    uids = [held.pod.uid for held in open_holds(story)]
    vision = story.teams["vision"]
    scope = Scope(team_ids=frozenset({vision.pk}))
    seen = hourly_costs(scope, story.cluster, uids, story.until)
    own = {held.pod.uid for held in story.held if held.team == vision}
    assert seen
    assert set(seen) <= own


def test_without_facts_nothing_is_claimed(story: Story) -> None:
    uids = [held.pod.uid for held in open_holds(story)]
    later = story.until + timedelta(days=1)
    assert hourly_costs(EVERYTHING, story.cluster, uids, later) == {}
    assert hourly_costs(EVERYTHING, story.cluster, ["nobody"], story.until) == {}

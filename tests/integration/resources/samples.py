"""Items of each declared list, and what its verbs take: the contract test asks about these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.contrib.auth import get_user_model

from accounting.access.models.people import Membership, TeamRole
from accounting.budgets.actions.budgets import SetBudget, create_budget
from accounting.kit.audit import SYSTEM
from accounting.kit.resources.resource import Resource
from accounting.kit.serializers.declared import body_of
from accounting.months.actions.contests import (
    AnswerContest,
    answer_contest,
    open_contest,
)
from accounting.months.tasks.running import book_running
from accounting.prices.resource import CONVERSIONS, PRICE_LISTS
from scheduler_view.alerts.actions import ArchiveAlert, archive_alert
from scheduler_view.alerts.models import Alert
from scheduler_view.alerts.rules.catalogue import AlertRule
from scheduler_view.alerts.tasks import look
from scheduler_view.idle.models import IdleHold
from scheduler_view.idle.tasks import find_idle
from scheduler_view.resources import RESOURCES as SCHEDULING
from tests.integration.resources.scheduling_samples import store_scheduling
from tests.story import Story

REASON = "Agreed in the round of November."


@dataclass(frozen=True)
class Sample:
    """One list.

    Attributes:
        make: stores items, at least two; returns the number of one of vision.
        bodies: by verb, what may be sent once for that item.
        may: by verb, a person who may; finance without an entry.
        before: by verb, what to call instead of `make`.
    """

    make: Callable[[Story], int]
    bodies: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    may: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, Callable[[Story], int]] = field(default_factory=dict)

    def ready(self, verb: str, story: Story) -> int:
        """An item that a verb can be done to."""
        return self.before.get(verb, self.make)(story)


def _budgets(story: Story) -> int:
    amount = Decimal(20_000)
    search, vision = (
        SetBudget(team=story.teams[slug], amount=amount, reason=REASON)
        for slug in ("search", "vision")
    )
    create_budget(search, SYSTEM)
    return create_budget(vision, SYSTEM).number


def _contests(story: Story) -> int:
    book_running("2026-11")
    vision, search = story.teams["vision"], story.teams["search"]
    people = get_user_model().objects
    luis, sara = people.get(username="luis"), people.create_user("sara")
    Membership.objects.create(user=sara, team=search, role=TeamRole.LEAD)
    open_contest(search, "2026-11", REASON, sara)
    return open_contest(vision, "2026-11", REASON, luis).pk


def _answered(story: Story) -> int:
    number = _contests(story)
    finance = get_user_model().objects.get(username="fin")
    answer_contest(number, AnswerContest(answer="reason", reason=REASON), finance)
    return number


def _idle(story: Story) -> int:
    find_idle(story.cluster)
    return IdleHold.objects.get(pod__workload__name="notebook-mara").pk


def _alert(story: Story) -> int:
    find_idle(story.cluster)
    look(AlertRule.IDLE)
    return Alert.objects.filter(rule="idle", team=story.teams["vision"])[0].pk


def _archived_alert(story: Story) -> int:
    number = _alert(story)
    finance = get_user_model().objects.get(username="fin")
    archive_alert(number, ArchiveAlert(reason=REASON), finance)
    return number


def made(
    resource: Resource, body: Mapping[str, Any], *others: Mapping[str, Any]
) -> Callable[[Story], int]:
    """What its verb of the list makes of a body, changed by each of `others`."""

    def make(story: Story) -> int:
        del story
        [verb] = [one for one in resource.verbs if not one.name]
        assert verb.takes
        number = 0
        for other in others:
            given = body_of(verb.takes)(data={**body, **other})
            given.is_valid(raise_exception=True)
            number = verb.do(None, verb.takes(**given.validated_data), SYSTEM).number
        return number

    return make


RATE = {
    "from_currency": "GBP",
    "to_currency": "EUR",
    "on": "2026-11-02",
    "rate": "1.15",
    "reason": REASON,
}
LIST = {"kind": "rate", "name": "New", "currency": "EUR", "reason": REASON}
SAMPLES = {
    "clusters": Sample(lambda story: story.cluster.pk),
    "conversion-rates": Sample(
        made(CONVERSIONS, RATE, {"from_currency": "USD"}, {"from_currency": "CHF"}),
        bodies={"": RATE},
    ),
    "price-lists": Sample(
        made(PRICE_LISTS, LIST, {"name": "Contract"}, {"name": "Vendor"}),
        bodies={"": LIST},
        may={"": "ana"},
    ),
    "methods": Sample(lambda story: 0),
    "budgets": Sample(
        _budgets,
        bodies={
            "": {"team": "vision", "amount": "21000", "reason": REASON},
            "end": {"reason": REASON},
        },
    ),
    "contests": Sample(
        _contests,
        bodies={
            "answer": {"answer": "reason", "reason": REASON},
            "accept": {},
            "reopen": {"reason": REASON},
            "withdraw": {},
        },
        may={"accept": "luis", "reopen": "luis", "withdraw": "luis"},
        before={"accept": _answered, "reopen": _answered},
    ),
    **{one.name: Sample(store_scheduling) for one in SCHEDULING},
    "alerts": Sample(
        _alert,
        bodies={"archive": {"reason": REASON}, "restore": {"reason": REASON}},
        before={"restore": _archived_alert},
    ),
    "idle-holders": Sample(
        _idle,
        bodies={
            "ask": {"to": "mara", "text": REASON},
            "ignore": {"until": "2026-11-24", "reason": REASON},
        },
    ),
}

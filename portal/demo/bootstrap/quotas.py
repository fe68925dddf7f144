"""The first quotas and tiers of the demo, created through the product.

One change set, drafted, planned, approved and applied through the product: so the demo's
first quotas have an author, a reason and an undo. Its date is the demo's start, and its reason
names the date since which the simulated cluster has had them.
"""

from datetime import UTC, datetime

from django.contrib.auth import get_user_model
from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from portal.demo.bootstrap.setup import CLUSTER, PEOPLE
from portal.demo.metrics.labels import DEPARTMENT
from portal.demo.scenario.organization import (
    NAMESPACES,
    NEVER_PREEMPTS,
    QUOTAS,
    TIERS,
    scaled_limit,
)
from portal.demo.scenario.story import Story
from scheduler_view.changes.actions import change_sets, due_work
from scheduler_view.changes.models import ChangeSet, ChangeState
from scheduler_view.changes.rules.edit import Draft, Edit, QuotaEdit, TierEdit
from scheduler_view.queues.tasks.look import observe_once
from scheduler_view.quotas.reads.namespaces import namespaces_by_team
from scheduler_view.quotas.rules.split import SplitRule
from scheduler_view.quotas.rules.tiers import TierSpec

REASON = "Adopts the quotas and tiers in use since"  # and the day
UNDER_WAY = (ChangeState.DRAFT, ChangeState.PLANNED, ChangeState.APPROVED)
_WORDS = {
    "interactive": "interactive notebooks",
    "serving": "customer-facing services",
    "training": "jobs that run for hours",
    "scavenger": "nightly work on free GPUs",
}


def is_due() -> bool:
    """True until the first quotas and tiers exist, or a person created others."""
    cluster = Cluster.objects.get(name=CLUSTER)
    if not cluster.kubernetes:
        return False
    first = ChangeSet.objects.filter(cluster=cluster).order_by("pk").first()
    return first is None or (
        first.reason.startswith(REASON) and first.state in UNDER_WAY
    )


def establish(story: Story) -> str:
    """Create the first quotas and tiers, also after a start that was killed.

    Returns:
        The result as text; empty if there was nothing to do.
    """
    if not is_due():
        return ""
    cluster = Cluster.objects.get(name=CLUSTER)
    author = get_user_model().objects.get(username=PEOPLE[0].name)
    made = ChangeSet.objects.filter(cluster=cluster).order_by("pk").first()
    if made is None:
        at = timezone.now()
        draft = Draft(_edits(story, at), reason_of(story))
        made = change_sets.create(cluster=cluster, draft=draft, actor=author, at=at)
    for state, step in (
        (ChangeState.DRAFT, change_sets.request_plan),
        (ChangeState.PLANNED, change_sets.approve),
        (ChangeState.APPROVED, change_sets.request_apply),
    ):
        if made.state == state:
            step(made, version=made.version, actor=author, at=timezone.now())
            due_work.work(cluster.pk, now=timezone.now)
            made.refresh_from_db()
    return f"{made}: {made.get_state_display()} {made.error}".rstrip()


def look_now() -> None:
    """Pending work is shown from the start: the next observation is up to five minutes away."""
    cluster = Cluster.objects.get(name=CLUSTER)
    if cluster.kubernetes:
        observe_once(cluster, now=timezone.now)


def reason_of(story: Story) -> str:
    """Why the demo's first change set is from today, and its quotas are weeks old."""
    since = datetime.fromtimestamp(story.change_s, UTC)
    return f"{REASON} {since:%d %b %Y}: they are managed here from now on"


def _edits(story: Story, at: datetime) -> list[Edit]:
    found: list[Edit] = [
        TierEdit(
            TierSpec(
                name,
                value,
                preempts=name not in NEVER_PREEMPTS,
                description=_WORDS[name],
            ),
            version=0,
        )
        for name, value in TIERS.items()
    ]
    slugs = dict(Team.objects.values_list("pk", "slug"))
    labels = {name: {DEPARTMENT: where} for name, where in NAMESPACES.items()}
    for team, namespaces in namespaces_by_team(labels, at).items():
        weights: dict[str, dict[str, int]] = {}
        for namespace in namespaces:
            for resource, units in QUOTAS.get(namespace, {}).items():
                limit = scaled_limit(units, story.scale)
                weights.setdefault(resource, {})[namespace] = limit
        found.extend(
            QuotaEdit(
                slugs[team],
                resource,
                sum(parts.values()),
                rule=SplitRule.WEIGHTS,
                weights=parts,
                version=0,
            )
            for resource, parts in weights.items()
        )
    return found

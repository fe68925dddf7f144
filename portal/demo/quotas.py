"""The quotas and tiers that the story's people agreed on, brought in as anybody would.

One change set, drafted, planned, approved and applied through the product: so the demo's
first quotas have an author, a reason and a way back.
"""

from datetime import datetime

from django.contrib.auth import get_user_model
from django.utils import timezone

from accounting.models import Cluster, Team
from portal.demo.labels import DEPARTMENT
from portal.demo.organisation import NAMESPACES, QUOTAS, TIERS
from portal.demo.setup import CLUSTER, PEOPLE
from portal.demo.story import Story
from scheduler_view.actions import change_sets, sweep
from scheduler_view.domain.edit import Edit, QuotaEdit, TierEdit
from scheduler_view.domain.split import SplitRule
from scheduler_view.domain.tier import TierSpec
from scheduler_view.models import ChangeSet, ChangeState
from scheduler_view.queries.namespaces import namespaces_by_team

REASON = "Quotas and tiers for everybody, as agreed in the change of habits"
_WORDS = {
    "interactive": "notebooks that people wait for",
    "serving": "services that customers wait for",
    "training": "jobs that run for hours",
    "scavenger": "nightly work on what is free",
}


def establish(story: Story) -> str:
    """Bring the first quotas and tiers in, unless somebody began to; says what came of it."""
    cluster = Cluster.objects.get(name=CLUSTER)
    if not cluster.kubernetes or ChangeSet.objects.filter(cluster=cluster).exists():
        return ""
    author = get_user_model().objects.get(username=PEOPLE[0].name)
    now: datetime = timezone.now()
    draft = change_sets.Draft(_edits(story, now), REASON)
    made = change_sets.create(cluster=cluster, draft=draft, actor=author, at=now)
    change_sets.request_plan(made, version=made.version, actor=author, at=now)
    sweep.work(cluster.pk, now=timezone.now)
    made.refresh_from_db()
    if made.state == ChangeState.PLANNED:
        now = timezone.now()
        change_sets.approve(made, version=made.version, actor=author, at=now)
        change_sets.request_apply(made, version=made.version, actor=author, at=now)
        sweep.work(cluster.pk, now=timezone.now)
        made.refresh_from_db()
    return f"{made}: {made.get_state_display()} {made.error}".rstrip()


def _edits(story: Story, at: datetime) -> list[Edit]:
    found: list[Edit] = [
        TierEdit(TierSpec(name, value, description=_WORDS[name]), version=0)
        for name, value in TIERS.items()
    ]
    slugs = dict(Team.objects.values_list("pk", "slug"))
    labels = {name: {DEPARTMENT: where} for name, where in NAMESPACES.items()}
    for team, namespaces in namespaces_by_team(labels, at).items():
        weights: dict[str, dict[str, int]] = {}
        for namespace in namespaces:
            for resource, units in QUOTAS.get(namespace, {}).items():
                scaled = max(round(units * story.scale), min(units, 8))
                weights.setdefault(resource, {})[namespace] = scaled
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

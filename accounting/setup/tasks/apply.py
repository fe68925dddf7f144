"""Applies a setup file to the database; rows that already match are not touched."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db import models

from accounting.access.models.billing import DEFAULT_CURRENCY, Billing
from accounting.access.models.labels import LabelPurpose, LabelSpelling
from accounting.access.models.people import Membership, TeamRole
from accounting.access.models.teams import Binding, Team
from accounting.access.reads.billing_settings import billing_at, billing_day, midnight
from accounting.core import billing_calendar
from accounting.exports.actions import set_journal
from accounting.kit.audit import Actor, act
from accounting.kit.reads.database_clock import database_now
from accounting.metering.actions.kube_state_jobs import set_accepted
from accounting.metering.actions.resources import set_resources
from accounting.metering.models.cluster import (
    Cluster,
    SharePolicy,
    SharePolicyName,
    Source,
)
from accounting.metering.models.ledger import IngestWindow
from accounting.metering.tasks.evidence import node_lifecycles
from accounting.metering.tasks.retirement import retire
from accounting.organization.actions.bindings import rebind
from accounting.organization.actions.teams import free_slot
from accounting.setup.tasks.apply_accounts import account_of
from accounting.setup.tasks.apply_budgets import set_budget
from accounting.setup.tasks.apply_prices import set_conversions, set_prices
from accounting.setup.tasks.fields import LONG_AGO
from accounting.setup.tasks.replaced_rows import ends_of, replace_rows
from accounting.setup.tasks.schema import BindingSpec, Configuration, TeamSpec
from accounting.setup.tasks.schema_clusters import ClusterSpec


def apply_configuration(
    wanted: Configuration, *, actor: Actor, warnings: list[str] | None = None
) -> list[str]:
    """Apply a setup in one transaction; returns a sentence for each change.

    Args:
        wanted: the setup.
        actor: who changes it.
        warnings: gets a sentence for each new price that is probably a mistake (money.md M13).

    Raises:
        RetirementError: a cluster cannot end at its time; nothing was written.
        AccountError: two clusters have one billing account.
    """
    changes: list[str] = []
    with act(actor, "configure"):
        _billing(wanted, changes)
        for cluster in wanted.clusters:
            _cluster(cluster, changes, actor)
        if wanted.resources is not None and set_resources(
            wanted.resources, actor=actor, reason="configure"
        ):
            changes.append(f"{len(wanted.resources)} added resources")
        for team in wanted.teams:
            _team(team, changes)
        if wanted.spellings:
            _labels(wanted.spellings, changes)
        if wanted.bindings is not None:
            _bindings(wanted.bindings, changes)
        if wanted.prices is not None:
            currency = wanted.currency or _currency()
            set_prices(wanted.prices, currency, changes, warnings)
        set_conversions(wanted.conversions, changes, actor)
        for budget in wanted.budgets:
            set_budget(budget, changes, actor)
        if wanted.journal is not None and set_journal(wanted.journal.settings):
            changes.append(f"journal of {len(wanted.journal.columns)} columns")
    return changes


def _currency() -> str:
    row = Billing.objects.order_by("valid_from").last()
    return row.currency if row else DEFAULT_CURRENCY


def _billing(wanted: Configuration, changes: list[str]) -> None:
    """Billing settings from the next month on; the first ones for all time (rules.md N31)."""
    if wanted.currency is None or wanted.timezone is None:
        return
    asked = (wanted.currency, wanted.timezone)
    rows = Billing.objects.order_by("valid_from")
    last = rows.last()
    if last and (last.currency, last.timezone) == asked:
        return
    if last is None:
        start = LONG_AGO
    else:
        now = database_now()
        rows.filter(valid_from__gt=now).delete()  # it never applied
        start = _next_month(now, ZoneInfo(wanted.timezone))
        present = billing_at(now)
        if (present.currency, present.timezone) == asked:
            changes.append(f"billing stays in {wanted.currency}, {wanted.timezone}")
            return
    Billing.objects.create(
        currency=wanted.currency, timezone=wanted.timezone, valid_from=start
    )
    changes.append(f"billing in {wanted.currency}, {wanted.timezone}")


def _next_month(now: datetime, zone: ZoneInfo) -> datetime:
    """The start of a new time zone: when the month has started in both zones, so that no day of a
    closed month gains or loses time.
    """
    today = billing_day(now)
    first = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return max(midnight(first), billing_calendar.midnight(first, zone))


def _update(row: models.Model, values: dict[str, Any]) -> bool:
    """Save the fields that differ; True if there were any."""
    differing = [name for name, value in values.items() if getattr(row, name) != value]
    for name in differing:
        setattr(row, name, values[name])
    if differing:
        row.save(update_fields=differing)
    return bool(differing)


def _cluster(spec: ClusterSpec, changes: list[str], actor: Actor) -> None:
    values: dict[str, Any] = {"kubernetes": spec.kubernetes, "is_confirmed": True}
    if spec.sets_billing_account:
        values["billing_account"] = account_of(spec)
    cluster, is_new = Cluster.objects.get_or_create(name=spec.name, defaults=values)
    if is_new or _update(cluster, values):
        changes.append(f"cluster {spec.name}")
    if spec.share is not None:
        _share(cluster, spec.share, changes)
    if spec.sets_retired and retire(
        cluster, spec.retired, actor=actor, reason="configure"
    ):
        end = (
            "in use"
            if spec.retired is None
            else f"retired {spec.retired:%Y-%m-%dT%H:%M:%SZ}"
        )
        changes.append(f"cluster {spec.name} is {end}")
    if spec.kube_state_jobs is not None and set_accepted(
        cluster, spec.kube_state_jobs, actor=actor, reason="configure"
    ):
        jobs = ", ".join(spec.kube_state_jobs) or "none"
        changes.append(f"cluster {spec.name} accepts jobs of kube-state: {jobs}")
    for source in spec.sources:
        values = {
            "kind": source.kind,
            "settings": source.settings,
            "interval_s": source.interval_s,
            "scales": source.scales,
            "is_active": True,
        }
        row, is_new = Source.objects.get_or_create(
            cluster=cluster, name=source.name, defaults=values
        )
        if is_new or _update(row, values):
            changes.append(f"source {spec.name}/{source.name}")


def _share(cluster: Cluster, wanted: str, changes: list[str]) -> None:
    """Another share policy from the next month on; in a new cluster for all time."""
    rows = SharePolicy.objects.filter(cluster=cluster).order_by("valid_from")
    last = rows.last()
    if (last.policy if last else SharePolicyName.COMPUTE) == wanted:
        return
    now = database_now()
    start = LONG_AGO
    if last or IngestWindow.objects.filter(cluster=cluster).exists():
        start = _next_month(now, ZoneInfo(billing_at(now).timezone))
    rows.filter(valid_from__gt=now).delete()  # it never applied
    present = rows.last()
    if (present.policy if present else SharePolicyName.COMPUTE) == wanted:
        changes.append(f"shares of {cluster.name} stay by {wanted}")
        return
    SharePolicy.objects.create(cluster=cluster, policy=wanted, valid_from=start)
    changes.append(f"shares of {cluster.name} by {wanted}")


def _team(spec: TeamSpec, changes: list[str]) -> None:
    values = {
        "name": spec.name or spec.slug,
        "department": spec.department,
        "cost_centre": spec.cost_centre,
    }
    team, is_new = Team.objects.get_or_create(
        slug=spec.slug, defaults={**values, "colour_slot": free_slot()}
    )
    if is_new or _update(team, values):
        changes.append(f"team {spec.slug}")
    for name in spec.leads:
        user, is_new = get_user_model().objects.get_or_create(username=name)
        if is_new:
            user.set_unusable_password()
            user.save(update_fields=["password"])
        membership, is_new = Membership.objects.get_or_create(
            user=user, team=team, defaults={"role": TeamRole.LEAD}
        )
        if is_new or _update(membership, {"role": TeamRole.LEAD}):
            changes.append(f"{name} leads {spec.slug}")


def _labels(wanted: dict[str, tuple[str, ...]], changes: list[str]) -> None:
    for purpose, labels in wanted.items():
        rows = LabelSpelling.objects.filter(purpose=purpose).order_by("position")
        if list(rows.values_list("label", flat=True)) == list(labels):
            continue
        rows.delete()
        for position, label in enumerate(labels):
            LabelSpelling.objects.create(
                purpose=purpose, label=label, position=position
            )
        changes.append(f"labels of {purpose}")
        rebind(LabelSpelling)
    if LabelPurpose.LIFECYCLE in wanted:  # also for nodes that were seen before
        node_lifecycles.respell()


def _bindings(wanted: Sequence[BindingSpec], changes: list[str]) -> None:
    """The file's rules in its order, each valid until the next one of the same rule."""
    teams = dict(Team.objects.values_list("slug", "pk"))
    ends = ends_of([((s.kind, s.label, s.glob), s.valid_from) for s in wanted])
    rows = [
        {
            "kind": spec.kind,
            "label": spec.label,
            "glob": spec.glob,
            "team_id": teams[spec.team],
            "position": position,
            "valid_from": spec.valid_from,
            "valid_to": end,
        }
        for position, (spec, end) in enumerate(zip(wanted, ends, strict=True))
    ]
    if replace_rows(Binding, rows):
        changes.append(f"{len(rows)} bindings")
        rebind(Binding)

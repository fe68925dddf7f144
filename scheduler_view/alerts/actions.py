"""What people do about alerts: archive one, take it back, choose the threshold of a rule."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from accounting.access.scope import Scope, scope_of
from accounting.kit.audit import act
from accounting.kit.inputs import body, reason
from accounting.kit.locks import lock
from accounting.kit.outcomes import Done, RefusalCode, Refused
from accounting.kit.reads.database_clock import database_now
from scheduler_view.alerts.models import Alert, AlertNote, AlertThreshold
from scheduler_view.alerts.reads.alerts import alert_row
from scheduler_view.alerts.rules.catalogue import LOCKS, RULES, AlertRule
from scheduler_view.alerts.rules.states import AlertState


@body("AlertArchive")
class ArchiveAlert:
    """Why an alert is hidden until its figure grows by half."""

    reason: str = reason()


@body("AlertRestore")
class RestoreAlert:
    """Why an alert is shown again."""

    reason: str = reason()


def archive_alert(number: int, given: ArchiveAlert, person: AbstractBaseUser) -> Done:
    """Hide an alert until its figure grows by half.

    Raises:
        Refused: there is no such alert, or it is archived or resolved already.
    """
    return _keep(number, given.reason, person, is_archived=True)


def restore_alert(number: int, given: RestoreAlert, person: AbstractBaseUser) -> Done:
    """Show an archived alert again.

    Raises:
        Refused: there is no such alert, or it is not archived.
    """
    return _keep(number, given.reason, person, is_archived=False)


def _keep(
    number: int, why: str, person: AbstractBaseUser, *, is_archived: bool
) -> Done:
    row = alert_row(scope_of(person), number)
    if row is None:
        raise Refused("no such alert", RefusalCode.MISSING)
    with transaction.atomic():
        lock("alerts", LOCKS[AlertRule(row.rule)])  # a worker writes all of its columns
        alert = Alert.objects.get(pk=number)
        is_now = alert.archived_figure is not None
        if alert.resolved_at is not None or is_now == is_archived:
            state = AlertState.RESOLVED if alert.resolved_at else AlertState.ARCHIVED
            text = f"this alert is {state} already" if is_archived else NOT_ARCHIVED
            raise Refused(text, RefusalCode.CONFLICT)
        with act(person, why):
            alert.archived_figure = alert.figure if is_archived else None
            alert.save(update_fields=["archived_figure"])
            AlertNote.objects.create(
                alert=alert,
                is_archived=is_archived,
                reason=why,
                figure=alert.figure,
                by_id=person.pk,
                at=timezone.now(),
            )
    is_hot = row.rule == AlertRule.HOT
    until = "is 5 °C hotter" if is_hot else "grows by half"
    text = f"is archived until it {until}" if is_archived else "is shown again"
    return Done(number, text=f"{row.what} {text}.")


NOT_ARCHIVED = "this alert is not archived"


def set_threshold(
    rule: AlertRule,
    team: int | None,
    value: int | None,
    why: str,
    person: AbstractBaseUser,
    *,
    is_own: bool = True,
) -> None:
    """Choose from where on a rule fires, for the organization or for one team.

    Args:
        value: one of the rule's choices; None switches it off.
        why: for the audit log.
        is_own: False: the team has the threshold of the organization again; `value` is not stored.

    Raises:
        Refused: the person may not, or the rule has no such threshold.
    """
    words = RULES[rule]
    if not may_set(scope_of(person), rule, team):
        raise Refused("no such rule", RefusalCode.MISSING)
    if (value is not None and value not in words.choices) or (not is_own and not team):
        raise Refused("choose one of the thresholds", member="value")
    with transaction.atomic():
        lock("alerts", LOCKS[rule])  # of two first choices, the second finds the first
        usual = AlertThreshold.objects.filter(rule=rule, team=team).first()
        known = usual or AlertThreshold(rule=rule, team_id=team, value=words.usual)
        known.is_own = is_own
        if is_own:
            known.is_on = value is not None
            known.value = known.value if value is None else value
        with act(person, why):
            known.changed_at = database_now()
            known.save()


def may_set(scope: Scope, rule: AlertRule, team: int | None) -> bool:
    """Administrators for all, and leads for their team where a rule is about teams."""
    words = RULES[rule]
    if not words.is_watched or (team is not None and not words.is_of_teams):
        return False
    return scope.is_admin or (team is not None and team in scope.lead_of)

"""Finds entries by their number, and people by their name, within a scope."""

import re

from django.contrib.auth import get_user_model
from django.db.models import Q

from accounting.access.models.people import TeamRole
from accounting.access.scope import Scope
from accounting.core.money import Money
from accounting.core.money_text import money_text
from accounting.explain.reads.search import MOST, Hit
from accounting.months.models.entry import Entry, EntryKind
from accounting.months.models.period import Statement

_ENTRY = re.compile(r"E-?(\d{1,9})", re.IGNORECASE)


def find_entry(scope: Scope, words: str) -> list[Hit]:
    """The entry with a number such as `E-2`, for its team's leads and people who see all.

    Its key is the month of its statement; "" if there is none yet.
    """
    number = _ENTRY.fullmatch(words)
    if number is None:
        return []
    found = Entry.objects.select_related("team").filter(number=f"E-{int(number[1])}")
    if not scope.sees_all:
        found = found.filter(team__in=scope.lead_of)
    entry = found.first()
    if entry is None:
        return []
    month = f"{entry.billing_on:%Y-%m}"
    statements = Statement.objects.filter(
        revision__period=month, revision__reopened_at=None, team=entry.team.slug
    )
    has_statement = statements.exists()
    if not has_statement and not scope.sees_all:
        return []
    amount = money_text(Money(entry.amount, entry.currency))
    return [
        Hit(
            "entry",
            month if has_statement else "",
            f"{entry.number} {EntryKind(entry.kind).label}, {amount}",
            f"{entry.team.name}, {entry.billing_on:%-d %b %Y}",
            entry.team.slug,
        )
    ]


def find_people(scope: Scope, words: str) -> list[Hit]:
    """Members of the teams of a scope; administrators find everybody. At most `MOST`.

    The key of an administrator's hit is the number of the person; others have none of their own,
    and `team` is the first team of the scope that they are in.
    """
    if len(words) < 2 or not scope.sees_any:
        return []
    named = Q()
    for word in words.split():
        named &= (
            Q(username__icontains=word)
            | Q(first_name__icontains=word)
            | Q(last_name__icontains=word)
        )
    people = get_user_model().objects.filter(named, is_active=True)
    if scope.team_ids is not None:
        people = people.filter(memberships__team__in=scope.team_ids)
    elif not scope.is_admin:
        people = people.filter(memberships__isnull=False)
    hits = []
    for person in people.distinct().order_by("username")[:MOST]:
        mine = person.memberships.select_related("team").order_by("team__name")
        if scope.team_ids is not None:
            mine = mine.filter(team__in=scope.team_ids)
        roles = [
            f"{'leads' if one.role == TeamRole.LEAD else 'views'} {one.team.name}"
            for one in mine
        ]
        full = person.get_full_name()
        names = [person.get_username()] if full else []
        hits.append(
            Hit(
                "person",
                str(person.pk) if scope.is_admin else "",
                full or person.get_username(),
                ", ".join([*names, *roles]),
                mine[0].team.slug if mine and not scope.is_admin else "",
            )
        )
    return hits

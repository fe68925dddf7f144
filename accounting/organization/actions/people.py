"""People: accounts, roles, teams, passwords, and links to choose a password."""

from collections.abc import Mapping

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounting.access.models.account import SignInOutcome
from accounting.access.models.people import (
    Membership,
    OrganizationRole,
    Person,
    TeamRole,
)
from accounting.access.models.teams import Team
from accounting.kit.audit import Actor, act
from accounting.kit.locks import lock
from accounting.kit.outcomes import Refused
from accounting.organization.actions.sign_in_attempts import record
from accounting.organization.actions.sign_outs import end_sessions, password_links
from accounting.organization.actions.tokens import revoke_all
from accounting.organization.reads.people import administrators, role_word

ROLES = {
    "admin": OrganizationRole.ADMIN,
    "finance": OrganizationRole.FINANCE,
    "viewer": OrganizationRole.NONE,
}


def save_person(
    name: str,
    *,
    role: str | None = None,
    teams: Mapping[str, TeamRole | None] | None = None,
    is_active: bool | None = None,
    password: str | None = None,
    is_new: bool = False,
    actor: Actor,
    reason: str,
) -> list[str]:
    """Create a person, or change the given properties only.

    Args:
        name: the user name, stored as Unicode normalizes it (NFKC), as sign-in does.
        role: `admin`, `finance` or `viewer`.
        teams: role in each team, by slug; None ends the membership.
        is_active: False ends the sessions, links and API tokens of the person; they stay ended
            when the account becomes active again.
        password: a new one ends their sessions and links, and revokes their API tokens.
        is_new: refuse a name that somebody has, also since a form was checked.
        actor: the person who makes the change.
        reason: for the audit log.

    Returns:
        A sentence for each change; empty if nothing changed.

    Raises:
        Refused: a name, role, team or password that is not valid, or no administrator would be
            left.
    """
    name = plain_name(name)
    hashed = "" if password is None else _hashed(password, name)
    with act(actor, reason):
        lock("people", 0)  # two administrators must not deactivate each other
        had_administrator = bool(administrators())
        user, changes = _account(name)
        if is_new and not changes:
            raise Refused(f"{name} has an account already")
        if role is not None:
            _set_role(user, role, changes)
        for slug, kind in (teams or {}).items():
            _set_team(user, slug, kind, changes)
        if is_active is not None and user.is_active != is_active:
            _activate(user, changes, is_active=is_active)
        if hashed:
            user.password = hashed
            user.save(update_fields=["password"])
            changes.append(f"{name} has a new password")
            _revoke_tokens(user, changes)
        if had_administrator and not administrators():
            raise Refused(
                f"{name} is the only administrator: give another person this role first"
            )
    return changes


def plain_name(name: str) -> str:
    """A user name as it is stored: full-width letters, ligatures and accents as usual ones."""
    return get_user_model().normalize_username(name)


def sign_out(user: User, *, actor: Actor) -> None:
    """End the sessions of a person; their password, links and API tokens stay."""
    by = actor if isinstance(actor, str) else actor.get_username()
    with act(actor, "sessions ended"):
        end_sessions(user)
        record(user.get_username(), SignInOutcome.ENDED, None, actor=by)


def password_ticket(name: str, *, actor: Actor) -> tuple[str, str]:
    """The account and token of a link with which a person can choose a password, once.

    The token expires after `PASSWORD_RESET_TIMEOUT`, and with the next sign-in, link or change of
    the account. Its use revokes the API tokens of the person.

    Returns:
        The account and the token, as arguments of the page `password-link`.

    Raises:
        Refused: the person does not exist or is deactivated.
    """
    user = get_user_model().objects.filter(username=name).first()
    if user is None or not user.is_active:
        raise Refused(f"{name!r} has no active account")
    by = actor if isinstance(actor, str) else actor.get_username()
    record(name, SignInOutcome.LINK, None, actor=by)
    account = urlsafe_base64_encode(force_bytes(user.pk))
    return account, password_links.make_token(user)


def _hashed(password: str, name: str) -> str:
    """Hash a password. Argon2 takes a tenth of a second, so this runs before the transaction."""
    try:
        validate_password(password, get_user_model()(username=name))
    except ValidationError as error:
        raise Refused(f"the password: {' '.join(error.messages)}") from None
    return make_password(password)


def _account(name: str) -> tuple[User, list[str]]:
    user = get_user_model().objects.select_for_update().filter(username=name).first()
    if user is not None:
        return user, []
    user = get_user_model()(username=name)
    user.set_unusable_password()
    try:
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        messages = " ".join(error.message_dict.get("username", error.messages))
        raise Refused(f"{name!r} is not a valid user name: {messages}") from None
    user.save()
    return user, [f"{name} has an account"]


def _set_role(user: User, role: str, changes: list[str]) -> None:
    if role not in ROLES:
        raise Refused(f"{role!r} is not a valid role: {', '.join(ROLES)}")
    person, _ = Person.objects.get_or_create(user=user)
    if person.role != ROLES[role]:
        before = role_word(person.role)
        person.role = ROLES[role]
        person.save(update_fields=["role"])
        changes.append(f"role of {user.username}: {before} -> {role}")


def _set_team(user: User, slug: str, kind: TeamRole | None, changes: list[str]) -> None:
    team = Team.objects.filter(slug=slug).first()
    if team is None:
        known = ", ".join(Team.objects.order_by("slug").values_list("slug", flat=True))
        raise Refused(f"{slug!r} is not a team; known teams: {known or 'none'}")
    membership = Membership.objects.filter(user=user, team=team).first()
    if kind is None:
        if membership is not None:
            membership.delete()
            changes.append(f"{user.username} left {slug}")
        return
    if membership is None:
        Membership.objects.create(user=user, team=team, role=kind)
    elif membership.role != kind:
        membership.role = kind
        membership.save(update_fields=["role"])
    else:
        return
    changes.append(f"{user.username} is {kind} of {slug}")


def _activate(user: User, changes: list[str], *, is_active: bool) -> None:
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    changes.append(
        f"{user.username} is {'active again' if is_active else 'deactivated'}"
    )
    end_sessions(
        user
    )  # also of an earlier version, which left those of deactivated people
    if not is_active:
        _revoke_tokens(user, changes)


def _revoke_tokens(user: User, changes: list[str]) -> None:
    changes.extend(
        f"token {token} of {user.username} was revoked" for token in revoke_all(user)
    )

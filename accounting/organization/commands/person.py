"""`manage.py person NAME`: the first administrator and all other people."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.core.management.base import BaseCommand
from django.urls import reverse

from accounting.access.models.people import TeamRole
from accounting.kit.audit import SYSTEM
from accounting.kit.commands.output import WRONG_USE, write_rows
from accounting.kit.outcomes import Refused
from accounting.organization.actions.people import (
    ROLES,
    password_ticket,
    plain_name,
    save_person,
)
from accounting.organization.reads.people import person_rows

REASON = "manage.py person"


class Command(BaseCommand):
    """Creates and changes people; exits with 0, or 2 for wrong use (nothing was changed)."""

    help = (
        "Create or change a person: role, teams, password, deactivation. Without NAME, list all "
        "people."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The person and the changes; other properties do not change."""
        parser.add_argument("name", nargs="?", help="the user name")
        parser.add_argument(
            "--role", choices=list(ROLES), help="role in the organization"
        )
        parser.add_argument(
            "--team",
            action="append",
            default=[],
            metavar="SLUG[:lead]",
            help="make the person a member or the lead of this team; can be repeated",
        )
        parser.add_argument(
            "--leave",
            action="append",
            default=[],
            metavar="SLUG",
            help="end the membership in this team",
        )
        state = parser.add_mutually_exclusive_group()
        state.add_argument(
            "--deactivate",
            action="store_true",
            help="deactivate the account: sessions and links end and tokens are revoked, for good",
        )
        state.add_argument("--activate", action="store_true")
        password = parser.add_mutually_exclusive_group()
        password.add_argument(
            "--password-file",
            metavar="FILE",
            help="read the password from the first line of a file, - for standard input; tokens "
            "are revoked",
        )
        password.add_argument(
            "--link",
            action="store_true",
            help="print a link to choose a password (always printed for a new person); its use "
            "revokes tokens",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply the changes and print the person's state."""
        name = options["name"]
        if not name:
            write_rows([row.fields() for row in person_rows()], "table", self.stdout)
            return
        name = plain_name(name)
        try:
            changes = self._save(name, options)
            link = self._link(name, wanted=options["link"])
        except Refused as error:
            self.stderr.write(f"person: {error}")
            sys.exit(WRONG_USE)
        for change in changes or ["no changes"]:
            self.stdout.write(change)
        write_rows([row.fields() for row in person_rows(name)], "table", self.stdout)
        if link:
            hours = settings.PASSWORD_RESET_TIMEOUT // 3600
            self.stdout.write(
                f"\nSend this link to {name} to choose a password. It is valid for {hours} hours "
                f"and can be used once; using it revokes API tokens of {name}:\n{link}"
            )

    def _save(self, name: str, options: dict[str, Any]) -> list[str]:
        is_active = None
        if options["activate"] or options["deactivate"]:
            is_active = bool(options["activate"])
        asked = (options["role"], options["team"], options["leave"], is_active)
        if not person_rows(name) and asked == (None, [], [], None):
            raise Refused(
                f"{name!r} is not a person; use --role or --team to create an account"
            )
        return save_person(
            name,
            role=options["role"],
            teams=_teams(options["team"], options["leave"]),
            is_active=is_active,
            password=_first_line(file) if (file := options["password_file"]) else None,
            actor=SYSTEM,
            reason=REASON,
        )

    def _link(self, name: str, *, wanted: bool) -> str:
        [row] = person_rows(name)
        if not wanted and (row.can_sign_in or not row.is_active):
            return ""
        path = reverse("password-link", args=password_ticket(name, actor=SYSTEM))
        return urljoin(settings.PUBLIC_URL, path)


def _teams(joined: list[str], left: list[str]) -> dict[str, TeamRole | None]:
    """The role in each team, by slug; None if the membership ends.

    Raises:
        Refused: a team is named twice, or with a role that is not valid.
    """
    found: dict[str, TeamRole | None] = {}
    for text in joined:
        slug, colon, role = text.partition(":")
        if colon and role not in TeamRole.values:
            raise Refused(f"--team {text}: write SLUG or SLUG:lead")
        if slug in found:
            raise Refused(f"--team {slug} is used more than once")
        found[slug] = TeamRole(role) if colon else TeamRole.VIEWER
    for slug in left:
        if slug in found:
            raise Refused(f"{slug} is used with both --team and --leave")
        found[slug] = None
    return found


def _first_line(path: str) -> str:
    try:
        text = sys.stdin.readline() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"--password-file {path}: cannot be read ({error})") from None
    line = text.split("\n", 1)[0].rstrip("\r")
    if not line:
        raise Refused(f"--password-file {path}: the first line is empty")
    return line

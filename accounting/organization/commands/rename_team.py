"""`manage.py rename_team OLD NEW`: a slug of an earlier version that is reserved now."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from accounting.kit.audit import SYSTEM
from accounting.kit.commands.output import HIDDEN, WRONG_USE
from accounting.kit.outcomes import Refused
from accounting.organization.actions.teams import rename_reserved


class Command(BaseCommand):
    """Renames; exits with 0, or 2 for wrong use (nothing was changed)."""

    help = (
        "Give a team of an earlier version another slug, where its slug is reserved now: "
        "`manage.py verify` names it."
    )
    suppressed_base_arguments = HIDDEN

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Both slugs."""
        parser.add_argument("old", metavar="OLD", help="the reserved slug of the team")
        parser.add_argument("new", metavar="NEW", help="its slug from now on")

    def handle(self, *args: Any, **options: Any) -> None:
        """Rename the team."""
        try:
            team = rename_reserved(options["old"], options["new"], actor=SYSTEM)
        except Refused as error:
            self.stderr.write(f"rename_team: {error}")
            sys.exit(WRONG_USE)
        self.stdout.write(
            f"team {options['old']} is {team.slug} now, named {team.name}"
        )

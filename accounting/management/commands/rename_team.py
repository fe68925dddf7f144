"""`manage.py rename_team`."""

from accounting.organization.commands.rename_team import Command

__all__ = ["Command"]

"""`manage.py person`."""

from accounting.organization.commands.person import Command

__all__ = ["Command"]

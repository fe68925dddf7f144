"""`manage.py change_set`."""

from scheduler_view.changes.commands.change_set import Command

__all__ = ["Command"]

"""`manage.py observe`."""

from scheduler_view.waits.commands.observe import Command

__all__ = ["Command"]

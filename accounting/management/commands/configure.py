"""`manage.py configure`."""

from accounting.setup.commands.configure import Command

__all__ = ["Command"]

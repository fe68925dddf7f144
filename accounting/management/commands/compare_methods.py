"""`manage.py compare_methods`."""

from accounting.months.commands.compare_methods import Command

__all__ = ["Command"]

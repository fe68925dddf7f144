"""`manage.py simulate`."""

from scheduler_view.what_if.commands.simulate import Command

__all__ = ["Command"]

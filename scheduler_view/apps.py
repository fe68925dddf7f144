"""The scheduler_view app: what the scheduler sees, and what it is told."""

from django.apps import AppConfig


class SchedulerViewConfig(AppConfig):
    name = "scheduler_view"

"""The scheduler_view app: what schedulers see, and the quotas and tiers that they get."""

from django.apps import AppConfig


class SchedulerViewConfig(AppConfig):
    name = "scheduler_view"

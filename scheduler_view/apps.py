"""The scheduler_view app: state of schedulers, and their quotas and tiers."""

from django.apps import AppConfig


class SchedulerViewConfig(AppConfig):
    name = "scheduler_view"

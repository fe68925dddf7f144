"""The Celery application and its schedule: tasks only wake workers.

The truth is in PostgreSQL. Losing every message costs a minute: the sweeper derives
missing work from the window ledger. So no results are kept, and any task may run twice.
"""

import os

from celery import Celery
from celery.schedules import crontab
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

from django.conf import settings

app = Celery("gpu_ledger")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)  # request ids in the logs of tasks

# redbeat reads these two from the application, not from Django's settings.
app.conf.redbeat_redis_url = settings.REDIS_URL
app.conf.redbeat_lock_timeout = 60  # seconds until a second beat takes over

# A tick that nobody took before the next one is dropped: after an outage there is one
# of each, not a queue of them.
app.conf.beat_schedule = {
    # Windows that are due or were lost: a minute is the longest that a fault hides.
    "sweep": {
        "task": "accounting.tasks.sweep",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    # Sources of kind scrape, at the step that exporters usually have.
    "scrape": {
        "task": "accounting.tasks.scrape",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    # What clusters have: a watch (`manage.py observe --follow`) sees a change at once,
    # and this finds it within minutes where none runs.
    "look_at_clusters": {
        "task": "scheduler_view.tasks.observe_clusters",
        "schedule": 300.0,
        "options": {"expires": 300},
    },
    # Change sets to plan, apply, end or expire, if a wake-up was lost or a time has come.
    "find_changes": {
        "task": "scheduler_view.tasks.find_changes",
        "schedule": 15.0,
        "options": {"expires": 15},
    },
    # Counts of sign-in attempts are small; hourly keeps a flood of them from staying.
    "forget_attempts": {
        "task": "accounting.tasks.forget_attempts",
        "schedule": crontab(minute="47"),
        "options": {"expires": 3600},
    },
    # Partitions ahead of time, expired ones away: hourly, for a failure has a day.
    "keep_partitions": {
        "task": "accounting.tasks.keep_partitions",
        "schedule": crontab(minute="17"),
        "options": {"expires": 3600},
    },
    # Rows of people who did not sign out; nothing else removes them.
    "remove_expired_sessions": {
        "task": "portal.tasks.remove_expired_sessions",
        "schedule": crontab(hour="3", minute="47"),
        "options": {"expires": 3600},
    },
}

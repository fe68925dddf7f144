"""When which task is started. Tasks only wake workers: what is due is in PostgreSQL."""

from typing import Any

from celery.schedules import crontab

# A task that is not started before the next one is due is dropped: after an outage there is one
# of each, not a queue.
TIMETABLE: dict[str, dict[str, Any]] = {
    # Windows that are due or were lost: after a lost message, within a minute.
    "sweep": {
        "task": "accounting.tasks.sweep",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    # Sources of kind scrape, at the usual interval of exporters.
    "scrape": {
        "task": "accounting.tasks.scrape",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    # State of clusters: a watch (`manage.py observe --follow`) sees changes at once; without one,
    # this finds them within minutes.
    "look_at_clusters": {
        "task": "scheduler_view.tasks.observe_clusters",
        "schedule": 300.0,
        "options": {"expires": 300},
    },
    # What waits for GPUs, and what is free: samples of queues. A little more than a minute, so that
    # the limit of once a minute does not skip every other one.
    "look_at_waits": {
        "task": "scheduler_view.tasks.observe_waits",
        "schedule": 61.0,
        "options": {"expires": 60},
    },
    # Change sets to plan, apply, end or expire, if a wakeup was lost or a time was reached.
    "find_changes": {
        "task": "scheduler_view.tasks.find_changes",
        "schedule": 15.0,
        "options": {"expires": 15},
    },
    # Wasted GPU time: days whose facts, holds, teams or prices changed.
    "find_waste": {
        "task": "scheduler_view.tasks.find_waste",
        "schedule": crontab(minute="3,18,33,48"),
        "options": {"expires": 900},
    },
    # Counts of sign-in attempts are small; removing them hourly limits their number.
    "forget_attempts": {
        "task": "accounting.tasks.forget_attempts",
        "schedule": crontab(minute="47"),
        "options": {"expires": 3600},
    },
    # Partitions in advance, and dropping expired ones: hourly, because a failure may last a day.
    "keep_partitions": {
        "task": "accounting.tasks.keep_partitions",
        "schedule": crontab(minute="17"),
        "options": {"expires": 3600},
    },
    # Thresholds of budgets: amounts change with each rolled up hour.
    "check_budgets": {
        "task": "accounting.tasks.check_budgets",
        "schedule": crontab(minute="7,22,37,52"),
        "options": {"expires": 900},
    },
    # Months to close, if a wakeup was lost, or whose worker died.
    "close_months": {
        "task": "accounting.tasks.close_months",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    # What-ifs that wait, if a wakeup was lost, or whose worker died.
    "compute_what_ifs": {
        "task": "scheduler_view.tasks.compute_what_ifs",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    # Files that wait, if a wakeup was lost, or whose worker died.
    "write_exports": {
        "task": "accounting.tasks.write_exports",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    # Expired files, and scheduled ones of a period that was closed.
    "keep_exports": {
        "task": "accounting.tasks.keep_exports",
        "schedule": crontab(minute="37"),
        "options": {"expires": 3600},
    },
    # Running bookings of months that are not closed: only if something was written.
    "book_periods": {
        "task": "accounting.tasks.book_periods",
        "schedule": crontab(minute="*/10"),
        "options": {"expires": 600},
    },
    # Sessions of people who did not sign out; nothing else removes them.
    "remove_expired_sessions": {
        "task": "portal.tasks.remove_expired_sessions",
        "schedule": crontab(hour="3", minute="47"),
        "options": {"expires": 3600},
    },
}

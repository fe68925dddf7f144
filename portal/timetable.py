"""When which task is started. Tasks only wake workers: what is due is in PostgreSQL."""

from typing import Any

from celery.schedules import crontab


def _started(task: str, schedule: float | crontab, *, expires_s: int) -> dict[str, Any]:
    """When a task is started: every so many seconds, or as cron does.

    One that is not started before the next one is due is dropped: after an outage there is one of
    each, not a queue.
    """
    return {"task": task, "schedule": schedule, "options": {"expires": expires_s}}


TIMETABLE: dict[str, dict[str, Any]] = {
    # Windows that are due or were lost: after a lost message, within a minute.
    "sweep": _started("accounting.tasks.sweep", 60.0, expires_s=60),
    # Sources of kind scrape, at the usual interval of exporters (`scrape_targets.SCRAPE_S`).
    "scrape": _started("accounting.tasks.scrape", 30.0, expires_s=30),
    # State of clusters and drift: a watch (`manage.py observe --follow`) sees changes at once;
    # without one, this finds them within minutes.
    "look_at_clusters": _started(
        "scheduler_view.tasks.observe_clusters", 300.0, expires_s=300
    ),
    # What waits for GPUs, and what is free: samples of queues. A little more than a minute, so that
    # the limit of once a minute does not skip every other one.
    "look_at_waits": _started("scheduler_view.tasks.observe_waits", 61.0, expires_s=60),
    # Change sets to plan, apply, end or expire, if a wakeup was lost, a time was reached or a
    # worker was killed: with its lease of 15 s, another one goes on within 30 s.
    "find_changes": _started("scheduler_view.tasks.find_changes", 10.0, expires_s=10),
    # Wasted GPU time: days whose facts, holds, teams or prices changed.
    "find_waste": _started(
        "scheduler_view.tasks.find_waste", crontab(minute="3,18,33,48"), expires_s=900
    ),
    # Holds that are idle now: only where a window is newer than at the last look.
    "find_idle": _started("scheduler_view.tasks.find_idle", 60.0, expires_s=60),
    # Alerts: after idle holds are found, so that what is idle is told within two minutes.
    "find_alerts": _started("scheduler_view.tasks.find_alerts", 60.0, expires_s=60),
    # Alerts to the people whom they are about: some minutes after they fire.
    "tell_alerts": _started("portal.tasks.tell_alerts", 60.0, expires_s=60),
    # Counts of sign-in attempts are small; removing them hourly limits their number.
    "forget_attempts": _started(
        "accounting.tasks.forget_attempts", crontab(minute="47"), expires_s=3600
    ),
    # Partitions in advance, and dropping expired ones: hourly, because a failure may last a day.
    "keep_partitions": _started(
        "accounting.tasks.keep_partitions", crontab(minute="17"), expires_s=3600
    ),
    # Messages that wait, if a wakeup was lost, or whose next attempt is due.
    "send_notifications": _started(
        "accounting.tasks.send_notifications", 20.0, expires_s=20
    ),
    # Weekly mails: due at 07:00 in many zones.
    "send_weekly_mails": _started(
        "portal.tasks.send_weekly_mails", crontab(minute="*/5"), expires_s=300
    ),
    # Thresholds of budgets: amounts change with each rolled up hour.
    "check_budgets": _started(
        "accounting.tasks.check_budgets", crontab(minute="7,22,37,52"), expires_s=900
    ),
    # Months to close, if a wakeup was lost, or whose worker died.
    "close_months": _started("accounting.tasks.close_months", 60.0, expires_s=60),
    # What-ifs that wait, if a wakeup was lost, or whose worker died.
    "compute_what_ifs": _started(
        "scheduler_view.tasks.compute_what_ifs", 60.0, expires_s=60
    ),
    # Files that wait, if a wakeup was lost, or whose worker died.
    "write_exports": _started("accounting.tasks.write_exports", 60.0, expires_s=60),
    # Expired files, and scheduled ones of a period that was closed.
    "keep_exports": _started(
        "accounting.tasks.keep_exports", crontab(minute="37"), expires_s=3600
    ),
    # Running bookings of months that are not closed: only if something was written.
    "book_periods": _started(
        "accounting.tasks.book_periods", crontab(minute="*/10"), expires_s=600
    ),
    # Sessions of people who did not sign out; nothing else removes them.
    "remove_expired_sessions": _started(
        "portal.tasks.remove_expired_sessions",
        crontab(hour="3", minute="47"),
        expires_s=3600,
    ),
}

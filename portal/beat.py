"""The Celery application of the scheduler (beat), which starts tasks by `portal.timetable`.

It sends names of tasks and runs none. So it has neither tasks nor models, and starts in half the
time of a worker (`portal.celery`), with less memory.
"""

import logging.config
import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

from django.conf import settings

from portal.timetable import TIMETABLE

logging.config.dictConfig(settings.LOGGING)  # part of `django.setup`, which is left out

app = Celery("gpu_ledger", fixups=[], set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = TIMETABLE
# redbeat reads these two from the application, not from Django's settings.
app.conf.redbeat_redis_url = settings.REDIS_URL
app.conf.redbeat_lock_timeout = 60  # seconds until a second beat takes over

"""The Celery application of workers, and of pages that wake them.

All state is in PostgreSQL. If every message is lost, work is delayed by a minute: the sweep finds
due work in the window ledger. So results are not stored, and any task may run twice.
"""

import os

from celery import Celery
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
# Checks of the code would import all pages into each worker: 70 MB and 0.8 s.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("gpu_ledger")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)  # request ids in the logs of tasks

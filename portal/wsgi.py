"""The entry of the application server."""

import gc
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup(set_prefix=False)

# Pages send tasks to workers: without this, Celery would use its default broker.
import portal.celery  # noqa: E402, F401
from portal.http.handler import Utf8Handler  # noqa: E402

application = Utf8Handler()

# What is loaded now lives as long as the process. Without this, each full collection walks it
# again: a third of the time of a page with thousands of rows.
gc.collect()
gc.freeze()

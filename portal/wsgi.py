"""The entry of the application server."""

import gc
import os

import django

gc.disable()  # until all is imported: `tune_collector`

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup(set_prefix=False)

# Pages send tasks to workers: without this, Celery would use its default broker.
import portal.celery  # noqa: E402  # after setup

# The pages, before the server's processes are forked: else each imports them for its first page.
import portal.urls  # noqa: E402, F401  # after setup; its patterns are found by name
from portal.http.collector import tune_collector  # noqa: E402  # after setup
from portal.http.handler import Utf8Handler  # noqa: E402  # after setup

application = Utf8Handler()

tune_collector()

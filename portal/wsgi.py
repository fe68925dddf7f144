"""The entry of the application server."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup(set_prefix=False)

# Pages ring for workers: without this, Celery would look for a broker of its own choice.
import portal.celery  # noqa: E402, F401
from portal.http.handler import Utf8Handler  # noqa: E402

application = Utf8Handler()

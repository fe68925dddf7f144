"""The entry of the application server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

# Pages ring for workers: without this, Celery would look for a broker of its own choice.
import portal.celery  # noqa: F401

application = get_wsgi_application()

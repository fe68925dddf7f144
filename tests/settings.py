"""The product's settings, with a secret of their own and what makes tests quick.

Everything else is what a person runs. Services come from `tests/conftest.py`: the
ones that `DATABASE_URL` and `REDIS_URL` name, else embedded ones for this run only.
"""

import os

os.environ.setdefault("SECRET_KEY", "a secret of the tests, long enough to be accepted")
os.environ.setdefault("GPU_LEDGER_LOCAL", "1")

from portal.settings import *  # noqa: F403  # the environment comes first
from portal.settings import CACHES, REST_FRAMEWORK

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast on purpose
CACHES["default"] = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"anon": "100000/min", "user": "100000/min"}
LONG_STREAMS = 1_000  # a client of Django holds the files that a test does not read
LONG_UPLOADS = 1_000  # threads of a test share one process
CELERY_BROKER_URL = "memory://"  # nobody listens; a worker of a test has its own

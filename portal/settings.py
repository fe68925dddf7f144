"""First cut, so that every part can run; the tooling helper makes it whole."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = os.environ.get("SECRET_KEY", "dev-only-not-for-production")
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "testserver"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "knox",
    "pgtrigger",
    "pghistory",
    "accounting",
    "scheduler_view",
]
DATABASE_URL = os.environ["DATABASE_URL"]
from urllib.parse import urlsplit, unquote  # noqa: E402

_u = urlsplit(DATABASE_URL)
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _u.path.lstrip("/"),
        "USER": unquote(_u.username or ""),
        "PASSWORD": unquote(_u.password or ""),
        "HOST": _u.hostname or "",
        "PORT": _u.port or "",
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
KNOX_TOKEN_MODEL = "accounting.ApiToken"
USE_TZ = True
TIME_ZONE = "UTC"
ROOT_URLCONF = "portal.urls"
STATIC_URL = "/static/"

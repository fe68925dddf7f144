"""Every setting, with its unit, default and reason. Settings that differ are in `portal.env`."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from csp.constants import NONE, SELF
from pghistory import DeleteEvent, InsertEvent, UpdateEvent

from portal.embedded.paths import places_of
from portal.env import (
    database_settings,
    mail_settings,
    read_environment,
    static_root,
)
from portal.logs import logging_settings
from portal.secret_key import secret_key
from portal.version import read_version

ENVIRONMENT = read_environment()
BASE_DIR = Path(__file__).resolve().parent.parent
HOME = places_of(ENVIRONMENT.gpu_ledger_home)
VERSION = read_version()
IS_LOCAL = ENVIRONMENT.gpu_ledger_local

SECRET_KEY = secret_key(ENVIRONMENT)
DEBUG = False  # never: error pages would show data of other teams
PUBLIC_URL = ENVIRONMENT.public_url
ALLOWED_HOSTS = ENVIRONMENT.hosts
ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",  # exclusion constraints
    "django_structlog",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "csp",
    "pgtrigger",
    "pghistory",
    "portal",
    "scheduler_view",
    "accounting",
]

MIDDLEWARE = [
    "portal.probes.http.HealthMiddleware",  # first: probes have no host name
    "portal.http.client_address.ClientAddressMiddleware",  # before logs and limits
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "portal.http.answers.AnswerMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "portal.http.long_requests.LongRequestMiddleware",  # before a body is read
    "portal.http.input_checks.InputCheckMiddleware",  # before other work
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",  # deny by default
    "pghistory.middleware.HistoryMiddleware",  # actor and request of each change
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.shell.context_processors.frame",
            ],
            "builtins": [  # in every template without `load`
                "django.templatetags.static",
                "accounting.kit.tags.components",
                "accounting.kit.tags.links",
                "accounting.kit.tags.pages",
                "accounting.kit.tags.tables",
                "accounting.kit.tags.units",
            ],
            "libraries": {  # in templates that `load` them
                "bills": "accounting.bills.tags",
                "changes": "scheduler_view.changes.tags",
                "exports": "accounting.exports.tags",
                "gpu_grid": "accounting.kit.tags.gpu_grid",
                "idle": "scheduler_view.idle.tags",
                "inbox": "scheduler_view.inbox.tags",
                "limits": "scheduler_view.quotas.tags",
                "months": "accounting.months.tags",
                "pictures": "accounting.kit.tags.pictures",
                "queues": "scheduler_view.queues.tags",
                "usage": "accounting.usage.tags",
                "waits": "scheduler_view.waits.tags",
                "waste": "scheduler_view.savings.tags",
            },
        },
    }
]

# Storage -------------------------------------------------------------------------

DATABASE_URL = (
    ENVIRONMENT.database_url.get_secret_value()
    if ENVIRONMENT.database_url
    else HOME.database_url
)
REDIS_URL = (
    ENVIRONMENT.redis_url.get_secret_value()
    if ENVIRONMENT.redis_url
    else HOME.redis_url
)
DATABASES = {"default": database_settings(DATABASE_URL)}
DATABASES["default"]["CONN_MAX_AGE"] = 60  # seconds; a new connection takes 5 ms
# Short queries need no compiler. A worker that stops responding in a transaction (its machine
# lost power, or it was stopped) has locks that others wait for: the server ends it.
SESSION = {
    "jit": "off",
    "idle_in_transaction_session_timeout": "10min",  # as long as a lease
    "tcp_keepalives_idle": "60",  # seconds; the default of Linux is two hours
    "tcp_keepalives_interval": "15",
    "tcp_keepalives_count": "4",
    # Keepalives are silent while a reply is on its way: Linux then tries for 15 minutes.
    "tcp_user_timeout": "2min",
}
# The same of our side: a process must not wait for hours for a server that is gone.
CONNECTION = {
    "keepalives_idle": "60",
    "keepalives_interval": "15",
    "keepalives_count": "4",
    "tcp_user_timeout": "120000",  # milliseconds
}
DATABASES["default"]["OPTIONS"] = {
    **CONNECTION,
    "options": " ".join(f"-c {name}={value}" for name, value in SESSION.items()),
    **DATABASES["default"]["OPTIONS"],
}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True  # survives a restart of PostgreSQL
PGHISTORY_DEFAULT_TRACKERS = (  # a removed row leaves its last state in the history
    InsertEvent(),
    UpdateEvent(),
    DeleteEvent(),
)
PGHISTORY_APPEND_ONLY = True  # triggers reject changes of history rows
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "gpu-ledger",
        # A Redis that hangs must not hang requests.
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},  # seconds
    },
    # Rate limits are counted here while Redis does not respond (portal.throttles).
    "process": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}

# Time, language ------------------------------------------------------------------

USE_TZ = True
TIME_ZONE = "UTC"  # the billing time zone is data, not a setting
LANGUAGE_CODE = "en"
USE_I18N = False

# Static files --------------------------------------------------------------------

STATIC_URL = "/static/"
STATIC_ROOT = None if IS_LOCAL else static_root(BASE_DIR, HOME.home)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = IS_LOCAL  # from the checkout, without a build step
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if IS_LOCAL
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Sign-in -------------------------------------------------------------------------

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
SESSION_COOKIE_AGE = 12 * 3600  # seconds: a working day
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"  # a link from a chat must still find the session
CSRF_COOKIE_SAMESITE = "Strict"
PASSWORD_RESET_TIMEOUT = 24 * 3600  # seconds: of a link of `manage.py person`

# Transport -----------------------------------------------------------------------

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.is_secure
# A browser sends a cookie to every port of a host: without this, two ledgers on one machine
# would sign each other's visitors out.
_PORT = urlsplit(PUBLIC_URL).port or 80
SESSION_COOKIE_NAME = "__Host-session" if ENVIRONMENT.is_secure else f"session-{_PORT}"
CSRF_COOKIE_NAME = "__Host-csrf" if ENVIRONMENT.is_secure else f"csrf-{_PORT}"
DEVICE_COOKIE_NAME = "__Host-device" if ENVIRONMENT.is_secure else f"device-{_PORT}"
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SECURE_SSL_REDIRECT = ENVIRONMENT.is_secure
SECURE_HSTS_SECONDS = 365 * 86400 if ENVIRONMENT.is_secure else 0
# Subdomains and preload lists are for the owner of the domain to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"  # addresses hold team names
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = (
    2_621_440  # bytes of a body; forms and JSON are far smaller
)
# Bytes of a body at addresses that take files, from people who are signed in: the file of a bill,
# and at the page the form around it.
BODY_LIMITS = {"/api/v1/bills": 64 << 20, "/bills/new": (64 << 20) + 65_536}
LONG_STREAMS = 3  # streamed files at once, of the 8 threads of a web process
LONG_UPLOADS = 2  # and bodies above 64 KB
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies
if ENVIRONMENT.trust_forwarded_proto:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],  # blob: a chart saved as a picture
        "font-src": [SELF],
        "connect-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# API -----------------------------------------------------------------------------

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "knox.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["accounting.kit.parsers.StrictJsonParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": [
        "portal.throttles.AnonymousThrottle",
        "portal.throttles.PersonThrottle",
    ],
    "EXCEPTION_HANDLER": "accounting.kit.problems.problem_handler",
    "DEFAULT_THROTTLE_RATES": {"anon": "30/min", "user": "600/min"},
}
KNOX_TOKEN_MODEL = "accounting.ApiToken"  # noqa: S105  # the name of a table
MIGRATION_MODULES = {"knox": None}  # it would create a table that ours replaces
REST_KNOX = {
    "TOKEN_TTL": timedelta(days=90),  # a forgotten token expires
    "TOKEN_LIMIT_PER_USER": 20,
    "AUTH_HEADER_PREFIX": "Bearer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "GPU Ledger",
    "DESCRIPTION": "Accounts for every GPU-second of your Kubernetes clusters, by team and cost.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": False,  # it puts links into buttons, which screen readers ignore
        "validatorUrl": None,  # it would send the document to another host
    },
    "REDOC_DIST": "SIDECAR",
}

# Money ---------------------------------------------------------------------------

ANOMALY_MINIMUM = ENVIRONMENT.anomaly_minimum

# Exports -------------------------------------------------------------------------

ORGANIZATION_NAME = ENVIRONMENT.organization_name
ORGANIZATION_ID = ENVIRONMENT.organization_id
SCHEDULED_EXPORTS = ENVIRONMENT.scheduled_exports
SCHEDULED_EXPORT_FOLDER = ENVIRONMENT.scheduled_export_folder
SCHEDULED_EXPORT_BUCKET = ENVIRONMENT.scheduled_export_bucket
S3_ENDPOINT = ENVIRONMENT.s3_endpoint
S3_REGION = ENVIRONMENT.s3_region
S3_ACCESS_KEY_ID = ENVIRONMENT.s3_access_key_id
S3_SECRET_ACCESS_KEY = (
    ENVIRONMENT.s3_secret_access_key.get_secret_value()
    if ENVIRONMENT.s3_secret_access_key
    else ""
)
EXPORT_FOLDER = ENVIRONMENT.export_folder or HOME.home / "exports"

# Mail ----------------------------------------------------------------------------

_MAIL = mail_settings(
    ENVIRONMENT.smtp_url.get_secret_value()
    if ENVIRONMENT.smtp_url
    else "smtp://localhost"
)
EMAIL_HOST = _MAIL["EMAIL_HOST"] if ENVIRONMENT.smtp_url else ""  # "": none is set
EMAIL_PORT = _MAIL["EMAIL_PORT"]
EMAIL_HOST_USER = _MAIL["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD = _MAIL["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS = _MAIL["EMAIL_USE_TLS"]
EMAIL_USE_SSL = _MAIL["EMAIL_USE_SSL"]
EMAIL_TIMEOUT = 15  # seconds of one answer; a server that hangs is tried again later
DEFAULT_FROM_EMAIL = ENVIRONMENT.mail_from

# Background work -----------------------------------------------------------------

INGEST_HOURS_AT_ONCE = ENVIRONMENT.ingest_hours_at_once
FACT_DAYS = ENVIRONMENT.fact_days
SPOT_PODS = ENVIRONMENT.spot_pods
SPOT_HOURS = ENVIRONMENT.spot_hours
MAX_DURATIONS = ENVIRONMENT.max_durations

TASK_APP = (
    "portal.celery"  # the module of the Celery application, for whoever sends tasks
)
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://").replace(
    "?db=", "?virtual_host="
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,  # seconds; longer than any task may run
    "socket_timeout": 30,  # seconds; a lost Redis is noticed, not waited for
    "socket_keepalive": True,
    "health_check_interval": 15,  # seconds
}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]  # messages cannot contain code
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True  # a killed worker's task is delivered again
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 1800  # seconds; then the child is killed
CELERY_TASK_SOFT_TIME_LIMIT = 1740  # seconds; then the task may tidy up
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # long tasks are not prefetched
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500  # arrays fragment memory
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # LOGGING above is the only one
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_MAX_LOOP_INTERVAL = 10  # seconds: a lost Redis is noticed as soon
CELERY_TIMEZONE = "UTC"

# Logs ----------------------------------------------------------------------------

LOGGING = logging_settings(
    level=ENVIRONMENT.log_level,
    as_json=(ENVIRONMENT.log_format or ("text" if IS_LOCAL else "json")) == "json",
)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
# It would trust any forwarded header; `portal.logs` binds the address that limits count.
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.filter_by_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)

"""The format of log lines: JSON for machines, plain lines for people; never both."""

from typing import Any

import structlog
from django.http import HttpRequest

SHARED = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
]


def logging_settings(*, level: str, as_json: bool) -> dict[str, Any]:
    """Django's LOGGING: one handler to standard error, one line per event."""
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    renderer,
                ],
            }
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "lines"}
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django.server": {"handlers": [], "propagate": True},
            "django_structlog": {"level": "WARNING"},  # one line per request is enough
        },
    }


def bind_client(request: HttpRequest, **_named: Any) -> None:
    """Add the client's address to every log line of its request, as rate limits count it."""
    structlog.contextvars.bind_contextvars(ip=request.META.get("REMOTE_ADDR", ""))

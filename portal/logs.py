"""The format of log lines: JSON for machines, plain lines for people; never both."""

import re
from collections.abc import MutableMapping
from typing import Any

import structlog
from django.http import HttpRequest

SHARED = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
]

# One-time links (`password-link`): a person who reads the log must not be able to use one.
_LINK = re.compile(r"""((?:/|%2F)welcome(?:/|%2F))[^\s"'<>?&]+""", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """A text of a log, with links that end at their secret part."""
    return _LINK.sub(r"\1...", text)


def cut_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """The same for all texts of an event."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = without_secrets(value)
    return event


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
                    cut_secrets,
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

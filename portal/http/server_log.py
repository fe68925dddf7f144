"""The log of the application server, without the secrets of one-time links."""

import logging

from gunicorn.glogging import Logger

from portal.logs import without_secrets


class _CutSecrets(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Cut them from the whole message."""
        record.msg, record.args = without_secrets(record.getMessage()), ()
        return True


class ServerLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's logs of errors and, where it is turned on, of access."""

    def setup(self, cfg: object) -> None:
        """Add the filter to what gunicorn has set up."""
        super().setup(cfg)
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.addFilter(_CutSecrets())

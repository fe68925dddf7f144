"""Typed errors of sources. The docstring of each explains what a caller can do."""


class SourceError(Exception):
    """A source did not return a usable response. The message can be shown to people.

    Attributes:
        is_temporary: a retry may help.
        retry_after_s: the source's waiting time, if it sets one.
    """

    is_temporary = False
    retry_after_s: float | None = None


class Unavailable(SourceError):
    """The source is down or overloaded: retry later."""

    is_temporary = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooMuch(SourceError):
    """The query was too large (422, a timeout, a limit): request less."""

    is_temporary = True


class AccessRefused(SourceError):
    """The source denies access (401, 403): the settings must change."""


class InvalidSourceResponse(SourceError):
    """Not a response of such a source: HTML, incomplete JSON, a bad request."""

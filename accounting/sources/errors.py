"""Typed errors of sources. The docstring of each says what a caller can do."""


class SourceError(Exception):
    """A source did not give a usable answer. The message is fit for a person.

    Attributes:
        is_temporary: asking again may help.
        retry_after_s: how long the source wants to be left alone, where it says so.
    """

    is_temporary = False
    retry_after_s: float | None = None


class Unavailable(SourceError):
    """Down or overloaded: try again later."""

    is_temporary = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooMuch(SourceError):
    """The question was too large (422, a time-out, a limit): ask for less."""

    is_temporary = True


class AccessRefused(SourceError):
    """The source does not let us in (401, 403): the settings must change."""


class InvalidSourceResponse(SourceError):
    """Not what a source of this kind says: HTML, half a JSON, a bad request."""

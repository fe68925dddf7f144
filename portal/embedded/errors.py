"""Errors that are shown to people when the embedded services cannot run."""


class ServicesError(Exception):
    """The services cannot run; the message explains why and what to do."""

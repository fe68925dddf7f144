"""Errors that a person sees when the embedded services cannot run."""


class ServicesError(Exception):
    """They cannot run; the message says why and what to do."""

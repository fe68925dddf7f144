"""What a person is told when the embedded services cannot run."""


class ServicesError(Exception):
    """They cannot run; the message says why and what to do."""

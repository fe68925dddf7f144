"""What commands refuse alike: arguments that are not valid."""


class WrongUse(ValueError):
    """A command was called with arguments that are not valid; the message explains what to do."""

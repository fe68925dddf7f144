"""What a person may not see."""


class HiddenError(PermissionError):
    """The person may not see unallocated time (the platform's line)."""

"""What is said of a change set that a fault of our own has stopped."""

LONGEST = 300  # of what the fault itself said


def internal_error_message(what: str, error: Exception) -> str:
    """For the person who waits: what failed, and what to do.

    Args:
        what: the verb that was tried, e.g. `plan this`.
    """
    said = " ".join(str(error).replace("\0", " ").split())[:LONGEST]
    name = type(error).__name__
    return (
        f"GPU Ledger could not {what}: {name}{f': {said}' if said else ''}. "
        "See the workers' log, or ask an administrator of GPU Ledger."
    )

"""The text of a change set that was stopped by an internal error."""

LONGEST = 300  # of the error's own message


def internal_error_message(what: str, error: Exception) -> str:
    """A message with the failed step, and what to do.

    Args:
        what: the failed step, such as `plan this`.
    """
    said = " ".join(str(error).replace("\0", " ").split())[:LONGEST]
    name = type(error).__name__
    return (
        f"GPU Ledger could not {what}: {name}{f': {said}' if said else ''}. "
        "See the workers' log, or ask an administrator of GPU Ledger."
    )

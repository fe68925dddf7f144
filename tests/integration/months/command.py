"""Commands as a person runs them."""

import io

from django.core.management import call_command


def command(*words: str, status: int = 0) -> tuple[str, str]:
    """Output and errors of a command that ends with a status."""
    out, errors, found = io.StringIO(), io.StringIO(), 0
    try:
        call_command(*words, stdout=out, stderr=errors)
    except SystemExit as end:
        found = int(end.code or 0)
    assert found == status, (out.getvalue(), errors.getvalue())
    return out.getvalue(), errors.getvalue()

"""Conditional reads: whether a program already has a version (RFC 9110, 13.1.2)."""

from django.http import HttpRequest
from django.utils.http import parse_etags


def is_known(request: HttpRequest, etag: str) -> bool:
    """True if `If-None-Match` names an ETag, weakly: a proxy that compresses makes it weak.

    Args:
        request: of any method; its answer is 304 only for GET and HEAD.
        etag: quoted, as it is sent; "" where there is none.
    """
    names = parse_etags(request.headers.get("If-None-Match", ""))
    return bool(etag) and (
        names == ["*"] or etag in {name.removeprefix("W/") for name in names}
    )

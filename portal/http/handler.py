"""The WSGI application: Django's, with requests that are always read as UTF-8.

Django decodes the address with the charset of the Content-Type while it creates the request: with
`punycode`, or a charset that is not for text, it failed before any middleware could respond.
`portal.http.input_checks` rejects such a charset with 415.
"""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class Utf8Request(WSGIRequest):
    """A request whose Content-Type does not affect the decoding of its address."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(
            meta.get("CONTENT_TYPE", "")
        )


class Utf8Handler(WSGIHandler):
    """Creates such requests."""

    request_class = Utf8Request

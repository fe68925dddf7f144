"""A mail as a document of its own, in a frame of a page: its styles are inline, as mail needs.

Pages allow no inline styles and no frames. The document of a mail allows styles and nothing else:
no script, no request, no form. Links open when a person follows them.
"""

from collections.abc import Callable
from typing import ParamSpec

from csp.constants import NONE, SELF, UNSAFE_INLINE
from csp.decorators import csp, csp_update
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.clickjacking import xframe_options_sameorigin

Extra = ParamSpec("Extra")
View = Callable[..., HttpResponseBase]
_POLICY = {
    "default-src": [NONE],
    "style-src": [UNSAFE_INLINE],
    "base-uri": [NONE],
    "form-action": [NONE],
    "frame-ancestors": [SELF],
    "sandbox": ["allow-same-origin", "allow-top-navigation-by-user-activation"],
}


def has_frame(view: View) -> View:
    """A page that shows a mail in a frame."""
    return csp_update({"frame-src": [SELF]})(view)


def mail_document(view: View) -> View:
    """An address that answers with the document of a mail, for a frame of a page."""
    return xframe_options_sameorigin(csp(_POLICY)(view))


def mail_answer(request: HttpRequest, html: str) -> HttpResponse:
    """The document; its links open in the window around the frame."""
    del request
    target = '<head><base target="_top">'
    return HttpResponse(html.replace("<head>", target, 1))

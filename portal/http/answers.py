"""Headers of all responses."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase, HttpResponseNotAllowed
from django.utils.cache import patch_vary_headers

from accounting.kit.pages.fragments import FRAGMENT
from portal.http.refusals import API, refusal

# Nothing of a signed-in person stays on a shared computer or in a proxy. An ETag still identifies
# the version for `If-Match`: it protects writes, and is not meant for caches.
NOT_KEPT = "no-store, private"


class AnswerMiddleware:
    """Responses are not cached; a rejected method gets an error page.

    Static files are served before this, with their own caching.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        is_page = not request.path.startswith(API)
        if isinstance(answer, HttpResponseNotAllowed) and is_page:
            answer = _with_page(request, answer)
        answer.headers.setdefault("Cache-Control", NOT_KEPT)
        if is_page:
            patch_vary_headers(answer, (FRAGMENT,))
        return answer


def _with_page(
    request: HttpRequest, answer: HttpResponseNotAllowed
) -> HttpResponseBase:
    method = request.method if (request.method or "").isalnum() else "This method"
    page = refusal(request, 405, f"{method} is not allowed at this address.")
    page.headers["Allow"] = answer.headers["Allow"]
    return page

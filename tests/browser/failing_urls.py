"""The product's addresses and one that fails, for the page of an error of ours."""

from typing import NoReturn

from django.http import HttpRequest
from django.urls import path

from portal import urls

handler403, handler500 = urls.handler403, urls.handler500


def fails(request: HttpRequest) -> NoReturn:
    """A fault of the product."""
    raise RuntimeError("this address fails on purpose")


urlpatterns = [path("fails", fails), path("api/v1/fails", fails), *urls.urlpatterns]

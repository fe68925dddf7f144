"""The OpenAPI document, and a page to read and try it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from accounting.kit.api.rows import LimitedView

FORMATS: Mapping[str, type[BaseRenderer]] = {
    one.media_type: one for one in SpectacularAPIView.renderer_classes
}


@cache
def document(media_type: str) -> bytes:
    """The OpenAPI document in one of `FORMATS`.

    It describes the program, so it is generated once in each process: that takes a second,
    and anybody may request it.
    """
    generator: Any = SchemaGenerator
    schema = generator().get_schema(request=None, public=True)
    content: bytes = FORMATS[media_type]().render(schema, renderer_context={})
    return content


class SchemaView(LimitedView, SpectacularAPIView):
    """The OpenAPI document. Public: it describes the program, not the data."""

    renderer_classes = SpectacularAPIView.renderer_classes
    permission_classes = SpectacularAPIView.permission_classes
    schema = None

    def get(self, request: Request) -> HttpResponse:
        """The document in the requested format."""
        renderer = request.accepted_renderer
        name = f"{settings.SPECTACULAR_SETTINGS['TITLE']}.{renderer.format}"
        return HttpResponse(
            document(renderer.media_type),
            content_type=renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="{name}"'},
        )


class DocsView(LimitedView, SpectacularSwaggerSplitView):
    """The page of the API reference. Public."""

    renderer_classes = SpectacularSwaggerSplitView.renderer_classes
    permission_classes = SpectacularSwaggerSplitView.permission_classes
    schema = None
    url_name = "api-schema"
    template_name = "kit/api_docs.html"  # no inline styles, no other hosts

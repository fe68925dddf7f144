"""The OpenAPI document, and a page to read and try it."""

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from accounting.api.rows import LimitedView


class SchemaView(LimitedView, SpectacularAPIView):
    """The OpenAPI document. Public: it describes the program, not the data."""

    renderer_classes = SpectacularAPIView.renderer_classes
    permission_classes = SpectacularAPIView.permission_classes
    schema = None


class DocsView(LimitedView, SpectacularSwaggerSplitView):
    """The page of the API reference. Public."""

    renderer_classes = SpectacularSwaggerSplitView.renderer_classes
    permission_classes = SpectacularSwaggerSplitView.permission_classes
    schema = None
    url_name = "api-schema"
    template_name = "accounting/api_docs.html"  # no inline styles, no other hosts
